"""Pages that are kept up to date: server-sent events with parts of a page, as htmx swaps them in."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from aiohttp import web

from agentic.core.events.execution_events import ModelAnswered, ModelFailed
from agentic.tools.base.terminal_text import clean
from bot.console.access.viewer import Viewer
from bot.console.bot_channel import BotChannel, BotSilent
from bot.console.console_context import Console, Route, task_path
from bot.console.logs.followers import TooManyPages, Update, Watcher, event_of
from bot.console.logs.task_log import TaskLog
from bot.console.page_templates import Pages
from bot.console.pages.figures_page import ROWS_AT_ONCE as ROWS
from bot.console.pages.figures_page import TURNS_AT_ONCE as TIMES
from bot.console.pages.figures_page import figures_of, rows_of, times_of, turn_times_of
from bot.console.pages.task import AT_ONCE as TURNS
from bot.console.pages.task import LINES_AT_ONCE as LINES
from bot.console.pages.task import TASK
from bot.console.pages.terminal_page import COMMANDS_AT_ONCE as COMMANDS
from bot.console.views.act_choices import choices_of, settled
from bot.console.views.sent_request import requests_of
from bot.console.views.shell_session import ShellSession
from bot.console.views.task_status import status_of
from bot.messages.log_text import told

BEAT_SECONDS = 15.0
"""After so long without an update, a line that says nothing, so that a connection that is gone is noticed. Whether somebody
may still see the task is asked with each line, so that a page ends at most so long after that is known."""
WRITE_SECONDS = 30.0
"""So long an update may lie unread before its reader is given up."""
SIGNED_OUT = "You are signed out, so this page is not kept up to date any more. Load it again to sign in."
NOT_SEEN = "This page is not kept up to date any more: there is no such task now, or you may not see it."
FULL = "Too many pages of the console are kept up to date. Close some; this one tries again by itself."
RETRY_SECONDS = 10

OVER = b"event: over\n"
"""How the last event begins of a stream to which nobody should come back; its words are for the person."""
RESTS = {"metrics": 1.0, "timeline": 1.0}
"""Seconds between two updates of a view at least."""

NEAR = 200
"""An answer comes within so many events after its request."""

T = TypeVar("T")


async def live(console: Console, request: web.Request, viewer: Viewer) -> web.StreamResponse:
    """Updates of a view of a task since the event ``?since=``, or since the last one that the browser got."""
    task = await console.task(request, viewer)
    view = request.query.get("view", "thoughts")
    if not console.followers.knows(view):
        raise web.HTTPNotFound(text="There is no such view.")
    since = request.headers.get("Last-Event-ID") or request.query.get("since", "")
    begin = min(int(since[:9]), len(task.events)) if since.isdecimal() else len(task.events)
    answer = web.StreamResponse()
    answer.content_type = "text/event-stream"
    answer.headers["X-Accel-Buffering"] = "no"  # or a proxy may gather what should come at once
    if request.method == "HEAD":
        await answer.prepare(request)
        return answer
    try:
        watching = console.followers.watching(
            task.execution, view, begin, request.query.get("mark"), person=viewer.person.id, session=viewer.session
        )
        async with watching as watcher:
            await answer.prepare(request)
            while (update := await _next(console, viewer, task, watcher)) is not None:
                async with asyncio.timeout(WRITE_SECONDS):
                    await answer.write(update)
                if update.startswith(OVER):
                    break
    except TooManyPages:
        raise web.HTTPServiceUnavailable(text=FULL, headers={"Retry-After": str(RETRY_SECONDS)}) from None
    except TimeoutError:  # the other end's doing
        if request.transport is not None:
            request.transport.abort()
    return answer


async def _next(console: Console, viewer: Viewer, task: TaskLog, watcher: Watcher) -> bytes | None:
    """The next piece of the stream; None where it ends and the browser may come back."""
    try:
        async with asyncio.timeout(BEAT_SECONDS):
            update = await watcher.updates.get()
    except TimeoutError:
        update = b": still here\n\n"
    if viewer.session and not console.sessions.lasts(viewer.session):
        return OVER + event_of(SIGNED_OUT)
    try:
        sees = await console.sees(viewer, task.session)
    except BotSilent:  # it is not known now: the browser comes back and asks again
        return None
    return update if sees else OVER + event_of(NOT_SEEN)


async def newest(bot: BotChannel, pages: Pages, execution: str) -> str:
    """What an execution's command or model is writing just now; '' for none."""
    text = clean(await bot.newest(execution)) if execution else ""
    return pages.render("newest.html", text=text)


