"""Outputs that were cut before a model saw them, stored so that ``read_output`` can page and search them.

The sandbox keeps the output of commands. This keeps the rest (a long listing, the matches of a search) for as long as
the agent works, within a bound: the oldest go first. It is searched for plain text only, since a model's regular
expression may take for ever, and belongs into the sandbox.
"""

from __future__ import annotations

from collections import OrderedDict

from agentic.ports.errors import OutputGone
from agentic.sandbox.protocol.results import GrepHit, OutputPage

PREFIX = "kept-"
KEPT_BYTES = 8 * 1024 * 1024
HIT_CHARACTERS = 500


class KeptOutputs:
    """Texts by reference."""

    def __init__(self, capacity: int = KEPT_BYTES) -> None:
        self._capacity = capacity
        self._texts: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0
        self._count = 0

    def keep(self, text: str) -> str:
        """Store a text and return its reference; '' if it alone is too large."""
        data = text.encode("utf-8", "replace")
        if len(data) > self._capacity:
            return ""
        self._count += 1
        ref = f"{PREFIX}{self._count}"
        self._texts[ref] = data
        self._size += len(data)
        while self._size > self._capacity:
            self._size -= len(self._texts.popitem(last=False)[1])
        return ref

    def page(self, ref: str, offset: int, limit: int, pattern: str, most: int = 200) -> OutputPage:
        """Return bytes from ``offset``, or the lines that contain ``pattern``; raises ``OutputGone``."""
        data = self._texts.get(ref)
        if data is None:
            raise OutputGone(f"the output {ref!r} is no longer kept; run the call again")
        if pattern:
            hits, more = _search(ref, data.decode("utf-8", "replace"), pattern, most)
            return OutputPage(ref, b"", 0, len(data), hits, more)
        return OutputPage(ref, data[offset : offset + limit], offset, len(data), (), offset + limit < len(data))


def _search(ref: str, text: str, wanted: str, most: int) -> tuple[tuple[GrepHit, ...], bool]:
    hits: list[GrepHit] = []
    for number, line in enumerate(text.split("\n"), 1):
        if wanted in line:
            if len(hits) == most:
                return tuple(hits), True
            hits.append(GrepHit(ref, number, line[:HIT_CHARACTERS]))
    return tuple(hits), False
