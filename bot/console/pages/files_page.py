"""The tab Files of a task: what it changed as a tree, differences by turn and over the whole task, files to download."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import quote

from aiohttp import web

from agentic.core.events.execution_events import CheckpointSaved, Started, ToolStarted, WorkspaceRestored
from agentic.core.events.ids import place_id
from agentic.workspace.file_names import safe_name
from bot.console.access.viewer import Viewer
from bot.console.console_context import Console, Route
from bot.console.logs.task_log import TaskLog
from bot.console.pages.task import TASK, tab
from bot.console.views.changed_files import (
    SHOWN_FILES,
    TEXT_BYTES,
    ChangedFile,
    ChangedFiles,
    Comparison,
    FileVersion,
    ListedFile,
    compared,
    follows,
    put_back,
    tree,
)
from bot.history.checkpoint_list import moment

DIFFS_AT_ONCE = 20
"""Files that are compared on one page."""
TURNS_LISTED = 200
CHANGES_LISTED = 300
FILES_AT_ONCE = 500
"""Files of the whole workspace on a page."""
NO_FILE = "There is no such file among those that this task changed."
NOT_KEPT = (
    "This version was not kept. Checkpoints keep versions; others are known only where a call wrote or edited the file."
)

Contents = dict[tuple[str, str], bytes]
"""Versions that are known, by path and hash."""


@dataclass(frozen=True, slots=True)
class FileDiff:
    """A file's difference, or why there is none to show."""

    path: str
    words: str
    shown: Comparison


