"""A task as a file: HTML to send to somebody, JSON lines, ATIF, Markdown; a turn, a call or any page as Markdown.

A file is made piece by piece in a thread and sent as it is made, so that a long task neither keeps other pages waiting nor
stands in memory as a whole.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import cast

from aiohttp import web

from agentic.core.events.execution_events import Envelope, ModelRequested, Started
from agentic.runtime.request_refs import specs_in
from bot import BUILD
from bot.console.access.viewer import Viewer
from bot.console.console_context import Console, Handler, Route
from bot.console.exports.atif_export import JsonMap, Trajectory, atif, helpers_of
from bot.console.exports.export_source import TEXT, ExportSource, source_of
from bot.console.exports.html_export import html_file
from bot.console.exports.markdown_export import call_text, turn_text, whole_task
from bot.console.exports.page_markdown import page_markdown
from bot.console.exports.transcript import CallRecord, TranscriptTurn, transcript
from bot.console.logs.task_log import TaskLog
from bot.console.pages.task import TASK
from bot.console.views.task_status import status_of

OUTPUTS, OUTPUT_BYTES = 2_000_000, 20_000_000
"""Characters of whole outputs that a file to read has besides, the newest ones; and how large one may be to be looked at."""
HELPERS, HELPER_EVENTS = 20, 20_000
"""Helpers, and events of all of them together, that a trajectory has inside."""
SEND_SECONDS, SEND_RATE = 60.0, 50_000
"""How long a browser may keep a file waiting, all together, beyond the time that it would take at so many bytes a second."""
WAIT_SECONDS = 20.0
"""How long one waits at most while as many files as may be are made."""
_NO_NAME = re.compile(r"[^\w.]+", re.ASCII)
AT_ONCE = 64_000
"""Characters that are made and sent at once, at least."""
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
TYPES = {
    "html": "text/html; charset=utf-8",
    "jsonl": "application/jsonl; charset=utf-8",
    "atif.json": "application/json; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
}


async def as_html(console: Console, request: web.Request, viewer: Viewer) -> web.StreamResponse:
    """The task as one HTML file."""
    source = await _source(console, await console.task(request, viewer))
    return await _sent(request, html_file(source, console.pages), source.execution, "html")


async def as_markdown(console: Console, request: web.Request, viewer: Viewer) -> web.StreamResponse:
    """The task as Markdown."""
    source = await _source(console, await console.task(request, viewer))
    return await _sent(request, whole_task(source), source.execution, "md")


async def as_lines(console: Console, request: web.Request, viewer: Viewer) -> web.StreamResponse:
    """Each event as a line of JSON, and what followed the end."""
    log = await console.task(request, viewer)
    return await _sent(request, _lines((*log.events, *log.outcome)), log.execution, "jsonl")


async def as_trajectory(console: Console, request: web.Request, viewer: Viewer) -> web.StreamResponse:
    """The task in Harbor's format."""
    log = await console.task(request, viewer)
    system, tools = await _prompt(console, log)
    first = log.events[0].event
    copied = first.forked_from[1] if isinstance(first, Started) and first.forked_from is not None else 0
    children = await _helpers(console, log)
    task = Trajectory(
        log.execution, log.row.thread, tuple(log.events), BUILD, status_of(log).usd, system, tools, copied,
        tuple(log.outcome), children,
    )  # fmt: skip
    return await _sent(request, atif(task), log.execution, "atif.json")


async def turn_as_markdown(console: Console, request: web.Request, viewer: Viewer) -> web.StreamResponse:
    """One turn as Markdown."""
    log = await console.task(request, viewer)
    number = int(request.match_info["number"])
    turn = await asyncio.to_thread(_turn, tuple(log.events), lambda each: each.number == number)
    if turn is None:
        raise web.HTTPNotFound(text="There is no such turn.")
    outputs = await _outputs(console, turn.calls)
    return await _sent(request, iter((turn_text(turn, outputs).lstrip(),)), f"{log.execution}-turn-{number}", "md")


async def call_as_markdown(console: Console, request: web.Request, viewer: Viewer) -> web.StreamResponse:
    """One call as Markdown."""
    log = await console.task(request, viewer)
    name = request.match_info["call"]
    turn = await asyncio.to_thread(_turn, tuple(log.events), lambda each: any(c.call == name for c in each.calls))
    if turn is None:
        raise web.HTTPNotFound(text="There is no such call.")
    call = next(each for each in turn.calls if each.call == name)
    text = call_text(call, await _outputs(console, (call,))).lstrip() + "\n"
    return await _sent(request, iter((text,)), f"{log.execution}-call-{name}", "md")


def _turn(log: tuple[Envelope, ...], wanted: Callable[[TranscriptTurn], bool]) -> TranscriptTurn | None:
    return next((turn for turn in transcript(log) if wanted(turn)), None)


async def _source(console: Console, log: TaskLog) -> ExportSource:
    events = tuple(log.events)
    calls = await asyncio.to_thread(lambda: [call for turn in transcript(events) for call in turn.calls if call.whole])
    outputs = await _outputs(console, reversed(calls))
    title = console.discretion.text(log.session.title) if log.session is not None else ""
    if not title:
        first = events[0].event
        title = " ".join(first.task.split()) if isinstance(first, Started) else ""
    return await asyncio.to_thread(source_of, log, title[:200] or "Task", outputs)


