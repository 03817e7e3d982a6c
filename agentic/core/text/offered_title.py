"""The title that a model offers for the thread in a line of its answer: ``title: three to six words``."""

from __future__ import annotations

import re

from agentic.prompts.identity import TITLE_WORDS

_LINE = re.compile(r"[*_#>`\s-]{0,8}title[*_`]{0,3}:\s*(.*)", re.IGNORECASE)
_AROUND = " \t*_`\"'“”„«».,;:"
_FENCES = ("```", "~~~")
_LONGEST = 80
_LEAST_UNSPACED = 4
"""Characters of a title in a language that puts no spaces between words."""


def without_title(text: str) -> tuple[str, str]:
    """The first title in a text, '' for none, and the text without its line; lines in blocks of code are no titles."""
    lines, fenced = text.split("\n"), False
    for number, line in enumerate(lines):
        fenced ^= line.lstrip().startswith(_FENCES)
        found = None if fenced else _LINE.fullmatch(line)
        if found is not None and (title := _title(found[1])):
            return title, "\n".join((*lines[:number], *lines[number + 1 :])).strip()
    return "", text


def _title(words: str) -> str:
    """The words as a title; '' where they are none."""
    title = " ".join(words.strip(_AROUND).split())
    least, most = TITLE_WORDS
    unspaced = " " not in title and not title.isascii() and len(title) >= _LEAST_UNSPACED
    fits = least <= len(title.split(" ")) <= most or unspaced
    return title if fits and len(title) <= _LONGEST else ""
