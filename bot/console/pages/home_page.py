"""Home: what needs somebody, what runs, what has ended."""

from __future__ import annotations

from aiohttp import web

from agentic.ports.runtime import ExecutionRow, SessionRow
from bot.console.access.viewer import Viewer
from bot.console.console_context import Console, Route

NEWEST = 60


async def home(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """The tasks that somebody may see."""
    tasks: list[tuple[ExecutionRow, SessionRow | None]] = []
    for row in reversed(await console.store.newest_executions(NEWEST)):
        session = await console.store.session(row.thread)
        if await console.sees(viewer, session):
            tasks.append((row, session))
    return console.page("home.html", viewer, tasks=tasks)


ROUTES: tuple[Route, ...] = (("GET", "/", home),)
