"""Cut an output to its head and its tail, with a line between them that says how to see the rest."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limit:
    """Maximum characters and lines of a result, including the line about the cut."""

    characters: int = 30_000
    lines: int = 750


DEFAULT = Limit()
FILES = Limit(50_000, 1_000)
SHELL = Limit(20_000, 500)

_ROOM_FOR_MARK = 300
_LINE_ENDS = 2


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The shown part of a text; ``cut`` says whether something was left out."""

    text: str
    cut: bool


def show(text: str, limit: Limit = DEFAULT, *, how: str = "", missing: int = 0) -> Excerpt:
    """``text`` whole if it fits, else its first and its last part with a line about what was left out.

    ``how`` tells how to see the rest.  ``missing`` is what a cut nearer to the source has left out already, in characters,
    at the middle of ``text``.
    """
    lines = text.split("\n")
    if not missing and len(text) <= limit.characters and len(lines) <= limit.lines:
        return Excerpt(text, cut=False)
    room = max(0, limit.characters - _ROOM_FOR_MARK - _LINE_ENDS) // 2
    count = max(0, limit.lines - 1) // 2
    half = len(text) // 2
    head = _head(text[:half] if missing else text, room, count)
    tail = _tail(text[half:] if missing else text[len(head) :], room, count)
    left_out = len(text) - len(head) - len(tail) + missing
    mark = _mark(left_out, _lines_between(text, head, tail), how)
    before = "" if not head or head.endswith("\n") else "\n"
    return Excerpt(f"{head}{before}{mark}\n{tail}", cut=True)


def _head(text: str, room: int, count: int) -> str:
    """At most ``count`` whole lines and ``room`` characters from the start, with the line's end."""
    part = text[:room]
    lines = part.split("\n")
    if len(lines) > count:
        return "".join(f"{line}\n" for line in lines[:count])
    return _to_line_end(part) if len(part) < len(text) else part


def _tail(text: str, room: int, count: int) -> str:
    """The same from the end."""
    part = text[len(text) - room :] if 0 < room < len(text) else text if room else ""
    lines = part.split("\n")
    if len(lines) > count:
        return "\n".join(lines[len(lines) - count :]) if count else ""
    if len(part) == len(text):
        return part
    cut = part.find("\n")
    return part[cut + 1 :] if 0 <= cut < len(part) // 2 else part


def _to_line_end(part: str) -> str:
    cut = part.rfind("\n")
    return part[: cut + 1] if cut >= len(part) // 2 else part


def _lines_between(text: str, head: str, tail: str) -> int:
    return text.count("\n") - head.count("\n") - tail.count("\n")


def _mark(characters: int, lines: int, how: str) -> str:
    amount = f"{characters} characters" + (f" ({lines} lines)" if lines > 1 else "")
    return f"… {amount} left out here{'. ' + how if how else ''} …"[:_ROOM_FOR_MARK]
