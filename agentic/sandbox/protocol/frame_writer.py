"""The bytes to a supervisor: whole frames, in order, from the event loop and from the heartbeat's thread.

Both write to the descriptor themselves and neither waits for it: what it does not take stands in a queue, behind which
the next frame is put, so that no frame comes into the middle of another.  A lock is held for as long as that takes and no
longer.  Whoever comes next writes on, the heartbeat too: while the loop stands, what it had queued is the sign of life.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections import deque

LONG = 64 * 1024
"""Bytes in the queue above which ``drain`` waits."""


class FrameOutput:
    """Owns a descriptor; made and closed in the event loop."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._queue: deque[memoryview] = deque()
        self._size = 0
        self._broken: OSError | None = None
        self._closed = self._watching = False
        self._short = asyncio.Event()
        self._short.set()

    def write(self, frame: bytes) -> None:
        """Send a frame, now or as soon as it is taken.  Raises ``OSError`` where nobody reads any more."""
        with self._lock:
            if self._closed:
                raise BrokenPipeError("it was closed")
            self._put(frame)
        self._watch()
        if self._broken is not None:
            raise self._broken

    async def drain(self) -> None:
        """Wait until the queue is short.  Raises ``OSError`` where nobody reads any more."""
        await self._short.wait()
        if self._broken is not None:
            raise self._broken

    def beat(self, frame: bytes) -> None:
        """Show that the owner lives, from any thread: by what waits to be written, or by this frame where nothing does.

        A pipe that is full or broken is passed over: whoever reads from the other end will hear of it.
        """
        with self._lock:
            if not self._closed and self._queue:
                self._flush()
            elif not self._closed:
                self._put(frame)

    def close(self) -> None:
        """Let go of the descriptor; what still waits is not sent."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._queue.clear()
            self._stop_watching()
            os.close(self._descriptor)
        self._short.set()

    # --- while the lock is held ---

    def _put(self, frame: bytes) -> None:
        self._queue.append(memoryview(frame))
        self._size += len(frame)
        self._flush()

    def _flush(self) -> None:
        try:
            while self._queue:
                piece = self._queue[0]
                written = os.write(self._descriptor, piece)
                self._size -= written
                if written == len(piece):
                    self._queue.popleft()
                else:
                    self._queue[0] = piece[written:]
        except BlockingIOError:
            return
        except OSError as broken:
            self._broken = broken
            self._queue.clear()
            self._size = 0

    # --- in the loop ---

    def _writable(self) -> None:
        with self._lock:
            self._flush()
        self._watch()

    def _watch(self) -> None:
        """Be called when it takes more, while something waits."""
        if self._queue and not self._watching:
            self._watching = True
            self._loop.add_writer(self._descriptor, self._writable)
        elif not self._queue:
            self._stop_watching()
        if self._size > LONG:
            self._short.clear()
        else:
            self._short.set()

    def _stop_watching(self) -> None:
        if self._watching:
            self._watching = False
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.remove_writer(self._descriptor)
