"""The pipeline after an execution: ``reflexion`` scores it and learns from it, then the steps run in order.

``bot/app/app.py`` lists the steps: announce lessons on the card, store the label, retry a failure, ask what was wrong.
A vote goes the same way. Whatever fails is repeated: after a while, by the next execution of the thread, at the next
start.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol
from weakref import WeakValueDictionary

from agentic.core.events.execution_events import Evaluated, Event, Person
from agentic.ports.errors import AgenticError
from agentic.ports.runtime import Clock, Lease, Store
from bot.sessions import learning
from bot.sessions.learning import Feedback, Learning, learn, still_owed
from bot.sessions.lease import ThreadTaken, give_back, take, while_held
from bot.sessions.start import LessonSource
from reflexion.evaluation.outcome_stream import owes
from reflexion.retrieval.selection import Choice

VoteWay = Literal["up", "down", "none"]
TURN_PAUSE = 0.5
"""Seconds between looks whether another process has done with an execution; it tells nobody."""

log = logging.getLogger(__name__)


def turn_of(execution: str) -> str:
    """The name of the lease under which an execution is learned from."""
    return f"learning: {execution}"


class Learner(Learning, Feedback, LessonSource, Protocol):
    """Scoring and learning: ``reflexion``."""


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """An execution that was scored and learned from; ``by`` is None where no vote caused it.

    ``again`` runs the whole pipeline once more.
    """

    execution: str
    evaluated: Evaluated
    again: Callable[[], Awaitable[object]]
    by: Person | None = None
    why: str = ""
    """What the person says was wrong."""


class AfterRunStep:
    """One step of the pipeline; this base does nothing."""

    async def after(self, judged: JudgedRun) -> None:
        """Run the step. An exception keeps the later steps from running now."""

    async def next_task(self, thread: str) -> None:
        """The next task of the thread begins: stop waiting for people."""

    async def close(self) -> None:
        """Stop, because the process ends."""


class AfterRunPipeline:
    """Learns through ``learner``, then runs the steps; unfinished work is repeated."""

    def __init__(
        self, learner: Learner, store: Store, clock: Clock, steps: Sequence[AfterRunStep], owner: str = ""
    ) -> None:
        self._learner, self._store, self._clock, self._steps = learner, store, clock, steps
        self._owner = owner
        """The name of this process where others learn beside it: they take turns with each execution; '' where it is alone."""
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._running: Counter[str] = Counter()
        """Executions from which something is being learned."""
        self._later: dict[str, asyncio.Task[None]] = {}
        """Executions that are gone over again in a while."""
        self._now: set[asyncio.Task[None]] = set()
        self._closed = False

    async def after(self, execution: str) -> Evaluated:
        """Score an ended execution, learn from it, and run the steps."""

        async def act() -> Evaluated:
            evaluated = await self._learner.after(execution)
            await self._take(JudgedRun(execution, evaluated, lambda: self.after(execution)))
            return evaluated

        with self._at_work(execution):
            return await self._in_turn(execution, act)

    async def feedback(
        self, execution: str, person: Person, vote: VoteWay, target: str = "", why: str = ""
    ) -> Evaluated:
        """Record a vote or a correction, learn from it, and run the steps."""

        async def act() -> Evaluated:
            evaluated = await self._learner.feedback(execution, person, vote, target, why)
            await self._take(JudgedRun(execution, evaluated, lambda: self.after(execution), person, why))
            return evaluated

        with self._at_work(execution):
            return await self._in_turn(execution, act)

    async def _take(self, judged: JudgedRun) -> None:
        for step in self._steps:
            await step.after(judged)

    async def lessons_for(self, thread: str, guild: str, task: str, *, execution: str = "", model: str = "") -> Choice:
        """Return the lessons for the next execution of a thread, once learning allows."""
        await self.known(thread)
        return await self._learner.lessons_for(thread, guild, task, execution=execution, model=model)

    async def known(self, thread: str) -> None:
        """Wait until the next execution of a thread can know what is being learned in it.

        Learning that a crash or a failing store left undone is done now.
        """
        for step in self._steps:
            await step.next_task(thread)
        await asyncio.sleep(0)  # what was begun in this moment is running then
        try:
            for execution in await still_owed(self._store, thread):
                if not self._running[execution]:
                    task = asyncio.create_task(learn(self, execution), name=f"learning from {execution}")
                    self._now.add(task)
                    task.add_done_callback(self._now.discard)
            await self._learner.known(thread)
        except AgenticError as error:
            log.warning("what is to be learned in thread %s cannot be read: %s", thread, error)

    async def close(self) -> None:
        """Leave what is unfinished to the next process."""
        self._closed = True
        for step in self._steps:
            await step.close()
        tasks = [*self._later.values(), *self._now]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _in_turn(self, execution: str, act: Callable[[], Coroutine[None, None, Evaluated]]) -> Evaluated:
        """Learn from an execution while no other process does, however long it takes. Raises ``StoreError``."""
        if not self._owner:
            return await act()
        async with self._turns.setdefault(execution, asyncio.Lock()):  # the lease is one for all of this process
            lease = await self._turn(execution)
            try:
                return await while_held(self._store, self._clock, lease, act())
            finally:
                await give_back(self._store, lease)

    async def _turn(self, execution: str) -> Lease:
        while True:
            try:
                return await take(self._store, self._clock, turn_of(execution), self._owner, patient=False)
            except ThreadTaken:
                await self._clock.sleep(TURN_PAUSE)

    @contextlib.contextmanager
    def _at_work(self, execution: str) -> Generator[None]:
        """Mark that an execution is being learned from; what becomes due in this context is repeated at its end."""
        self._running[execution] += 1
        try:
            yield
        finally:
            self._running[execution] -= 1
            if not self._closed and execution not in self._later:
                task = asyncio.create_task(self._go_over(execution), name=f"what {execution} still has to teach")
                self._later[execution] = task
                task.add_done_callback(lambda _: self._later.pop(execution, None))

    async def _go_over(self, execution: str) -> None:
        for wait in learning.AGAIN_SECONDS:
            try:
                if not await owes(self._store, execution, await outcome_of(self._store, execution)):
                    return
            except AgenticError as error:
                log.warning("what %s still has to teach cannot be read: %s", execution, error)
            await asyncio.sleep(wait)
            await learn(self, execution)


async def outcome_of(store: Store, execution: str) -> list[Event]:
    """Return the events after an execution's end. Raises ``StoreError``."""
    return [envelope.event for envelope in await store.read_outcome(execution)]
