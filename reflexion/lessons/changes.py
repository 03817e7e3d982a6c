"""What can be done to a lesson, each with its line in the lesson's history.  Pure.

A lesson's words and its status change only by these, one lesson at a time; every change is one more revision.  What is
counted of a lesson (its life) is told anew from its showings and is no revision, so a person who is writing is not
disturbed by an execution that ends meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from reflexion.errors import LessonOutdated, LessonOutOfScope
from reflexion.lessons.lesson import (
    SHOWN,
    Change,
    Lesson,
    LessonStatus,
    LifeWith,
    screened,
)
from reflexion.lessons.lifecycle import (
    PARAMETERS,
    Life,
    Showing,
    lived,
    standing,
)
from reflexion.text.hidden_text import visible
from reflexion.text.secrets import redact

HISTORY = 40
"""So many of the last changes are kept with a lesson, and the first."""
RANKS: dict[LessonStatus, int] = {"quarantined": 0, "retired": 0, "candidate": 1, "probation": 2, "active": 3}
"""How much a lesson is trusted."""


def changed(lesson: Lesson, *, at: datetime, what: str, by: str = "", **update: object) -> Lesson:
    """The lesson with ``update``, and a line in its history that says ``what`` was done and ``by`` whom.

    Where the status changes, ``what`` is also the note that says why it has it.
    """
    status = update.get("status", lesson.status)
    line = Change.model_validate(
        {"at": at, "by": by, "what": what, "status": status if status != lesson.status else None}
    )
    history = (*lesson.history, line)
    if len(history) > HISTORY:
        history = (history[0], *history[-HISTORY + 1 :])
    note = what if status != lesson.status else lesson.note
    # Validated anew: an update is no way around the types.
    return Lesson.model_validate({**dict(lesson), "note": note, **update, "history": history})


def approved(lesson: Lesson, *, by: str, at: datetime) -> Lesson:
    """A person lets it count from now on; what spoke against a retired one before no longer does."""
    again = {"counted_from": at} if lesson.status == "retired" and not lesson.expired else {}
    return changed(
        lesson, at=at, by=by, what=f"Approved by {by}.", status="active", author_trust="operator", expired=False,
        renewed=at, contradicts=(), **again,
    )  # fmt: skip


def retired(lesson: Lesson, *, by: str, at: datetime, why: str = "") -> Lesson:
    """A person lets it count no longer."""
    what = f"Retired by {by}{f': {why}' if why else ''}."
    return changed(lesson, at=at, by=by, what=what, status="retired", expired=False, contradicts=())


def reworded(lesson: Lesson, *, by: str, at: datetime, action: str, trigger: str = "") -> Lesson:
    """A person says it better; words that have to be looked at first wait for an approval again."""
    words = {"trigger": _clean(trigger or lesson.trigger), "action": _clean(action), "author_trust": "operator"}
    before = f"{lesson.trigger} → {lesson.action}"
    now = changed(lesson, at=at, by=by, what=f"Reworded by {by}; before: {before}", renewed=at, **words)
    looked_at = screened(now)
    if looked_at.status == lesson.status:
        return looked_at
    return changed(now, at=at, what=looked_at.note, status=looked_at.status)


def fit_to_keep(lesson: Lesson) -> Lesson:
    """The lesson without what looks like a key, a token or a password, and without what nobody sees, whoever wrote it."""
    clean = {
        "trigger": _clean(lesson.trigger),
        "action": _clean(lesson.action),
        "error_signature": _clean(lesson.error_signature),
        "note": _clean(lesson.note),
        "evidence": tuple(_clean(line) for line in lesson.evidence),
    }
    dirty = {name: value for name, value in clean.items() if value != getattr(lesson, name)}
    return lesson.model_copy(update=dirty) if dirty else lesson


def _clean(text: str) -> str:
    return redact(visible(text))


def added(lesson: Lesson) -> Lesson:
    """A lesson as it comes into a store: a life it brings along has no showings there, so it is kept beside them."""
    _within_its_rights(lesson)
    lesson = fit_to_keep(lesson)
    return lesson.model_copy(update={"inherited": lesson.life}) if lesson.life != lesson.inherited else lesson


def amended(known: Lesson, given: Lesson) -> Lesson:
    """What stands after ``given``, a changed copy of ``known``, was handed in: its words, with what was counted since.

    Raises ``LessonOutdated`` where the copy is older than what is known, ``LessonOutOfScope`` where it would reach further.
    """
    _within_its_rights(given)
    if given.scope != known.scope:
        raise LessonOutOfScope(f"lesson {known.id} belongs elsewhere and stays there: write a new one")
    if given.revision != known.revision:
        raise LessonOutdated(
            f"lesson {known.id} was changed meanwhile ({_last_change(known)}): look at it again, then change that"
        )
    seen = (*known.executions, *(each for each in given.executions if each not in known.executions))
    if given.status == "active" and given.author_trust == "operator":
        given = given.model_copy(update={"contradicts": ()})  # a person has decided
    life, by_model = (known.life, known.by_model) if given.counted_from == known.counted_from else (Life(), ())
    counted = {"life": life, "by_model": by_model, "inherited": known.inherited, "executions": seen}
    return fit_to_keep(given).model_copy(update={**counted, "revision": known.revision + 1})


def revised(before: Lesson, now: Lesson) -> Lesson:
    """``now`` as the next revision, where its words, its status or what contradicts it differ from ``before``."""
    same = (before.status, before.trigger, before.action, before.contradicts) == (
        now.status, now.trigger, now.action, now.contradicts,
    )  # fmt: skip
    return now if same else now.model_copy(update={"revision": before.revision + 1})


def told_again(before: Showing | None, now: Showing) -> Showing:
    """A showing that takes the place of an earlier one keeps when that was, and what was expected then."""
    if before is None:
        return now
    then = {"at": before.at, "expected": before.expected, "unaided": before.unaided, "place": before.place}
    return now.model_copy(update=then)


def lived_through(lesson: Lesson, showings: Sequence[Showing]) -> Lesson:
    """The lesson with its life, over all models and by each, told anew from all its showings."""
    start = Life() if lesson.counted_from else lesson.inherited
    whole, by_model = start, dict[str, Life]()
    for showing in showings:
        if lesson.counted_from is None or showing.at >= lesson.counted_from:
            whole = lived(whole, showing)
            by_model[showing.model] = lived(by_model.get(showing.model, Life()), showing)
    lives = tuple(LifeWith(model=model, life=life) for model, life in by_model.items())
    return lesson.model_copy(update={"life": whole, "by_model": lives})


def settled(lesson: Lesson, *, now: datetime, verified: bool) -> Lesson:
    """The lesson with the status that its life gives it; where nothing was ``verified`` it can only fall.

    What is contradicted is promoted by people alone.
    """
    status, why = _standing(lesson, now)
    rises = RANKS[status] > RANKS[lesson.status]
    if status == lesson.status or (rises and (not verified or lesson.contradicts)):
        return lesson
    expired = status == "retired" and _standing(lesson, last_used(lesson))[0] != "retired"
    return revised(lesson, changed(lesson, at=now, what=why, status=status, expired=expired))


def long_unused(now: datetime) -> datetime:
    """What was neither made, nor seen again, nor shown since then may expire."""
    return now - timedelta(days=PARAMETERS.expire_days)


def last_used(lesson: Lesson) -> datetime:
    """When it was made, seen again, approved or shown, whichever was last."""
    since = lesson.renewed or lesson.created
    return max(lesson.life.last_shown or since, since)


def may_be_shown(lesson: Lesson) -> bool:
    """Its status lets it stand in a prompt, and nothing says the opposite of it."""
    return lesson.status in SHOWN and not lesson.contradicts


def _standing(lesson: Lesson, now: datetime) -> tuple[LessonStatus, str]:
    lives = [each.life for each in lesson.by_model]
    since = lesson.renewed or lesson.created
    return standing(lesson.status, lesson.life, lives, created=since, now=now, trust=lesson.author_trust)


def _within_its_rights(lesson: Lesson) -> None:
    if lesson.scope.kind == "global" and lesson.author_trust != "operator":
        raise LessonOutOfScope("a lesson for all servers is written by who runs the bot, and by nobody else")


def _last_change(lesson: Lesson) -> str:
    if not lesson.history:
        return "by an execution that met it"
    last = lesson.history[-1]
    return f"{last.what.rstrip('.')}, {last.at:%Y-%m-%d %H:%M}"
