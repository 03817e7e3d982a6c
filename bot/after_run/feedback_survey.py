"""A person who says 👎 is asked what was wrong: once, with buttons and in their own words, and nobody has to answer.

The question stands in the outcome of the execution (``reflexion/reflection/trigger.py`` decides on it), and its
message in the outbox,
so that both survive a restart.  The reflection waits for the answer, but not for long, and not once the next task of the
thread begins: what is known then has to do.  An answer is a correction; one that comes later still reaches the reflection.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Generator
from dataclasses import field
from typing import Literal, Protocol

from agentic.core.events.execution_events import (
    Asked,
    DeadlinePassed,
    Evaluated,
    Event,
    OutboxItem,
    Person,
    Started,
)
from agentic.core.lazy_dataclass import dataclass
from agentic.ports.errors import AgenticError
from agentic.ports.runtime import Clock, Store
from bot.after_run.announce_lessons import Learner
from bot.after_run.auto_retry import Tell
from bot.messages.question_text import Standing
from bot.outbound.discord_api import (
    Desk,
    Gone,
    Held,
    Unfit,
)
from bot.rendering.discord_text import plain
from bot.sessions import after_run
from bot.sessions.after_run import learn, still_owed
from bot.sessions.start import Lessons
from reflexion.errors import ReflexionError
from reflexion.evaluation.outcome_stream import OutcomeStream, owes
from reflexion.evaluation.trajectory import read_trajectory
from reflexion.in_progress import PATIENCE
from reflexion.reflection.feedback_question import open_question
from reflexion.reflection.retry_policy import worth_offering
from reflexion.retrieval.selection import Choice

QUESTION = (
    "👎 **{question}** Press what fits, or say it in your own words: it goes into what I learn from this. "
    "No answer is fine too."
)
HEARD = "Thank you. “{why}” goes into what I learn from this, and the next attempt here knows it."
OFFER = " 🔄 tries the task again from its beginning, with that (attempt {attempt} of {most})."
log = logging.getLogger(__name__)


class Known(Lessons, Protocol):
    """What is known, and when what is being learned is."""

    async def known(self, thread: str) -> None:
        """Wait until the next execution of a thread can know what is being learned in it."""
        ...


class Learned(Learner, Known, Protocol):
    """What learns, and what is known of it."""


@dataclass(slots=True)
class _Wait:
    """A reflection that waits for what a person says."""

    thread: str
    over: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class Regrets:
    """Learns through another, asks what was wrong, and has the reflection written when that is known or the time is over."""

    def __init__(self, learner: Learner, known: Known, store: Store, clock: Clock, tell: Tell, build: str) -> None:
        self._learner, self._known, self._store, self._clock = learner, known, store, clock
        self._tell, self._build = tell, build
        self._waits: dict[str, _Wait] = {}
        self._running: Counter[str] = Counter()
        self._again: dict[str, asyncio.Task[None]] = {}
        self._now: set[asyncio.Task[None]] = set()
        """Executions from which something is being learned; from which something still has to be, in a while; and at once."""
        self._closed = False
        self._desk: Desk | None = None

    def through(self, desk: Desk) -> None:
        """Bring the message of a question up to date by this desk from now on."""
        self._desk = desk

    async def lessons_for(self, thread: str, guild: str, task: str, *, execution: str = "", model: str = "") -> Choice:
        """What the next execution of a thread is told, once that is known."""
        await self.known(thread)
        return await self._known.lessons_for(thread, guild, task, execution=execution, model=model)

    async def known(self, thread: str) -> None:
        """Wait until the next execution of a thread can know what is being learned in it; for people nobody waits any more.

        What is owed, because the process died meanwhile or the lessons could not be kept, is learned now.
        """
        waits = [wait for wait in self._waits.values() if wait.thread == thread]
        for wait in waits:
            wait.over.set()
        if tasks := [wait.task for wait in waits if wait.task is not None]:
            await asyncio.wait(tasks, timeout=PATIENCE)
        await asyncio.sleep(0)  # what was begun in this moment is running then
        try:
            for execution in await still_owed(self._store, thread):
                if not self._running[execution]:
                    task = asyncio.create_task(learn(self, execution), name=f"learning from {execution}")
                    self._now.add(task)
                    task.add_done_callback(self._now.discard)
            await self._known.known(thread)
        except AgenticError as error:
            log.warning("what is to be learned in thread %s cannot be read: %s", thread, error)

    async def after(self, execution: str) -> Evaluated:
        """Score an execution that ended and learn from it; where somebody is being asked, wait for them again."""
        with self._at_work(execution):
            evaluated = await self._learner.after(execution)
        await self._ask(execution, await self._outcome(execution))
        return evaluated

    async def feedback(
        self, execution: str, person: Person, vote: Literal["up", "down", "none"], target: str = "", why: str = ""
    ) -> Evaluated:
        """Take in a vote, or what was wrong, and learn from it."""
        with self._at_work(execution):
            evaluated = await self._learner.feedback(execution, person, vote, target, why)
        outcome = await self._outcome(execution)
        await self._ask(execution, outcome)
        if why:
            if wait := self._waits.get(execution):
                wait.over.set()
            await self._heard(execution, person, why, outcome)
        return evaluated

    async def close(self) -> None:
        """Wait for nobody any more; the next process does."""
        self._closed = True
        tasks = [wait.task for wait in self._waits.values() if wait.task is not None] + [
            *self._again.values(),
            *self._now,
        ]
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
            self._later(execution)

    def _later(self, execution: str) -> None:
        """Go over an execution again in a while, as long as anything is still to be learned from it."""
        if not self._closed and execution not in self._again:
            task = asyncio.create_task(self._go_over(execution), name=f"what {execution} still has to teach")
            self._again[execution] = task
            task.add_done_callback(lambda _: self._again.pop(execution, None))

    async def _go_over(self, execution: str) -> None:
        for wait in after_run.AGAIN_SECONDS:
            try:
                if not await owes(self._store, execution, await self._outcome(execution)):
                    return
            except AgenticError as error:
                log.warning("what %s still has to teach cannot be read: %s", execution, error)
            await asyncio.sleep(wait)
            await learn(self, execution)

    async def _outcome(self, execution: str) -> list[Event]:
        return [envelope.event for envelope in await self._store.read_outcome(execution)]

    async def _ask(self, execution: str, outcome: list[Event]) -> None:
        """Put the question, once, and wait for its answer where nothing else is waited for."""
        asked = next((event for event in outcome if isinstance(event, Asked)), None)
        row = await self._store.execution(execution) if asked is not None else None
        if asked is None or row is None:
            return
        text = QUESTION.format(question=asked.text)
        item = OutboxItem(
            key=regret_key(execution), thread=row.thread, execution=execution, sort="regret", text=text,
            options=asked.options, question=asked.question,
        )  # fmt: skip
        await self._tell(item)
        if open_question(outcome) and execution not in self._waits:
            wait = self._waits[execution] = _Wait(row.thread)
            wait.task = asyncio.create_task(self._wait(execution, asked, wait), name=f"what was wrong with {execution}")

    async def _wait(self, execution: str, asked: Asked, wait: _Wait) -> None:
        """Until it is answered, the next task begins, or the time is over; then the reflection is written."""
        left = (asked.expires - self._clock.now()).total_seconds() if asked.expires is not None else 0.0
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(left, 0.0)):
                    await wait.over.wait()
            if open_question(await self._outcome(execution)):
                stream = OutcomeStream(self._store, self._clock, execution, self._build)
                await stream.add(DeadlinePassed(ref=asked.question))
                with self._at_work(execution):
                    await self._learner.after(execution)
        except (AgenticError, ReflexionError) as error:
            log.warning("what was wrong with %s is gone over at the next start: %s", execution, error)
        except Exception:
            log.exception("a fault of ours while waiting for what was wrong with %s", execution)
        finally:
            self._waits.pop(execution, None)

    async def _heard(self, execution: str, person: Person, why: str, outcome: list[Event]) -> None:
        """Say that it was heard, and offer another attempt; then the question is closed."""
        envelopes = [envelope async for envelope in self._store.read(execution)]
        started = envelopes[0].event
        assert isinstance(started, Started)
        trajectory = read_trajectory(envelopes, await self._store.read_outcome(execution))
        offered = worth_offering(trajectory, started.policy)
        numbers = {"attempt": started.attempt + 1, "most": started.policy.trials_most}
        text = HEARD.format(why=plain(" ".join(why.split()), 200)) + (OFFER.format(**numbers) if offered else "")
        again = execution if offered else ""
        key = f"{execution}.heard"
        await self._tell(
            OutboxItem(key=key, thread=started.thread, execution=execution, sort="receipt", text=text, again=again)
        )
        if any(isinstance(event, Asked) for event in outcome):
            await self._close_question(execution, person, why)

    async def _close_question(self, execution: str, person: Person, why: str) -> None:
        row = await self._store.outbox_row(regret_key(execution))
        if self._desk is None or row is None or not row.delivered:
            return
        said = f"{row.item.text}\n✔ **{plain(' '.join(why.split()), 200)}** – {plain(person.name, 40)}"
        chosen = next((option.label for option in row.item.options if option.description == why), "")
        standing = Standing(way="decided", answers={"": chosen} if chosen else {})
        try:
            await self._desk.show_question(row.item, row.delivered[-1], said, standing)
        except (Held, Gone, Unfit) as error:
            log.info("the question what was wrong with %s keeps its looks: %s", execution, error or "it was deleted")


def regret_key(execution: str) -> str:
    """The outbox key of the question about an execution."""
    return f"{execution}.regret"
