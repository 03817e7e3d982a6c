"""The content of charts, from the logs; pure. Positions count turns over all shown executions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from agentic.core.claims.confidence import MOST_SHOWN
from agentic.core.events.execution_events import (
    Envelope,
    Escalated,
    FeedbackGiven,
    Finished,
    ModelAnswered,
    ModelRequested,
    Started,
    TurnEnded,
)

EXECUTIONS = 5
"""Number of the newest executions in a chart."""
TITLE = 34
_ENDS = {
    "done": "done",
    "stopped": "stopped",
    "failed": "failed",
    "stuck": "stuck",
    "limit": "limit",
    "budget": "budget",
}


Kind = Literal["confidence", "escalation"]


class Point(BaseModel):
    """A turn: the shown confidence, the heuristic behind it, the tier that answered, dollars spent by then."""

    model_config = ConfigDict(frozen=True)

    x: float
    shown: int
    heuristic: int
    tier: int
    usd: float


class Mark(BaseModel):
    """An event between turns."""

    model_config = ConfigDict(frozen=True)

    x: float
    sort: Literal["escalated", "up", "down"]
    text: str = ""
    tier: int = 0


class Run(BaseModel):
    """An execution: its turns, and how it ended ('' while it runs)."""

    model_config = ConfigDict(frozen=True)

    title: str
    points: tuple[Point, ...]
    begins: float
    ends: float
    ended: str = ""


class Chart(BaseModel):
    """A chart's content; drawing decides only its look."""

    model_config = ConfigDict(frozen=True)

    kind: Kind
    runs: tuple[Run, ...]
    marks: tuple[Mark, ...] = ()
    tiers: tuple[tuple[int, str], ...] = ()
    """(number, its first model)."""

    @property
    def told(self) -> str:
        """Describe the chart in words, for people who cannot see it."""
        shown = [point for run in self.runs for point in run.points]
        if self.kind == "confidence":
            return f"Confidence of {len(shown)} turns, from {shown[0].shown} to {shown[-1].shown} of 100"
        rises = sum(mark.sort == "escalated" for mark in self.marks)
        return f"The tier of {len(shown)} turns, {rises} changes, {shown[-1].usd:.2f} US dollars in all"


def chart_of(
    kind: Kind,
    logs: Sequence[Sequence[Envelope]],
    outcomes: Sequence[Sequence[Envelope]],
) -> Chart | None:
    """Make a chart of the newest executions; None where there is too little to draw."""
    runs: list[Run] = []
    marks: list[Mark] = []
    tiers: tuple[tuple[int, str], ...] = ()
    at = 0.0
    spent = 0.0
    for log, outcome in list(zip(logs, outcomes, strict=True))[-EXECUTIONS:]:
        reading = _Reading(at, spent)
        for envelope in log:
            reading.take(envelope)
        if not reading.points:
            continue
        runs.append(reading.run())
        marks += [*reading.marks, *_votes(outcome, reading.at)]
        tiers = reading.tiers or tiers
        at, spent = reading.at + 1, reading.spent
    enough = sum(len(run.points) for run in runs) > 1
    return Chart(kind=kind, runs=tuple(runs), marks=tuple(marks), tiers=tiers) if enough else None


class _Reading:
    """Reads one log."""

    def __init__(self, at: float, spent: float) -> None:
        self.begins = self.at = at
        self.spent = spent
        self.tier = 0
        self.title = self.ended = ""
        self.tiers: tuple[tuple[int, str], ...] = ()
        self.points: list[Point] = []
        self.marks: list[Mark] = []

    def take(self, envelope: Envelope) -> None:
        match envelope.event:
            case Started() as started:
                self.title = " ".join(started.task.split())[:TITLE]
                policy = started.policy
                self.tiers = tuple((tier.number, tier.models[0]) for tier in policy.tiers if tier.models)
                known = sorted(number for number, _ in self.tiers)
                self.tier = next((number for number in known if number >= policy.starting_tier), policy.starting_tier)
            case ModelAnswered() as answered:
                self.spent += answered.usd
            case TurnEnded() as ended:
                self.at += 1
                sure = ended.confidence
                self.points.append(
                    Point(
                        x=self.at,
                        shown=min(sure.shown, MOST_SHOWN),
                        heuristic=sure.heuristic,
                        tier=self.tier,
                        usd=self.spent,
                    )
                )
            case ModelRequested(purpose="turn") as asked:
                self.tier = asked.tier
            case Escalated() as escalated:
                self.tier = escalated.to_tier
                self.marks.append(
                    Mark(x=self.at + 0.5, sort="escalated", text=escalated.trigger, tier=escalated.to_tier)
                )
            case Finished() as finished:
                self.ended = _ENDS.get(finished.reason, finished.reason)
            case _:
                pass

    def run(self) -> Run:
        return Run(title=self.title, points=tuple(self.points), begins=self.begins, ends=self.at, ended=self.ended)


def _votes(outcome: Sequence[Envelope], at: float) -> list[Mark]:
    """Return the last vote of each person on the result."""
    votes = {e.event.by.id: e.event.vote for e in outcome if isinstance(e.event, FeedbackGiven)}
    return [Mark(x=at, sort=vote) for vote in votes.values() if vote == "up" or vote == "down"]
