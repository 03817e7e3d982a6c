"""A task in a few figures: what it does now, who asked for it, what it cost on which day; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from agentic.core.claims import confidence
from agentic.core.events.execution_events import (
    Asked,
    Envelope,
    Escalated,
    Level,
    Person,
)
from agentic.core.state.execution import Execution
from bot.console.views.task_status import state_of
from bot.history.cost_summary import PriceOf, Spent, spent
from bot.history.payments import Payments, after_the_end

NEEDS = ("asks", "paused", "set_aside")
"""States that only a person ends."""
NOBODY = Person(id="", name="", level="viewer")
ASKED = 300
"""Characters of a question."""
UNREADABLE = "Its log can't be read"


@dataclass(frozen=True, slots=True)
class DayCost:
    """US dollars that one model cost on one day (UTC)."""

    day: date
    model: str
    usd: float


@dataclass(frozen=True, slots=True)
class TierRise:
    """A change to a stronger tier, and the trigger that caused it."""

    rule: str
    from_tier: int
    to_tier: int


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """One task after the event ``head``."""

    execution: str
    thread: str
    guild: str
    head: int
    requester: Person = NOBODY
    role: str = ""
    state: str = "damaged"
    """As the status line of a task has it."""
    words: str = UNREADABLE
    asks: str = ""
    """The question that is open, its beginning."""
    who_may: Level = "executor"
    """The least level that does what it waits for."""
    turn: int = 0
    tier: int = 0
    confidence: int | None = None
    side: bool = False
    """A side question, which is no task of its own."""
    attempt: int = 1
    fork: bool = False
    """It goes on from another task, and is no further attempt at it."""
    since: datetime | None = None
    """Since when it is in this state."""
    costs: tuple[DayCost, ...] = ()
    spent: Spent | None = None
    """Of a task that ended: what it might have cost at other tiers; whether it was solved is told by its end alone."""
    rises: tuple[TierRise, ...] = ()

    @property
    def needs(self) -> bool:
        """A person has to do something."""
        return self.state in NEEDS

    @property
    def usd(self) -> float:
        """US dollars in all."""
        return sum(cost.usd for cost in self.costs)


def summary_of(
    row: tuple[str, str, str], log: Sequence[Envelope], outcome: Sequence[Envelope], folded: Execution, price: PriceOf
) -> TaskSummary:
    """The summary of a log and of what followed its end; ``row`` is (execution, thread, guild)."""
    execution, thread, guild = row
    state, words = state_of(folded)
    shown = None if folded.talk else confidence.told(folded.confidence, folded.finished)
    return TaskSummary(
        execution, thread, guild, len(log),
        requester=folded.requester,
        role=(folded.triage.role if folded.triage is not None else "") or (folded.started.role if folded.started else ""),
        state=state, words=words,
        asks=folded.question.text[:ASKED] if folded.question is not None else "",
        who_may=_who_may(folded.question), turn=folded.turn.number, tier=folded.tier, confidence=shown, side=folded.side,
        attempt=folded.started.attempt if folded.started is not None else 1,
        fork=folded.started is not None and folded.started.forked_from is not None and folded.started.attempt == 1,
        since=_since(folded),
        costs=_costs(log, outcome),
        spent=spent(log, None, price) if folded.finished is not None else None,
        rises=tuple(
            TierRise(each.event.rule or "other", each.event.from_tier, each.event.to_tier)
            for each in log
            if isinstance(each.event, Escalated) and each.event.to_tier > each.event.from_tier
        ),
    )  # fmt: skip


def _who_may(asked: Asked | None) -> Level:
    """The least level that may agree to a question; to end a task instead is left to whoever asked for it."""
    if asked is None:
        return "executor"
    return "operator" if asked.sort == "approval" and asked.who_may == "executor" else asked.who_may


def _since(folded: Execution) -> datetime | None:
    if folded.finished is not None:
        return folded.at
    return folded.resting_since or (folded.at if folded.quarantined is not None else folded.started_at)


def _costs(log: Sequence[Envelope], outcome: Sequence[Envelope]) -> tuple[DayCost, ...]:
    """What its requests cost; those that were copied from another task are counted there, the tour costs nothing."""
    payments, sums = Payments(), dict[tuple[date, str], float]()
    paid = [each for envelope in log for each in payments.of(envelope) if not each.copied]
    for each in (*paid, *after_the_end(outcome)):
        key = each.at.astimezone(UTC).date(), each.model
        sums[key] = sums.get(key, 0.0) + each.usd
    return tuple(DayCost(day, model, usd) for (day, model), usd in sums.items() if usd)