def views(pages: Pages) -> dict[str, Update]:
    """What renders the updates of each view, by name."""

    def acts(log: TaskLog, since: int) -> str:
        return pages.render(
            "live_acts.html", log=log, path=task_path(log), status=status_of(log), choices=choices_of(log),
            settled=settled(log, since),
        )  # fmt: skip

    def thoughts(log: TaskLog, since: int) -> str:
        turns, behind = _newest(log.story.changed_since(since), TURNS)
        before = len(log.story.turns) - len(turns) if behind else 0
        return pages.render(
            "live_thoughts.html", log=log, turns=turns, since=since, behind=behind, before=before, after=0,
            status=status_of(log), choices=choices_of(log), settled=settled(log, since),
        )  # fmt: skip

    def lines(log: TaskLog, since: int) -> str:
        first = max(since, len(log.events) - LINES)
        new = [(n, e, told(e.event) or e.event.kind.replace("_", " ")) for n, e in enumerate(log.events[first:], first)]
        return pages.render("live_logs.html", log=log, lines=new, behind=first > since, status=status_of(log))

    def status(log: TaskLog, since: int) -> str:
        return pages.render("live_status.html", log=log, status=status_of(log))

    def metrics(log: TaskLog, since: int) -> str:
        numbers, behind = _newest([turn.number for turn in log.story.changed_since(since)], ROWS)
        return pages.render(
            "live_metrics.html", log=log, since=since, behind=behind, status=status_of(log),
            rows=rows_of(log, frozenset(numbers)), **figures_of(log),
        )  # fmt: skip

    def timeline(log: TaskLog, since: int) -> str:
        numbers, behind = _newest([turn.number for turn in log.story.changed_since(since)], TIMES)
        return pages.render(
            "live_timeline.html", log=log, since=since, behind=behind, status=status_of(log),
            turns=turn_times_of(log, numbers), **times_of(log),
        )  # fmt: skip

    def terminal(log: TaskLog, since: int) -> str:
        session = log.reading(ShellSession)
        changed, behind = _newest(session.changed_since(since), COMMANDS)
        return pages.render(
            "live_terminal.html", log=log, since=since, behind=behind, session=session, commands=changed,
            status=status_of(log),
        )  # fmt: skip

    def world(log: TaskLog, since: int) -> str:
        near = requests_of(log.events[max(since - NEAR, 0) :])
        came = {e.event.request for e in log.events[since:] if isinstance(e.event, ModelAnswered | ModelFailed)}
        return pages.render(
            "live_world.html", log=log, path=task_path(log), status=status_of(log),
            newest=near[-1][0] if near and near[-1][0].seq > since else None,
            answered=[each.seq for each, event in near if event.request in came],
        )  # fmt: skip

    return {
        "acts": acts,
        "world": world,
        "thoughts": thoughts,
        "logs": lines,
        "status": status,
        "metrics": metrics,
        "timeline": timeline,
        "terminal": terminal,
    }


def _newest(changed: list[T], most: int) -> tuple[list[T], bool]:
    """What an update shows of what changed, and whether there is too much: then the page's list begins anew with that."""
    return changed[-most:], len(changed) > most


ROUTES: tuple[Route, ...] = (("GET", TASK + "/live", live),)
