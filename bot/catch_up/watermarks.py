"""How far each channel was read, durably: where reading begins again after a gap.

A mark never runs ahead of what was stored: it moves when a message has been stored, answered or ignored, and is
written a moment later, many together, so that a message costs no write of its own. What was read twice because of that
moment is known by its id. While a gap is open (messages were missed, and not fetched yet) marks stand still. What
began during a gap is new, even if newer messages were read elsewhere before it: ``latest`` stands still until
everything was read.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

from agentic.ports.errors import StoreError
from agentic.ports.failpoints import reach
from agentic.ports.stores import Facts

WRITE_SECONDS = 1.0
REMEMBERED = 5_000
LATEST = "read: latest"

log = logging.getLogger(__name__)


class Watermarks:
    """The newest message that was handled, by channel."""

    def __init__(self, store: Facts) -> None:
        self._store = store
        self._marks: dict[str, int] = {}
        self._beyond: dict[str, int] = {}
        """What was read live in channels whose gap is still open."""
        self._open = False
        self._whole = True
        """No gap is open anywhere."""
        self._before: int | None = None
        """The highest of all marks when the gap that is open began."""
        self._closed: set[str] = set()
        self._unwritten: set[str] = set()
        self._coming: dict[str, set[int]] = {}
        """What is being taken in or acknowledged now."""
        self._ready: dict[str, int] = {}
        """The newest that was taken in meanwhile."""
        self._known: OrderedDict[int, None] = OrderedDict()
        self._moved = asyncio.Event()

    async def of(self, channel: str) -> int | None:
        """Return the mark, None where there never was one."""
        if channel not in self._marks:
            if (value := await self._store.fact(_fact(channel))) is None:
                return None
            self._marks.setdefault(channel, int(value))
        return self._marks[channel]

    async def latest(self) -> int | None:
        """The highest mark before the gap that is open; None where there was none. Nothing up to here was missed."""
        if self._whole and self._marks:
            return max(self._marks.values())
        if self._before is None and (value := await self._store.fact(LATEST)) is not None:
            self._before = int(value)
        return self._before

    def begins(self, channel: str, mark: int) -> None:
        """Set where reading begins in a channel without a mark, also at a later start."""
        self._move(channel, mark)

    def known(self, message: int) -> bool:
        """Whether this process has handled the message."""
        return message in self._known

    def taken_care_of(self, channel: str, message: int) -> None:
        """Note that the message, and everything before it in this channel, was stored, answered or ignored."""
        self._remember(message)
        self._reach(channel, message)

    def taken(self, message: int) -> None:
        """Note that the message was stored, answered or ignored; its mark moves when it has been acknowledged."""
        self._remember(message)

    @contextmanager
    def taking(self, channel: str, message: int) -> Generator[None]:
        """Handle and acknowledge a message beside others of its channel; the mark stays before every unfinished one.

        So a process that ends before 👀 reads the message again at its next start, knows it, and adds 👀.  One that leaves
        cuts off what it is taking in: that stays unfinished.
        """
        self._coming.setdefault(channel, set()).add(message)
        try:
            yield
            self._ready[channel] = max(message, self._ready.get(channel, 0))
            self._remember(message)
        except asyncio.CancelledError:
            raise
        except BaseException:
            self._finished(channel, message)
            raise
        else:
            self._finished(channel, message)

    def opened(self) -> None:
        """Open a gap in every channel, because messages may have been missed."""
        if self._whole and self._marks:
            self._before = max(self._marks.values())
        self._open, self._whole = True, False
        self._closed.clear()

    def is_closed(self, channel: str) -> bool:
        """Whether nothing is missing in the channel."""
        return not self._open or channel in self._closed

    def closed(self, channel: str, through: int) -> None:
        """Close the channel's gap: everything up to ``through`` was handled, and what arrived live after it."""
        self._closed.add(channel)
        self._move(channel, max(through, self._beyond.pop(channel, 0)))

    def all_closed(self) -> None:
        """Note that each channel's gap is closed or has a mark to continue from, so that later channels count as new."""
        self._whole = True

    async def run(self) -> None:
        """Write moved marks until cancelled; then once more."""
        try:
            while True:
                await self._moved.wait()
                await asyncio.sleep(WRITE_SECONDS)
                await self.write()
        finally:
            await self.write()

    async def write(self) -> None:
        """Write all moved marks at once."""
        self._moved.clear()
        moved, self._unwritten = self._unwritten, set()
        facts = [self._store.set_fact(_fact(channel), str(self._marks[channel])) for channel in moved]
        if self._whole and self._marks:
            facts.append(self._store.set_fact(LATEST, str(max(self._marks.values()))))
        reach("watermark.write.before")
        problems = await asyncio.gather(*facts, return_exceptions=True)
        reach("watermark.write.after")
        for problem in problems:
            if isinstance(problem, StoreError):
                log.warning("how far channels were read could not be written: %s", problem)
                self._unwritten |= moved
            elif isinstance(problem, BaseException):
                raise problem

    def _remember(self, message: int) -> None:
        self._known[message] = None
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def _reach(self, channel: str, message: int) -> None:
        if self._open and channel not in self._closed:
            self._beyond[channel] = max(message, self._beyond.get(channel, 0))
        else:
            self._move(channel, message)

    def _finished(self, channel: str, message: int) -> None:
        coming = self._coming[channel]
        coming.discard(message)
        reached = self._ready.get(channel, 0)
        if coming:
            reached = min(reached, min(coming) - 1)
        else:
            del self._coming[channel]
            self._ready.pop(channel, None)
        if reached:
            self._reach(channel, reached)

    def _move(self, channel: str, message: int) -> None:
        if coming := self._coming.get(channel):
            self._ready[channel] = max(message, self._ready.get(channel, 0))
            message = min(message, min(coming) - 1)
        if message > self._marks.get(channel, 0):
            self._marks[channel] = message
            self._unwritten.add(channel)
            self._moved.set()


class Lanes:
    """One lock a channel: its messages are handled one after the other, in the order they were sent."""

    def __init__(self) -> None:
        self._lanes: dict[str, tuple[asyncio.Lock, int]] = {}

    @property
    def lanes(self) -> int:
        """The number of locks in use."""
        return len(self._lanes)

    @asynccontextmanager
    async def lane(self, channel: str) -> AsyncGenerator[None]:
        """Hold the channel's lock, first come, first served."""
        lock, users = self._lanes.get(channel, (asyncio.Lock(), 0))
        self._lanes[channel] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            lock, users = self._lanes[channel]
            if users == 1:
                del self._lanes[channel]
            else:
                self._lanes[channel] = (lock, users - 1)


def _fact(channel: str) -> str:
    return f"read: {channel}"
