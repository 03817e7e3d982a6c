"""What the bot says when it joins a server: one message, where it may write, and never again there."""

from __future__ import annotations

import pytest

from bot.app import discord_connection
from bot.local_discord.faults.rules import Dropped, Rule
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.permission_flags import Permission
from bot.local_discord.model.records import Message
from tests.integration.bot.talking import Scenery, running_bot

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


async def test_the_bot_is_ready_once_its_servers_have_come_and_waits_for_no_more(
    guild: LocalGuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discord_connection, "MISSING_SECONDS", 3600.0)
    async with running_bot(guild) as scenery:
        (server,) = scenery.bot.guilds
        assert not server.unavailable


async def test_a_server_that_does_not_come_is_not_waited_for_long(
    guild: LocalGuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discord_connection, "MISSING_SECONDS", 0.01)
    guild.misbehave(Rule("GUILD_CREATE", Dropped()))
    async with running_bot(guild) as scenery:
        (server,) = scenery.bot.guilds
        assert server.unavailable
