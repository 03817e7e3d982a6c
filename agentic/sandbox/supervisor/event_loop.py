"""One loop over descriptors, timers, ended children and what threads found.

Descriptors come before timers, so a beat that waits counts.
"""

from __future__ import annotations

import contextlib
import heapq
import os
import selectors
import signal
import time
from collections import deque
from collections.abc import Callable
from types import FrameType


def ignored(_number: int, _frame: FrameType | None) -> None:
    """A signal handler that does nothing (a handler and not SIG_IGN, which commands would inherit)."""


class Timer:
    """A call to be made later; ``cancel`` takes it back."""

    def __init__(self, at: float, call: Callable[[], None]) -> None:
        self.at = at
        self.call: Callable[[], None] | None = call

    def __lt__(self, other: Timer) -> bool:
        return self.at < other.at

    def cancel(self) -> None:
        """Never call it."""
        self.call = None


class Reactor:
    """Calls back when a descriptor is ready, a timer is due, or children ended."""

    def __init__(self, on_children: Callable[[], None]) -> None:
        self._selector = selectors.DefaultSelector()
        self._timers: list[Timer] = []
        self._on_children = on_children
        self._wake, self._sink = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._soon: deque[Callable[[], None]] = deque()
        signal.set_wakeup_fd(self._sink, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, ignored)
        self.watch(self._wake, self._woken)

    def watch(self, descriptor: int, call: Callable[[], None]) -> None:
        """Call when the descriptor can be read."""
        self._selector.register(descriptor, selectors.EVENT_READ, call)

    def watch_writable(self, descriptor: int, call: Callable[[], None]) -> None:
        """Call when the descriptor can be written."""
        with contextlib.suppress(KeyError):
            self._selector.register(descriptor, selectors.EVENT_WRITE, call)

    def forget(self, descriptor: int) -> None:
        """Watch it no longer."""
        with contextlib.suppress(KeyError):
            self._selector.unregister(descriptor)

    def later(self, seconds: float, call: Callable[[], None]) -> Timer:
        """Call once, so many seconds from now."""
        timer = Timer(time.monotonic() + seconds, call)
        heapq.heappush(self._timers, timer)
        return timer

    def soon(self, call: Callable[[], None]) -> None:
        """Call once, as soon as the loop can; from any thread."""
        self._soon.append(call)
        with contextlib.suppress(BlockingIOError):  # full: it wakes anyway
            os.write(self._sink, b"\0")

    def run(self) -> None:
        """Loop for ever."""
        while True:
            for key, _ in self._selector.select(self._next()):
                key.data()
            self._run_timers()

    def _next(self) -> float | None:
        while self._timers and self._timers[0].call is None:
            heapq.heappop(self._timers)
        return max(0.0, self._timers[0].at - time.monotonic()) if self._timers else None

    def _run_timers(self) -> None:
        now = time.monotonic()
        while self._timers and self._timers[0].at <= now:
            call = heapq.heappop(self._timers).call
            if call is not None:
                call()

    def _woken(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake, 4096)
        self._on_children()
        while self._soon:
            self._soon.popleft()()
