"""The title that a model offers for the thread in a line of its answer: ``title: three to six words``."""

from __future__ import annotations

import re

from agentic.prompts.identity import TITLE_WORDS

_LINE = re.compile(r"`?title`?:[^\S\n]*(\S.*)", re.IGNORECASE)
_AROUND = " \t*_`\"'“”„«».,;:"
_FENCES = ("```", "~~~")
_LONGEST = 80
_LEAST_UNSPACED = 4
"""Characters of a title in a language that puts no spaces between words."""


def without_title(text: str) -> tuple[str, str]:
    """The title in a text, '' for none that is good, and the text without the lines that offer one.

    Such a line is the first or the last of the text and nothing stands before its word: a list, a heading, a table of
    contents or code that says ``title:`` belongs to the text.
    """
    lines, good = text.strip().split("\n"), ""
    for end in (0, -1):
        if lines and (words := _offered(lines, end)):
            del lines[end]
            good = good or _title(words)
            lines = "\n".join(lines).strip().split("\n")
    return good, "\n".join(lines)


def _offered(lines: list[str], end: int) -> str:
    """The words of the line there, '' where it offers no title."""
    found = _LINE.fullmatch(lines[end].rstrip())
    fenced = end and sum(line.lstrip().startswith(_FENCES) for line in lines) % 2
    return "" if found is None or fenced or len(found[1]) > _LONGEST else found[1]


def _title(words: str) -> str:
    """The words as a title; '' where they are none."""
    title = " ".join(words.strip(_AROUND).split())
    least, most = TITLE_WORDS
    unspaced = " " not in title and not title.isascii() and len(title) >= _LEAST_UNSPACED
    return title if least <= len(title.split(" ")) <= most or unspaced else ""
