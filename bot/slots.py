"""How many executions run at once: a bounded number of slots, given out in turns (``bot/turns.py``).

A thread that has had its slot asks anew for its next execution, so a busy thread never starves the others.  An execution
that waits for a person gives its slot away, and takes it back without waiting when the person has answered: for a moment
there may be a few more than the bound, but nobody waits behind somebody who is asleep.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from bot.turns import Key, Task, next_of, order_of


class Slots:
    """At most ``limit`` holders; the next one is whose turn it is."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._line: dict[str, tuple[Task, asyncio.Event]] = {}
        self._working: dict[str, Task] = {}
        self._aside: dict[str, Task] = {}
        self._turns = 0
        self._last: dict[Key, int] = {}

    @asynccontextmanager
    async def slot(
        self, thread: str, server: str = "", person: str = "", *, hurried: bool = False, aside: bool = False
    ) -> AsyncGenerator[None]:
        """Hold a slot for ``thread``, for which ``person`` asked in ``server``, when it is its turn.

        ``hurried`` is one that was told to stop: it does not wait.  ``aside`` is one that waits for a person: it needs
        no slot before the answer.
        """
        turn = asyncio.Event()
        self._line[thread] = Task(thread, server, person, self._turns), turn
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
            self._working.pop(thread, None)
            self._aside.pop(thread, None)
            self._admit()

    def position(self, thread: str) -> int:
        """How many go before this thread if nothing else comes, and it: 0 if it holds a slot or wants none."""
        if thread not in self._line:
            return 0
        order = order_of(self._waiting, self._working.values(), self._last, self._turns)
        return [task.thread for task in order].index(thread) + 1

    def hurry(self, thread: str) -> None:
        """Let a waiting thread through at once, as one that was told to stop."""
        if thread in self._line:
            self._enter(thread)

    def set_aside(self, thread: str) -> None:
        """Give the slot away while the thread waits for a person."""
        if thread in self._working:
            self._aside[thread] = self._working.pop(thread)
            self._admit()

    def take_back(self, thread: str) -> None:
        """Hold the slot again: the person has answered."""
        if thread in self._aside:
            self._working[thread] = self._aside.pop(thread)

    @property
    def _waiting(self) -> list[Task]:
        return [task for task, _ in self._line.values()]

    def _admit(self) -> None:
        while self._line and len(self._working) < self._limit:
            task = next_of(self._waiting, self._working.values(), self._last, self._turns)
            self._turns += 1
            self._last |= dict.fromkeys(((task.server,), (task.server, task.person)), self._turns)
            self._enter(task.thread)
        if not self._line:
            self._last.clear()  # who asks later has waited since then

    def _enter(self, thread: str) -> None:
        task, turn = self._line.pop(thread)
        self._working[thread] = task
        turn.set()