async def _outputs(console: Console, calls: Iterable[CallRecord]) -> dict[str, str]:
    """Whole outputs of calls by hash, without secrets, cut to what a file shows."""
    found: dict[str, str] = {}
    room = OUTPUTS
    for call in calls:
        if (ref := call.whole) is None or ref.sha in found or ref.size > OUTPUT_BYTES:
            continue
        if (content := await console.store.get_blob(ref.sha)) is not None:
            found[ref.sha] = await asyncio.to_thread(_shown, console, content)
            room -= len(found[ref.sha])
        if room <= 0:
            break
    return found


def _shown(console: Console, content: bytes) -> str:
    """One character more than fits is kept, by which it is seen that it was cut."""
    return console.discretion.text(content.decode(errors="replace"))[: TEXT + 1]


async def _prompt(console: Console, log: TaskLog) -> tuple[str, list[JsonMap]]:
    """The system prompt and the tools of the first turn, where they are still stored."""
    requests = (each.event for each in log.events if isinstance(each.event, ModelRequested))
    segments = next((each.segments for each in requests if each.purpose == "turn" and each.segments), None)
    if segments is None:
        return "", []
    system, tools = await console.store.get_blob(segments.system.sha), await console.store.get_blob(segments.tools.sha)
    functions = [
        {"name": each.name, "description": each.description, "parameters": each.parameters}
        for each in (specs_in(tools) if tools is not None else ())
    ]
    clean = cast("list[JsonMap]", console.discretion.everywhere(functions))
    return console.discretion.text(system.decode()) if system is not None else "", [
        {"type": "function", "function": each} for each in clean
    ]


async def _helpers(console: Console, log: TaskLog) -> dict[str, tuple[Envelope, ...]]:
    found: dict[str, tuple[Envelope, ...]] = {}
    room = HELPER_EVENTS
    for name in helpers_of(log.events)[:HELPERS]:
        child = await console.logs.task(name)
        if child is not None and child.events and child.row.thread == log.row.thread and len(child.events) <= room:
            found[name] = tuple(child.events)
            room -= len(child.events)
    return found


def _lines(log: tuple[Envelope, ...]) -> Iterator[str]:
    return (envelope.model_dump_json() + "\n" for envelope in log)


async def _sent(request: web.Request, pieces: Iterator[str], name: str, ending: str) -> web.StreamResponse:
    answer = web.StreamResponse(headers=HEADERS)
    answer.headers["Content-Type"] = TYPES[ending]
    answer.headers["Content-Disposition"] = f'attachment; filename="threadwright-{name}.{ending}"'
    await answer.prepare(request)
    if request.method == "HEAD":
        return answer
    left, now = SEND_SECONDS, asyncio.get_running_loop().time
    while piece := await asyncio.to_thread(_next, pieces):
        began = now()
        left += len(piece) / SEND_RATE
        try:
            async with asyncio.timeout(left):
                await answer.write(piece)
        except TimeoutError:  # the other end's doing, no fault of ours
            if request.transport is not None:
                request.transport.abort()
            break
        left = min(left - (now() - began), SEND_SECONDS)
    return answer


def _bounded(handler: Handler) -> Handler:
    """A handler that makes a file of a whole task: a few at once, since each has much in memory."""

    async def bounded(console: Console, request: web.Request, viewer: Viewer) -> web.StreamResponse:
        await console.session(request, viewer)  # whoever may not see it takes no place
        async with _place(console):
            return await handler(console, request, viewer)

    return bounded


@asynccontextmanager
async def _place(console: Console) -> AsyncGenerator[None]:
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            await console.exports.acquire()
    except TimeoutError:
        raise web.HTTPServiceUnavailable(text="Other files are being made now. Try again in a moment.") from None
    try:
        yield
    finally:
        console.exports.release()


def is_for_markdown(request: web.Request) -> bool:
    """Whether a page is asked for as Markdown: ``?as=markdown``."""
    return request.query.get("as") == "markdown"


async def as_asked(console: Console, request: web.Request, answer: web.StreamResponse) -> web.StreamResponse:
    """A page as Markdown where it was asked for so; any other answer as it is."""
    whole = isinstance(answer, web.Response) and answer.status == HTTPStatus.OK and answer.content_type == "text/html"
    if not (whole and is_for_markdown(request)):
        return answer
    async with _place(console):
        content = await asyncio.to_thread(page_markdown, cast("web.Response", answer).text or "")
    name = _NO_NAME.sub("-", request.path.strip("/"))[-80:].strip("-") or "tasks"
    return web.Response(
        body=content.encode(errors="backslashreplace"),
        headers={
            **HEADERS, "Content-Type": TYPES["md"], "Content-Disposition": f'attachment; filename="threadwright-{name}.md"'
        },
    )  # fmt: skip


def _next(pieces: Iterator[str]) -> bytes:
    """The next pieces, enough of them that it is worth a thread's time; empty at the end."""
    joined: list[str] = []
    size = 0
    for piece in pieces:
        joined.append(piece)
        size += len(piece)
        if size >= AT_ONCE:
            break
    return "".join(joined).encode(errors="backslashreplace")


ROUTES: tuple[Route, ...] = (
    ("GET", TASK + "/export.html", _bounded(as_html)),
    ("GET", TASK + "/export.md", _bounded(as_markdown)),
    ("GET", TASK + "/export.jsonl", _bounded(as_lines)),
    ("GET", TASK + "/export.atif.json", _bounded(as_trajectory)),
    ("GET", TASK + r"/turn/{number:\d{1,6}}.md", turn_as_markdown),
    ("GET", TASK + r"/call/{call:[\w.-]{1,80}}.md", call_as_markdown),
)
