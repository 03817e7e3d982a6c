"""What was said in a thread lately, quoted as data for an execution that begins there."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime, timedelta

from agentic.core.events import QuotedMessage
from bot.posting import Desk, Gone, Held, Unfit
from bot.render import cut, storable

MESSAGES = 50
AGE = timedelta(minutes=30)
CHARACTERS = 1_000
SECONDS = 3.0
"""A task does not wait longer for what was said before it."""

log = logging.getLogger(__name__)


class Quoting:
    """Reads threads through a desk, which exists only once the bot does: ``through`` tells it which."""

    def __init__(self) -> None:
        self._desk: Desk | None = None

    def through(self, desk: Desk) -> None:
        """Read by this desk from now on."""
        self._desk = desk

    async def recent(self, thread: str, before: str) -> tuple[QuotedMessage, ...]:
        """What others said before a message, oldest first: at most 50 messages of 30 minutes; () if it cannot be read.

        A thread that was made from the message has nothing before it.
        """
        if self._desk is None or before == thread or not before.isdecimal():
            return ()
        try:
            async with asyncio.timeout(SECONDS):
                said = await self._desk.said_before(thread, before, MESSAGES)
        except (Held, Gone, Unfit, TimeoutError) as error:
            log.info("thread %s: what was said before cannot be read: %s", thread, error or "it takes too long")
            return ()
        since = datetime.now(UTC) - AGE
        return tuple(
            QuotedMessage(author=storable(name), text=cut(storable(text), CHARACTERS))
            for name, text, at in said
            if at >= since
        )
