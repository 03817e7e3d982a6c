"""Full-text search over logs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from agentic.core.events.execution_events import Envelope
from agentic.text.word_query import WordQuery

__all__ = ["Hit", "Search", "Wanted"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events are looked for: of a guild (None for every one), of a thread ('' for every one), older than a hit.

    ``before`` is the position of that hit, 0 for none.
    """

    guild: str | None = None
    thread: str = ""
    before: int = 0
    most: int = 50


@dataclass(frozen=True, slots=True)
class Hit:
    """An event with the words that were looked for; positions grow in the order in which events were written."""

    position: int
    thread: str
    envelope: Envelope


class Search(Protocol):
    """Finds events by their words (``core/text/searchable.py``), once they were taken in."""

    async def take_in(self) -> bool:
        """Take in a piece of what was written since the last time; True while there may be more."""
        ...

    async def search(self, query: WordQuery, wanted: Wanted) -> list[Hit]:
        """Events that have every phrase of the query, the newest first; nothing of a log that is buried or gone."""
        ...
