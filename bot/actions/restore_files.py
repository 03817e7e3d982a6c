"""Restore the files of a thread to a checkpoint, and nothing else.

Restored is what differs between the wanted state and the state in which the execution, or a later restore, had left the
files. A file in neither state was changed by somebody since, and stays. What a later execution changed too has
to be undone first. The states before and after are saved as checkpoints, so that the restore can be taken back.

All of it may be repeated after a crash: the state before is the one that was saved the first time.
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
from bot.workspace.pull_requests import PullRows
from bot.workspace.sandboxes import Workshop
from reflexion.evaluation.outcome_stream import OutcomeStream

NAMED = 12
"""Number of files that are named; more are counted."""
NOT_KEPT = "Nothing was restored, because I couldn't save the current files first ({problem})."
NEWER = "A later task changed the same files ({files}): “{task}”. Undo that one first, then this one."
SINCE = "it was changed since"
GIT = "git's commits and branches"
"""What a ``.git`` is to people."""
STAYS = (
    "Pull request {number} stays open with what that task published: <{url}>. Close it there, or tell me what it should hold "
    "instead."
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PutBack:
    """The result: the event for the log, what was left with the reasons, and how much there was to do."""

    event: WorkspaceRestored
    left: dict[str, str] = field(default_factory=dict[str, str])
    changed: int = 0


@dataclass(frozen=True, slots=True)
class Wish:
    """What to restore: the files of ``past`` to ``target``; ``later`` ran since.

    ``exact``: files that others changed are left too, and named, because the next execution relies on the files.
    ``family``: later executions that continued it or tried it again; the newest of them says how the files were left,
    and none of them is in the way.
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
    """Restores files for undo, redo, and reruns."""

    store: Store
    clock: Clock
    workshop: Workshop
    snapshots: Snapshots
    build: str = ""

    async def put_back(self, item: InboxItem, wish: Wish) -> PutBack:
        """Restore, once for each item. Raises ``NotDone``, ``SnapshotLost`` and ``OSError``."""
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
        files = sorted({unit_of(path) for path in (*restored.files, *_again(restored, before, left))})
        there = {unit_of(path) for path in wanted.entries}
        after = await self.workshop.save(item.thread)
        if wish.exact and after.manifest:
            others = changed_units(wanted, await self.snapshots.load(item.thread, after.manifest))
            left |= {path: SINCE for path in sorted(others) if path not in left}
        event = WorkspaceRestored(
            manifest=wish.target, files=tuple(map(readable, files)), lost=named(left), by=item.author, kept=kept,
            removed=tuple(readable(path) for path in files if path not in there),
            after=after.manifest, way=wish.way, turn=wish.turn,
        )  # fmt: skip
        if files or not left:
            await self.outcome(wish.past.execution).add(event, cause=item.id)
        return PutBack(event, left, plan.changed or len(files))

    def outcome(self, execution: str) -> OutcomeStream:
        """Return the outcome stream of an execution."""
        return OutcomeStream(self.store, self.clock, execution, self.build)

    async def still_open(self, past: Past, since: int = 0) -> str:
        """Say which pull requests a task published to, after place ``since`` of its log, that no restored file changes."""
        rows = PullRows(self.store)
        told: list[str] = []
        for key, (pull, seq) in past.pulls.items():
            row = await rows.of(key) if seq > since else None
            if seq > since and (row is None or row.state == "open"):
                told.append(f" {STAYS.format(number=pull.number, url=pull.url)}")
        return "".join(told)

    async def _keep(self, item: InboxItem, past: Past, manifest: str) -> str:
        """Return the checkpoint of the state before, recorded before anything changes; '' where none is needed."""
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
        """Raise ``NotDone`` where a later execution changed the same files and was not undone."""
        for past in later:
            shared = sorted(mine & await self._changed(thread, past)) if not past.undone else []
            if shared:
                raise NotDone(NEWER.format(files=listed(shared), task=plain(past.task, 80)))

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
    """Return the files that the first attempt had restored already."""
    done = set(restored.files)
    return [
        path
        for path, entry in before.wanted.items()
        if path not in done and path not in left and entry is not None and entry.kind != "dir"
    ]


def _disputed(past: Past, now: Manifest) -> tuple[str, ...]:
    """Return files that differ from what the log says; for an execution whose end was not saved."""
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
    """List files by name, the first ones where there are many."""
    more = f" and {len(files) - NAMED} more" if len(files) > NAMED else ""
    return ", ".join(map(name_of, files[:NAMED])) + more


def name_of(path: str) -> str:
    """Name a file, or what a ``.git`` holds, which is no file to people."""
    folder, _, last = path.rpartition("/")
    return inline(path) if last != ".git" else f"{GIT} in {inline(folder)}" if folder else GIT


def counted(files: Sequence[str], noun: str = " file", about: str = "", *, became: str = "", alone: bool = True) -> str:
    """Say how many files there are and which, and that git's history is among them; ``about`` follows on their number, or
    what they ``became``.

    ``alone``: nothing follows in the sentence.
    """
    own = [path for path in files if path.rpartition("/")[2] != ".git"]
    git = [name_of(path) for path in files if path not in own]
    about = f" {'was' if len(own) == 1 else 'were'} {became}" if became else about
    number = f"{len(own)}{noun}{'s' if noun and len(own) != 1 else ''}{about}"
    if alone and not git:
        return f"{number}: {listed(own)}"
    return " and ".join([f"{number} ({listed(own)})", *git] if own else git) + ("" if own else about)


def named(left: dict[str, str]) -> str:
    """List the files that were left, for the log."""
    return "; ".join(f"{readable(path)} ({why})" for path, why in list(left.items())[:50])
