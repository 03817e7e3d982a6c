"""Messages that are being stored: what is done about a message, or to end what was asked for, comes after it.

Discord tells in order, and each message, reaction and edit is taken in by an asyncio task of its own.  Where they come
close together (after a short gap of the connection all that was missed comes at once) a 🛑 would else find nothing to
stop, and what it was to stop would begin after it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta

PATIENCE = 0.5
"""So many seconds a stop waits at most for what was said before it: well within those in which it is obeyed."""


_FIRST = datetime(2015, 1, 1, tzinfo=UTC)
"""Discord's ids count the milliseconds since."""


def id_at(time: datetime) -> int:
    """The lowest id that Discord gave at a time of its own clock."""
    return int((time - _FIRST) / timedelta(milliseconds=1)) << 22


class Coming:
    """Messages from when Discord told of them until they were kept, told or passed over."""

    def __init__(self) -> None:
        self._coming: dict[str, dict[int, asyncio.Event]] = {}

    @contextmanager
    def message(self, channel: str, message: int) -> Generator[None]:
        """Take it in; this is begun in the very step in which Discord tells of it."""
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
        """Return when this message is taken in; at once where it is not coming."""
        if (taken := self._coming.get(channel, {}).get(message)) is not None:
            await taken.wait()

    async def before_a_stop(self, channel: str) -> None:
        """Return when all that was said in the channel until now is taken in, or a stop can wait no longer."""
        waiting = [taken.wait() for taken in self._coming.get(channel, {}).values()]
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await asyncio.gather(*waiting)
