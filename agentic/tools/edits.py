"""Replacements in a text, all or nothing; where one does not fit, the words that help to write it again."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentic.core.lazy_dataclass import dataclass
from agentic.differences import nearest

CANDIDATES = 3
LINES_COMPARED = 4_000
LIKE_COMPARED = 100
"""So many places that begin alike are compared to their ends."""
LINE_CHARACTERS = 300
CLOSE = 0.6
PLACES = 8
_LINE_END = re.compile("\r?\n")
_NUMBERED = re.compile(r"\s*\d+\t")


@dataclass(frozen=True, slots=True)
class Replacement:
    """``old`` by ``new``; ``old`` must stand there exactly once unless ``every``."""

    old: str
    new: str
    every: bool = False


@dataclass(frozen=True, slots=True)
class Misfit:
    """Which replacement (from 1) does not fit, and why."""

    number: int
    reason: str


def replace_all(text: str, replacements: Sequence[Replacement]) -> str | Misfit:
    """The text with each replacement made in turn, or the first that does not fit.

    In a text whose lines all end in CR LF, replacements written with LF mean CR LF.
    """
    crlf = "\r\n" in text and text.count("\n") == text.count("\r\n")
    for number, replacement in enumerate(replacements, 1):
        old, new = replacement.old, replacement.new
        if crlf and "\r" not in old:
            old, new = old.replace("\n", "\r\n"), _LINE_END.sub("\r\n", new)
        reason = _misfit(text, old, new, every=replacement.every)
        if reason:
            return Misfit(number, reason)
        text = text.replace(old, new)
    return text


def _misfit(text: str, old: str, new: str, *, every: bool) -> str:
    if not old:
        return "'old' is empty; write the text that is to be replaced"
    if old == new:
        return "'old' and 'new' are the same; there is nothing to change"
    found = text.count(old)
    if found == 0:
        return f"'old' was not found. {_nearest(text, old)}"
    if found > 1 and not every:
        return (
            f"'old' was found {found} times (lines {_places(text, old)}). Add lines around it until it is unique,"
            ' or set "replace_all": true'
        )
    return ""


def _places(text: str, old: str) -> str:
    lines: list[str] = []
    at = text.find(old)
    while at >= 0 and len(lines) < PLACES:
        lines.append(str(text.count("\n", 0, at) + 1))
        at = text.find(old, at + len(old))
    return ", ".join(lines) + (" …" if at >= 0 else "")


def _nearest(text: str, old: str) -> str:
    """Where something like it stands, and how it differs if only in what one easily gets wrong."""
    lines, wanted = text.split("\n"), old.strip("\n").split("\n")
    if all(_NUMBERED.match(line) for line in wanted):
        return "It begins with line numbers; leave out the number and the tab that read shows before each line"
    same = [n for n, line in enumerate(lines, 1) if line.split() == wanted[0].split()] if wanted[0].split() else []
    blank = [n for n in same[:LIKE_COMPARED] if _alike_but_blanks(lines[n - 1 : n - 1 + len(wanted)], wanted)]
    if blank:
        first = blank[0]
        shown = "\n".join(lines[first - 1 : first - 1 + min(len(wanted), 10)])
        return f"Line {first} differs only in blanks; it reads:\n{shown}"
    close = _close_lines(lines, max(wanted, key=len))
    if not close:
        return "Nothing in the file is like it; read the file again"
    return "The nearest lines are:\n" + "\n".join(f"{n}\t{lines[n - 1][:LINE_CHARACTERS]}" for n in close)


def _alike_but_blanks(lines: Sequence[str], wanted: Sequence[str]) -> bool:
    return [line.split() for line in lines] == [line.split() for line in wanted]


def _close_lines(lines: Sequence[str], wanted: str) -> list[int]:
    """Numbers of the lines most like ``wanted``, best first."""
    stripped = [line[:LINE_CHARACTERS].strip() for line in lines[:LINES_COMPARED]]
    return [place + 1 for place in nearest(wanted[:LINE_CHARACTERS].strip(), stripped, CANDIDATES, CLOSE)]
