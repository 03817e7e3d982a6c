"""Recent messages of a thread, quoted as data for an execution that begins there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

import discord

from agentic.core.events.execution_events import QuotedMessage
from bot.inbound.parse import FROM_FORM, author_of, said_in
from bot.outbound.discord_api import (
    DiscordApi,
    Gone,
    Held,
    Unfit,
)
from bot.rendering.discord_text import cut, named, storable

MESSAGES = 50
AGE = timedelta(minutes=30)
CHARACTERS = 1_000
SECONDS = 3.0
"""Seconds that a task waits at most for earlier messages."""

log = logging.getLogger(__name__)


class Quoting:
    """Reads recent messages of threads through ``DiscordApi``."""

    def __init__(self, desk: DiscordApi) -> None:
        self._desk = desk

    async def recent(self, thread: str, before: str, reader: str = "") -> tuple[QuotedMessage, ...]:
        """Return what others than the bot wrote before a message, oldest first; () if it cannot be read.

        At most the last 50 messages are read, none older than 30 minutes. A thread that was made from the message has
        nothing before it; ``reader`` is the person they are read for.
        """
        before = before.removeprefix(FROM_FORM)
        if before == thread or not before.isdecimal():
            return ()
        try:
            async with asyncio.timeout(SECONDS):
                if reader.isdecimal() and not await self._desk.may_look_back(thread, reader):
                    return ()
                said = await self._desk.look(thread, partial(_said, before=before, own=self._desk.own))
        except (Held, Gone, Unfit, TimeoutError) as error:
            log.info("thread %s: what was said before cannot be read: %s", thread, error or "it takes too long")
            return ()
        since = discord.utils.snowflake_time(int(before)) - AGE
        return tuple(
            QuotedMessage(author=named(name), text=cut(storable(text), CHARACTERS), trusted=author == reader)
            for author, name, text, at in said
            if at >= since
        )


async def _said(
    channel: discord.abc.Messageable, before: str, own: Callable[[discord.Message], bool]
) -> list[tuple[str, str, str, datetime]]:
    """Return (author's id, name, text, when) of messages before a message, without the bot's own, oldest first."""
    found = [m async for m in channel.history(limit=MESSAGES, before=discord.Object(int(before)))]
    told = [(author_of(m), m.author.display_name, said_in(m), m.created_at) for m in found if not own(m)]
    return [one for one in told[::-1] if one[2]]