async def files(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """The files that the task changed; ``?turn=7`` shows what that turn changed, ``?all=1`` all differences at once."""
    log = await console.task(request, viewer)
    changed = log.reading(ChangedFiles)
    shown = await console.files.visible(place_of(log), changed.files)
    every = [file for path, file in changed.files.items() if path in shown]
    diffs, title, more, asked = list[FileDiff](), "", 0, ""
    if (turn := request.query.get("turn", "").strip()[:7]).isdecimal():
        title, asked = f"What turn {int(turn)} changed", f"turn={int(turn)}"
        of_turn = [changed.files[path] for path in changed.by_turn.get(int(turn), {}) if path in shown]
        more = max(len(of_turn) - DIFFS_AT_ONCE, 0)
        of_turn = of_turn[:DIFFS_AT_ONCE]
        diffs = await _diffs(console, log, [(file, file.in_turn(int(turn))) for file in of_turn])
    elif request.query.get("all"):
        title, more, asked = "What the whole task changed", max(len(every) - DIFFS_AT_ONCE, 0), "all=1"
        diffs = await _diffs(console, log, [(file, file.versions) for file in every[:DIFFS_AT_ONCE]])
    turns = [(number, [path for path in paths if path in shown]) for number, paths in changed.by_turn.items()]
    return await tab(
        console, viewer, log, "files", "files.html", tree=tree(every), count=len(every),
        left_out=max(len(every) - SHOWN_FILES, 0), hidden=len(changed.files) - len(every),
        turns=[(number, paths) for number, paths in turns if paths][-TURNS_LISTED:], diffs=diffs, title=title, more=more,
        asked=asked, back=put_back(log.outcome, shown),
    )  # fmt: skip


async def whole_tree(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """All files of the workspace in the newest state of the task that is still saved; ``?from=500`` those from there on."""
    log = await console.task(request, viewer)
    name, words = _newest_saved(log, frozenset(await console.files.listed(place_of(log))))
    listed = await console.files.saved(place_of(log), name) if name else []
    asked = request.query.get("from", "")
    first = min(int(asked[:7]), len(listed)) if asked.isdecimal() else 0
    part = listed[first : first + FILES_AT_ONCE]
    shown = await console.files.visible(place_of(log), [path for path, _ in part])
    changed = log.reading(ChangedFiles).files

    def named() -> list[ListedFile]:
        hide = console.discretion.text
        return [ListedFile(hide(path), size, changed.get(path)) for path, size in part if path in shown]

    files = await asyncio.to_thread(named)
    above = {parent.as_posix() for file in files if file.changed for parent in PurePosixPath(file.path).parents}
    return await tab(
        console, viewer, log, "files", "files_tree.html", live="status", tree=tree(files), saved=name, words=words,
        first=first, last=first + len(part), count=len(listed), hidden=len(part) - len(files), at_once=FILES_AT_ONCE,
        opened=above, back=put_back(log.outcome, shown),
    )  # fmt: skip


def _newest_saved(log: TaskLog, kept: Collection[str]) -> tuple[str, str]:
    """The newest state of the task's files that is still saved, and when that was; '' for none."""
    for envelope in reversed((*log.events, *log.outcome)):
        event = envelope.event
        if isinstance(event, CheckpointSaved) and event.manifest in kept and event.why != "restore":
            return event.manifest, moment(event.why, event.turn or log.story.turns[-1].number)
        if isinstance(event, WorkspaceRestored) and event.after in kept:
            return event.after, "after files were put back"
    return "", ""


async def one_file(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """A file with all its changes, compared over the whole task; ``?change=3`` compares that change."""
    log = await console.task(request, viewer)
    file = await _file(console, log, request)
    chosen, asked = file.versions, request.query.get("change", "")
    number = int(asked[:6]) if asked.isdecimal() else 0
    if 1 <= number <= len(file.versions):
        chosen = [file.versions[number - 1]]
    (diff,) = await _diffs(console, log, [(file, chosen)])
    first = max(len(file.versions) - CHANGES_LISTED, 0)
    return await tab(
        console, viewer, log, "files", "file.html", file=file, diff=diff, number=number,
        changes=list(enumerate(file.versions, 1))[first:], left_out=first,
        back=put_back(log.outcome, [file.path]).get(file.path, ""),
    )  # fmt: skip


async def download(console: Console, request: web.Request, viewer: Viewer) -> web.Response:
    """A file as it is (``at=now``), as it was before the task (``at=before``) or after its change number ``at``."""
    log = await console.task(request, viewer)
    file = await _file(console, log, request)
    at = request.query.get("at", "now")
    if at == "now":
        content = await console.files.now(place_of(log), file.path)
        if content is None:
            raise web.HTTPNotFound(text="This file is not there any more, is too large, or cannot be read from here.")
    else:
        number = int(at[:6]) if at.isdecimal() else 0
        if at != "before" and not 1 <= number <= len(file.versions):
            raise web.HTTPNotFound(text=NO_FILE)
        sha = file.versions[0].before if at == "before" else file.versions[number - 1].after
        kept = await console.files.versions(place_of(log), {file.path: (sha,)})
        kept = kept or await _contents(console, log, [file])
        content = kept.get((file.path, sha))
        if content is None:
            raise web.HTTPNotFound(text=NOT_KEPT)
    name = safe_name(PurePosixPath(file.path).name)
    return web.Response(
        body=await asyncio.to_thread(console.discretion.content, content, made=False),
        content_type="application/octet-stream",
        headers={
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}",
            "X-Content-Type-Options": "nosniff",
        },
    )


async def _file(console: Console, log: TaskLog, request: web.Request) -> ChangedFile:
    """The file in ``?path=``: one that the task changed and that is not hidden, and no other."""
    file = log.reading(ChangedFiles).files.get(request.query.get("path", ""))
    if file is None or file.path not in await console.files.visible(place_of(log), [file.path]):
        raise web.HTTPNotFound(text=NO_FILE)
    return file


async def _contents(console: Console, log: TaskLog, wanted: Collection[ChangedFile]) -> Contents:
    """The versions of files that are kept, and those that follow from what calls wrote."""
    shas = {file.path: {sha for each in file.versions for sha in (each.before, each.after)} for file in wanted}
    known = await console.files.versions(place_of(log), shas, TEXT_BYTES)
    for file in wanted:
        await asyncio.to_thread(_follow, log, file, known)
    return known


def _follow(log: TaskLog, file: ChangedFile, known: Contents) -> None:
    for version in tuple(file.versions):
        if not version.call or (file.path, version.after) in known:
            continue
        call = log.events[version.call - 1].event
        before = known.get((file.path, version.before)) if version.before else None
        content = follows(version, before, call.arguments) if isinstance(call, ToolStarted) else None
        if content is not None:
            known[file.path, version.after] = content


async def _diffs(
    console: Console, log: TaskLog, wanted: Sequence[tuple[ChangedFile, Sequence[FileVersion]]]
) -> list[FileDiff]:
    """Each file from before the first of these changes to after the last."""
    known = await _contents(console, log, [file for file, _ in wanted])
    return [await asyncio.to_thread(_diff, console, file, tuple(changes), known) for file, changes in wanted]


def _diff(console: Console, file: ChangedFile, changes: Sequence[FileVersion], known: Contents) -> FileDiff:
    first, last = changes[0], changes[-1]
    turns = list(dict.fromkeys(change.turn for change in changes))
    words = f"{last.kind if len(changes) == 1 else f'changed {len(changes)} times'}, " + (
        f"turn {turns[0]}" if len(turns) == 1 else f"turns {turns[0]} to {turns[-1]}"
    )
    before, after = known.get((file.path, first.before)), known.get((file.path, last.after))
    lost_before, lost_after = before is None and first.kind != "added", after is None and last.kind != "deleted"
    if lost_before or lost_after:
        lost = [f"before turn {first.turn}"] * lost_before + [f"after turn {last.turn}"] * lost_after
        kept = "versions {} were" if len(lost) > 1 else "version {} was"
        note = f"The {kept.format(' and '.join(lost))} not kept, so there is nothing to compare."
        return FileDiff(file.path, words, Comparison(note=note))
    return FileDiff(file.path, words, compared(before, after, console.discretion.text))


def place_of(log: TaskLog) -> str:
    """The name of the task's workspace: its thread's, or its own."""
    first = log.events[0].event
    own = isinstance(first, Started) and bool(first.workspace)
    return place_id(log.row.thread, log.execution) if own else log.row.thread


ROUTES: tuple[Route, ...] = (
    ("GET", TASK + "/files", files),
    ("GET", TASK + "/files/tree", whole_tree),
    ("GET", TASK + "/files/of", one_file),
    ("GET", TASK + "/files/get", download),
)
