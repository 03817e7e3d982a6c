"""Which lessons are the same one, and where a newly proposed one belongs.  Pure.

Two lessons are the same if they say the same in nearly the same words: shared words of trigger and of action, by their
stems, with pairs of neighbouring words beside single ones so that order counts a little.  What they differ in matters
more where it is a name out of somebody's code or a number.  Two that say the opposite, or speak of
different things throughout, are never the same one.

A proposal of the same failure (error signature) strengthens the lessons that are known for it.  It is merged into the
one that says the same, retired and quarantined ones included: so what was found wrong is not learned again.  Where
none does, it is another remedy for the failure, and stands beside them; up to ``REMEDIES`` at once.  Where there are so
many, the least useful one that is not proven makes room, and where all are proven the newcomer stands by its own words, not
as a remedy of that failure: no text is thrown away.  It says which retired one it comes in place of; a person who brings
that one back lets both count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import pairwise

from agentic.core.events.ids import digest
from reflexion.lessons.changes import RANKS, changed, revised
from reflexion.lessons.contradictions import opposed, reconciled
from reflexion.lessons.lesson import Lesson
from reflexion.lessons.lifecycle import usefulness
from reflexion.text.words import stem

SAME = 0.6
"""Likeness from which two lessons are one; tuned on the pairs in ``tests/unit/reflexion/pairs.py``."""
SAME_FOR_ONE_FAILURE = 0.4
"""The same between lessons of one error signature, which is evidence of its own."""
REMEDIES = 6
"""Lessons of one error signature that live at once."""
EXECUTIONS = 50
"""So many executions that a lesson was seen in are named, the first and the last."""
_WORD = re.compile(r"[^\W_]+(?:[._-][^\W_]+)*\(?")
_PARTS = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_EMPTY = frozenset(
    _PARTS.findall(
        "a an the of to in on at by for with from and or is are was were be been it its this that these those there then so as"
        " into which when while where if has have had do does did will would should can could must may you your we our they"
        " their i my me also just very please make sure always first"
    )
)


@dataclass(frozen=True, slots=True)
class Placement:
    """What became of a proposal: the lesson that stands for it, and every lesson that is different from before."""

    stands: Lesson
    saved: tuple[Lesson, ...]


def likeness(first: Lesson, second: Lesson) -> float:
    """How much two lessons say the same, 0 to 1; of one failure, how much they advise the same."""
    actions = _overlap(_marks(first.action), _marks(second.action))
    if of_one_failure(first, second):
        return actions
    triggers = _overlap(_marks(first.trigger), _marks(second.trigger))
    # The weaker half counts more: the same advice for another matter is another lesson, and the other way round.
    return 0.35 * max(triggers, actions) + 0.65 * min(triggers, actions)


def of_one_failure(first: Lesson, second: Lesson) -> bool:
    """Whether both were made of the same failure."""
    return first.id == second.id or (first.error_signature != "" and first.error_signature == second.error_signature)


def same(first: Lesson, second: Lesson) -> bool:
    """Whether both are one lesson."""
    mine, theirs = _names(first.action), _names(second.action)
    if opposed(first.action, second.action) or not (mine <= theirs or theirs <= mine):
        return False
    if _subject(first, second) and _subject(second, first):
        return False
    return likeness(first, second) >= (SAME_FOR_ONE_FAILURE if of_one_failure(first, second) else SAME)


def placed(lesson: Lesson, around: Sequence[Lesson], *, verified: bool) -> Placement:
    """Where a proposal belongs among the lessons ``around`` it: those of its scope that share words or the failure."""
    mine = [each for each in around if each.scope == lesson.scope]
    alike = [each for each in mine if same(each, lesson)]
    ofone = [each for each in mine if of_one_failure(each, lesson)]
    known = next((each for each in mine if each.id == lesson.id), None)
    home = max(alike, key=lambda each: (likeness(each, lesson), each.id == lesson.id), default=None)
    live = [each for each in ofone if each.status not in ("retired", "quarantined")]
    told = [each for each in ofone if set(lesson.executions) <= set(each.executions)]
    if home is None and told:
        home = max(told, key=lambda each: likeness(each, lesson))
    strengthened = {each.id: seen_again(each, lesson, verified=verified) for each in ofone}
    if home is not None:
        strengthened[home.id] = merged(home, lesson, verified=verified)
    else:
        if len(live) >= REMEDIES and lesson.status != "quarantined":
            lesson, gone = _with_room(lesson, [strengthened[each.id] for each in live])
            strengthened |= {gone.id: gone} if gone is not None else {}
        lesson = lesson if known is None else lesson.model_copy(update={"id": _other_id(lesson)})
        strengthened[lesson.id] = lesson = _instead(lesson, strengthened.values())
    stands = strengthened[home.id if home is not None else lesson.id]
    before = {each.id: each for each in around}
    now = {**before, **strengthened}
    moved = [each for each in strengthened.values() if each.status == "retired" and before[each.id].status != "retired"]
    if stands.id not in before or before[stands.id].status != stands.status:
        moved.append(stands)
    for moves in moved:
        others = [each for id, each in now.items() if id != moves.id]
        for each in reconciled(now[moves.id], others, at=lesson.created, verified=verified):
            now[each.id] = revised(before[each.id], each) if each.id in before else each
    return Placement(now[stands.id], tuple(each for id, each in now.items() if before.get(id) != each))


def merged(known: Lesson, lesson: Lesson, *, verified: bool) -> Lesson:
    """A known lesson after it was proposed again; its words stay as they are."""
    if known.status == "candidate" and lesson.status == "quarantined":
        now = _met(known, lesson)
        return revised(known, changed(now, at=lesson.created, what=lesson.note, status="quarantined"))
    return seen_again(known, lesson, verified=verified)


def seen_again(known: Lesson, lesson: Lesson, *, verified: bool) -> Lesson:
    """A known lesson after its failure was met by another execution.

    A candidate goes on probation where the outcome of that execution was verified; one that had expired is a candidate
    again; what was retired for another reason, or is quarantined, stays so.
    """
    if not set(lesson.executions) - set(known.executions):
        return known
    now, at = _met(known, lesson), lesson.created
    if known.expired:
        return revised(
            known, changed(now, at=at, what="The same failure happened again.", status="candidate", expired=False)
        )
    if known.status == "candidate" and verified and not known.contradicts and lesson.status != "quarantined":
        what = f"Seen in {len(now.executions)} tasks."
        return revised(known, changed(now, at=at, what=what, status="probation"))
    return now


def _with_room(lesson: Lesson, live: Sequence[Lesson]) -> tuple[Lesson, Lesson | None]:
    """A further remedy where there are enough, and the one that makes room for it.

    That is the least useful of what is neither proven, nor a person's, nor waits for one.  Where there is none, the
    newcomer stands by its own words.
    """
    unproven = [
        each
        for each in live
        if each.status in ("candidate", "probation") and each.author_trust == "model" and not each.contradicts
    ]
    gone = min(unproven, key=lambda each: (usefulness(each.life), RANKS[each.status], each.created), default=None)
    if gone is None:
        return lesson.model_copy(update={"error_signature": "", "id": _other_id(lesson)}), None
    what = f"Made room for better ones: the least useful of {REMEDIES} remedies for its failure."
    return lesson, revised(gone, changed(gone, at=lesson.created, what=what, status="retired"))


def _instead(lesson: Lesson, of_one: Iterable[Lesson]) -> Lesson:
    """Another remedy names the last one for its failure that was retired."""
    gone = max((each for each in of_one if each.status == "retired"), key=_retired_at, default=None)
    if gone is None or lesson.supersedes:
        return lesson
    what = f"Replaces {gone.id}, which was retired."
    return changed(lesson, at=lesson.created, what=what, supersedes=gone.id)


def _retired_at(lesson: Lesson) -> datetime:
    return next((each.at for each in reversed(lesson.history) if each.status == "retired"), lesson.created)


def _met(known: Lesson, lesson: Lesson) -> Lesson:
    executions = tuple(dict.fromkeys((*known.executions, *lesson.executions)))
    if len(executions) > EXECUTIONS:
        executions = (executions[0], *executions[-EXECUTIONS + 1 :])
    renewed = max(known.renewed or known.created, lesson.created)
    return known.model_copy(update={"executions": executions, "renewed": renewed})


def _other_id(lesson: Lesson) -> str:
    scope = lesson.scope
    return "l" + digest("lesson", scope.kind, scope.guild, scope.thread, lesson.trigger, lesson.action, length=11)


@lru_cache(4096)
def _marks(text: str) -> dict[str, float]:
    """Stems and pairs of neighbours of a text, with how much each weighs."""
    words = [
        stem(part.lower())
        for part in _PARTS.findall(_CAMEL.sub(" ", text))
        if part.isdigit() or (len(part) > 1 and part.lower() not in _EMPTY)
    ]
    marks = dict.fromkeys(words, 1.0)
    marks |= dict.fromkeys((f"{first} {second}" for first, second in pairwise(words)), 0.5)
    return marks


def _overlap(first: dict[str, float], second: dict[str, float]) -> float:
    whole = sum(first.values()) + sum(second.values())
    return 2 * sum(weight for mark, weight in first.items() if mark in second) / whole if whole else 1.0


def _subject(first: Lesson, second: Lesson) -> set[str]:
    """What the first speaks of in its trigger and in its action, and the second in neither."""
    told = _marks(first.trigger).keys() & _marks(first.action).keys()
    theirs = _marks(second.trigger).keys() | _marks(second.action).keys()
    return {mark for mark in told - theirs if " " not in mark}


@lru_cache(4096)
def _names(text: str) -> frozenset[str]:
    """Numbers and names out of code: advice that names another one is other advice."""
    found = (word.rstrip("(") for word in _WORD.findall(text))
    return frozenset(word.lower() for word in found if _is_name(word))


def _is_name(word: str) -> bool:
    return any(sign.isdigit() for sign in word) or "_" in word or "." in word or bool(_CAMEL.search(word))
