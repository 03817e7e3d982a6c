"""Lessons that say the opposite of each other, and what becomes of both.  Pure.

An action is read clause by clause: what it is about, and whether it tells to do it or not.  "Not", "never", "avoid",
"instead of" turn a clause round, and so does the other word of a known pair (enable and disable, before and after).
Two actions are opposed if a clause of one is about the same as a clause of the other and points the other way.

Nobody here knows which of the two is right, so neither is shown until a person approves or retires one of them.  What a
person has approved stands against a model's word: then only the newcomer waits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from reflexion.lessons.changes import changed
from reflexion.lessons.lesson import Lesson, LessonStatus
from reflexion.text.words import stem, words_of

SAME_MATTER = 0.5
"""Share of a trigger's words that lessons of the same matter have in common."""
SAME_CLAUSE = 0.7
_CLAUSES = re.compile(
    r"(?i)(?<![.;:,!?()→])[.;:,!?()\n→]+(?:\s|$)|\b(?:but|and|then|so that|because|since|otherwise)\b"
)
_INSTEAD = re.compile(r"(?i)\b(?:instead\s+of|rather\s+than|in\s+place\s+of|over)\b")
_NOT = re.compile(
    r"(?i)\b(?:not|never|no|don'?t|doesn'?t|must\s?n'?t|should\s?n'?t|can'?t|cannot|avoid|stop|refrain|without|nor)\b|n['’]t\b"
)
_WORD = re.compile(r"[^\W_]+(?:[._/-][^\W_]+)*")
_USE = frozenset(_WORD.findall("use using used run call take prefer choose rely apply employ invoke"))
_EMPTY = frozenset(
    _WORD.findall(
        "a an the of to in on at by for with from or is are was were be been it its this that these those there as into which"
        " when while where if has have had do does did will would should can could must may you your we our they their any"
        " always ever please just also only first directly"
    )
)
_PAIRS = (
    "enable disable|add remove|add delete|increase decrease|raise lower|before after|include exclude|keep delete|keep remove"
    "|keep drop|start stop|open close|allow deny|allow forbid|install uninstall|show hide|lock unlock|upgrade downgrade"
    "|pin unpin|on off|true false|append prepend|first last|more less|accept reject|commit revert|expand shrink"
    "|strict lenient|skip run|larger smaller|longer shorter|ascending descending|encode decode|sync async|relative absolute"
    "|upper lower|single multiple|public private|local remote|mount unmount|attach detach|merge split|ignore handle"
)
_LESSER: dict[LessonStatus, LessonStatus] = {"active": "probation", "probation": "candidate"}


class Clause(NamedTuple):
    """What a part of an action is about, and whether it tells to do it."""

    about: frozenset[str]
    do: bool


def opposed(first: str, second: str) -> bool:
    """Whether one action tells to do what the other tells not to do."""
    return any(_against(mine, theirs) for mine in _clauses(first) for theirs in _clauses(second))


def contradict(first: Lesson, second: Lesson) -> bool:
    """Whether two lessons of one matter say the opposite, or one was written to take the other's place."""
    if first.id == second.id:
        return False
    if first.supersedes == second.id or second.supersedes == first.id:
        return True
    return _one_matter(first, second) and opposed(first.action, second.action)


def reconciled(lesson: Lesson, others: Iterable[Lesson], *, at: datetime, verified: bool = True) -> tuple[Lesson, ...]:
    """All lessons that are different now that ``lesson`` stands as it does among the ``others``, itself included.

    Words that wait for an approval hold nobody back, and neither does what nothing ``verified``: it waits alone.
    """
    if lesson.status == "retired":
        return _cleared(lesson, others, at)
    if lesson.status == "quarantined":
        return ()
    others = tuple(others)
    against = [
        each
        for each in others
        if each.status not in ("retired", "quarantined") and (contradict(lesson, each) or lesson.id in each.contradicts)
    ]
    if _vouched_for(lesson):
        waits = [each for each in others if each.status == "quarantined" and each.supersedes == lesson.id]
        beside = tuple(_counts_again(each, lesson, at) for each in waits)
        return (*beside, *(_answers(each, lesson, at) for each in against if each.scope.kind != "global"))
    now: list[Lesson] = []
    held = lesson
    for each in against:
        if each.id not in held.contradicts:
            held = _held(held, each, at)
        if verified and lesson.id not in each.contradicts and not _vouched_for(each) and each.scope.kind != "global":
            now.append(_held(each, lesson, at))
    return (*now, held) if held != lesson else tuple(now)


