"""Lessons in figures, pictures and plain words; pure. What a lesson says comes from outside: it is shown, never obeyed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.messages.lesson_text import MEANING, ORDER, SIGNS
from reflexion.lessons.changes import last_used
from reflexion.lessons.lesson import SHOWN, Change, Lesson
from reflexion.lessons.lifecycle import PARAMETERS, Showing, belief
from reflexion.measurement.report import LessonsReport, Told, lessons_report
from reflexion.measurement.uplift import Uplift, points

WIDE = 200
"""Width of a picture of an effect, from −100 to +100 points."""


@dataclass(frozen=True, slots=True)
class EffectBar:
    """An uplift as a bar from the middle of a picture, with its interval; places from 0 to ``WIDE``."""

    points: str
    """Such as '+30 points, 95% interval −5 to +56'."""
    judgement: str
    tone: str
    """good, bad, or '' where both is still possible."""
    x: float
    width: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class LessonLine:
    """A lesson as a list and its own page show it."""

    lesson: Lesson
    sign: str
    meaning: str
    where: str
    since: datetime
    """When it got its present status."""
    decay: str
    """When it is no longer used by itself, in words."""
    effect: EffectBar | None
    exposures: str
    belief: str
    decision: Change | None
    """What a person decided last, where that still stands."""


def lesson_lines(
    lessons: Sequence[Lesson], showings: Sequence[Showing]
) -> tuple[LessonsReport, tuple[LessonLine, ...]]:
    """The measured report, and its lessons: those that wait for a person first, the newest of a status first."""
    report = lessons_report(lessons, showings, ())
    ordered = sorted(report.lessons, key=lambda told: ORDER.index(told.lesson.status))
    return report, tuple(lesson_line(told) for told in ordered)


def lesson_line(told: Told) -> LessonLine:
    """One lesson with its showings."""
    lesson = told.lesson
    where = {"thread": "its conversation", "guild": "its server", "global": "all servers"}
    contradicted = lesson.contradicts and lesson.status not in ("retired", "quarantined")
    against = f"contradicts {', '.join(lesson.contradicts[:3])}: neither is used until an owner approves or retires one"
    return LessonLine(
        lesson,
        SIGNS[lesson.status],
        against if contradicted else MEANING[lesson.status],
        where[lesson.scope.kind],
        next((step.at for step in reversed(lesson.history) if step.status is not None), lesson.created),
        _decay(lesson),
        effect_bar(told.uplift) if told.uplift is not None else None,
        _exposures(lesson),
        _believed(lesson),
        _decision(lesson),
    )


def effect_bar(uplift: Uplift) -> EffectBar:
    """An uplift as a picture and in words."""

    def place(share: float) -> float:
        return round((min(max(share, -1.0), 1.0) + 1) * WIDE / 2, 1)

    tone = "good" if uplift.low > 0 else "bad" if uplift.high < 0 else ""
    words = {"good": "it helps", "bad": "it hurts", "": "too few tasks to be sure"}
    start, end = sorted((WIDE / 2, place(uplift.difference)))
    span = f"{points(uplift.low)} to {points(uplift.high)}"
    return EffectBar(
        f"{points(uplift.difference)} points, 95% interval {span}",
        words[tone], tone, start, round(max(end - start, 1.5), 1), place(uplift.low), place(uplift.high),
    )  # fmt: skip


def went(showing: Showing) -> str:
    """What became of a task that a lesson fitted."""
    if not showing.says:
        return "outcome not known"
    return "went well" if showing.ok else "did not go well"


ARMS = {"shown": "told of it", "held_back": "withheld at random, to measure it", "crowded": "no room for it"}


def _exposures(lesson: Lesson) -> str:
    life = lesson.life
    parts = [
        f"{name} {count} {'time' if count == 1 else 'times'}{f', {ok} of {known} known outcomes went well' if known else ''}"
        for name, count, known, ok in (
            ("told", life.told or life.shown, life.shown, life.shown_ok),
            ("withheld", life.held_back, life.held_back, life.held_back_ok),
            ("crowded out", life.crowded, life.crowded, life.crowded_ok),
        )
        if count
    ]
    return "; ".join(parts) or "not told to any task as a lesson yet"


def _decay(lesson: Lesson) -> str:
    if lesson.status == "retired":
        return "expired: the same failure brings it back" if lesson.expired else "not used; an approval brings it back"
    if lesson.status == "quarantined":
        return "waiting for approval"
    if lesson.author_trust != "model":
        return "does not expire: a person wrote or approved it"
    end = last_used(lesson) + timedelta(days=PARAMETERS.expire_days)
    return f"expires on {end:%Y-%m-%d} unless it is used or seen again"


def _decision(lesson: Lesson) -> Change | None:
    """What somebody did to it last; None where nobody did, or where its status came from something else since."""
    for change in reversed(lesson.history):
        if change.by or change.status is not None:
            return change if change.by else None
    return None


def _believed(lesson: Lesson) -> str:
    """What its outcomes make likely."""
    if lesson.status not in SHOWN and not lesson.life.shown:
        return ""
    known = belief(lesson.life, lesson.author_trust)
    likely = (("helps", known.useful), ("changes nothing", known.nothing), ("harms", known.harms))
    return ", ".join(f"{what} {min(max(round(100 * share), 1), 99)}%" for what, share in likely)
