"""How many executions run at once: a bounded number of slots, given out in the order they were asked for.

A thread that has had its slot goes to the end of the line for its next execution, so a busy thread never starves the
others.  An execution that waits for a person gives its slot away, and takes it back without waiting when the person
has answered: for a moment there may be a few more than the bound, but nobody waits behind somebody who is asleep.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class Slots:
    """At most ``limit`` holders, first come, first served."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._line: OrderedDict[str, asyncio.Event] = OrderedDict()
        self._working: set[str] = set()
        self._aside: set[str] = set()

    @asynccontextmanager
    async def slot(self, thread: str, *, hurried: bool = False, aside: bool = False) -> AsyncGenerator[None]:
        """Hold a slot for ``thread``, after all who asked before.

        ``hurried`` is one that was told to stop: it does not wait.  ``aside`` is one that waits for a person: it needs
        no slot before the answer.
        """
        turn = asyncio.Event()
        self._line[thread] = turn
        if hurried or aside:
            self._enter(thread)
        if aside:
            self.set_aside(thread)
        self._admit()
        try:
            await turn.wait()
            yield
        finally:
            self._line.pop(thread, None)
            self._working.discard(thread)
            self._aside.discard(thread)
            self._admit()

    def position(self, thread: str) -> int:
        """How many are before this thread and it: 0 if it holds a slot or wants none."""
        return list(self._line).index(thread) + 1 if thread in self._line else 0

    def hurry(self, thread: str) -> None:
        """Let a waiting thread through at once, as one that was told to stop."""
        if thread in self._line:
            self._enter(thread)

    def set_aside(self, thread: str) -> None:
        """Give the slot away while the thread waits for a person."""
        if thread in self._working:
            self._working.discard(thread)
            self._aside.add(thread)
            self._admit()

    def take_back(self, thread: str) -> None:
        """Hold the slot again: the person has answered."""
        if thread in self._aside:
            self._aside.discard(thread)
            self._working.add(thread)

    def _admit(self) -> None:
        while self._line and len(self._working) < self._limit:
            self._enter(next(iter(self._line)))

    def _enter(self, thread: str) -> None:
        self._working.add(thread)
        self._line.pop(thread).set()
