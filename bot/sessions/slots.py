"""Slots: how many executions run at once, and which gets the next one.

A thread whose execution has ended asks anew for its next one, so a busy thread never starves the others. An execution
that waits for a person gives its slot away, and takes it back without waiting once the person has answered: for a
moment there may be a few more than the limit, but nobody waits behind somebody who is asleep.

Slots go by server, and within a server by person: first to whoever has the fewest running, then to whoever has waited
longest since their last slot, then to the oldest task. Whoever was passed over ``PATIENCE`` times is next, so that
nobody waits for ever behind people whose tasks are short.

Under overload, new threads go before later turns. Five hundred people may write in the same second, and each new
thread would otherwise share the processor with every later turn of all the others. A request that is not a thread's
first waits while threads are beginning, but only as long as the event loop itself is late, and never longer than
``AT_MOST``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from agentic.core.state.conversation import Prompt
from agentic.ports.runtime import Answer, LanguageModel, Meter

AT_MOST = 3.0
"""Seconds a request waits at most."""
LATE = 0.02
"""Seconds one pass of the event loop takes when it counts as late."""
LONGEST_NAP = 0.25


class Courtesy:
    """The threads that are beginning: they have work, and no request to a model yet."""

    def __init__(self) -> None:
        self._beginning: set[str] = set()

    def begins(self, thread: str) -> None:
        """Note that the thread was given work."""
        self._beginning.add(thread)

    def began(self, thread: str) -> None:
        """Note that the thread's first request was sent, or that there will be none."""
        self._beginning.discard(thread)

    async def give_way(self) -> None:
        """Wait while threads begin and the event loop is late."""
        loop = asyncio.get_running_loop()
        until = loop.time() + AT_MOST
        while self._beginning and (now := loop.time()) < until:
            await asyncio.sleep(0)
            late = loop.time() - now
            if late < LATE:
                return
            await asyncio.sleep(min(4 * late, LONGEST_NAP))


class Courteous:
    """A ``LanguageModel`` that lets beginning threads go first."""

    def __init__(self, model: LanguageModel, courtesy: Courtesy) -> None:
        self._model, self._courtesy = model, courtesy

    async def answer(
        self,
        model: str,
        prompt: Prompt,
        *,
        max_tokens: int,
        timeout: float,
        on_text: Callable[[str], None] | None = None,
        meter: Meter | None = None,
    ) -> Answer:
        """Ask the inner model, a little later where other threads are beginning."""
        if any(message.role == "assistant" for message in prompt.messages):
            await self._courtesy.give_way()
        return await self._model.answer(
            model, prompt, max_tokens=max_tokens, timeout=timeout, on_text=on_text, meter=meter
        )

    def price(self, model: str, tokens_in: int, tokens_out: int) -> float | None:
        """Return the inner model's price."""
        return self._model.price(model, tokens_in, tokens_out)

    async def close(self) -> None:
        """Do nothing: the inner model is closed by its owner."""


PATIENCE = 10

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """An execution that wants a slot: who asked in which server, and how many slots had been given when it asked."""

    execution: str
    server: str = ""
    person: str = ""
    asked: int = 0


def next_of(waiting: Sequence[Task], running: Collection[Task], last: Mapping[Key, int], turns: int) -> Task:
    """Choose the task that gets the next slot.

    ``waiting`` is in the order of asking, and not empty; ``last`` holds, for a server ``(server,)`` and a person in
    it ``(server, person)``, the number of the last slot they got; ``turns`` counts all slots given so far.
    """
    for key in (_server, _person):
        waiting = _of_first(key, waiting, running, last, turns)
    return waiting[0]


def order_of(waiting: Sequence[Task], running: Collection[Task], last: Mapping[Key, int], turns: int) -> list[Task]:
    """Return the order in which the tasks get slots if no other task comes."""
    left, taken, known, order = list(waiting), list(running), dict(last), list[Task]()
    while left:
        task = next_of(left, taken, known, turns)
        turns += 1
        known |= dict.fromkeys((_server(task), _person(task)), turns)
        left.remove(task)
        taken.append(task)
        order.append(task)
    return order


def _server(task: Task) -> Key:
    return (task.server,)


def _person(task: Task) -> Key:
    return (task.server, task.person)


def _of_first(
    key: Callable[[Task], Key], waiting: Sequence[Task], running: Collection[Task], last: Mapping[Key, int], turns: int
) -> list[Task]:
    """Return the tasks of the server or person that is next."""
    groups: dict[Key, list[Task]] = {}
    for task in waiting:
        groups.setdefault(key(task), []).append(task)
    busy = [key(task) for task in running]

    def rank(one: Key) -> tuple[bool, int, int]:
        since = max(last.get(one, 0), groups[one][0].asked)
        impatient = turns - since >= PATIENCE
        return (not impatient, 0 if impatient else busy.count(one), since)

    return groups[min(groups, key=rank)]


class Slots:
    """At most ``limit`` holders of slots; ``next_of`` chooses the next one."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._line: dict[str, tuple[Task, asyncio.Event]] = {}
        self._working: dict[str, Task] = {}
        self._aside: dict[str, Task] = {}
        self._turns = 0
        self._last: dict[Key, int] = {}

    @asynccontextmanager
    async def slot(
        self, execution: str, server: str = "", person: str = "", *, hurried: bool = False, aside: bool = False
    ) -> AsyncGenerator[None]:
        """Hold a slot for an execution, which ``person`` asked for in ``server``, once it is its turn.

        ``hurried``: the execution was told to stop, so it does not wait. ``aside``: it waits for a person, so it needs
        no slot before the answer.
        """
        turn = asyncio.Event()
        self._line[execution] = Task(execution, server, person, self._turns), turn
        if hurried or aside:
            self._enter(execution)
        if aside:
            self.set_aside(execution)
        self._admit()
        try:
            await turn.wait()
            yield
        finally:
            self._line.pop(execution, None)
            self._working.pop(execution, None)
            self._aside.pop(execution, None)
            self._admit()

    def position(self, execution: str) -> int:
        """Return the execution's place in the queue, from 1; 0 if it holds a slot or wants none."""
        if execution not in self._line:
            return 0
        order = order_of(self._waiting, self._working.values(), self._last, self._turns)
        return [task.execution for task in order].index(execution) + 1

    def hurry(self, execution: str) -> None:
        """Let a waiting execution through at once, because it was told to stop."""
        if execution in self._line:
            self._enter(execution)

    def set_aside(self, execution: str) -> None:
        """Give the slot away while the execution waits for a person."""
        if execution in self._working:
            self._aside[execution] = self._working.pop(execution)
            self._admit()

    def take_back(self, execution: str) -> None:
        """Hold the slot again, because the person has answered."""
        if execution in self._aside:
            self._working[execution] = self._aside.pop(execution)

    @property
    def _waiting(self) -> list[Task]:
        return [task for task, _ in self._line.values()]

    def _admit(self) -> None:
        while self._line and len(self._working) < self._limit:
            task = next_of(self._waiting, self._working.values(), self._last, self._turns)
            self._turns += 1
            self._last |= dict.fromkeys(((task.server,), (task.server, task.person)), self._turns)
            self._enter(task.execution)
        if not self._line:
            self._last.clear()  # who asks later has waited since then

    def _enter(self, execution: str) -> None:
        task, turn = self._line.pop(execution)
        self._working[execution] = task
        turn.set()
