"""Messages that are being stored; reactions, edits and stops that follow them wait until they are.

Discord delivers events in order, but each message, reaction and edit is handled by an asyncio task of its own. When
many events arrive at once (as after a short gap in the connection), a 🛑 might otherwise find nothing to stop, and the
task that it was meant for would begin afterwards.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta

PATIENCE = 0.5
"""Seconds a stop waits at most for earlier messages; well within the time in which a stop must take effect."""


_FIRST = datetime(2015, 1, 1, tzinfo=UTC)
"""The start of the time that is encoded in Discord's ids."""


def id_at(time: datetime) -> int:
    """Return the lowest id that Discord could have given at this time of its own clock."""
    return int((time - _FIRST) / timedelta(milliseconds=1)) << 22


def time_of(id: int) -> datetime:
    """Return when Discord gave an id, by its own clock."""
    return _FIRST + timedelta(milliseconds=id >> 22)


class Coming:
    """Messages between their arrival from Discord and the end of their handling."""

    def __init__(self) -> None:
        self._coming: dict[str, dict[int, asyncio.Event]] = {}

    @contextmanager
    def message(self, channel: str, message: int) -> Generator[None]:
        """Mark a message as being handled; enter this in the same step in which the event arrives."""
        taken = asyncio.Event()
        here = self._coming.setdefault(channel, {})
        here.setdefault(message, taken)
        try:
            yield
        finally:
            taken.set()
            if here.get(message) is taken:
                del here[message]
            if not here:
                self._coming.pop(channel, None)

    async def through(self, channel: str, message: int) -> None:
        """Wait until this message has been handled; return at once if it is not being handled."""
        if (taken := self._coming.get(channel, {}).get(message)) is not None:
            await taken.wait()

    async def before_a_stop(self, channel: str) -> None:
        """Wait until all earlier messages in the channel have been handled, at most ``PATIENCE`` seconds."""
        waiting = [taken.wait() for taken in self._coming.get(channel, {}).values()]
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await asyncio.gather(*waiting)
