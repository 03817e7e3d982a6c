"""Words before a task that say how it is to be done: ``plan:``, ``try 3 ways:``, ``model: NAME``, in any order; pure.

``model:`` also begins ordinary sentences ("model: the user table needs a column"), so its word counts only where it is
the name of a model, or looks like one.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from dataclasses import dataclass, replace

STRONGEST = "strongest"
FEWEST, MOST, USUAL = 2, 4, 3
"""Approaches to a task: at least, at most, and where no number is given."""
_SPELLED = {"two": 2, "three": 3, "four": 4}
_GAP = r"\s{0,20}"
_PLAN = re.compile(rf"{_GAP}plan(?: first)?\s{{0,3}}:[\s,;]{{0,20}}", re.IGNORECASE)
_APPROACHES = re.compile(
    rf"{_GAP}(?:approaches\s{{0,3}}:\s{{0,3}}(?:(\d{{1,3}})\b)?"
    rf"|try (\d{{1,3}}|two|three|four)(?: different)? (?:ways|approaches)\s{{0,3}}:)[\s,;:]{{0,20}}",
    re.IGNORECASE,
)
_MODEL = re.compile(rf"{_GAP}model\s{{0,3}}:\s{{0,3}}([^\s,;]{{1,200}})[\s,;]{{0,20}}", re.IGNORECASE)
_COMPARED = 80
"""Characters of a name that are compared with others."""


@dataclass(frozen=True, slots=True)
class TaskWords:
    """A task and the words before it."""

    text: str
    """The task without them."""
    plan: bool = False
    """Nothing is to be changed before a plan is agreed to."""
    approaches: int = 0
    """So many approaches are to be tried, as it was written; 0 for one as usual."""
    model: str = ""
    """The model or tier that is to do it, as it was written."""


def read(task: str, models: Collection[str] = ()) -> TaskWords:
    """Return what is written before a task; ``models`` are the names of those there are."""
    words = TaskWords(task)
    while (more := _next(words, models)) is not None:
        words = more
    return words


def _next(words: TaskWords, models: Collection[str]) -> TaskWords | None:
    if not words.plan and (found := _PLAN.match(words.text)):
        return replace(words, text=words.text[found.end() :], plan=True)
    if not words.approaches and (found := _APPROACHES.match(words.text)):
        wanted = (found[1] or found[2] or str(USUAL)).lower()
        number = _SPELLED.get(wanted) or int(wanted)
        return replace(words, text=words.text[found.end() :], approaches=max(number, 1))
    if not words.model and (found := _MODEL.match(words.text)):
        name = found[1].rstrip(":")
        if _names_model(name, models):
            return replace(words, text=words.text[found.end() :], model=name)
    return None


def _names_model(word: str, models: Collection[str]) -> bool:
    """Whether a word is a model's name or was meant as one: names have digits or a provider, or are nearly one of these."""
    if word.casefold() == STRONGEST or word.casefold() == "auto" or word in models:
        return True
    if "/" in word or any(letter.isdecimal() for letter in word):
        return True
    return bool(difflib.get_close_matches(word[:_COMPARED].casefold(), [name[:_COMPARED] for name in models], n=1))


def bounded(approaches: int) -> int:
    """Return how many approaches are tried where so many are asked for."""
    return min(max(approaches, FEWEST), MOST) if approaches else 0
