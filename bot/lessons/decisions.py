"""What an owner makes of a lesson that waits, beside approving and retiring it; pure."""

from __future__ import annotations

from datetime import datetime

from reflexion.lessons.changes import changed, reworded
from reflexion.lessons.lesson import Lesson
from reflexion.text.screening import objections

LOOKED_AT = "{by} looked at it, and nothing in it needs an approval any more."


def said_anew(lesson: Lesson, *, by: str, at: datetime, action: str, trigger: str = "") -> Lesson:
    """It says this from now on; one that waited for a yes waits no more, where nothing in the new words needs one."""
    if (trigger.strip() or lesson.trigger, action.strip()) == (lesson.trigger, lesson.action):
        return lesson
    now = reworded(lesson, by=by, at=at, action=action.strip(), trigger=trigger.strip())
    if now.status != "quarantined" or objections(f"{now.trigger}\n{now.action}\n{now.error_signature}"):
        return now
    return changed(now, at=at, by=by, what=LOOKED_AT.format(by=by), status="probation")


def said_by(lesson: Lesson) -> str:
    """Who said or did something about it last; '' where nobody did."""
    return next((change.by for change in reversed(lesson.history) if change.by), "")


def decided_by(lesson: Lesson) -> str:
    """Who made it what it is now; '' where that came by itself, whatever people did before."""
    return lesson.history[-1].by if lesson.history else ""
