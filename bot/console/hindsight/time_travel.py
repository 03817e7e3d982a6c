"""A task as it was at the end of each of its turns, and a form to fork from there."""

from __future__ import annotations

import asyncio
import secrets

from aiohttp import web

from agentic.ports.errors import AgenticError
from agentic.workspace.snapshots.snapshot_store import Snapshots
from bot.config.home import CHECKPOINTS
from bot.console.access.viewer import Viewer
from bot.console.console_context import Console, Route
from bot.console.hindsight.past_state import PastState, state_at
from bot.console.logs.task_log import TaskLog
from bot.console.pages.task import TASK, tab

FILES_SHOWN, SAVED_SHOWN = 300, 30
CONTENT_BYTES = 256 << 10


async def at(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """The task at the end of ``?turn=7``; without a turn, of its last."""
    log = await console.task(request, viewer)
    then = await _then(request, log)
    there = await _kept(console, log)
    saved = [one for one in then.saved if one.manifest in there]
    return tab(
        console, viewer, log, "at", "at.html",
        then=then, files=then.files[:FILES_SHOWN], saved=saved[:SAVED_SHOWN], gone=len(then.saved) - len(saved),
        sends=secrets.token_urlsafe(12), listens=console.bot.connected,
    )  # fmt: skip


async def file_then(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """A file as it was in the newest checkpoint that there was by then: ``?turn=7&path=src/x.py``."""
    log = await console.task(request, viewer)
    then = await _then(request, log)
    path = request.query.get("path", "")[:1_000]
    file = next((file for file in then.files if file.path == path), None)
    if file is None:
        raise web.HTTPNotFound(text="By then, that file had not been changed.")
    there = await _kept(console, log)
    saved = next((one for one in then.saved if one.manifest in there), None)
    content, problem = None, "No saved state from before that moment is kept on this machine, so it can't be shown."
    if saved is not None:
        try:
            content = await _snapshots(console).content(log.row.thread, saved.manifest, path, CONTENT_BYTES)
            problem = "The saved state has no such file, or it is larger than 256 kB or damaged."
        except (AgenticError, OSError) as error:
            problem = f"The saved state can't be read: {error}"
    text = None
    if content is not None:
        text = console.discretion.text(content.decode("utf-8", "replace")) if b"\0" not in content[:8_000] else ""
    return tab(
        console, viewer, log, "at", "file_then.html",
        then=then, file=file, saved=saved, text=text, problem=problem, size=len(content or b""),
    )  # fmt: skip


async def _then(request: web.Request, log: TaskLog) -> PastState:
    wanted = request.query.get("turn", "")
    turn = int(wanted[:7]) if wanted.isdecimal() else len(log.events)
    events, outcome = list(log.events), tuple(log.outcome)
    return await asyncio.to_thread(state_at, events, list(log.story.turns), turn, outcome, log.near)


async def _kept(console: Console, log: TaskLog) -> frozenset[str]:
    """The checkpoints of the thread whose files are kept on this machine."""
    try:
        return frozenset(await _snapshots(console).listed(log.row.thread))
    except (AgenticError, OSError):
        return frozenset()


def _snapshots(console: Console) -> Snapshots:
    return Snapshots(console.settings.home / CHECKPOINTS, home=console.settings.home)


ROUTES: tuple[Route, ...] = (("GET", TASK + "/at", at), ("GET", TASK + "/at/file", file_then))
