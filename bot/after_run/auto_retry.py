"""The step that retries a failed task, where that is enabled and something can tell whether it worked.

Once an attempt is judged and reflected on, ``reflexion/reflection/retry_policy.py`` decides. The decision is written
to the outcome of the attempt before it has any effect; the retry itself is an item in the inbox, whose id follows from
the attempt, so that it begins once whatever fails. It is queued like people's actions on a finished task
(``bot/actions/rerun.py``), and is called off like them too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Protocol

from agentic.core.events.execution_events import (
    Evaluated,
    InboxItem,
    OutboxItem,
    Started,
    TrialDecided,
)
from agentic.core.events.ids import execution_id, trial_item
from agentic.core.fold.people import MACHINE
from agentic.ports.errors import AgenticError
from agentic.ports.runtime import Clock, Store
from agentic.runtime.budget_ledger import BudgetLedger
from bot.actions.rerun import OVERTAKEN
from bot.after_run.pipeline import AfterRunStep, JudgedRun
from bot.history.attempts import attempts_at
from bot.ports.conversation import Receipt
from bot.sessions.learning import Tell
from reflexion.errors import ReflexionError
from reflexion.evaluation.outcome_stream import OutcomeStream
from reflexion.evaluation.trajectory import Trajectory, read_trajectory
from reflexion.ports import LessonStore
from reflexion.reflection.retry_policy import (
    Again,
    Around,
    NoRetry,
    Offer,
    decide_trial,
)

log = logging.getLogger(__name__)


class Delivery(Protocol):
    """``bot.threads.registry.Threads.deliver``."""

    def __call__(self, item: InboxItem, *, guild: str) -> Awaitable[Receipt]:
        """Store the item and wake what it concerns."""
        ...


class AutoRetry(AfterRunStep):
    """Retries failed tasks."""

    def __init__(
        self,
        store: Store,
        lessons: LessonStore,
        clock: Clock,
        purse: BudgetLedger,
        tell: Tell,
        deliver: Delivery,
        build: str,
    ) -> None:
        self._store, self._lessons, self._clock = store, lessons, clock
        self._purse, self._tell, self._deliver, self._build = purse, tell, deliver, build
        self._deciding = asyncio.Lock()

    async def after(self, judged: JudgedRun) -> None:
        """Retry the task where that is decided; after a vote a person is present, so nothing begins by itself."""
        if judged.by is not None:
            return
        async with self._deciding:
            try:
                await self._see_to(judged.execution, judged.evaluated)
            except (AgenticError, ReflexionError) as error:
                log.warning(
                    "whether the task of %s is tried again is decided at the next start: %s", judged.execution, error
                )

    async def _see_to(self, execution: str, evaluated: Evaluated) -> None:
        envelopes = [envelope async for envelope in self._store.read(execution)]
        started = envelopes[0].event
        if not isinstance(started, Started) or started.side or started.policy.trials != "auto":
            return
        if started.policy.tour:
            return
        outcome = await self._store.read_outcome(execution)
        decided = next((one.event for one in reversed(outcome) if isinstance(one.event, TrialDecided)), None)
        if decided is None:
            trajectory = read_trajectory(envelopes, outcome)
            around = await self._around(trajectory)
            decided = _as_event(decide_trial(trajectory, evaluated, started.policy, around))
            await OutcomeStream(self._store, self._clock, execution, self._build).add(decided)
        if decided.way == "again":
            await self._begin(started.thread, execution, evaluated.check)

    async def _around(self, trajectory: Trajectory) -> Around:
        store, thread = self._store, trajectory.thread
        attempts = await attempts_at(store, thread, trajectory.execution)
        session = await store.session(thread)
        guild = session.guild if session is not None else ""
        days = await self._purse.today(trajectory.requester.id, guild, self._clock.now())
        told = [one for one in await self._lessons.reflections(guild, thread, 1) if not one.held]
        waiting = [one for one in await store.pending(thread) if one.sort not in ("feedback", "correction")]
        return Around(
            learned=any(one.execution == trajectory.execution for one in told),
            left_usd=attempts.left_usd,
            room=all(day.spent_usd < day.cap_usd + day.raised_usd for day in days),
            newer=bool(waiting) or await self._newer(thread, trajectory.execution),
        )

    async def _newer(self, thread: str, execution: str) -> bool:
        """Whether something else was begun in the thread since; side questions do not count."""
        rows = [row.execution for row in await self._store.executions(thread)]
        for name in rows[rows.index(execution) + 1 :]:
            async for envelope in self._store.read(name):
                if not (isinstance(envelope.event, Started) and envelope.event.side):
                    return True
                break
        return False

    async def _begin(self, thread: str, execution: str, check: str) -> None:
        id = trial_item(execution)
        if await self._store.execution(execution_id(thread, id)) is not None:
            return
        item = InboxItem(
            id=id,
            thread=thread,
            sort="trial",
            author=MACHINE,
            at=self._clock.now(),
            text=check,
            target=f"{execution}/result",
        )
        session = await self._store.session(thread)
        receipt = await self._deliver(item, guild=session.guild if session is not None else "")
        if not receipt.accepted and not receipt.again:
            notice = OutboxItem(key=f"{id}.offered", thread=thread, execution=execution, sort="notice", text=OVERTAKEN)
            await self._tell(notice)


def _as_event(decision: Again | Offer | NoRetry) -> TrialDecided:
    match decision:
        case Again():
            return TrialDecided(way="again", attempt=decision.attempt, why=decision.why)
        case Offer():
            return TrialDecided(way="offer", attempt=decision.attempt, why=decision.why)
        case NoRetry():
            return TrialDecided(way="leave", why=decision.why)
