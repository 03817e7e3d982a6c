"""One conversation that a bot of any library has with the local guild, over real sockets, in a process of its own.

Each bot here does the same: a mention is answered in a thread of that message, with 👀 on the message and a button under
the answer, which is edited once; the button changes the answer; /ping is answered; 🛑 on a message is said in its channel.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Sequence

from bot.local_discord import LocalGuild, Message, RateLimited, Rule

TIMEOUT = 60.0


@contextlib.asynccontextmanager
async def running(guild: LocalGuild, command: Sequence[str], **more: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A bot that was told where its Discord is, and is ended with this."""
    told = {"TOKEN": guild.bot_token, "REST": guild.rest_base, "GATEWAY": guild.gateway_url, **more}
    process = await asyncio.create_subprocess_exec(*command, env=os.environ | told)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await asyncio.wait_for(process.wait(), 60)


async def converse(guild: LocalGuild) -> None:
    """Everything a bot of this kind is asked to do, the first post being refused with 429; raises if one thing fails."""
    await guild.wait_for(lambda g: g.online and "ping" in names(g), TIMEOUT)
    refused = Rule("POST */messages", RateLimited(0.3))
    guild.misbehave(refused)
    mention = await guild.post(guild.channel().id, f"{guild.bot.mention} hello")
    thread = await guild.wait_for(lambda g: g.threads()[0] if g.threads() else None, TIMEOUT)
    answer = await said(guild, thread.id, "Done")
    assert guild.misbehaviour.applied, "the post was never refused"
    assert answer.custom_ids() == ("more",)
    assert answer.edited_at is not None
    await guild.wait_for(lambda g: g.bot_user_id in g.state.find_message(mention.id).reactors("👀"), TIMEOUT)
    await guild.click(answer.id, "more")
    pressed = await said(guild, thread.id, "Pressed")
    assert pressed.id == answer.id
    await guild.slash(guild.channel().id, "ping")
    await said(guild, guild.channel().id, "pong")
    await guild.react(answer.id, "🛑")
    await said(guild, thread.id, "Stopped")
    mine = [m.content for m in guild.messages(thread.id) if m.author_id == guild.bot_user_id]
    assert mine == ["Pressed", "Stopped"], mine


def names(guild: LocalGuild) -> list[str]:
    """The commands that the bot registered."""
    return [str(c["name"]) for c in guild.commands()]


async def said(guild: LocalGuild, channel_id: int, text: str) -> Message:
    """The bot's message of that text, once it is there."""

    def look(guild: LocalGuild) -> Message | None:
        here = guild.messages(channel_id)
        return next((m for m in here if m.content == text and m.author_id == guild.bot_user_id), None)

    return await guild.wait_for(look, TIMEOUT)
