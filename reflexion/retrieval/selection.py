"""Which reflections and lessons stand in the next prompt, and why each.

Few and narrow: the last 3 reflections of the thread within 400 tokens, newest first, then at most 3 lessons within
300 tokens.  A lesson has to fit the task (``ranking``), and not much worse than the best one does; none is better than a
wrong one.  The order is scope (thread before guild before all), then the place that the searches gave it together with
how useful it has been.  About one time in ten chance withholds a lesson that would be shown: what becomes of those
executions is what its use is measured against.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentic.core.events.execution_events import ChosenLesson, WithheldLesson
from agentic.core.events.ids import digest
from reflexion.lessons.changes import may_be_shown
from reflexion.lessons.contradictions import agreeing
from reflexion.lessons.lesson import Lesson, Reflection, ScopeKind
from reflexion.lessons.lifecycle import (
    PARAMETERS,
    Life,
    together,
    usefulness,
)
from reflexion.reflection.prompt_text import choose_reflections
from reflexion.retrieval.ranking import Candidate
from reflexion.text.hidden_text import visible
from reflexion.text.token_estimate import tokens_of

LESSONS = 3
LESSON_TOKENS = 300
NEAR_THE_BEST = 0.7
"""A lesson that fits less than this share of how the best one fits is not meant for this task."""
USEFULNESS_COUNTS = 2.0
"""Against the place in the search: a proven lesson stands before a new one that was found a few places before it."""
HELD_BACK = "held back at random, to see how such tasks go without it"
_NEAREST: dict[ScopeKind, int] = {"thread": 0, "guild": 1, "global": 2}
_WHERE: dict[ScopeKind, str] = {"thread": "this thread", "guild": "this server", "global": "all servers"}


@dataclass(frozen=True, slots=True)
class Choice:
    """What stands in the prompt, reflections first, and which lessons fitted and do not."""

    chosen: tuple[ChosenLesson, ...] = ()
    withheld: tuple[WithheldLesson, ...] = ()


def choose(
    reflections: Sequence[Reflection],
    candidates: Sequence[Candidate],
    *,
    lesson_tokens: int = LESSON_TOKENS,
    execution: str = "",
    model: str = "",
    hold_back: float = 0.0,
) -> Choice:
    """What is shown: ``reflections`` the thread's last, newest first; ``candidates`` what was found for the task.

    ``execution`` decides by chance, but always alike, which lessons are held back; ``model`` is to work with the others.
    """
    lessons = choose_lessons(candidates, lesson_tokens, execution=execution, model=model, hold_back=hold_back)
    return Choice((*choose_reflections(reflections), *lessons.chosen), lessons.withheld)


def choose_lessons(
    candidates: Sequence[Candidate],
    tokens: int = LESSON_TOKENS,
    *,
    execution: str = "",
    model: str = "",
    hold_back: float = 0.0,
) -> Choice:
    """At most three that fit the task and have not proved worse than nothing; what else fits is withheld, with why."""
    fitting = _fitting(candidates, model)
    room, lives = tokens, list[Life]()
    chosen, withheld = list[ChosenLesson](), list[WithheldLesson]()
    for place, candidate in enumerate(fitting, 1):
        lesson = candidate.lesson
        text = " ".join(visible(f"{lesson.trigger} → {lesson.action}").split())
        crowded = _no_place(lives, lesson.life, tokens_of(text) <= room)
        if crowded:
            withheld.append(WithheldLesson(id=lesson.id, arm="crowded", why=f"{crowded}; {candidate.found}"))
        elif _held_back(execution, lesson.id, hold_back):
            withheld.append(WithheldLesson(id=lesson.id, arm="held_back", why=f"{HELD_BACK}; {candidate.found}"))
        else:
            room -= tokens_of(text)
            lives.append(lesson.life)
            why = _why(candidate, place, len(fitting))
            chosen.append(ChosenLesson(id=lesson.id, kind=lesson.kind, text=text, why=why))
    return Choice(tuple(chosen), tuple(withheld))


def _fitting(candidates: Sequence[Candidate], model: str) -> list[Candidate]:
    """What may stand in the prompt: nearer scopes first, then by place in the search and usefulness together."""
    agree = {lesson.id for lesson in agreeing([each.lesson for each in candidates])}
    able = [each for each in candidates if each.fit >= 1 and each.lesson.id in agree and _may_stand(each.lesson, model)]
    best = max((each.fit for each in able), default=0.0)
    near = [each for each in able if each.fit >= NEAR_THE_BEST * best]
    return sorted(near, key=lambda each: (_NEAREST[each.lesson.scope.kind], -_worth(each, model)))


def _worth(candidate: Candidate, model: str) -> float:
    return candidate.score + USEFULNESS_COUNTS * _useful(candidate.lesson, model)


def _may_stand(lesson: Lesson, model: str) -> bool:
    """Neither retired, quarantined nor contradicted, and worse than nothing neither in all nor with this model."""
    here = _life_with(lesson, model)
    harms_here = here is not None and here.shown >= PARAMETERS.least_shown
    harms_here = harms_here and here is not None and usefulness(here) < PARAMETERS.least_usefulness
    return may_be_shown(lesson) and not harms_here and _useful(lesson, model) >= PARAMETERS.least_usefulness


def _useful(lesson: Lesson, model: str) -> float:
    return usefulness(lesson.life, _life_with(lesson, model))


def _life_with(lesson: Lesson, model: str) -> Life | None:
    return next((each.life for each in lesson.by_model if model and each.model == model), None)


def _no_place(before: Sequence[Life], life: Life, has_room: bool) -> str:
    """Why a lesson that fits does not stand beside those before it; '' where it does."""
    if len(before) == LESSONS:
        return f"{LESSONS} fitted better"
    if together([*before, life]) <= len(before):
        return "it is not proven, and another stands in the prompt"
    return "" if has_room else "too long for the room that was left"


def _held_back(execution: str, lesson: str, share: float) -> bool:
    """Whether chance withholds it from this execution: a hash, so that asking again gives the same answer.

    As often whatever is known of it: what is withheld less the better it looks would be compared with another time.
    """
    drawn = int(digest("held back", execution, lesson, length=8), 16) / 16**8
    return bool(execution) and drawn < share


def _why(candidate: Candidate, place: int, fitting: int) -> str:
    lesson, life = candidate.lesson, candidate.lesson.life
    fared = f"went well {life.shown_ok} of {life.shown} times" if life.shown else "not shown before"
    match = f"match {place} of {fitting}, {candidate.fit:.1f} where 1 is needed"
    return f"{lesson.status} lesson of {_WHERE[lesson.scope.kind]}; {candidate.found}; {match}; {fared}"
