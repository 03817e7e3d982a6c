"""Reflections and lessons: what later attempts may know.

A reflection belongs to a session: it says what one execution got wrong, for the next attempt in that thread.  A
lesson belongs to a scope and has a life: candidate -> probation -> active -> retired, or quarantined until a person
approves it.  A candidate is only remembered; the same failure in another execution puts it on probation, and from then
on it is shown.  Single lessons are added and amended; nothing ever rewrites the store.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from agentic.core.events import Frozen
from agentic.core.identity import digest
from reflexion.screening import objections

LessonKind = Literal["strategy", "pitfall", "fact"]
ScopeKind = Literal["thread", "guild", "global"]
LessonStatus = Literal["candidate", "probation", "active", "retired", "quarantined"]
Trust = Literal["model", "person", "operator"]

SHOWN: tuple[LessonStatus, ...] = ("probation", "active")
"""Lessons in one of these may stand in a prompt."""


class Insight(Frozen):
    """What a reflection says, in the model's words."""

    what_worked: str
    what_failed: str
    root_cause: str
    strategy_change: str
    key_insight: str


class Reflection(Frozen):
    """What one execution teaches the next attempt in its thread; ``evidence`` is verbatim output."""

    id: str
    thread: str
    guild: str
    execution: str
    task: str
    cause: str
    insight: Insight
    evidence: tuple[str, ...] = ()
    error_signature: str = ""
    model: str = ""
    score: int = 0
    created: datetime


class Scope(Frozen):
    """Where a lesson holds; ``guild`` is '' only for a global one, which an operator alone makes."""

    kind: ScopeKind
    guild: str = ""
    thread: str = ""


class Lesson(Frozen):
    """One thing worth knowing, with where it comes from and how it has fared."""

    id: str
    scope: Scope
    kind: LessonKind
    trigger: str
    action: str
    error_signature: str = ""
    evidence: tuple[str, ...] = ()
    executions: tuple[str, ...] = ()
    """The executions it was seen in, oldest first."""
    author_trust: Trust = "model"
    status: LessonStatus = "candidate"
    note: str = ""
    """Why it has this status, for the person who looks at it."""
    shown: int = Field(default=0, ge=0)
    shown_ok: int = Field(default=0, ge=0)
    held_back: int = Field(default=0, ge=0)
    held_back_ok: int = Field(default=0, ge=0)
    model: str = ""
    supersedes: str = ""
    created: datetime


def lesson_id(scope: Scope, signature: str) -> str:
    """The same scope and failure give the same id."""
    return "l" + digest("lesson", scope.kind, scope.guild, scope.thread, signature, length=11)


def reflection_id(execution: str) -> str:
    """The one reflection of an execution."""
    return "r" + digest("reflection", execution, length=11)


def propose_lesson(reflection: Reflection) -> Lesson | None:
    """The candidate a reflection gives its guild; None without an error to recognise it by."""
    if not reflection.error_signature:
        return None
    scope = Scope(kind="guild", guild=reflection.guild)
    insight = reflection.insight
    lesson = Lesson(
        id=lesson_id(scope, reflection.error_signature), scope=scope, kind="pitfall", trigger=insight.what_failed,
        action=insight.strategy_change, error_signature=reflection.error_signature, evidence=reflection.evidence,
        executions=(reflection.execution,), model=reflection.model, created=reflection.created,
    )  # fmt: skip
    return screened(lesson)


def screened(lesson: Lesson) -> Lesson:
    """The lesson, quarantined if its text holds what a person has to look at first."""
    found = objections(f"{lesson.trigger}\n{lesson.action}\n{lesson.error_signature}")
    if not found:
        return lesson
    note = f"It holds {' and '.join(found)}: a person has to approve it before it is shown."
    return lesson.model_copy(update={"status": "quarantined", "note": note})


def merged(known: Lesson, seen: Lesson, *, verified: bool) -> Lesson:
    """A known lesson after the same failure was seen again.

    The words that stand stay as they are.  A candidate goes on probation when another execution, whose outcome was
    verified, met the same failure; one that a person retired or that is quarantined stays so.
    """
    again = [execution for execution in seen.executions if execution not in known.executions]
    if not again:
        return known
    update: dict[str, object] = {"executions": (*known.executions, *again)}
    if known.status == "candidate" and seen.status == "quarantined":
        update |= {"status": "quarantined", "note": seen.note}
    elif known.status == "candidate" and verified:
        update |= {"status": "probation", "note": f"Seen in {len(known.executions) + len(again)} executions."}
    return known.model_copy(update=update)


def tallied(lesson: Lesson, *, ok: bool) -> Lesson:
    """A lesson after an execution it was shown to."""
    return lesson.model_copy(update={"shown": lesson.shown + 1, "shown_ok": lesson.shown_ok + int(ok)})


def usefulness(lesson: Lesson) -> float:
    """How much better executions fare with the lesson than without it, −1 to 1; 0 while nothing is known.

    Both shares are posterior means under a uniform prior, so a few showings move it little.
    """
    with_it = (lesson.shown_ok + 1) / (lesson.shown + 2)
    without = (lesson.held_back_ok + 1) / (lesson.held_back + 2)
    return with_it - without
