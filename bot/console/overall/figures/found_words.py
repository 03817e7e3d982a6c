"""The surroundings of words that were found, with the words marked; pure."""

from __future__ import annotations

from dataclasses import dataclass

from agentic.core.text.searchable import What
from agentic.text.word_query import WordQuery, composed
from bot.rendering.discord_text import clean

BEFORE, SHOWN = 60, 280
"""Characters before the first word, and in all."""
DID: dict[What, str] = {
    "task": "asked for a task", "message": "wrote", "question": "The agent asked", "choice": "decided",
    "command": "The agent ran", "files": "The agent changed", "answer": "The agent answered",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of a text; ``found``: these are words that were looked for."""

    text: str
    found: bool


def surroundings(text: str, query: WordQuery) -> tuple[Fragment, ...]:
    """The text around the first words that were found, on one line."""
    flat = " ".join(composed(clean(text)).split())
    places = query.places(flat)
    at = max(0, places[0][0] - BEFORE) if places else 0
    if at:
        at = flat.find(" ", at, places[0][0]) + 1 or at
    end = at + SHOWN
    pieces = [Fragment("…", found=False)] if at else []
    for first, last in places:
        if first < at or last > end:
            continue
        pieces += [Fragment(flat[at:first], found=False), Fragment(flat[first:last], found=True)]
        at = last
    rest = flat[at:end] + ("…" if len(flat) > end else "")
    return tuple(piece for piece in (*pieces, Fragment(rest, found=False)) if piece.text)


def said_by(what: What, who: str) -> str:
    """Whose words they are, and what was done with them."""
    return f"{who or 'Somebody'} {DID[what]}" if what in ("task", "message", "choice") else DID[what]
