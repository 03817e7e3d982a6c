"""Foreign text in what a model reads: no heading of ours can be imitated in it, since each carries a mark that it lacks.

The mark follows from the execution.  That it may be guessed does not matter: a text that holds it is changed.
"""

from __future__ import annotations

import re
import unicodedata

from agentic.core.events.execution_events import Started
from agentic.core.events.ids import digest

_DIGITS = 8
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_HIDDEN = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]")
_NAME = 80


def mark_of(started: Started | None) -> str:
    """What each heading of ours begins with in all that an execution's models read."""
    own = ("", "") if started is None else (started.thread, started.inbox)
    return f"#{digest('fence', *own, length=_DIGITS)}"


def one_line(text: str, most: int = 300) -> str:
    """Foreign text on one line and bounded, without characters that nobody sees: a file, a reason, a quoted word."""
    if not text.isprintable():
        text = "".join(map(_seen, text[: 8 * most]))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def name(text: str) -> str:
    """A name as it stands within a heading, which it cannot end."""
    return one_line(text, _NAME).replace("[", "(").replace("]", ")")


def fenced(text: str, mark: str) -> str:
    """Foreign text of several lines, each of which ends as ours do; it does not hold the mark."""
    return unmarked(_HIDDEN.sub("", _LINE_ENDS.sub("\n", text)), mark)


def unmarked(text: str, mark: str) -> str:
    """The text, as long as it was, without the mark: what a tool gave, word for word but for that."""
    digits = mark[1:]
    return text.replace(digits, f"{digits[:4]}…{digits[5:]}")


def section(mark: str, head: str, text: str) -> str:
    """A heading of ours, which may name somebody, and foreign text under it."""
    return f"{mark} {unmarked(head, mark)}\n{fenced(text, mark)}"


def item(mark: str, text: str) -> str:
    """A line of ours that foreign text is part of, or a passage that begins with our words."""
    return f"{mark} {fenced(text, mark)}"


def _seen(character: str) -> str:
    if character.isspace():
        return " "
    return "" if unicodedata.category(character) in ("Cc", "Cf", "Cs") else character
