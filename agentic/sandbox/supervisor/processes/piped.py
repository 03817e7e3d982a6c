"""Commands whose input and output are the owner's: bytes in, bytes out, for as long as they run.

What the owner does not read yet waits in the command's own pipe, so a flood is the command's wait and takes no memory here.
What a command does not read waits here, up to a bound; above it the command is ended.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

from ..event_loop import Reactor
from ..frames import QueuedWriter
from .output import Collector

READ = 1 << 16
CROWDED = 1 << 20
"""Bytes waiting for the owner above which a command's output is left in its pipe for now."""
LATER = 0.01
MOST_WAITING = 32 << 20
"""Bytes for a command that does not read."""
LAST_WORDS = 8 << 20


class Pipes:
    """Both pipes of one command, and what waits to go in."""

    def __init__(self, reactor: Reactor, put: Callable[[bytes], None], waiting: Callable[[], int]) -> None:
        self.theirs_in, into = os.pipe2(os.O_CLOEXEC)
        self._out, self.theirs_out = os.pipe2(os.O_CLOEXEC)
        for own in (into, self._out):
            os.set_blocking(own, False)
        self._into: QueuedWriter | None = QueuedWriter(into)
        """None once it reads no more."""
        self._reactor = reactor
        self._put = put
        self._waiting = waiting
        self._reads = True
        reactor.watch(self._out, self._readable)

    def feed(self, data: bytes) -> bool:
        """Give it bytes, now or as soon as it reads; False where more wait than may."""
        if self._into is not None:
            self._into.put(data)
            self._flush()
        return self._into is None or self._into.waiting <= MOST_WAITING

    def close(self) -> None:
        """Pass on what it still wrote, and let go of the pipes; safe to call twice."""
        if self._reads:
            self._drain()
        self._stop_feeding()
        self._stop_reading()

    def _flush(self) -> None:
        if self._into is None:
            return
        try:
            if self._into.flush():
                self._reactor.forget(self._into.descriptor)
            else:
                self._reactor.watch_writable(self._into.descriptor, self._flush)
        except OSError:
            self._stop_feeding()  # it reads no more

    def _stop_feeding(self) -> None:
        if self._into is not None:
            self._reactor.forget(self._into.descriptor)
            os.close(self._into.descriptor)
            self._into = None

    def _readable(self) -> None:
        if not self._reads:
            return
        if self._waiting() >= CROWDED:
            self._reactor.forget(self._out)
            self._reactor.later(LATER, self._read_again)
            return
        with contextlib.suppress(BlockingIOError):
            data = os.read(self._out, READ)
            if data:
                self._put(data)
            else:
                self._stop_reading()

    def _read_again(self) -> None:
        if self._reads:
            self._reactor.watch(self._out, self._readable)

    def _drain(self) -> None:
        left = LAST_WORDS
        with contextlib.suppress(BlockingIOError):
            while left > 0 and (data := os.read(self._out, READ)):
                left -= len(data)
                self._put(data)

    def _stop_reading(self) -> None:
        if self._reads:
            self._reads = False
            self._reactor.forget(self._out)
            os.close(self._out)


def last_words(collector: Collector) -> bytes:
    """The end of what a command wrote to its standard error."""
    return collector.shown()[-2_000:]
