"""Undo: put back what an execution changed, and nothing else.

The state before its first change was kept by the execution, the state it left is kept when it has ended; both are
checkpoints.  What is neither as the execution left it nor as it was before was changed by somebody since, and stays.  The
state before the undo is kept too, so an undo loses nothing.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass

from agentic.core.events import CheckpointSaved, InboxItem, WorkspaceRestored
from agentic.core.execution import Execution
from agentic.ports import Clock, Store
from agentic.world.snapshots import Manifest, SnapshotLost, Snapshots, changed_units, plan_undo, unit_of
from bot.pasts import Past, pasts_after
from bot.refusals import refused as why_not
from bot.render import inline, plain
from bot.rights import may, needed
from bot.workshop import Workshop
from reflexion.outcome import OutcomeStream

NAMED = 12
"""So many files are named; the rest is counted."""
NOT_HERE = "That task is not of this thread, or has not ended; nothing was put back."
NO_COPY = "That task cannot be undone, since there is no copy of the files as they were before it{why}."
NOTHING = "That task changed no files, so there is nothing to undo."
AS_BEFORE = "The files are as they were before that task already; nothing had to be put back."
NOT_KEPT = "Nothing was put back: the present state could not be kept first ({problem})."
NEWER = "A later task changed the same files ({files}): “{task}”. Undo that one first, then this one."

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Undoing:
    """Remembers how executions leave their workspace, and undoes them."""

    store: Store
    clock: Clock
    workshop: Workshop
    snapshots: Snapshots
    build: str = ""

    async def remember(self, execution: Execution) -> None:
        """Keep how an execution left the workspace, if it had kept how it found it."""
        if execution.checkpoint is None or not execution.checkpoint.manifest:
            return
        saved = await self.workshop.save(execution.thread)
        if saved.problem:
            log.warning("execution %s: how it left its files is not kept: %s", execution.id, saved.problem)
            return
        await self._outcome(execution.id).add(
            CheckpointSaved(
                manifest=saved.manifest,
                through_seq=execution.seq,
                turn=execution.turn.number,
                why="end",
                not_kept=saved.not_kept,
            )
        )

    async def undo(self, item: InboxItem) -> str:
        """Undo the execution that the item names; returns what is told.  Doing it again does nothing."""
        pasts = [past async for past in pasts_after(self.store, item.thread, item.target)]
        if not pasts or pasts[0].execution != item.target:
            return NOT_HERE
        past, later = pasts[0], pasts[1:]
        if past.restored is not None:
            by = f" by {plain(past.restored.by.name, 40)}" if past.restored.by else ""
            return f"That was undone already{by}."
        own = past.requester is None or past.requester.id == item.author.id
        if not may(item.author.level, "undo", own=own):
            return why_not("undo", needed("undo", own=own))
        if not past.before:
            return NO_COPY.format(why=f": {past.problem}" if past.problem else "")
        return await self._undo(item, past, later)

    async def _undo(self, item: InboxItem, past: Past, later: list[Past]) -> str:
        thread = item.thread
        before = await self.snapshots.load(thread, past.before)
        kept = await self.workshop.save(thread)
        if kept.problem:
            return NOT_KEPT.format(problem=kept.problem)
        now = await self.snapshots.load(thread, kept.manifest)
        after = await self._after(thread, past) or now
        if refused := await self._newer(thread, changed_units(before, after), later):
            return refused
        plan = plan_undo(before, after, now, () if past.after else _disputed(past, now))
        if not plan.changed:
            return NOTHING
        done = await self.snapshots.restore(thread, self.workshop.world(thread).workspace, plan.wanted, now)
        files = tuple(dict.fromkeys(unit_of(path) for path in done.files))
        left = {**plan.left, **done.left}
        if files or not left:
            restored = WorkspaceRestored(
                manifest=past.before, files=files, lost=_named(left), by=item.author, kept=kept.manifest
            )
            await self._outcome(past.execution).add(restored)
        return _words(files, left, kept.manifest)

    async def _after(self, thread: str, past: Past) -> Manifest | None:
        try:
            return await self.snapshots.load(thread, past.after) if past.after else None
        except SnapshotLost as lost:
            log.warning("execution %s: %s", past.execution, lost)
            return None

    async def _newer(self, thread: str, mine: frozenset[str], later: list[Past]) -> str:
        """Why a later execution has to be undone first, '' where none changed the same files."""
        for past in later:
            shared = sorted(mine & await self._changed(thread, past)) if past.restored is None else []
            if shared:
                names = ", ".join(inline(path) for path in shared[:NAMED])
                return NEWER.format(files=names, task=plain(past.task, 80))
        return ""

    async def _changed(self, thread: str, past: Past) -> frozenset[str]:
        seen = frozenset(unit_of(path) for path in past.changes)
        try:
            if past.before and past.after:
                before, after = [await self.snapshots.load(thread, name) for name in (past.before, past.after)]
                return changed_units(before, after)
        except SnapshotLost as lost:
            log.info("execution %s: %s", past.execution, lost)
        return seen

    def _outcome(self, execution: str) -> OutcomeStream:
        return OutcomeStream(self.store, self.clock, execution, self.build)


def _disputed(past: Past, now: Manifest) -> tuple[str, ...]:
    """Files that are not as the log says the execution left them; for when nobody could look at its end."""
    present = {path: entry.sha for path, entry in now.entries.items() if entry.kind == "file"}
    return tuple(
        path for path, sha in past.changes.items() if (_is_sha(sha) or not sha) and present.get(path, "") != sha
    )


def _is_sha(text: str) -> bool:
    return len(text) == hashlib.sha256().digest_size * 2


def _words(files: tuple[str, ...], left: dict[str, str], kept: str) -> str:
    parts: list[str] = []
    if files:
        number = "1 file is" if len(files) == 1 else f"{len(files)} files are"
        parts.append(f"Undone: {number} as before that task: {_list(files)}.")
    elif not left:
        parts.append(AS_BEFORE)
    else:
        parts.append("Nothing was put back.")
    if left:
        parts.append(
            "Left as they are: " + "; ".join(f"{inline(p)} ({why})" for p, why in list(left.items())[:NAMED]) + "."
        )
        if len(left) > NAMED:
            parts.append(f"And {len(left) - NAMED} more were left.")
    if files:
        parts.append(f"The state before this undo is kept as checkpoint {inline(kept)}.")
    return " ".join(parts)


def _list(files: tuple[str, ...]) -> str:
    more = f" and {len(files) - NAMED} more" if len(files) > NAMED else ""
    return ", ".join(inline(path) for path in files[:NAMED]) + more


def _named(left: dict[str, str]) -> str:
    return "; ".join(f"{path} ({why})" for path, why in list(left.items())[:50])
