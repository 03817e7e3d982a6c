"""How long the event loop lets others wait: a thread that asks it again and again, and says where it stood.

Everybody is served by one loop, so whatever stands on it holds up every thread of Discord.  A stall is named in the log
with the loop's stack as it was in the middle of it; how long the longest of the last hour was is told by `status`.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
import traceback
from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Self

TICK = 0.05
"""Seconds between two questions to the loop."""
LATE_SECONDS = 0.25
FOR_GOOD_SECONDS = 5.0
"""A stall that has lasted so long is reported before it is over."""
LOUD_SECONDS, STARTING_SECONDS = 1.0, 30.0
"""A shorter stall, or one while a start still loads what it needs, is of interest only to whoever looks for it."""
REPORT_EVERY = 60.0
MINUTE, HOUR = 60.0, 3600.0
FRAMES = 16
WAITING = ("threading.py", "concurrent/futures/thread.py", "sqlite/writer.py", "asyncio/unix_events.py")
"""Where threads are that wait for something to do."""

log = logging.getLogger(__name__)


class Watchdog:
    """Watches the loop that it is entered in, until it is left."""

    def __init__(self, report_every: float = REPORT_EVERY) -> None:
        self._loop = asyncio.get_running_loop()
        self._watched = threading.get_ident()
        self.report_every = report_every
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._asked: float | None = None
        self._stack = ""
        self._told = False
        """The stall that goes on now is in the log."""
        self._entered = time.monotonic()
        self._reported = -report_every
        self._untold = 0
        self._longest: deque[tuple[float, float]] = deque()
        """(beginning of a minute, longest stall in it) of the last hour."""
        self.lags: list[tuple[float, float]] | None = None
        """Where somebody measures: when each question was asked, and how long it waited."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, _kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join(1.0)

    def longest(self, within: float = HOUR) -> float:
        """Seconds of the longest stall of the last hour, or of fewer seconds, to the minute."""
        since = time.monotonic() - within
        return max((lag for at, lag in self._longest.copy() if at + MINUTE > since), default=0.0)

    # --- in the loop ---

    def _answer(self) -> None:
        asked, self._asked = self._asked, None
        if asked is not None:
            self._note(time.monotonic() - asked)

    # --- in either ---

    def _note(self, lag: float) -> None:
        """A question was answered."""
        now = time.monotonic()
        if self.lags is not None:
            self.lags.append((now - lag, lag))
        minute = now - now % MINUTE
        if self._longest and self._longest[-1][0] == minute:
            self._longest[-1] = (minute, max(lag, self._longest[-1][1]))
        else:
            self._longest.append((minute, lag))
            while self._longest[0][0] + MINUTE < now - HOUR:
                self._longest.popleft()
        if lag > LATE_SECONDS and not self._told:
            self._report(lag, f"stood still for {lag:.2f} s")
        self._stack, self._told = "", False

    def _report(self, lag: float, what: str) -> None:
        now = time.monotonic()
        if now - self._reported < self.report_every:
            self._untold += 1
            return
        more = f" ({self._untold} more were not reported since the last time)" if self._untold else ""
        self._reported, self._untold = now, 0
        loud = lag >= LOUD_SECONDS and now - self._entered > STARTING_SECONDS
        level = logging.WARNING if loud else logging.INFO
        log.log(level, "the event loop %s%s; it was here:\n%s", what, more, self._stack or "(nobody saw where)")

    # --- in the thread ---

    def _watch(self) -> None:
        woken = time.monotonic()
        while not self._ended.wait(TICK):
            before, woken = woken, time.monotonic()
            asleep, asked = woken - before - TICK, self._asked
            if asked is None:
                if asleep > LATE_SECONDS:  # a computation that lets no thread of the process run, or a frozen process
                    self._stack = self._stack_of_loop()
                self._asked = woken - max(asleep, 0.0)
                with suppress(RuntimeError):  # the loop is closed
                    self._loop.call_soon_threadsafe(self._answer)
                continue
            if woken - asked > LATE_SECONDS and not self._stack:
                self._stack = self._stack_of_loop()
            if woken - asked > FOR_GOOD_SECONDS and not self._told:
                self._told = True
                self._report(woken - asked, f"stands still, for {woken - asked:.0f} s now")

    def _stack_of_loop(self) -> str:
        """Where the loop is, and where other threads compute, which may be what it waits for."""
        frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage]  # there is no other way to see them
        frame = frames.pop(self._watched, None)
        stack = "".join(traceback.format_stack(frame)[-FRAMES:]).rstrip() if frame is not None else ""
        names = {thread.ident: thread.name for thread in threading.enumerate() if thread is not self._thread}
        for number, frame in frames.items():
            code = frame.f_code
            if number in names and not code.co_filename.endswith(WAITING):
                stack += f"\n  beside it, thread {names[number]}: {code.co_filename}:{frame.f_lineno} in {code.co_name}"
        return stack
