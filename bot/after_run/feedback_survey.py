"""The step that asks a person who votes 👎 what was wrong: once, with buttons and in their own words; answering is
optional.

The question is written to the outcome of the execution (``reflexion/reflection/trigger.py`` decides on it), and its
message to the outbox, so that both survive a restart. The reflection waits for the answer, but not for long, and not
once the next task of the thread begins: it is then written from what is known. An answer is a correction; a later one
still reaches the reflection.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass, field

from agentic.core.events.execution_events import (
    Asked,
    DeadlinePassed,
    Event,
    OutboxItem,
    Started,
)
from agentic.ports.errors import AgenticError
from agentic.ports.runtime import Clock, Store
from bot.after_run.pipeline import AfterRunStep, JudgedRun, outcome_of
from bot.history.attempts import OFFERED
from bot.history.run_history import heard_key
from bot.messages.question_text import Standing
from bot.outbound.discord_api import (
    DiscordApi,
    Gone,
    Held,
    Unfit,
)
from bot.rendering.discord_text import plain
from bot.sessions.learning import Tell
from reflexion.errors import ReflexionError
from reflexion.evaluation.outcome_stream import OutcomeStream
from reflexion.evaluation.trajectory import read_trajectory
from reflexion.in_progress import PATIENCE
from reflexion.reflection.feedback_question import open_question
from reflexion.reflection.retry_policy import worth_offering

QUESTION = "👎 **{question}** Pick one, or press *In my own words…*. You can also ignore this."
HEARD = "Thanks. The next attempt here will know it."
log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Wait:
    """A reflection that waits for a person's answer."""

    thread: str
    over: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class FeedbackSurvey(AfterRunStep):
    """Asks what was wrong, and starts the reflection when that is known or the time is over."""

    def __init__(self, store: Store, clock: Clock, desk: DiscordApi, tell: Tell, build: str) -> None:
        self._store, self._clock, self._desk, self._tell, self._build = store, clock, desk, tell, build
        self._waits: dict[str, _Wait] = {}

    async def after(self, judged: JudgedRun) -> None:
        """Ask, where that was decided; where a person was being asked before a restart, wait for them again."""
        outcome = await outcome_of(self._store, judged.execution)
        await self._ask(judged, outcome)
        if judged.by is not None and judged.why:
            if wait := self._waits.get(judged.execution):
                wait.over.set()
            await self._heard(judged.execution, judged.why, outcome)

    async def next_task(self, thread: str) -> None:
        """Stop waiting for answers in the thread; the waiting reflections are written."""
        waits = [wait for wait in self._waits.values() if wait.thread == thread]
        for wait in waits:
            wait.over.set()
        if tasks := [wait.task for wait in waits if wait.task is not None]:
            await asyncio.wait(tasks, timeout=PATIENCE)

    async def close(self) -> None:
        """Stop waiting; the next process waits again."""
        tasks = [wait.task for wait in self._waits.values() if wait.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _ask(self, judged: JudgedRun, outcome: list[Event]) -> None:
        """Post the question, once, and wait for its answer unless one is being waited for."""
        asked = next((event for event in outcome if isinstance(event, Asked)), None)
        execution = judged.execution
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
            wait.task = asyncio.create_task(self._wait(judged, asked, wait), name=f"what was wrong with {execution}")

    async def _wait(self, judged: JudgedRun, asked: Asked, wait: _Wait) -> None:
        """Wait until it is answered, the next task begins, or the time is over; then have the reflection written."""
        execution = judged.execution
        left = (asked.expires - self._clock.now()).total_seconds() if asked.expires is not None else 0.0
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(left, 0.0)):
                    await wait.over.wait()
            if open_question(await outcome_of(self._store, execution)):
                stream = OutcomeStream(self._store, self._clock, execution, self._build)
                await stream.add(DeadlinePassed(ref=asked.question))
                await judged.again()
        except (AgenticError, ReflexionError) as error:
            log.warning("what was wrong with %s is gone over at the next start: %s", execution, error)
        except Exception:
            log.exception("a fault of ours while waiting for what was wrong with %s", execution)
        finally:
            self._waits.pop(execution, None)

    async def _heard(self, execution: str, why: str, outcome: list[Event]) -> None:
        """Acknowledge the answer, offer another attempt, and close the question."""
        envelopes = [envelope async for envelope in self._store.read(execution)]
        started = envelopes[0].event
        assert isinstance(started, Started)
        trajectory = read_trajectory(envelopes, await self._store.read_outcome(execution))
        offered = worth_offering(trajectory, started.policy)
        attempt = OFFERED.format(attempt=started.attempt + 1, most=started.policy.trials_most)
        await self._tell(
            OutboxItem(
                key=heard_key(execution), thread=started.thread, execution=execution, sort="receipt", text=HEARD,
                again=execution if offered else "", attempt=attempt if offered else "",
            )
        )  # fmt: skip
        if any(isinstance(event, Asked) for event in outcome):
            await self._close_question(execution, why)

    async def _close_question(self, execution: str, why: str) -> None:
        row = await self._store.outbox_row(regret_key(execution))
        if row is None or not row.delivered:
            return
        said = f"{row.item.text}\n✔ You said: “{plain(' '.join(why.split()), 200)}”"
        chosen = next((option.label for option in row.item.options if option.description == why), "")
        standing = Standing(way="decided", answers={"": chosen} if chosen else {})
        try:
            await self._desk.show_question(row.item, row.delivered[-1], said, standing)
        except (Held, Gone, Unfit) as error:
            log.info("the question what was wrong with %s keeps its looks: %s", execution, error or "it was deleted")


def regret_key(execution: str) -> str:
    """Return the outbox key of the question about an execution."""
    return f"{execution}.regret"
