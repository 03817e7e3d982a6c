"""Learning after an execution: its evaluation, and what people think of its result.

Learning holds no slot; only the next execution of the same thread waits for it. A failure here changes no answer that
was given, and is retried: after a while, by the next execution, and at the next start.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Literal, Protocol

from agentic.core.events.execution_events import (
    Evaluated,
    InboxItem,
    OutboxItem,
    Person,
    Started,
    TrialDecided,
)
from agentic.core.events.ids import execution_id, trial_item
from agentic.ports.errors import AgenticError
from agentic.ports.failpoints import reach
from agentic.ports.runtime import ExecutionRow, Store
from bot.messages.error_text import Attempted, error_text
from bot.rendering.discord_text import plain
from reflexion.errors import ReflexionError
from reflexion.evaluation.outcome_stream import owes
from reflexion.reflection.feedback_question import open_question

LEARN_SECONDS = 120.0
AGAIN_SECONDS = (5.0, 30.0, 120.0)
"""Seconds after which a failed vote or evaluation is retried; after that, the next start retries it."""
LATEST = 3
"""How many of a thread's last executions its next one looks at; it is told of as many."""
RECENT = 50
"""How many of the newest executions are searched for one that was not learned from yet."""

Tell = Callable[[OutboxItem], Awaitable[None]]

log = logging.getLogger(__name__)


class Afterwards(Protocol):
    """What happens after an execution."""

    async def after(self, execution: str) -> Evaluated:
        """Score the execution and, where it failed, reflect on it."""
        ...


class Learning(Afterwards, Protocol):
    """Learning after an execution, for whom the next one can wait: ``reflexion.service.Reflexion``."""

    async def known(self, thread: str) -> None:
        """Wait until the thread's next execution can know what is being learned in it, for two minutes at most."""
        ...


class Feedback(Protocol):
    """Learning from people's votes: ``reflexion.service.Reflexion``."""

    async def feedback(
        self, execution: str, person: Person, vote: Literal["up", "down", "none"], target: str = "", why: str = ""
    ) -> Evaluated:
        """Record a vote on a finished execution, with the person's reason, and judge the execution again."""
        ...


async def learn(learning: Afterwards, execution: str) -> None:
    """Evaluate an execution; failures are logged."""
    try:
        async with asyncio.timeout(LEARN_SECONDS):
            reach("learn.before")
            await learning.after(execution)
            reach("learn.after")
    except (AgenticError, ReflexionError, TimeoutError) as error:
        log.warning("execution %s could not be evaluated: %s", execution, error)
    except (
        Exception
    ):  # a bug in judging one task must not end the thread that waits for it; the failures we know are above
        log.exception("a fault of ours in the evaluation of execution %s", execution)


async def catch_up(store: Store, learning: Afterwards) -> None:
    """Learn from executions whose learning was cut off when the process ended."""
    try:
        rows = await store.newest_executions(RECENT)
    except AgenticError as error:
        log.error("what had ended cannot be read: %s", error)
        return
    for row in rows:
        if row.finished and not await _elsewhere(store, row) and not await _settled(store, row):
            await learn(learning, row.execution)


async def still_owed(store: Store, thread: str) -> list[str]:
    """Return those of the thread's last executions that were not learned from yet. Raises ``StoreError``."""
    owed: list[str] = []
    for row in [row for row in await store.executions(thread) if row.finished][-LATEST:]:
        outcome = [each.event for each in await store.read_outcome(row.execution)]
        if not await _elsewhere(store, row) and await owes(store, row.execution, outcome):
            owed.append(row.execution)
    return owed


async def _elsewhere(store: Store, row: ExecutionRow) -> bool:
    """Whether the execution was imported from another home, which learned from it."""
    return bool(await store.fact(f"imported: {row.execution}"))


async def _settled(store: Store, row: ExecutionRow) -> bool:
    """Whether learning is complete, nobody is being asked what was wrong, and the due retry was begun."""
    try:
        outcome = [each.event for each in await store.read_outcome(row.execution)]
        if await owes(store, row.execution, outcome) or open_question(outcome):
            return False
        decided = next((event.way for event in reversed(outcome) if isinstance(event, TrialDecided)), None)
        if decided == "again":
            trial = execution_id(row.thread, trial_item(row.execution))
            return await store.execution(trial) is not None or await store.was_buried(trial) is not None
        return decided is not None or not await _tries_by_itself(store, row.execution)
    except AgenticError as error:
        log.warning("the outcome of execution %s could not be read: %s", row.execution, error)
        return True


async def _tries_by_itself(store: Store, execution: str) -> bool:
    async for envelope in store.read(execution):
        event = envelope.event
        return isinstance(event, Started) and event.policy.trials == "auto" and not event.policy.tour
    return False


class Opinions:
    """Votes on finished executions: each stays in the inbox until it is in the outcome stream."""

    def __init__(self, store: Store, feedback: Feedback | None, tell: Tell) -> None:
        self._store, self._feedback, self._tell = store, feedback, tell
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def take(self, item: InboxItem) -> bool:
        """Handle a vote in the background; False where there is no result that it could be about."""
        execution = item.target.partition("/")[0] or await self.newest(item.thread)
        if not execution or await self._store.was_buried(execution) is not None:
            await self._store.discard([item.id])
            return False
        if self._feedback is None:  # whoever works takes it out of the inbox
            return True
        if item.id not in self._tasks:
            task = asyncio.create_task(self._learn(self._feedback, execution, item), name=f"feedback on {execution}")
            self._tasks[item.id] = task
            task.add_done_callback(lambda _: self._tasks.pop(item.id, None))
        return True

    @property
    def tasks(self) -> tuple[asyncio.Task[None], ...]:
        """The votes that are being handled now."""
        return tuple(self._tasks.values())

    async def _learn(self, feedback: Feedback, execution: str, item: InboxItem) -> None:
        """Record the vote, with retries; the voter is told if it has to wait."""
        why = item.text.strip() if item.sort == "correction" else ""
        for wait in (*AGAIN_SECONDS, None):
            try:
                await feedback.feedback(execution, item.author, _vote(item), item.target, why)
                await self._store.discard([item.id])
                return
            except (AgenticError, ReflexionError) as error:
                log.warning("feedback %s on execution %s is not taken in yet: %s", item.id, execution, error)
                await self._told(item, error)
            except Exception as bug:
                log.exception("a fault of ours: feedback %s on execution %s is not taken in yet", item.id, execution)
                await self._told(item, bug)
            if wait is not None:
                await asyncio.sleep(wait)

    async def _told(self, item: InboxItem, error: Exception) -> None:
        """Tell the voter once that the vote waits; if that cannot be stored either, the next retry tries again."""
        sign = "❌" if item.sort == "correction" else "vote"
        words = error_text(Attempted.VOTE, error, sign=sign, name=plain(item.author.name, 40))
        key = f"{item.id}.not-taken"
        try:
            await self._tell(OutboxItem(key=key, thread=item.thread, execution="", sort="notice", text=words))
        except AgenticError as untold:
            log.warning("and it cannot be told in thread %s now: %s", item.thread, untold)

    async def newest(self, thread: str) -> str:
        """Return the last finished execution of a thread, '' where there is none."""
        rows = [row for row in await self._store.executions(thread) if row.finished]
        return rows[-1].execution if rows else ""


def _vote(item: InboxItem) -> Literal["up", "down", "none"]:
    if item.sort == "correction" or item.text == "down":
        return "down"
    return "up" if item.text == "up" else "none"
