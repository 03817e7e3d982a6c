"""Long lists in parts: the newest part first, others by links, or by the number of a turn."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from aiohttp import web


@dataclass(frozen=True, slots=True)
class PagePart:
    """Which part of a list a page shows, from ``first`` up to before ``end``. ``wanted``: a turn that is asked for."""

    page: int
    pages: int
    first: int
    end: int
    wanted: int | None = None

    @property
    def newest(self) -> bool:
        """What comes next belongs on this page."""
        return self.page == self.pages - 1


def part_of(request: web.Request, turns: Sequence[int], most: int) -> PagePart:
    """The part that a request asks for with ``?page=`` or ``?turn=``, the last one where it asks for none.

    ``turns``: the turn of each entry of the list, in order. The last parts are full, so that the newest entries stand in
    company.
    """
    pages = max(-(-len(turns) // most), 1)
    before = pages * most - len(turns)
    turn, page = request.query.get("turn", "").strip(), request.query.get("page", "")
    at, wanted = min(int(page[:7]), pages - 1) if page.isdecimal() else pages - 1, None
    if turn.isdecimal() and turn.isascii():
        wanted = int(turn[:7])
        at = max(before + min(bisect_left(turns, wanted), len(turns) - 1), 0) // most
    return PagePart(at, pages, max(at * most - before, 0), (at + 1) * most - before, wanted)
