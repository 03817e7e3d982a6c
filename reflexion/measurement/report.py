"""What the lessons are worth, and how far the judge can be believed: the data of `threadwright lessons report`.  Pure.

Everything is told from what the store keeps: lessons, showings, verdicts.  Whatever is shown as an effect compares
executions that a lesson fitted and in whose prompt it stood with those from which it was held back at random; where
it was left out for better ones is no comparison, for that was no chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from agentic.calibration.scoring import ReliabilityPoint, reliability, wilson
from reflexion.lessons.changes import fit_to_keep
from reflexion.lessons.judge_trust import (
    LABELLED,
    auc,
    labelled,
    trust,
)
from reflexion.lessons.lesson import Lesson, LessonStatus, Verdict
from reflexion.lessons.lifecycle import Showing
from reflexion.measurement.uplift import Uplift, overall_uplift, points, uplift_of

GAIN = 0.10
"""The gain for which it is said how much has to be seen."""
_Z = 1.96
_BINS = 6
_BEFORE: dict[LessonStatus, LessonStatus] = {
    "candidate": "quarantined", "probation": "candidate", "active": "probation", "retired": "probation",
    "quarantined": "candidate",
}  # fmt: skip
"""What a lesson was before its first change, which gave it that status."""


@dataclass(frozen=True, slots=True)
class Share:
    """How many of how many went well, with the 95% interval of the share by Wilson."""

    ok: int
    of: int

    @property
    def share(self) -> float:
        """0-1; 0 of none."""
        return self.ok / self.of if self.of else 0.0

    @property
    def low(self) -> float:
        """The interval's lower end."""
        return wilson(self.share, self.of)[0]

    @property
    def high(self) -> float:
        """The interval's upper end."""
        return wilson(self.share, self.of)[1]


@dataclass(frozen=True, slots=True)
class Told:
    """A lesson with all that happened to it; ``uplift`` None where it was not both shown and held back."""

    lesson: Lesson
    showings: tuple[Showing, ...]
    uplift: Uplift | None

    def stretches(self, first: datetime, last: datetime) -> tuple[tuple[datetime, datetime, LessonStatus], ...]:
        """Which status it had from when to when, within a time."""
        steps = self.lesson.history
        changes: list[tuple[datetime, LessonStatus]] = [
            (step.at, step.status) for step in steps if step.status is not None
        ]
        before = _BEFORE[changes[0][1]] if changes else self.lesson.status
        starts: list[tuple[datetime, LessonStatus]] = [(max(self.lesson.created, first), before), *changes]
        ends = [at for at, _ in changes] + [last]
        return tuple(
            (start, max(end, start), status) for (start, status), end in zip(starts, ends, strict=True) if start <= last
        )


@dataclass(frozen=True, slots=True)
class JudgeAccount:
    """How far one judge's share of yes fits what came out; ``auc`` None until right and wrong ones were read."""

    model: str
    read: int
    labelled: int
    auc: float | None
    weight: float
    points: tuple[ReliabilityPoint, ...]

    @property
    def missing(self) -> int:
        """So many more labelled readings are needed before it has a say."""
        return max(LABELLED - self.labelled, 0)


@dataclass(frozen=True, slots=True)
class LessonsReport:
    """All of it; lessons newest first."""

    lessons: tuple[Told, ...]
    verdicts: tuple[Verdict, ...]
    shown: Share
    held_back: Share
    overall: Uplift | None
    judges: tuple[JudgeAccount, ...]
    """The one that has read most first."""
    first: datetime | None
    last: datetime | None

    @property
    def known(self) -> int:
        """Executions of which something outside of the agent says how they went."""
        return sum(verdict.ok is not None for verdict in self.verdicts)

    @property
    def pairs(self) -> float:
        """What was seen is worth so many pairs of an execution with a lesson and one with the same lesson held back."""
        measured = [each.uplift for each in self.lessons if each.uplift is not None]
        return sum(2 * each.shown * each.held_back / (each.shown + each.held_back) for each in measured)

    @property
    def pairs_needed(self) -> int:
        """So many for an interval of ``GAIN`` to both sides, by the share that goes well."""
        whole = self.shown.of + self.held_back.of
        rate = (self.shown.ok + self.held_back.ok + 2) / (whole + 4)
        return 10 * round(2 * _Z * _Z * rate * (1 - rate) / GAIN**2 / 10)

    @property
    def too_little(self) -> str:
        """What is missing for an answer, in plain words; '' where nothing is."""
        if self.pairs >= self.pairs_needed:
            return ""
        known = f"Known outcomes so far: {self.shown.of} with a lesson, {self.held_back.of} with it withheld."
        return f"{known} About {self.pairs_needed} of each are needed to see a {GAIN * 100:.0f}-point effect."

    @property
    def summary(self) -> str:
        """The whole in a line."""
        if self.overall is None:
            return self.too_little
        low, value, high = map(points, (self.overall.low, self.overall.difference, self.overall.high))
        return f"Uplift {value} points, 95% interval {low} to {high}."

    def count(self, status: LessonStatus) -> int:
        """How many lessons have it now."""
        return sum(told.lesson.status == status for told in self.lessons)


def lessons_report(
    lessons: Sequence[Lesson], showings: Sequence[Showing], verdicts: Sequence[Verdict]
) -> LessonsReport:
    """The report of what a store keeps."""
    by_lesson: dict[str, list[Showing]] = {}
    for showing in showings:
        by_lesson.setdefault(showing.lesson, []).append(showing)
    told = tuple(_told(lesson, by_lesson.get(lesson.id, [])) for lesson in lessons)
    times = [*(verdict.at for verdict in verdicts), *(showing.at for showing in showings)]
    times += [step.at for lesson in lessons for step in lesson.history]
    starts = [*times, *(each.lesson.created for each in told if each.showings)]
    return LessonsReport(
        lessons=told,
        verdicts=tuple(verdicts),
        shown=_share(showings, "shown"),
        held_back=_share(showings, "held_back"),
        overall=overall_uplift(showings),
        judges=_judges(verdicts),
        first=min(starts, default=None),
        last=max(times, default=None),
    )


def _told(lesson: Lesson, showings: Sequence[Showing]) -> Told:
    return Told(fit_to_keep(lesson), tuple(showings), uplift_of(showings))


def _share(showings: Sequence[Showing], arm: str) -> Share:
    found = [showing.ok for showing in showings if showing.says and showing.arm == arm]
    return Share(sum(found), len(found))


def _judges(verdicts: Sequence[Verdict]) -> tuple[JudgeAccount, ...]:
    read = [verdict for verdict in verdicts if verdict.judge is not None]
    accounts = [_account(model, read) for model in {verdict.judge_model for verdict in read}]
    return tuple(sorted(accounts, key=lambda each: (-each.read, each.model)))


def _account(model: str, read: Sequence[Verdict]) -> JudgeAccount:
    own = [verdict for verdict in read if verdict.judge_model == model]
    readings = labelled(own)
    points = reliability([(each.share, float(each.right), 1.0) for each in readings], _BINS) if readings else ()
    return JudgeAccount(model, len(own), len(readings), auc(readings), trust(own).weight, points)
