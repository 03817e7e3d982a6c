"""The frames that leave for one client, in order; they can be held up, slowed down, cut off, and waited for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeAlias

from bot.local_discord.model.json_fields import JsonObject

FLUSH_SECONDS = 5.0
PATIENCE = 20.0
"""So many seconds late may a heartbeat be."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing leaves for so long."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection is reset."""


# A number closes the connection with that code.
Frame: TypeAlias = "JsonObject | int | Pause | Cut"


class Queue:
    """What is to leave on one connection."""

    def __init__(self, outgoing: Outgoing) -> None:
        self._frames: asyncio.Queue[Frame] = asyncio.Queue()
        self._outgoing = outgoing

    def put(self, frame: Frame) -> None:
        """Add a frame; never waits."""
        self._frames.put_nowait(frame)

    async def next(self) -> Frame:
        """The next frame that is due; `done` has to follow."""
        while True:
            frame = await self._frames.get()
            await self._outgoing.open.wait()
            if not isinstance(frame, Pause):
                return frame
            await asyncio.sleep(frame.seconds)
            self.done()

    def done(self) -> None:
        """The frame has left."""
        self._frames.task_done()

    async def flushed(self) -> None:
        """Wait until everything has left, and not for ever."""
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
        """A queue for as long as its connection is there."""
        one = Queue(self)
        self._queues.add(one)
        try:
            yield one
        finally:
            self._queues.discard(one)

    async def flushed(self) -> None:
        """Wait until every frame of every connection has left."""
        await asyncio.gather(*(one.flushed() for one in self._queues))

    @contextlib.contextmanager
    def held(self, seconds: float) -> Generator[None]:
        """Nothing leaves meanwhile, nor for so many seconds after."""
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
