"""Find what was said and done in the threads that somebody may see, newest first."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from agentic.core.text.searchable import Searchable, searchable
from agentic.ports.errors import AgenticError
from agentic.ports.runtime import Hit, Store, Wanted
from agentic.text.word_query import WordQuery

PAGE = 8
"""Hits on one page."""
LOOKED_THROUGH, AT_A_TIME = 2_000, 100
"""Hits that are looked at for one page at most, and read at a time."""
CATCH_UP_SECONDS = 4.0
"""Seconds that a search waits for what was not taken in yet."""
EVERY_SECONDS, PAUSE = 60.0, 0.02
"""Seconds between looks for what was written, and after each piece that is taken in."""

log = logging.getLogger(__name__)

Sees = Callable[[str], Awaitable[bool]]
"""Whether somebody may see a thread, by its id."""


@dataclass(frozen=True, slots=True)
class HitsPage:
    """One page of what was found."""

    hits: tuple[Hit, ...]
    more: bool = False
    """There is another page."""
    behind: bool = False
    """Not everything was taken in yet."""
    cut: bool = False
    """There may be older hits than were looked at."""


class ThreadSearch:
    """Searches the store, whose index it keeps up to date while ``run`` runs."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def run(self) -> None:
        """Take in what is written, until cancelled; nobody waits for it."""
        while True:
            try:
                while await self._store.take_in():  # noqa: ASYNC110  # each look does a piece of it
                    await asyncio.sleep(PAUSE)
            except AgenticError as error:
                log.warning("the search waits: %s", error)
            await asyncio.sleep(EVERY_SECONDS)

    async def page(self, query: WordQuery, wanted: Wanted, sees: Sees, number: int = 1) -> HitsPage:
        """Return a page of hits in threads that ``sees`` lets through. Raises ``StoreError``."""
        behind = await self.is_behind()
        visible: dict[str, bool] = {}
        found: list[Hit] = []
        seen: set[tuple[str, Searchable]] = set()
        looked = 0
        while looked < LOOKED_THROUGH:
            hits = await self._store.search(query, replace(wanted, most=AT_A_TIME))
            looked += len(hits)
            for hit in hits:
                if hit.thread not in visible:
                    visible[hit.thread] = await sees(hit.thread)
                words = (hit.thread, words_of(hit))
                if visible[hit.thread] and words not in seen:  # a command that ran again is one hit
                    seen.add(words)
                    found.append(hit)
            if len(found) > number * PAGE or len(hits) < AT_A_TIME:
                break
            wanted = replace(wanted, before=hits[-1].position)
        more = len(found) > number * PAGE
        return HitsPage(
            tuple(found[(number - 1) * PAGE : number * PAGE]), more, behind, cut=looked >= LOOKED_THROUGH and not more
        )

    async def is_behind(self) -> bool:
        """Let what was written be taken in, for a few seconds; True where something is left, also because no room is."""
        try:
            async with asyncio.timeout(CATCH_UP_SECONDS):
                while await self._store.take_in():  # noqa: ASYNC110  # each look does a piece of it, or another process
                    await asyncio.sleep(PAUSE)
        except TimeoutError:
            return True
        except AgenticError as error:
            log.warning("the search reads what it has: %s", error)
            return True
        return False


def words_of(hit: Hit) -> Searchable:
    """Return the words in which something was found."""
    return searchable(hit.envelope.event) or Searchable("message", "", "")
