"""Which reflections and lessons stand in the next prompt, and why each.

Few and narrow: the last 3 reflections of the thread within 400 tokens, newest first, then at most 3 lessons within
300 tokens.  A lesson has to share words with the task; none is better than a wrong one.  The order of lessons is
scope (thread before guild before all), then the rank of the full-text search, then how useful they have been.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentic.core.events import ChosenLesson, WithheldLesson
from reflexion.lessons import SHOWN, Lesson, Reflection, ScopeKind
from reflexion.lifecycle import usefulness
from reflexion.reflections import BYTES_A_TOKEN, choose_reflections
from reflexion.words import stem, words_of

LESSONS = 3
LESSON_TOKENS = 300
CANDIDATES = 24
"""Matches that are looked at before the best are taken."""
LEAST_USEFULNESS = -0.15
LEAST_SHARED_WORDS = 2
LEAST_SHARE_OF_TRIGGER = 0.34
_NEAREST: dict[ScopeKind, int] = {"thread": 0, "guild": 1, "global": 2}


@dataclass(frozen=True, slots=True)
class Choice:
    """What stands in the prompt, reflections first, and which lessons fitted and do not."""

    chosen: tuple[ChosenLesson, ...] = ()
    withheld: tuple[WithheldLesson, ...] = ()


def choose(
    reflections: Sequence[Reflection],
    lessons: Sequence[Lesson],
    task: str,
    *,
    lesson_tokens: int = LESSON_TOKENS,
    execution: str = "",
    model: str = "",
    hold_back: float = 0.0,
) -> Choice:
    """What is shown: ``reflections`` the thread's last, newest first, ``lessons`` best match first."""
    return Choice((*choose_reflections(reflections), *choose_lessons(lessons, task, lesson_tokens)))


def choose_lessons(lessons: Sequence[Lesson], task: str, tokens: int = LESSON_TOKENS) -> tuple[ChosenLesson, ...]:
    """At most three that fit the task, may be shown, and have not proved worse than nothing."""
    asked = {stem(word) for word in words_of(task)}
    fitting = [(at, lesson, _shared(asked, lesson)) for at, lesson in enumerate(lessons)]
    fitting = [each for each in fitting if _may_stand(each[1], each[2])]
    fitting.sort(key=lambda each: (_NEAREST[each[1].scope.kind], each[0], -usefulness(each[1].life)))
    room, chosen = tokens * BYTES_A_TOKEN, list[ChosenLesson]()
    for _, lesson, shared in fitting:
        text = f"{lesson.trigger} → {lesson.action}"
        if len(chosen) == LESSONS or len(text.encode()) > room:
            continue
        room -= len(text.encode())
        chosen.append(ChosenLesson(id=lesson.id, kind=lesson.kind, text=text, why=_why(lesson, shared)))
    return tuple(chosen)


def _shared(asked: set[str], lesson: Lesson) -> tuple[str, ...]:
    words = words_of(f"{lesson.trigger} {lesson.error_signature}")
    return tuple(word for word in words if stem(word) in asked)


def _may_stand(lesson: Lesson, shared: tuple[str, ...]) -> bool:
    trigger = max(len(words_of(lesson.trigger)), 1)
    narrow = len(shared) >= LEAST_SHARED_WORDS and len(shared) / trigger >= LEAST_SHARE_OF_TRIGGER
    return lesson.status in SHOWN and narrow and usefulness(lesson.life) >= LEAST_USEFULNESS


def _why(lesson: Lesson, shared: tuple[str, ...]) -> str:
    where = {"thread": "this thread", "guild": "this server", "global": "all servers"}[lesson.scope.kind]
    fared = (
        f"went well {lesson.life.shown_ok} of {lesson.life.shown} times" if lesson.life.shown else "not shown before"
    )
    return f"{lesson.status} lesson of {where}; fits {', '.join(shared[:5])}; {fared}"
