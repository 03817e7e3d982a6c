"""A task as it was at the end of each of its turns, and a form to fork from there."""

from __future__ import annotations

import asyncio
import secrets

from aiohttp import web

from bot.console.access.viewer import Viewer
from bot.console.console_context import Console, Route
from bot.console.hindsight.past_state import FileThen, PastState, files_then, state_at
from bot.console.logs.task_log import TaskLog
from bot.console.pages.files_page import place_of
from bot.console.pages.task import TASK, tab
from bot.console.views.changed_files import ChangedFiles

FILES_SHOWN, SAVED_SHOWN = 300, 30
CONTENT_BYTES = 256 << 10


async def at(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """The task at the end of ``?turn=7``; without a turn, of its last."""
    log = await console.task(request, viewer)
    then, files, hidden = await _then(console, request, log)
    kept = frozenset(await console.files.listed(place_of(log)))
    saved = [one for one in then.saved if one.manifest in kept]
    judged = log.story.figures.confidence_at(then.turn)
    return await tab(
        console, viewer, log, "at", "at.html",
        then=then, parts=judged.parts if judged is not None else (),
        files=files[:FILES_SHOWN], count=len(files), hidden=hidden, saved=saved[:SAVED_SHOWN],
        sends=secrets.token_urlsafe(12), listens=console.bot.connected,
    )  # fmt: skip


async def file_then(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """A file as it was then, where a checkpoint has it: ``?turn=7&path=src/x.py``."""
    log = await console.task(request, viewer)
    then, files, _ = await _then(console, request, log)
    path = request.query.get("path", "")
    file = next((file for file in files if file.path == path), None)
    if file is None:
        raise web.HTTPNotFound(text="By then, the task had changed no such file.")
    known = await console.files.versions(place_of(log), {path: (file.sha,)}, CONTENT_BYTES)
    content = known.get((path, file.sha))
    binary = content is not None and b"\0" in content[:8_000]
    text = None
    if content is not None and not binary:
        text = await asyncio.to_thread(console.discretion.text, content.decode("utf-8", "replace"))
    return await tab(
        console, viewer, log, "at", "file_then.html",
        then=then, file=file, text=text, binary=binary, size=len(content or b""),
    )  # fmt: skip


async def _then(console: Console, request: web.Request, log: TaskLog) -> tuple[PastState, tuple[FileThen, ...], int]:
    """The moment, the files that had been changed by then, and how many of these are hidden."""
    wanted = request.query.get("turn", "")
    turn = int(wanted[:7]) if wanted.isdecimal() else len(log.events)
    events, turns, outcome = list(log.events), list(log.story.turns), tuple(log.outcome)
    then = await asyncio.to_thread(state_at, events, turns, turn, outcome, log.near)
    files = files_then(log.reading(ChangedFiles).files.values(), then.through)
    visible = await console.files.visible(place_of(log), [file.path for file in files])
    shown = tuple(file for file in files if file.path in visible)
    return then, shown, len(files) - len(shown)


ROUTES: tuple[Route, ...] = (("GET", TASK + "/at", at), ("GET", TASK + "/at/file", file_then))
