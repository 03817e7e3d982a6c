"""What follows the end of an execution: it is scored and learned from (``reflexion``), then the steps are taken in order.

``bot/app/app.py`` lists the steps: say on the card what was learned, keep how it came out as a label, try again what
failed, ask what was wrong.  A vote goes the same way.  Whatever goes wrong is gone over again: in a while, by the next
execution of the thread, with the next start.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from agentic.core.events.execution_events import Evaluated, Event, Person
from agentic.ports.errors import AgenticError
from agentic.ports.runtime import Store
from bot.sessions import learning
from bot.sessions.learning import Feedback, Learning, learn, still_owed
from bot.sessions.start import LessonSource
from reflexion.evaluation.outcome_stream import owes
from reflexion.retrieval.selection import Choice

VoteWay = Literal["up", "down", "none"]

log = logging.getLogger(__name__)


class Learner(Learning, Feedback, LessonSource, Protocol):
    """What scores and learns, and what is known of it: ``reflexion``."""


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """An execution that was scored and learned from; ``by`` is None where no vote caused it.

    ``again`` goes through everything once more.
    """

    execution: str
    evaluated: Evaluated
    again: Callable[[], Awaitable[object]]
    by: Person | None = None
    why: str = ""
    """What the person says was wrong."""


class AfterRunStep:
    """One of the things that follow; by itself it does nothing."""

    async def after(self, judged: JudgedRun) -> None:
        """Take the step.  What is raised keeps the later steps from being taken now."""

    async def next_task(self, thread: str) -> None:
        """The next task of a thread begins: wait for nobody any more."""

    async def close(self) -> None:
        """The process ends."""


class AfterRunPipeline:
    """Learns through ``learner``, then takes the steps; what is owed from an execution is gone over again."""

    def __init__(self, learner: Learner, store: Store, steps: Sequence[AfterRunStep]) -> None:
        self._learner, self._store, self._steps = learner, store, steps
        self._running: Counter[str] = Counter()
        """Executions from which something is being learned."""
        self._later: dict[str, asyncio.Task[None]] = {}
        """Executions that are gone over again in a while."""
        self._now: set[asyncio.Task[None]] = set()
        self._closed = False

    async def after(self, execution: str) -> Evaluated:
        """Score an execution that ended, learn from it, and take the steps."""
        with self._at_work(execution):
            evaluated = await self._learner.after(execution)
            await self._take(JudgedRun(execution, evaluated, lambda: self.after(execution)))
        return evaluated

    async def feedback(
        self, execution: str, person: Person, vote: VoteWay, target: str = "", why: str = ""
    ) -> Evaluated:
        """Take in a vote, or what was wrong, learn from it, and take the steps."""
        with self._at_work(execution):
            evaluated = await self._learner.feedback(execution, person, vote, target, why)
            await self._take(JudgedRun(execution, evaluated, lambda: self.after(execution), person, why))
        return evaluated

    async def _take(self, judged: JudgedRun) -> None:
        for step in self._steps:
            await step.after(judged)

    async def lessons_for(self, thread: str, guild: str, task: str, *, execution: str = "", model: str = "") -> Choice:
        """What the next execution of a thread is told, once that is known."""
        await self.known(thread)
        return await self._learner.lessons_for(thread, guild, task, execution=execution, model=model)

    async def known(self, thread: str) -> None:
        """Wait until the next execution of a thread can know what is being learned in it.

        What is owed, because the process died meanwhile or the lessons could not be kept, is learned now.
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

    @contextlib.contextmanager
    def _at_work(self, execution: str) -> Generator[None]:
        """To be held while something is learned from an execution; what is owed then is gone over again."""
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
    """What became of an execution after its end.  Raises ``StoreError``."""
    return [envelope.event for envelope in await store.read_outcome(execution)]
