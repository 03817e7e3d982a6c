"""Why an event happened: the rule that decided it, what it read, and which rules passed before."""

from __future__ import annotations

import asyncio

from aiohttp import web

from bot.console.access.viewer import Viewer
from bot.console.console_context import Console, Route, task_path
from bot.console.pages.task import TASK, tab
from bot.console.views.decision_trace import NEAR, trace_of


async def why(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """The trace of one event, made in a thread, so that other pages go on."""
    log = await console.task(request, viewer)
    seq = int(request.match_info["seq"][:9])
    events = log.events[:seq]
    if not 1 <= seq <= len(log.events):
        raise web.HTTPNotFound(text="There is no such event.")
    trace = await asyncio.to_thread(trace_of, events, seq, log.near(seq - NEAR))
    turn = next((turn for turn in reversed(log.story.turns) if turn.seq <= seq), log.story.turns[0])
    original = ""
    if trace.copied_from and await console.listed(viewer, trace.copied_from) is not None:
        source = await console.logs.task(trace.copied_from)
        original = task_path(source, f"why/{seq}") if source is not None and len(source.events) >= seq else ""
    return await tab(
        console, viewer, log, "why", "why.html", trace=trace, turn=turn, envelope=events[-1], last=len(log.events),
        original=original,
    )  # fmt: skip


ROUTES: tuple[Route, ...] = (("GET", TASK + r"/why/{seq:\d+}", why),)
