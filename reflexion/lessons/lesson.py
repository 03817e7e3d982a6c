"""Reflections and lessons: what later attempts may know.

A reflection belongs to a session: it says what one execution got wrong, for the next attempt in that thread.  A
lesson belongs to a scope and has a life: candidate -> probation -> active -> retired, or quarantined until a person
approves it.  A candidate is only remembered; the same failure in another execution puts it on probation, and from then
on it is shown.  Single lessons are added and amended; nothing ever rewrites the store.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any, Literal, cast

from pydantic import model_validator

from agentic.core.events.execution_events import Frozen
from agentic.core.events.ids import digest
from reflexion.lessons.lifecycle import LessonStatus, Life
from reflexion.text.abilities import Touches
from reflexion.text.screening import objections
from reflexion.text.secrets import redact
from reflexion.text.words import stem, words_of

__all__ = [
    "SHOWN", "Change", "Insight", "Lesson", "LessonKind", "LessonStatus", "LifeWith", "Reflection", "Scope", "ScopeKind",
    "Trust", "Verdict", "held_for", "lesson_id", "matter_of", "propose_lesson", "reflection_id", "screened", "told_by",
    "unheard", "worked_id",
]  # fmt: skip

LessonKind = Literal["strategy", "pitfall", "fact"]
ScopeKind = Literal["thread", "guild", "global"]
Trust = Literal["model", "person", "operator"]

SHOWN: tuple[LessonStatus, ...] = ("probation", "active")
"""Lessons in one of these may stand in a prompt."""
TOLD_WORDS, TOLD_SHARE = 3, 0.7
"""So many words of a text, and such a share of them, are a person's where it repeats what that person said."""
APPROVAL = "a person has to approve it before it is used."


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
    said: tuple[str, ...] = ()
    """What people said was wrong, in their words: corrections, also those that came after it was written."""
    held: str = ""
    """The order out of what the agent read that it repeats: told to no attempt, only to people."""
    dictated: str = ""
    """The standing order of a person that it repeats."""
    teaches: Literal["", "strategy", "fact"] = ""
    """What a task that ended well teaches by how it got round an obstacle; '' where it failed."""
    touches: Touches = None
    """What doing what it advises touches, as its writer declared; None where that was not said, or before it was asked."""
    untrusted: tuple[str, ...] = ()
    """Text that its task had read and that nobody here vouches for, in words."""
    created: datetime


class Scope(Frozen):
    """Where a lesson holds; ``guild`` is '' only for a global one, which an operator alone makes."""

    kind: ScopeKind
    guild: str = ""
    thread: str = ""


class Change(Frozen):
    """Something that was done to a lesson: amended, merged, promoted, retired; ``by`` is '' where nobody did it."""

    at: datetime
    by: str = ""
    what: str
    status: LessonStatus | None = None
    """The status it has from then on, where that changed."""


class Verdict(Frozen):
    """How one execution went, as far as something outside of the agent says: what lessons and judges are measured by."""

    execution: str
    guild: str
    thread: str
    model: str = ""
    """The one that lessons were chosen for."""
    role: str = ""
    ok: bool | None = None
    """None where nothing verified it and nobody voted, and where it says nothing of lessons (talk, a copy's end)."""
    score: int = 0
    verifier: Literal["pass", "fail", "none"] = "none"
    judge: float | None = None
    """The judge's share, 0-1; it has no part in ``ok``."""
    judge_model: str = ""
    """Whose share that is."""
    right: bool | None = None
    """What people said of it, else what its last check said: the label that judges are measured by."""
    lessons_shown: int = 0
    at: datetime


class LifeWith(Frozen):
    """How a lesson fared with one model."""

    model: str
    life: Life


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
    life: Life = Life()
    """How it fared, over all models."""
    inherited: Life = Life()
    """The part of its life that was counted before it came into this store, for which no showing is kept."""
    by_model: tuple[LifeWith, ...] = ()
    """The same for each model that worked with it or without it."""
    model: str = ""
    """The model whose failure it was made from."""
    supersedes: str = ""
    contradicts: tuple[str, ...] = ()
    """Lessons that say the opposite; none of them is shown while that stands."""
    history: tuple[Change, ...] = ()
    """The last things that were done to it, oldest first."""
    revision: int = 0
    """Grows with each change of its words or its status; what is counted of it changes none."""
    expired: bool = False
    """It was retired because it was hardly ever shown: the same failure brings it back."""
    renewed: datetime | None = None
    """When its failure was last seen, or a person last approved it; it expires counted from then."""
    counted_from: datetime | None = None
    """Showings before that are no part of its life: a person brought it back although they spoke against it."""
    created: datetime

    @model_validator(mode="before")
    @classmethod
    def _with_a_life(cls, data: Any) -> Any:
        """Counters stood beside the words before a lesson had a life."""
        known = cast("dict[str, Any]", data)
        if not isinstance(data, dict) or "shown" not in known or "life" in known:
            return known
        counted = {name: known.get(name, 0) for name in ("shown", "shown_ok", "held_back", "held_back_ok")}
        return {**known, "life": counted, "inherited": counted}


