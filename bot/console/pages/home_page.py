"""Home: what needs somebody, what runs, what has ended, and what it cost."""

from __future__ import annotations

from aiohttp import web

from bot.console.access.viewer import Viewer
from bot.console.console_context import Console, Route
from bot.console.overall.home_lists import home_lists, spending
from bot.console.overall.lesson_rights import WaitingLessons, waiting_lessons

LOOK_SECONDS, LOOK_AFAR_SECONDS = 5, 20
"""How often an open page asks again: here, and where each look costs money."""
LAST_PAGE = 1_000


async def home(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """The tasks that somebody may see; ``?page=2`` shows earlier ones that have ended."""
    page = _page(request)
    sums = await _sums(console, viewer) if not page else {}
    return console.page("home.html", viewer, **sums, **await _lists(console, viewer, page))


async def tasks(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """The lists alone, as an open page shows them anew."""
    page = _page(request)
    key = console.logs.mark, viewer.person.id, viewer.everything, page
    text = console.lists.get(key)
    if text is None:
        values = await _lists(console, viewer, page)
        text = console.lists.put(key, console.pages.render("home_tasks.html", viewer=viewer, **values))
    return web.Response(text=text, content_type="text/html")


async def spend(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """What the tasks cost, as an open page shows it anew."""
    return console.page("home_spending.html", viewer, **await _sums(console, viewer), every=_every(console))


async def _lists(console: Console, viewer: Viewer, page: int) -> dict[str, object]:
    """What the template of the lists needs."""
    lists = await home_lists(console, viewer, page)
    names = await console.names.of(lists.guilds)
    lessons = WaitingLessons() if page else await waiting_lessons(console, viewer, lists.guilds)
    return {
        "lists": lists, "lessons": lessons, "page": page, "names": names, "every": _every(console),
        "clean": console.discretion.text,
    }  # fmt: skip


async def _sums(console: Console, viewer: Viewer) -> dict[str, object]:
    """What the template of the sums needs."""
    report, missing, waits = await spending(console, viewer)
    servers = [line.server for table in report.tables for line in table.lines]
    return {"spending": report, "missing": missing, "waits": waits, "servers": await console.names.of(servers)}


def _page(request: web.Request) -> int:
    """Its number from 0, which people read from 1."""
    typed = request.query.get("page", "")
    return min(max(int(typed), 1), LAST_PAGE) - 1 if typed.isdecimal() and len(typed) < 9 else 0


def _every(console: Console) -> int:
    return console.rest(LOOK_SECONDS, LOOK_AFAR_SECONDS)


ROUTES: tuple[Route, ...] = (
    ("GET", "/", home),
    ("GET", "/overview/tasks", tasks),
    ("GET", "/overview/spending", spend),
)
