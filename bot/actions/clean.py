"""Clean a thread's workspace: delete everything except ``.aiignore`` and what it hides; a redo restores it.

The state before is saved as a checkpoint first; where that fails, nothing is deleted unless a person asked for just
that. It is recorded with the newest finished task, so that the next one is told and the checkpoint can be found again.
Repeated after a crash, it uses the checkpoint of the first time.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentic.core.events.execution_events import CheckpointSaved, InboxItem, WorkspaceRestored
from agentic.sandbox.aiignore import NAME as IGNORE
from agentic.workspace.file_names import readable
from agentic.workspace.snapshots.manifest import Manifest
from agentic.workspace.snapshots.scan import HIDDEN, MADE_AGAIN
from bot.access.denials import refused as why_not
from bot.access.permissions import may, needed
from bot.actions.restore_files import Restoring
from bot.history.log_positions import id_in_outcome
from bot.history.run_history import Past, past_of
from bot.ports.actions import NotDone
from bot.rendering.discord_text import inline
from bot.sessions.dependencies import Acted
from bot.workspace import browse

WITHOUT_COPY = "without a copy"
"""The text of an item that asks for no checkpoint."""
NO_COPY = (
    "Nothing was deleted, because I couldn't save a copy first: {why}. `/workspace clean` with `copy` off deletes "
    "everything for good."
)
NO_TASK = "no task has ended here yet"
EMPTY = "The workspace is already empty."
CLEANED = "The workspace is empty now: {what} deleted."
NOT_ALL = "Not everything was deleted: {problem}."
KEPT = "The files are saved as checkpoint {id}. **Restore** brings them back; `/fork` opens a thread with them."
FOR_GOOD = "No copy was kept, as you asked."
BUTTON = "Restore"
NAMED = 5


@dataclass(frozen=True, slots=True)
class Cleaning:
    """Cleans workspaces."""

    restoring: Restoring

    async def clean(self, item: InboxItem) -> Acted:
        """Delete the files, once for each item. Raises ``NotDone``, ``SnapshotLost`` and ``AgenticError``."""
        restoring, thread = self.restoring, item.thread
        past = await self._newest(item)
        if item.text == WITHOUT_COPY:
            return await self._for_good(item)
        if past is None:
            raise NotDone(NO_COPY.format(why=NO_TASK))
        done = past.acts.get(item.id)
        if done is None:
            kept = past.kept.get(item.id) or await self._keep(item, past)
            spared = _spared(await restoring.snapshots.load(thread, kept))
            problem = await browse.clear(restoring.workshop.world(thread), spared)
            done = await self._record(item, past, kept, problem)
        before = await restoring.snapshots.load(thread, done.kept)
        after = await restoring.snapshots.load(thread, done.after) if done.after else Manifest()
        return _told(past, done, before, after)

    async def _newest(self, item: InboxItem) -> Past | None:
        """Return the newest finished task. Raises ``NotDone`` where the person needs to own all tasks and does not."""
        own, newest = True, None
        for row in await self.restoring.store.executions(item.thread):
            past = await past_of(self.restoring.store, row)
            own = own and (past.requester is None or past.requester.id == item.author.id)
            newest = past if past.finished and not past.side else newest
        if not may(item.author.level, "undo", own=own):
            raise NotDone(why_not("undo", needed("undo", own=own)))
        return newest

    async def _keep(self, item: InboxItem, past: Past) -> str:
        saved = await self.restoring.workshop.save(item.thread)
        if saved.problem:
            raise NotDone(NO_COPY.format(why=saved.problem))
        event = CheckpointSaved(manifest=saved.manifest, through_seq=0, why="restore")
        await self.restoring.outcome(past.execution).add(event, cause=item.id)
        return saved.manifest

    async def _record(self, item: InboxItem, past: Past, kept: str, problem: str) -> WorkspaceRestored:
        """Record what has been deleted, over all attempts."""
        after = await self.restoring.workshop.save(item.thread)
        left = await self.restoring.snapshots.load(item.thread, after.manifest) if after.manifest else Manifest()
        before = await self.restoring.snapshots.load(item.thread, kept)
        gone = tuple(readable(path) for path in _files(before) if path not in left.entries)
        event = WorkspaceRestored(
            manifest=after.manifest, files=gone, lost=problem, by=item.author, kept=kept, after=after.manifest, way="clean"
        )  # fmt: skip
        if gone or not problem:
            await self.restoring.outcome(past.execution).add(event, cause=item.id)
        return event

    async def _for_good(self, item: InboxItem) -> Acted:
        world = self.restoring.workshop.world(item.thread)
        there = [one for one in (await browse.look(world)).files if one[0] != IGNORE]
        problem = await browse.clear(world)
        words = NOT_ALL.format(problem=problem) if problem else CLEANED.format(what=browse.summed(there))
        return Acted(f"{words} {FOR_GOOD}")


def _spared(before: Manifest) -> list[str]:
    """Return files that the checkpoint does not hold and nobody can make again; they are not deleted."""
    return [path for path, why in before.left_out.items() if why not in (MADE_AGAIN, HIDDEN) and path != IGNORE]


def _files(manifest: Manifest) -> list[str]:
    return [path for path, entry in manifest.entries.items() if entry.kind != "dir" and path != IGNORE]


def _told(past: Past, done: WorkspaceRestored, before: Manifest, after: Manifest) -> Acted:
    gone = frozenset(done.files)
    sizes = [(path, before.entries[path].size) for path in _files(before) if readable(path) in gone]
    words = NOT_ALL.format(problem=done.lost) if done.lost else CLEANED.format(what=browse.summed(sizes))
    id = id_in_outcome(past.execution, CheckpointSaved(manifest=done.kept, through_seq=0, why="restore"))
    parts = [words, KEPT.format(id=inline(id))]
    out = [f"{inline(path)} ({why})" for path, why in before.left_out.items() if path not in after.left_out]
    if out:
        more = f" and {len(out) - NAMED} more" if len(out) > NAMED else ""
        parts.append(f"Not saved, and gone for good: {'; '.join(out[:NAMED])}{more}.")
    if stays := [f"{inline(path)} ({before.left_out[path]})" for path in _spared(before) if path in after.left_out]:
        more = f" and {len(stays) - NAMED} more" if len(stays) > NAMED else ""
        parts.append(f"Left in place, because it can't be copied: {'; '.join(stays[:NAMED])}{more}.")
    return Acted(" ".join(parts), redo=past.execution if done.files else "", label=BUTTON)