def lesson_id(scope: Scope, signature: str) -> str:
    """The same scope and failure give the same id."""
    return "l" + digest("lesson", scope.kind, scope.guild, scope.thread, signature, length=11)


def reflection_id(execution: str) -> str:
    """The one reflection of an execution."""
    return "r" + digest("reflection", execution, length=11)


def worked_id(execution: str) -> str:
    """The one reflection on what worked in an execution; a person may still say that it was wrong."""
    return "r" + digest("worked", execution, length=11)


def unheard(reflection: Reflection, said: Collection[str]) -> Reflection:
    """The reflection without these words among those that it heard."""
    return reflection.model_copy(update={"said": tuple(each for each in reflection.said if each not in said)})


def propose_lesson(reflection: Reflection) -> Lesson:
    """The candidate a reflection gives its guild, recognised by its error, or else by the words of what went wrong.

    What worked in a task that ended well is a strategy, or a fact where a command had to be found.  What rests on an error
    is a pitfall.  Otherwise it is a fact where the reflection repeats what a person stated, which
    counts as that person's, and a strategy where it is about the way.  Direct messages belong to no guild: what is learned
    in one stays in it.
    """
    scope = Scope(kind="guild", guild=reflection.guild)
    if not reflection.guild:
        scope = Scope(kind="thread", thread=reflection.thread)
    insight = reflection.insight
    stated = not reflection.error_signature and told_by(insight.key_insight, reflection.said)
    kind: LessonKind = "pitfall" if reflection.error_signature else "fact" if stated else "strategy"
    kind = reflection.teaches or kind
    action = insight.key_insight if stated or reflection.teaches == "fact" else insight.strategy_change
    lesson = Lesson(
        id=lesson_id(scope, reflection.error_signature or matter_of(insight.what_failed)), scope=scope, kind=kind,
        trigger=insight.what_failed, action=action, error_signature=reflection.error_signature,
        evidence=reflection.evidence, executions=(reflection.execution,), model=reflection.model,
        author_trust="person" if told_by(action, reflection.said) else "model", created=reflection.created,
    )  # fmt: skip
    if order := reflection.held or reflection.dictated:
        where = "in what the agent read" if reflection.held else "in the thread"
        return held_for(lesson, f"It repeats an order that was {where} (“{redact(order)[:120]}”)")
    if reflection.untrusted:
        return held_for(lesson, f"Its task read {' and '.join(reflection.untrusted)}")
    if (looked_at := screened(lesson)).status == "quarantined":
        return looked_at
    if reflection.touches is None:
        return held_for(lesson, "It does not say what it touches")
    return held_for(lesson, f"It touches {' and '.join(reflection.touches)}") if reflection.touches else lesson


def matter_of(trigger: str) -> str:
    """What a lesson is about, where no error says it: the words of its trigger, in whatever order and form."""
    return f"when: {' '.join(sorted({stem(word) for word in words_of(trigger)}) or trigger.split())}"


def told_by(text: str, said: Iterable[str]) -> bool:
    """Whether a text repeats what people said: most of its words that carry meaning are theirs."""
    words = {stem(word) for word in words_of(text)}
    theirs = {stem(word) for each in said for word in words_of(each)}
    return len(words & theirs) >= TOLD_WORDS and len(words & theirs) >= TOLD_SHARE * len(words)


def screened(lesson: Lesson) -> Lesson:
    """The lesson, quarantined if its text holds what a person has to look at first."""
    found = objections(f"{lesson.trigger}\n{lesson.action}\n{lesson.error_signature}")
    if not found:
        return lesson
    return held_for(lesson, f"It contains {' and '.join(found)}")


def held_for(lesson: Lesson, why: str) -> Lesson:
    """The lesson, kept apart until a person has approved it."""
    return lesson.model_copy(update={"status": "quarantined", "note": f"{why}: {APPROVAL}"})
