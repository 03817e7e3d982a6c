"""How well lessons fit a task: what the searches found, fused into one order, and a measure that can say "none".

Two searches look for lessons: one by words (``stores/searching.py``), and where embeddings are installed one by meaning.
Their scores cannot be compared, their ranks can: each gives a lesson the reciprocal of its rank.  A rank says nothing of
whether the best is any good, so the *fit* does: from the words that are shared, which weigh less where every task has
them, and from the likeness of meaning.  It is 1 where a lesson just fits.  All numbers here were chosen on one half of
the frozen set and are reported on the other (``python -m bench retrieval``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reflexion.lessons.lesson import Lesson
from reflexion.text.words import (
    error_text,
    stem,
    weight,
    words_of,
)

RANKS_TOGETHER = 2.0
"""Added to each rank before it is inverted: the higher, the less the first places stand out."""
MEANING_COUNTS = 2.0
"""A rank by meaning against one by words."""
LEAST_BY_WORDS = 0.55
LEAST_BY_BOTH = 0.47
WORDS_BESIDE_MEANING = 0.2


@dataclass(frozen=True, slots=True)
class Candidate:
    """A lesson that a search found for a task."""

    lesson: Lesson
    fit: float
    """From 1 on it fits."""
    score: float
    """Its place among the others: 1 for what is first in every search, towards 0 for what is far down."""
    shared: tuple[str, ...] = ()
    """Words of the task that stand in its trigger or its error signature."""
    likeness: float | None = None
    """Of meaning, up to 1; None where nothing measured it."""

    @property
    def found(self) -> str:
        """What it was found by, in plain words."""
        words = f"shares {', '.join(self.shared[:5])}" if self.shared else "shares no word"
        return words if self.likeness is None else f"{words}, means {max(self.likeness, 0):.0%} the same"


def ranked(
    task: str,
    by_words: Sequence[Lesson],
    by_meaning: Sequence[Lesson] = (),
    likeness: Mapping[str, float] | None = None,
) -> tuple[Candidate, ...]:
    """What both searches found, best first; ``likeness`` of meaning by lesson id, as far as it was measured."""
    likeness = likeness or {}
    scores: dict[str, float] = {}
    lists = [(by_words, 1.0), (by_meaning, MEANING_COUNTS)]
    most = sum(counts / (RANKS_TOGETHER + 1) for found, counts in lists if found)
    for found, counts in lists:
        for place, lesson in enumerate(found, 1):
            scores[lesson.id] = scores.get(lesson.id, 0.0) + counts / (RANKS_TOGETHER + place) / most
    asked = {stem(word): word for word in reversed(words_of(task))}
    lessons = {lesson.id: lesson for lesson in (*by_words, *by_meaning)}
    order = sorted(lessons, key=lambda id: -scores[id])
    return tuple(_candidate(lessons[id], asked, scores[id], likeness.get(id)) for id in order)


def _candidate(lesson: Lesson, asked: Mapping[str, str], score: float, likeness: float | None) -> Candidate:
    held = dict.fromkeys(stem(word) for word in words_of(f"{lesson.trigger} {error_text(lesson.error_signature)}"))
    shared = [word for word in held if word in asked]
    overlap = _overlap(shared, tuple(held))
    by_words, by_both = overlap / LEAST_BY_WORDS, ((likeness or 0) + WORDS_BESIDE_MEANING * overlap) / LEAST_BY_BOTH
    fit = by_words if likeness is None else by_both
    return Candidate(lesson, fit, score, tuple(asked[word] for word in shared), likeness)


def _overlap(shared: Sequence[str], held: Sequence[str]) -> float:
    """How much is shared, both as such and of what the lesson holds: one rare word of three, or four of twenty."""
    weighs = sum(map(weight, shared))
    return math.sqrt(weighs * weighs / (sum(map(weight, held)) or 1.0))
