"""Decisions of an owner about a lesson, apart from approving and retiring it; pure."""

from __future__ import annotations

from datetime import datetime

from reflexion.lessons.changes import changed, reworded
from reflexion.lessons.lesson import Lesson
from reflexion.text.screening import objections

LOOKED_AT = "{by} reworded it; nothing in it needs approval any more."


def said_anew(lesson: Lesson, *, by: str, at: datetime, action: str, trigger: str = "") -> Lesson:
    """Reword a lesson; one that waited for approval is active, unless the new words need approval themselves."""
    if (trigger.strip() or lesson.trigger, action.strip()) == (lesson.trigger, lesson.action):
        return lesson
    now = reworded(lesson, by=by, at=at, action=action.strip(), trigger=trigger.strip())
    if now.status != "quarantined" or objections(f"{now.trigger}\n{now.action}\n{now.error_signature}"):
        return now
    return changed(now, at=at, by=by, what=LOOKED_AT.format(by=by), status="probation")


def said_by(lesson: Lesson) -> str:
    """Return who last acted on the lesson; '' where nobody did."""
    return next((change.by for change in reversed(lesson.history) if change.by), "")


def decided_by(lesson: Lesson) -> str:
    """Return who gave the lesson its present status; '' where no person did."""
    return lesson.history[-1].by if lesson.history else ""
