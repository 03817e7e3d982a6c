"""What finds things: events by their words, texts by what they mean.

A vector of meaning is of unit length and kept as one signed byte a component; the error that makes in a likeness is under
a hundredth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agentic.core.events.execution_events import Envelope
from agentic.text.word_query import WordQuery

__all__ = ["SCALE", "Embedder", "Hit", "Search", "Wanted", "likenesses"]

SCALE = 127


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events are looked for: of a guild (None for every one), of a thread ('' for every one), older than a hit.

    ``before`` is the position of that hit, 0 for none. ``threads``: of these threads alone; None for every one.
    """

    guild: str | None = None
    thread: str = ""
    before: int = 0
    most: int = 50
    threads: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """An event with the words that were looked for; positions grow in the order in which events were written."""

    position: int
    thread: str
    envelope: Envelope


class Search(Protocol):
    """Finds events by their words (``core/text/searchable.py``): those that were taken in, and maybe newer ones."""

    async def take_in(self) -> bool:
        """Take in a piece of what was written since the last time; True while something may be missed by a search."""
        ...

    async def search(self, query: WordQuery, wanted: Wanted) -> list[Hit]:
        """Events that have every phrase of the query, the newest first; nothing of a log that is buried or gone."""
        ...


class Embedder(Protocol):
    """A model that runs on this machine."""

    @property
    def name(self) -> str:
        """Which model it is; vectors of two models are never compared."""
        ...

    async def embed(self, texts: Sequence[str]) -> tuple[bytes, ...]:
        """A vector for each text; raises ``EmbeddingUnavailable``."""
        ...


def likenesses(vector: bytes, others: Sequence[bytes]) -> list[float]:
    """Of one vector to each of the others: 1 the same, 0 nothing in common."""
    if not others:
        return []
    import numpy as np

    matrix = np.frombuffer(b"".join(others), dtype=np.int8).reshape(len(others), -1).astype(np.float32)
    products = matrix @ np.frombuffer(vector, dtype=np.int8).astype(np.float32)
    return [float(each) for each in products / SCALE**2]
