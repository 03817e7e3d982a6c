"""Outgoing frames of each client, in order; they can be held, delayed, cut off, and waited for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeAlias

from bot.local_discord.model.json_fields import JsonObject

FLUSH_SECONDS = 5.0
PATIENCE = 20.0
"""Seconds a heartbeat may be late."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Send nothing for a number of seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Cut:
    """Reset the connection."""


# A number closes the connection with that code.
Frame: TypeAlias = "JsonObject | int | Pause | Cut"


class Queue:
    """The frames that wait on one connection."""

    def __init__(self, outgoing: Outgoing) -> None:
        self._frames: asyncio.Queue[Frame] = asyncio.Queue()
        self._outgoing = outgoing

    def put(self, frame: Frame) -> None:
        """Add a frame; never waits."""
        self._frames.put_nowait(frame)

    async def next(self) -> Frame:
        """Return the next frame that is due; call `done` afterwards."""
        while True:
            frame = await self._frames.get()
            await self._outgoing.open.wait()
            if not isinstance(frame, Pause):
                return frame
            await asyncio.sleep(frame.seconds)
            self.done()

    def done(self) -> None:
        """Note that the frame was sent."""
        self._frames.task_done()

    async def flushed(self) -> None:
        """Wait until everything was sent, for a limited time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_SECONDS):
                await self._frames.join()


class Outgoing:
    """The queues of all connections."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.open.set()
        self._queues: set[Queue] = set()
        self._holds = 0

    @contextlib.contextmanager
    def queue(self) -> Generator[Queue]:
        """Provide the queue of a connection while it lasts."""
        one = Queue(self)
        self._queues.add(one)
        try:
            yield one
        finally:
            self._queues.discard(one)

    async def flushed(self) -> None:
        """Wait until every frame of every connection was sent."""
        await asyncio.gather(*(one.flushed() for one in self._queues))

    @contextlib.contextmanager
    def held(self, seconds: float) -> Generator[None]:
        """Send nothing during this context, nor for so many seconds after it."""
        self._holds += 1
        self.open.clear()
        try:
            yield
        finally:
            asyncio.get_running_loop().call_later(seconds, self._release)

    def _release(self) -> None:
        self._holds -= 1
        if not self._holds:
            self.open.set()
