"""Work that goes through many files, in a thread beside the loop, so that the loop always answers a kill and a beat.

One piece of work after the other, each with what is to be done with its result; that is called by the loop.
"""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

from ..event_loop import Reactor

T = TypeVar("T")
SWITCH_SECONDS = 0.0005
"""So long at most the loop waits for a thread that computes, each time that it comes back from the kernel; not 5 ms.

A kill reads the process table again and again, each file of it by itself.
"""


class Walks:
    """A thread, for as long as the supervisor lives."""

    def __init__(self, reactor: Reactor, name: str) -> None:
        sys.setswitchinterval(SWITCH_SECONDS)
        self._reactor = reactor
        self._queue: queue.SimpleQueue[Callable[[], Callable[[], None]]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def do(self, work: Callable[[], T], done: Callable[[T], None]) -> None:
        """Call ``done`` in the loop with what ``work`` returned in the thread; a fault of it is one of the loop's."""

        def piece() -> Callable[[], None]:
            result = work()
            return lambda: done(result)

        self._queue.put(piece)

    def _run(self) -> None:
        while True:
            piece = self._queue.get()
            try:
                then = piece()
            except BaseException as error:  # noqa: BLE001 - raised where everything else is
                then = _raising(error)
            self._reactor.soon(then)


def _raising(error: BaseException) -> Callable[[], None]:
    def raise_it() -> None:
        raise error

    return raise_it