def agreeing(lessons: Sequence[Lesson]) -> tuple[Lesson, ...]:
    """The lessons without those for all servers that one of this server says the opposite of."""
    near = [each for each in lessons if each.scope.kind != "global"]
    return tuple(
        each for each in lessons if each.scope.kind != "global" or not any(contradict(each, other) for other in near)
    )


def _cleared(lesson: Lesson, others: Iterable[Lesson], at: datetime) -> tuple[Lesson, ...]:
    """What was said against a lesson that no longer counts holds nobody back."""
    return tuple(
        changed(each, at=at, what=f"{lesson.id}, which says the opposite, was retired.", note="", contradicts=left)
        for each in others
        if lesson.id in each.contradicts
        for left in [tuple(id for id in each.contradicts if id != lesson.id)]
    )


def _answers(lesson: Lesson, approved: Lesson, at: datetime) -> Lesson:
    """What becomes of a lesson beside an approved one: the opposite gives way; what came in its place only stays beside it."""
    only_instead = lesson.supersedes == approved.id and approved.id not in lesson.contradicts
    if not only_instead or (_one_matter(lesson, approved) and opposed(lesson.action, approved.action)):
        return _gives_way(lesson, approved, at)
    return _counts_again(lesson, approved, at)


def _counts_again(lesson: Lesson, approved: Lesson, at: datetime) -> Lesson:
    return changed(lesson, at=at, what=f"{approved.id}, which it had replaced, is active again.", supersedes="")


def _gives_way(lesson: Lesson, approved: Lesson, at: datetime) -> Lesson:
    what = f"{approved.id}, which says the opposite, was approved."
    return changed(lesson, at=at, what=what, status="retired", contradicts=())


def _vouched_for(lesson: Lesson) -> bool:
    return lesson.author_trust == "operator" and lesson.status == "active"


def _held(lesson: Lesson, other: Lesson, at: datetime) -> Lesson:
    status = _LESSER.get(lesson.status, lesson.status)
    what = f"{other.id} says the opposite: neither is used until a person approves or retires one of them."
    contradicts = (*lesson.contradicts, other.id)
    return changed(lesson, at=at, what=what, status=status, note=what, contradicts=contradicts)


def _one_matter(first: Lesson, second: Lesson) -> bool:
    if first.error_signature and first.error_signature == second.error_signature:
        return True
    mine, theirs = ({stem(word) for word in words_of(each.trigger)} for each in (first, second))
    return bool(mine and theirs) and 2 * len(mine & theirs) / (len(mine) + len(theirs)) >= SAME_MATTER


def _against(mine: Clause, theirs: Clause) -> bool:
    only_mine, only_theirs = mine.about - theirs.about, theirs.about - mine.about
    pairs = {(one, other) for one in only_mine for other in only_theirs if frozenset((one, other)) in _OPPOSITES}
    turned = (mine.do != theirs.do) != (len(pairs) % 2 == 1)
    spoken_of = {word for pair in pairs for word in pair} | _WEIGHTLESS
    first, second = mine.about - spoken_of, theirs.about - spoken_of
    return turned and bool(first and second) and 2 * len(first & second) / (len(first) + len(second)) >= SAME_CLAUSE


@lru_cache(4096)
def _clauses(action: str) -> tuple[Clause, ...]:
    found: list[Clause] = []
    for part in _CLAUSES.split(action):
        told, *replaced = _INSTEAD.split(part, maxsplit=1)
        first = _clause(told)
        found.append(first)
        for rest in replaced:
            other = _clause(rest)
            found.append(Clause(other.about, do=not first.do))
    return tuple(each for each in found if each.about)


def _clause(text: str) -> Clause:
    words = (word for word in _WORD.findall(_NOT.sub(" ", text).lower()) if word not in _EMPTY)
    about = frozenset("use" if word in _USE else _root(word) for word in words)
    return Clause(about, do=len(_NOT.findall(text)) % 2 == 0)


def _root(word: str) -> str:
    """A word's stem, with "pinn" of "pinning" as "pin"."""
    root = stem(word)
    return root[:-1] if root != word and len(root) > 3 and root[-1] == root[-2] and root[-1] not in "sl" else root


_OPPOSITES = frozenset(frozenset(_root(word) for word in pair.split()) for pair in _PAIRS.split("|"))
_WEIGHTLESS = frozenset(("use", "before", "after"))
