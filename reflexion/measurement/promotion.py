"""What a further attempt at a task says of the lesson that the attempt before it left.  Pure.

It failed, was reflected upon, and then went well with that reflection in its prompt: the same task, the same files, the
same check.  That is nearer to a proof than the same failure met elsewhere, so the lesson is shown from then on, and
measured.  An attempt that fails again proves nothing for what it was told, although its failure is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from reflexion.evaluation.trajectory import Trajectory
from reflexion.lessons.changes import changed
from reflexion.lessons.deduplication import likeness, same
from reflexion.lessons.lesson import (
    Lesson,
    Reflection,
    Verdict,
    propose_lesson,
)
from reflexion.reflection.prompt_text import task_of

PROVED = "The next attempt at that task went well with it."


def is_further(trajectory: Trajectory) -> bool:
    """Whether its failure came in spite of what an attempt before it had left."""
    return trajectory.attempt > 1


def told_first(trajectory: Trajectory, reflections: Sequence[Reflection]) -> Reflection | None:
    """The newest reflection in its prompt, where it is one on the same task; earlier ones had not helped."""
    told = next((lesson.id for lesson in trajectory.lessons if lesson.kind == "reflection"), "")
    found = next((each for each in reflections if each.id == told), None)
    return found if found is not None and found.task == task_of(trajectory) else None


def proved(reflection: Reflection, verdict: Verdict, lessons: Sequence[Lesson], at: datetime) -> Lesson | None:
    """The candidate that says what the reflection said, on probation from now on; None where there is none."""
    said = propose_lesson(reflection)
    if not verdict.ok or verdict.verifier != "pass":
        return None
    fits = [
        lesson
        for lesson in lessons
        if lesson.status == "candidate"
        and not lesson.contradicts
        and lesson.scope == said.scope
        and reflection.execution in lesson.executions
        and same(lesson, said)
    ]
    best = max(fits, key=lambda lesson: likeness(lesson, said), default=None)
    return changed(best, at=at, what=PROVED, status="probation") if best is not None else None
