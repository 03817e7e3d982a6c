"""Search: everything that was said and done in tasks that somebody may see."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from time import monotonic

from aiohttp import web

from agentic.ports.lookup import Hit, Wanted
from agentic.ports.runtime import SessionRow
from agentic.text.word_query import LONGEST, WordQuery
from bot.console.access.viewer import Viewer
from bot.console.console_context import Console, Route, task_path
from bot.console.overall.figures.found_words import Fragment, said_by, surroundings
from bot.console.overall.home_lists import VisibleThreads
from bot.console.pages.task import TASK
from bot.history.thread_search import ThreadSearch, words_of

LAST_PAGE = 50
LOOKED_THROUGH, AT_ONCE = 20_000, 1_000
"""Threads, those that were used last, of which it is asked whether somebody sees them; and read at a time."""
SEARCH_PARTS = 4
"""A search takes a quarter of a second, or a multiple of it, for those who may not see all."""
NOTHING_TYPED = "Type words that were said, a command, or the name of a file."
NO_WORDS = "There is no letter and no digit in that, so there is nothing to look for."
NOTHING_FOUND = "Nothing has all of these words. Try fewer, or the beginning of one; what was deleted is not found."
BEHIND = "Not everything that was written is taken in yet, so something may be missing. Search again in a moment."
NOT_YET = "What you may see is still being looked up, so something may be missing. Search again in a moment."
CUT = "Older hits than these were not looked at. Add a word to find them."


@dataclass(frozen=True, slots=True)
class FoundLine:
    """A hit as it is shown."""

    path: str
    thread_title: str
    said: str
    fragments: tuple[Fragment, ...]
    at: datetime


async def search(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """Hits for ``?q=``, the newest first; ``?page=2`` has older ones."""
    typed = request.query.get("q", "")[: 2 * LONGEST].replace("\x00", "")
    query = WordQuery.of(typed)
    number = request.query.get("page", "")
    page = min(max(int(number), 1), LAST_PAGE) if number.isdecimal() and len(number) < 9 else 1
    if not query.phrases:
        words = NO_WORDS if typed.strip() else NOTHING_TYPED
        return console.page("search.html", viewer, q=typed, lines=(), words=words, page=1, more=False)
    began, sees = monotonic(), VisibleThreads(console, viewer)
    threads = None if viewer.everything else await _threads(console, sees)
    found = await ThreadSearch(console.store).page(query, Wanted(threads=threads), _all, page)
    untitled = [hit.thread for hit in found.hits if not (row := await sees.session(hit.thread)) or not row.title]
    names = await console.names.of(untitled)
    lines = [await _line(console, sees, hit, query, names.get(hit.thread, "")) for hit in found.hits]
    told = ((NOTHING_FOUND, not lines), (BEHIND, found.behind), (CUT, found.cut), (NOT_YET, sees.waits))
    words = " ".join(text for text, holds in told if holds)
    await console.evenly(viewer, began, SEARCH_PARTS)
    more = found.more and page < LAST_PAGE
    return console.page("search.html", viewer, q=typed, lines=lines, words=words, page=page, more=more)


async def _threads(console: Console, sees: VisibleThreads) -> frozenset[str]:
    """The threads that somebody sees, of those that were used last: nothing else is searched. Raises ``StoreError``."""
    found, rows = set[str](), list[SessionRow]()
    for _ in range(LOOKED_THROUGH // AT_ONCE):
        rows = await console.store.recent_sessions(AT_ONCE, before=rows[-1] if rows else None)
        found |= await sees.of(row.thread for row in rows)
        if len(rows) < AT_ONCE:
            break
    return frozenset(found)


async def _all(_: str) -> bool:
    """Only threads that somebody sees are searched."""
    return True


async def _line(console: Console, sees: VisibleThreads, hit: Hit, query: WordQuery, name: str) -> FoundLine:
    said, session = words_of(hit), await sees.session(hit.thread)
    title = console.discretion.text((session.title if session is not None else "") or name)
    return FoundLine(
        f"/t/{hit.thread}/{hit.envelope.execution}/at/{hit.envelope.seq}",
        title or f"thread {hit.thread}",
        said_by(said.what, console.discretion.text(said.who)),
        surroundings(console.discretion.text(said.text), query),
        hit.envelope.at,
    )


async def turn_at(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """Lead to the turn in which an event stands."""
    log = await console.task(request, viewer)
    seq = int(request.match_info["seq"][:9])
    number = next((turn.number for turn in reversed(log.story.turns) if turn.seq <= seq), 0)
    raise web.HTTPSeeOther(f"{task_path(log)}?turn={number}#turn-{number}")


ROUTES: tuple[Route, ...] = (("GET", "/search", search), ("GET", TASK + r"/at/{seq:\d+}", turn_at))
