"""Numbers, days and statuses as the page says them."""

from __future__ import annotations

from datetime import datetime

from reflexion.lessons.lesson import Lesson, LessonStatus

STATUS: dict[LessonStatus, str] = {
    "quarantined": "waits for approval", "active": "active", "probation": "on probation", "candidate": "candidate",
    "retired": "retired",
}  # fmt: skip


def percent(share: float) -> str:
    """A share of 0-1."""
    return f"{share:.0%}"


def day(at: datetime) -> str:
    """A day, as anybody reads it."""
    return f"{at.day} {at:%b %Y}"


def number_of(count: int, noun: str) -> str:
    """``1 showing``, ``2 showings``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def said_of(lesson: Lesson) -> str:
    """Where a lesson holds and where it comes from."""
    scope = lesson.scope
    where = {"thread": f"thread {scope.thread}", "guild": f"server {scope.guild or '–'}", "global": "all servers"}
    seen = number_of(len(lesson.executions), "execution")
    return f"{where[scope.kind]} · seen in {seen} · since {day(lesson.created)}"
