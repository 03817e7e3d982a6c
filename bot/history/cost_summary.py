"""What tasks cost, and what they would have cost at one tier alone, from stored logs; pure.

The second is an estimate: the same requests at the prices of another model. ``ASSUMPTIONS`` states its limits, and is
shown with the figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from agentic.core.events.execution_events import (
    Envelope,
    Escalated,
    Finished,
    ModelAnswered,
    ModelRequested,
    Policy,
    Started,
    SubagentFinished,
    Triaged,
    Usage,
)
from agentic.core.state.tiers import first_of, starting_tier
from agentic.runtime.budget_ledger import costs_in

ASSUMPTIONS = (
    "Spent is what the logs say. The other two are estimates: the same requests and tokens, at the price of the "
    "first model of the starting tier (always cheap) or of the top tier (always premium).",
    "Always cheap: a task that needed a stronger model counts as not solved, though it would have cost what it did.",
    "Always premium: what was solved counts as solved. The lower figure leaves out the turns before the last hand-over, "
    "which a premium model would hardly have needed; the higher one counts them.",
    "Solved is what a vote, a check, a merge or tests say; where there are none, that it ended as done.",
)

PriceOf = Callable[[str, Usage], float | None]
"""US dollars of a request at a model's prices; None where they are not known."""


@dataclass(frozen=True, slots=True)
class Spent:
    """One task: US dollars it cost, and what it might have cost."""

    execution: str
    thread: str
    role: str
    at: datetime
    solved: bool
    labelled: bool
    handed_over: bool
    usd: float
    cheap: float
    premium_low: float
    premium_high: float


@dataclass(frozen=True, slots=True)
class Sum:
    """Several tasks together."""

    name: str
    tasks: int
    solved: int
    labelled: int
    handed_over: int
    usd: float
    cheap: float
    cheap_solved: int
    premium_low: float
    premium_high: float

    @property
    def per_solved(self) -> float | None:
        """US dollars for each solved task."""
        return self.usd / self.solved if self.solved else None

    @property
    def cheap_per_solved(self) -> float | None:
        """The same with the starting tier alone."""
        return self.cheap / self.cheap_solved if self.cheap_solved else None

    @property
    def premium_per_solved(self) -> tuple[float, float] | None:
        """The same with the top tier alone, from and to."""
        return (self.premium_low / self.solved, self.premium_high / self.solved) if self.solved else None


def spent(log: Sequence[Envelope], label: bool | None, price: PriceOf) -> Spent | None:
    """Return what a finished task cost; None for a running one, for small talk, for side questions and for the tour.

    What its helpers cost is in it, in each estimate as it was; a helper is no task of its own.
    """
    first = log[0].event if log else None
    ended = next((e.event for e in reversed(log) if isinstance(e.event, Finished)), None)
    triaged = next((e.event for e in reversed(log) if isinstance(e.event, Triaged)), None)
    if not isinstance(first, Started) or ended is None or first.side or first.child or first.policy.tour:
        return None
    if triaged is not None and triaged.talk:
        return None
    copied = first.forked_from[1] if first.forked_from is not None else 0
    own = [envelope for envelope in log if envelope.seq > copied]
    rises = [e.seq for e in own if isinstance(e.event, Escalated) and e.event.to_tier > e.event.from_tier]
    before, after = _turns(own, max(rises, default=0))
    cheap, premium = _models(first.policy)
    helpers = sum(e.event.spent_usd for e in own if isinstance(e.event, SubagentFinished))
    return Spent(
        execution=log[0].execution,
        thread=first.thread,
        role=(triaged.role if triaged is not None else "") or first.role,
        at=log[0].at,
        solved=label if label is not None else ended.reason == "done",
        labelled=label is not None,
        handed_over=bool(rises),
        usd=sum(costs_in(e.event for e in own).values()) + helpers,
        cheap=_at(cheap, (*before, *after), price) + helpers,
        premium_low=_at(premium, after, price) + helpers,
        premium_high=_at(premium, (*before, *after), price) + helpers,
    )


def summed(name: str, tasks: Iterable[Spent]) -> Sum:
    """Add tasks up."""
    rows = list(tasks)
    return Sum(
        name=name,
        tasks=len(rows),
        solved=sum(row.solved for row in rows),
        labelled=sum(row.labelled for row in rows),
        handed_over=sum(row.handed_over for row in rows),
        usd=sum(row.usd for row in rows),
        cheap=sum(row.cheap for row in rows),
        cheap_solved=sum(row.solved and not row.handed_over for row in rows),
        premium_low=sum(row.premium_low for row in rows),
        premium_high=sum(row.premium_high for row in rows),
    )


_Answered = tuple[ModelAnswered, float]


def _turns(own: Sequence[Envelope], hand_over: int) -> tuple[list[_Answered], list[_Answered]]:
    """Return the answers of turns before and after a change of tier, each with its US dollars.

    Answers to requests that belong to no turn are left out.
    """
    asked = {e.event.request: e.event for e in own if isinstance(e.event, ModelRequested)}
    before: list[_Answered] = []
    after: list[_Answered] = []
    for envelope in own:
        answered = envelope.event
        if not isinstance(answered, ModelAnswered):
            continue
        request = asked.get(answered.request)
        if request is None or request.purpose == "turn":
            (before if envelope.seq < hand_over else after).append((answered, answered.usd))
    return before, after


def _models(policy: Policy) -> tuple[str, str]:
    """Return the first models of the starting and of the top tier."""
    top = max((tier.number for tier in policy.tiers), default=policy.starting_tier)
    return first_of(policy, starting_tier(policy)), first_of(policy, top)


def _at(model: str, answers: Iterable[_Answered], price: PriceOf) -> float:
    """Return the price of the answers at a model's prices; an answer without a known price counts as it was."""
    total = 0.0
    for answered, usd in answers:
        other = price(model, answered.usage)
        total += usd if other is None else other
    return total
