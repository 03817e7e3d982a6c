"""What the bot says when it joins a server: one message, where it may write, and never again there."""

from __future__ import annotations

from bot.local_discord.model.permission_flags import Permission
from bot.local_discord.model.records import Message
from tests.integration.bot.talking import Scenery

HELLO = "Hi, I'm <@"


def greetings(scenery: Scenery) -> list[Message]:
    """The greetings of every channel."""
    guild = scenery.guild
    return [m for channel in guild.state.channels for m in guild.messages(channel) if m.content.startswith(HELLO)]


async def test_a_new_server_is_greeted_once_where_the_bot_may_write(scenery: Scenery) -> None:
    guild = scenery.guild
    other = guild.add_channel("other")
    assert not greetings(scenery), "the server was known at the start"
    guild.deny(scenery.general, Permission.SEND_MESSAGES)
    guild.remove_bot()
    guild.readmit_bot()
    await guild.wait_for(lambda _: greetings(scenery) or None)
    (hello,) = greetings(scenery)
    assert hello.channel_id == other.id
    assert "/help" in hello.content
    assert not hello.pings.users
    guild.deny(scenery.general)
    guild.remove_bot()
    guild.readmit_bot()
    await scenery.mention("go")
    assert greetings(scenery) == [hello], "and never again"
