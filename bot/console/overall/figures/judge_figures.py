"""How far scores can be believed, and what the ladder of models is worth: figures and pictures; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from agentic.calibration.report import CalibrationGroup
from agentic.calibration.report import report as calibration_report
from agentic.calibration.scoring import ReliabilityPoint
from agentic.ports.stores import LabelRow
from bot.console.overall.figures.task_summary import TaskSummary, TierRise
from bot.history.cost_summary import Spent, Sum, summed
from reflexion.lessons.lesson import Verdict
from reflexion.measurement.report import JudgeAccount, Share, lessons_report

SIDE, INSET = 260, 10
"""Of a reliability diagram: its width and height, and its margin."""
GROUPS = 12
HALF = 0.5
"""A judge's share from which it counts as a yes."""


@dataclass(frozen=True, slots=True)
class ReliabilityDot:
    """A point of a diagram with its interval, in the picture's places."""

    x: float
    y: float
    low: float
    high: float
    radius: float


@dataclass(frozen=True, slots=True)
class JudgeReport:
    """One judging model: how far its readings fit what came out, and whom it agrees with."""

    account: JudgeAccount
    dots: tuple[ReliabilityDot, ...]
    people: Share
    """Of tasks that people voted on: how often it said the same."""
    checks: Share
    """The same of tasks whose checks passed or failed."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """All groups of tasks, the whole first; and the whole's diagram."""

    groups: tuple[CalibrationGroup, ...]
    dots: tuple[ReliabilityDot, ...]


@dataclass(frozen=True, slots=True)
class RiseCount:
    """How often a trigger handed over to a stronger tier, and how many of these tasks were solved."""

    rule: str
    tiers: str
    times: int
    tasks: Share


@dataclass(frozen=True, slots=True)
class LadderAccount:
    """What tasks cost with the ladder, and estimates of what they would have cost without it."""

    sums: tuple[Sum, ...]
    """All tasks; those that were handed over to a stronger model; the others."""
    rises: tuple[RiseCount, ...]

    @property
    def saved(self) -> tuple[float, float]:
        """US dollars against the strongest tier alone, from and to; negative where the ladder cost more."""
        whole = self.sums[0]
        return whole.premium_low - whole.usd, whole.premium_high - whole.usd

    @property
    def lost(self) -> bool:
        """The ladder cost more than the strongest tier alone would have, by either estimate."""
        return self.saved[1] < 0

    @property
    def rises_cost(self) -> float:
        """US dollars that hand-overs cost beyond the starting tier's price for the same requests."""
        return self.sums[1].usd - self.sums[1].cheap


def calibration_of(rows: Sequence[LabelRow]) -> Calibration:
    """How well the confidence that people were shown fits how tasks came out."""
    groups = calibration_report(rows)
    return Calibration(groups[:GROUPS], _dots(groups[0].points) if groups else ())


def judges_of(verdicts: Sequence[Verdict], labels: Iterable[LabelRow]) -> tuple[JudgeReport, ...]:
    """Each judging model, the one that has read most first."""
    said = {row.execution: row.label for row in labels if row.source == "person" and row.label is not None}
    accounts = lessons_report((), (), verdicts).judges
    return tuple(_judge(each, verdicts, said) for each in accounts)


def _judge(account: JudgeAccount, verdicts: Sequence[Verdict], said: Mapping[str, bool]) -> JudgeReport:
    people, checks = list[bool](), list[bool]()
    for row in verdicts:
        if row.judge is None or row.judge_model != account.model:
            continue
        if row.execution in said:
            people.append((row.judge >= HALF) == said[row.execution])
        if row.verifier != "none":
            checks.append((row.judge >= HALF) == (row.verifier == "pass"))
    return JudgeReport(account, _dots(account.points), Share(sum(people), len(people)), Share(sum(checks), len(checks)))


def ladder_of(tasks: Iterable[TaskSummary], labels: Iterable[LabelRow]) -> LadderAccount:
    """The account of tasks that ended."""
    known = {row.execution: bool(row.label) for row in labels if row.known}
    found: list[tuple[Spent, tuple[TierRise, ...]]] = [
        (_labelled(task.spent, known), task.rises) for task in tasks if task.spent is not None
    ]
    kinds: list[tuple[str, Callable[[Spent], bool]]] = [
        ("all", lambda _: True), ("handed over", lambda each: each.handed_over),
        ("not handed over", lambda each: not each.handed_over),
    ]  # fmt: skip
    sums = tuple(summed(name, (each for each, _ in found if fits(each))) for name, fits in kinds)
    times, tasks_of, solved = Counter[tuple[str, str]](), Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for spent, rises in found:
        keys = [(rise.rule, f"{rise.from_tier} → {rise.to_tier}") for rise in rises]
        times.update(keys)
        tasks_of.update(set(keys))
        solved.update(set(keys) if spent.solved else ())
    counts = (RiseCount(*key, count, Share(solved[key], tasks_of[key])) for key, count in times.most_common(GROUPS))
    return LadderAccount(sums, tuple(counts))


def _labelled(spent: Spent, known: Mapping[str, bool]) -> Spent:
    if spent.execution not in known:
        return spent
    return replace(spent, solved=known[spent.execution], labelled=True)


def _dots(points: Iterable[ReliabilityPoint]) -> tuple[ReliabilityDot, ...]:
    def place(share: float) -> float:
        return round(INSET + share * (SIDE - 2 * INSET), 1)

    return tuple(
        ReliabilityDot(
            place(p.said), place(1 - p.came), place(1 - p.low), place(1 - p.high), round(3.5 + min(p.count, 60) / 20, 1)
        )
        for p in points
    )
