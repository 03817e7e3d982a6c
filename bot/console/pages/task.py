"""A task: its frame with tabs and status line, and the tabs Thoughts and Logs."""

from __future__ import annotations

import asyncio
import secrets

from aiohttp import web

from bot.console.access.viewer import Viewer
from bot.console.console_context import Console, Route, task_path
from bot.console.hindsight.relatives import relatives
from bot.console.logs.task_log import TaskLog
from bot.console.views.act_choices import choices_of
from bot.console.views.shell_session import piece, pieces
from bot.console.views.task_status import status_of
from bot.messages.log_text import told

AT_ONCE = 40
"""Turns that the page shows at first."""

TABS = (
    ("", "Thoughts"),
    ("identity", "Identity"),
    ("world", "World"),
    ("logs", "Logs"),
    ("metrics", "Metrics"),
    ("files", "Files"),
    ("terminal", "Terminal"),
    ("timeline", "Timeline"),
    ("at", "Time travel"),
)


async def tab(
    console: Console, viewer: Viewer, log: TaskLog, name: str, template: str, live: str = "status", **values: object
) -> web.Response:
    """A whole page of a task with one of its tabs; ``live`` names the view that keeps it up to date. The template extends
    ``task.html``.
    """
    return console.page(
        template, viewer, log=log, tab=name, tabs=TABS, path=task_path(log), status=status_of(log), live=live,
        relatives=await relatives(console, viewer, log), **values,
    )  # fmt: skip


def act_values(console: Console, log: TaskLog) -> dict[str, object]:
    """What ``act.html`` needs besides the page's own; ``sends`` names what a new form does: sent twice, it is done once."""
    return {"choices": choices_of(log), "sends": secrets.token_urlsafe(12), "listens": console.bot.connected}


async def thoughts(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """The task as a chat. ``?turn=7`` shows the turns around that one."""
    log = await console.task(request, viewer)
    turns = log.story.turns
    wanted = request.query.get("turn", "")
    last = len(turns)
    if wanted.isdecimal():
        place = next((i for i, turn in enumerate(turns) if turn.number >= int(wanted[:6])), len(turns))
        last = min(place + AT_ONCE // 2, len(turns))
    first = max(last - AT_ONCE, 0)
    return await tab(
        console, viewer, log, "", "thoughts.html", live="acts" if last < len(turns) else "thoughts",
        turns=turns[first:last], before=first, after=len(turns) - last, **act_values(console, log),
    )  # fmt: skip


async def more_turns(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """Turns before or after those that a page shows: ``?before=40`` or ``?after=80``, as places from 0."""
    log = await console.task(request, viewer)
    turns = log.story.turns
    if "before" in request.query:
        last = _place(request.query["before"], len(turns))
        first = max(last - AT_ONCE, 0)
        before, after = first, 0
    else:
        first = _place(request.query.get("after", "0"), len(turns))
        last = min(first + AT_ONCE, len(turns))
        before, after = 0, len(turns) - last
    return console.page(
        "turns_came.html", viewer, log=log, path=task_path(log), turns=turns[first:last], before=before, after=after,
        joins="after" in request.query and not after,
    )  # fmt: skip


def _place(text: str, most: int) -> int:
    return min(int(text[:7]), most) if text.isdecimal() else most


LINES_AT_ONCE = 300


async def logs(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """Every event in a line; ``?kind=tool_finished&q=word`` filters, ``?before=700`` goes back."""
    log = await console.task(request, viewer)
    kind, words = request.query.get("kind", ""), request.query.get("q", "").strip().lower()[:200]
    before = _place(request.query.get("before", ""), len(log.events) + len(log.outcome))
    everything = [*log.events, *log.outcome]
    kinds = sorted({envelope.event.kind for envelope in everything})
    lines: list[tuple[int, object, str]] = []
    place = before
    while place > 0 and len(lines) < LINES_AT_ONCE:
        place -= 1
        envelope = everything[place]
        line = told(envelope.event) or envelope.event.kind.replace("_", " ")
        if (not kind or envelope.event.kind == kind) and (not words or words in line.lower()):
            lines.append((place, envelope, line))
    return await tab(
        console, viewer, log, "logs", "logs.html",
        live="logs" if not (kind or words or "before" in request.query) else "status",
        lines=lines[::-1], kinds=kinds, kind=kind, words=words, before=place if lines else 0,
    )  # fmt: skip


async def item(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """One event, whole, as its log has it; a long one in pages, ``?page=2``."""
    log = await console.task(request, viewer)
    place = _place(request.match_info["seq"], len(log.events) + 1)
    if not 1 <= place <= len(log.events):
        raise web.HTTPNotFound(text="There is no such event.")
    envelope = log.events[place - 1]
    content = (await asyncio.to_thread(envelope.event.model_dump_json, indent=1)).encode()
    count, asked = pieces(len(content)), request.query.get("page", "1")
    number = min(max(int(asked[:7]), 1), count) if asked.isdecimal() else 1
    text = await asyncio.to_thread(piece, content, number - 1, str)  # no secrets are in it
    return console.page(
        "event.html", viewer, log=log, path=task_path(log), envelope=envelope, text=text, number=number, count=count,
        size=len(content), title=f"Event {envelope.seq}: {envelope.event.kind.replace('_', ' ')}",
    )  # fmt: skip


BASE = r"/t/{thread:[0-9]{1,20}}"
TASK = BASE + r"/{execution:[\w.:-]{1,120}}"
ROUTES: tuple[Route, ...] = (
    ("GET", BASE, thoughts),
    ("GET", TASK, thoughts),
    ("GET", TASK + "/turns", more_turns),
    ("GET", TASK + "/logs", logs),
    ("GET", TASK + r"/event/{seq:\d+}", item),
)
