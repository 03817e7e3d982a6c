"""Putting the files of a thread back to how a checkpoint has them, and nothing else.

What is put back is what differs between the wanted state and the one in which the execution, or whoever put its files back
before, had left them.  What is neither was changed by somebody since, and stays.  What a later execution changed too has
to be undone first.  The state before is kept as a checkpoint, and so is the one after it, from which one can go back.

All of it may be done again after a crash: the state before is the one that was kept the first time.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from agentic.core.events.execution_events import CheckpointSaved, InboxItem, WorkspaceRestored
from agentic.ports.runtime import Clock, Store
from agentic.workspace.file_names import readable
from agentic.workspace.snapshots.manifest import Manifest
from agentic.workspace.snapshots.restore import Restored
from agentic.workspace.snapshots.snapshot_store import SnapshotLost, Snapshots
from agentic.workspace.snapshots.undo_plan import (
    Plan,
    changed_units,
    plan_undo,
    unit_of,
)
from bot.history.run_history import Past
from bot.ports.actions import NotDone
from bot.rendering.discord_text import inline, plain
from bot.workspace.sandboxes import Workshop
from reflexion.evaluation.outcome_stream import OutcomeStream

NAMED = 12
"""So many files are named; the rest is counted."""
NOT_KEPT = "Nothing was put back: the present state could not be kept first ({problem})."
NEWER = "A later task changed the same files ({files}): “{task}”. Undo that one first, then this one."
SINCE = "it was changed since"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PutBack:
    """What was done: as it is recorded, what was left with the reasons, and how much there was to do."""

    event: WorkspaceRestored
    left: dict[str, str] = field(default_factory=dict[str, str])
    changed: int = 0


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be done: the files of ``past`` as ``target`` has them; ``later`` ran since.

    ``exact``: what others changed is left too, and named, for whoever goes on relies on the files.  ``family``: later ones
    that went on with it, or tried it again; how the newest of them left the files counts, and none of them is in the way.
    """

    past: Past
    later: Sequence[Past]
    target: str
    way: Literal["undo", "redo", "rewind"] = "undo"
    exact: bool = False
    turn: int = 0
    family: Sequence[Past] = ()


@dataclass(frozen=True, slots=True)
class Restoring:
    """Puts files back, for undo, redo, and going on from an earlier position."""

    store: Store
    clock: Clock
    workshop: Workshop
    snapshots: Snapshots
    build: str = ""

    async def put_back(self, item: InboxItem, wish: Wish) -> PutBack:
        """Do it, once for each item.  Raises ``NotDone``, ``SnapshotLost`` and ``OSError``."""
        done = wish.past.acts.get(item.id)
        if done is not None:
            return PutBack(done, changed=len(done.files))
        thread, past = item.thread, wish.past
        wanted = await self.snapshots.load(thread, wish.target)
        saved = await self.workshop.save(thread)
        if saved.problem:
            raise NotDone(NOT_KEPT.format(problem=saved.problem))
        now = await self.snapshots.load(thread, saved.manifest)
        newest = next((one for one in reversed(wish.family) if one.after or one.changes), past)
        left_as = await self._left_as(thread, newest) or now
        await self._refuse_newer(thread, changed_units(wanted, left_as), wish.later)
        disputed = () if newest.after else _disputed(newest, now)
        plan = plan_undo(wanted, left_as, now, disputed)
        kept = await self._keep(item, past, saved.manifest if plan.wanted else "") or saved.manifest
        restored = await self.snapshots.restore(thread, self.workshop.world(thread).workspace, plan.wanted, now)
        before = plan_undo(wanted, left_as, await self.snapshots.load(thread, kept), disputed)
        return await self._record(item, wish, wanted, plan, restored, kept, before)

    async def _record(
        self, item: InboxItem, wish: Wish, wanted: Manifest, plan: Plan, restored: Restored, kept: str, before: Plan
    ) -> PutBack:
        left = {**plan.left, **restored.left}
        files = tuple(dict.fromkeys(unit_of(path) for path in (*restored.files, *_again(restored, before, left))))
        after = await self.workshop.save(item.thread)
        if wish.exact and after.manifest:
            others = changed_units(wanted, await self.snapshots.load(item.thread, after.manifest))
            left |= {path: SINCE for path in sorted(others) if path not in left}
        event = WorkspaceRestored(
            manifest=wish.target, files=tuple(map(readable, files)), lost=named(left), by=item.author, kept=kept,
            after=after.manifest, way=wish.way, turn=wish.turn,
        )  # fmt: skip
        if files or not left:
            await self.outcome(wish.past.execution).add(event, cause=item.id)
        return PutBack(event, left, plan.changed or len(files))

    def outcome(self, execution: str) -> OutcomeStream:
        """What became of an execution."""
        return OutcomeStream(self.store, self.clock, execution, self.build)

    async def _keep(self, item: InboxItem, past: Past, manifest: str) -> str:
        """The state before this was begun, which is written down before anything is touched; '' for no need to."""
        if item.id in past.kept or not manifest:
            return past.kept.get(item.id, "")
        saved = CheckpointSaved(manifest=manifest, through_seq=0, why="restore")
        await self.outcome(past.execution).add(saved, cause=item.id)
        return manifest

    async def _left_as(self, thread: str, past: Past) -> Manifest | None:
        try:
            return await self.snapshots.load(thread, past.after) if past.after else None
        except SnapshotLost as lost:
            log.warning("execution %s: %s", past.execution, lost)
            return None

    async def _refuse_newer(self, thread: str, mine: frozenset[str], later: Sequence[Past]) -> None:
        """Refuse where a later execution changed the same files and was not undone."""
        for past in later:
            shared = sorted(mine & await self._changed(thread, past)) if not past.undone else []
            if shared:
                names = ", ".join(inline(path) for path in shared[:NAMED])
                raise NotDone(NEWER.format(files=names, task=plain(past.task, 80)))

    async def _changed(self, thread: str, past: Past) -> frozenset[str]:
        seen = frozenset(unit_of(path) for path in past.changes)
        try:
            if past.before and past.after:
                before, after = [await self.snapshots.load(thread, name) for name in (past.before, past.after)]
                return changed_units(before, after)
        except SnapshotLost as lost:
            log.info("execution %s: %s", past.execution, lost)
        return seen


def _again(restored: Restored, before: Plan, left: dict[str, str]) -> list[str]:
    """What was put back already when it was begun the first time."""
    done = set(restored.files)
    return [
        path
        for path, entry in before.wanted.items()
        if path not in done and path not in left and entry is not None and entry.kind != "dir"
    ]


def _disputed(past: Past, now: Manifest) -> tuple[str, ...]:
    """Files that are not as the log says the execution left them; for when nobody could look at its end."""
    named = {readable(path): path for path in now.entries if not path.isascii()}
    present = {path: entry.sha for path, entry in now.entries.items() if entry.kind == "file"}
    return tuple(
        path
        for path, sha in ((named.get(told, told), sha) for told, sha in past.changes.items())
        if (_is_sha(sha) or not sha) and present.get(path, "") != sha
    )


def _is_sha(text: str) -> bool:
    return len(text) == hashlib.sha256().digest_size * 2


def listed(files: Sequence[str]) -> str:
    """Files by name; of many the first."""
    more = f" and {len(files) - NAMED} more" if len(files) > NAMED else ""
    return ", ".join(inline(path) for path in files[:NAMED]) + more


def named(left: dict[str, str]) -> str:
    """What was left, for the log."""
    return "; ".join(f"{readable(path)} ({why})" for path, why in list(left.items())[:50])
