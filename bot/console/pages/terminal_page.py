"""The tab Terminal of a task: what its shell did, as it happened, and outputs whole, piece by piece."""

from __future__ import annotations

from aiohttp import web

from agentic.core.events.execution_events import ToolFinished
from bot.console.access.viewer import Viewer
from bot.console.console_context import Console, Route, task_path
from bot.console.pages.list_parts import part_of
from bot.console.pages.task import TASK, tab
from bot.console.views.shell_session import ShellSession, piece, pieces

COMMANDS_AT_ONCE = 40


async def terminal(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """The newest commands. ``?turn=7`` shows those around that turn, ``?page=1`` earlier ones."""
    log = await console.task(request, viewer)
    session = log.reading(ShellSession)
    part = part_of(request, [one.turn for one in session.commands], COMMANDS_AT_ONCE)
    return await tab(
        console, viewer, log, "terminal", "terminal.html", session=session, part=part,
        commands=session.commands[part.first : part.end], live="terminal" if part.newest else "status",
    )  # fmt: skip


async def output(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """The whole output of a call, ``?part=3`` of it; the event in the path is the one with the call's result."""
    log = await console.task(request, viewer)
    seq = int(request.match_info["seq"])
    event = log.events[seq - 1].event if 0 < seq <= len(log.events) else None
    if not isinstance(event, ToolFinished):
        raise web.HTTPNotFound(text="There is no such output.")
    content, whole = event.preview.encode(), event.output is None
    if event.output is not None and (kept := await console.store.get_blob(event.output.sha)) is not None:
        content, whole = kept, True
    asked = request.query.get("part", "1")
    count = pieces(len(content))
    number = min(max(int(asked[:6]), 1), count) if asked.isdecimal() else 1
    command = next((one for one in log.reading(ShellSession).commands if one.ended == seq), None)
    return console.page(
        "output.html", viewer, log=log, path=task_path(log), seq=seq, command=command, whole=whole, size=len(content),
        number=number, count=count, text=piece(content, number - 1, console.discretion.text),
        left=event.output.size if event.output is not None and not whole else 0,
    )  # fmt: skip


ROUTES: tuple[Route, ...] = (
    ("GET", TASK + "/terminal", terminal),
    ("GET", TASK + r"/terminal/{seq:\d{1,9}}", output),
)
