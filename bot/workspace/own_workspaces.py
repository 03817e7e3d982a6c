"""Copies of a thread's workspace for children that take approaches to its task, and the way back of one of them.

A copy is a workspace like a thread's: a folder, a sandbox, snapshots of its own, by a name that says whose it is
(``agentic/core/events/ids.py``). The folder goes when a person has chosen, or the thread's next task begins; the snapshots
stay as long as the log that names them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agentic.core.events.execution_events import FileChange
from agentic.ports.children import FileDifference, Taken
from agentic.ports.errors import SandboxError
from agentic.ports.runtime import Saved
from agentic.text.line_diff import unified_diff
from agentic.workspace.file_names import readable
from agentic.workspace.snapshots.manifest import Entry, Manifest
from agentic.workspace.snapshots.snapshot_store import SnapshotLost, Snapshots
from agentic.workspace.snapshots.undo_plan import changed_paths, plan_undo, unit_of
from agentic.workspace.workspace import RealWorld

COMPARED_AT_MOST = 200
COMPARE_BYTES = 256 * 1024
LINES_COMPARED = 5_000
CONTEXT = 3


class WorkspaceSource(Protocol):
    """Makes and keeps workspaces by their names: ``bot.workspace.sandboxes.Workshop``."""

    def world(self, thread: str) -> RealWorld:
        """Return a workspace; its sandbox is started when something runs in it."""
        ...

    async def save(self, thread: str) -> Saved:
        """Save a snapshot of a workspace."""
        ...

    async def end_sandbox(self, thread: str) -> None:
        """End what lives beside a workspace."""
        ...

    def lend_mirror(self, thread: str, place: str) -> None:
        """Show a copy the mirror that the thread's repository needs."""
        ...

    async def drop_copy(self, place: str) -> None:
        """Delete a copy, but for its snapshots."""
        ...


@dataclass(frozen=True, slots=True)
class CopiedWorkspaces:
    """The copies of one thread's workspace; implements ``agentic.ports.children.OwnWorkspaces``."""

    workshop: WorkspaceSource
    snapshots: Snapshots
    thread: str

    async def checkpoint(self) -> Saved:
        """Keep the thread's workspace as it is."""
        return await self.workshop.save(self.thread)

    async def open(self, place: str, base: str) -> None:
        """Make a copy as the thread's snapshot ``base`` has it. Raises ``SandboxError`` where that cannot be done."""
        try:
            await self.snapshots.adopt(self.thread, place, [base])
            wanted = await self.snapshots.load(place, base)
            self.workshop.lend_mirror(self.thread, place)
            left = await self._made(place, wanted)
        except (SnapshotLost, OSError) as error:
            raise SandboxError(f"A copy of the workspace could not be made: {error}") from error
        if left:
            raise SandboxError(f"A copy of the workspace could not be made: {next(iter(left.items()))}")

    async def _made(self, place: str, wanted: Manifest) -> dict[str, str]:
        """Give it the files of the snapshot and nothing else; returns what could not be made, with the reason."""
        workspace, now = self.workshop.world(place).workspace, Manifest()
        if any(workspace.iterdir()):  # begun before a crash
            now = await self.snapshots.look(workspace, wanted)
        more: dict[str, Entry | None] = {path: None for path in now.entries if path not in wanted.entries}
        return (await self.snapshots.restore(place, workspace, {**wanted.entries, **more}, now)).left

    async def close(self, place: str, *, keep: bool) -> Saved:
        """End what runs in a copy; with ``keep``, save what it came to."""
        await self.workshop.end_sandbox(place)
        return await self.workshop.save(place) if keep else Saved()

    async def differences(self, place: str, base: str, end: str) -> tuple[FileDifference, ...]:
        """Return what was changed in a copy; what lies in a ``.git`` is one thing. Raises ``SandboxError``."""
        try:
            before, after = await self.snapshots.load(place, base), await self.snapshots.load(place, end)
            paths = _shown(before, after)
            return tuple([await self._compared(place, base, end, path, at) for at, path in enumerate(paths)])
        except (SnapshotLost, OSError) as error:
            raise SandboxError(f"What an approach changed cannot be read: {error}") from error

    async def _compared(self, place: str, base: str, end: str, path: str, at: int) -> FileDifference:
        name = readable(path)
        if at >= COMPARED_AT_MOST or unit_of(path) != path:
            return FileDifference(name)
        before = await self.snapshots.content(place, base, path, COMPARE_BYTES)
        after = await self.snapshots.content(place, end, path, COMPARE_BYTES)
        return await asyncio.to_thread(compared, name, before, after)

    async def take(self, place: str, base: str, end: str) -> Taken:
        """Bring what was changed in a copy into the thread's workspace, or nothing where that changed in the same files
        since. Raises ``SandboxError``.

        That is what undoing the way from the end back to the beginning does: each file is brought to its end where it is
        still as at the beginning.
        """
        try:
            before, after = await self.snapshots.load(place, base), await self.snapshots.load(place, end)
            saved = await self.workshop.save(self.thread)
            if saved.problem:
                raise SandboxError(f"The files here cannot be looked at: {saved.problem}")
            now = await self.snapshots.load(self.thread, saved.manifest)
            plan = plan_undo(after, before, now)
            if plan.left:
                return Taken(conflicts=tuple(readable(path) for path in sorted(plan.left)))
            workspace = self.workshop.world(self.thread).workspace
            left = (await self.snapshots.restore(place, workspace, plan.wanted, now)).left
        except (SnapshotLost, OSError) as error:
            raise SandboxError(f"The files of the approach could not be brought here: {error}") from error
        if left:
            raise SandboxError(f"Not all files of the approach could be brought here: {', '.join(map(readable, left))}")
        return Taken(_changes(before, after))

    async def drop(self, places: Sequence[str]) -> None:
        """Delete copies; their snapshots stay as long as the logs that name them."""
        for place in places:
            await self.workshop.drop_copy(place)


def compared(path: str, before: bytes | None, after: bytes | None) -> FileDifference:
    """Compare two contents of a file; None is one that is not there, no text, or too large."""
    old, new = _lines(before), _lines(after)
    if old is None or new is None:
        return FileDifference(path)
    lines = tuple(line.rstrip("\n") for line in unified_diff(old, new, f"a/{path}", f"b/{path}", CONTEXT))
    body = lines[2:]
    added, removed = sum(line.startswith("+") for line in body), sum(line.startswith("-") for line in body)
    return FileDifference(path, added, removed, lines)


def _lines(content: bytes | None) -> list[str] | None:
    if content is None:
        return []
    try:
        lines = content.decode().splitlines() if b"\0" not in content else None
    except UnicodeDecodeError:
        return None
    return lines if lines is None or len(lines) <= LINES_COMPARED else None


def _shown(before: Manifest, after: Manifest) -> list[str]:
    """Return the files that differ, a repository's ``.git`` once."""
    entries = {path: (before.entries.get(path), after.entries.get(path)) for path in changed_paths(before, after)}
    files = [path for path, pair in entries.items() if any(entry and entry.kind != "dir" for entry in pair)]
    return [path for path in files if unit_of(path) == path]


def _changes(before: Manifest, after: Manifest) -> tuple[FileChange, ...]:
    found: list[FileChange] = []
    for path in _shown(before, after):
        was, present = _sha(before.entries.get(path)), _sha(after.entries.get(path))
        kind = "deleted" if path not in after.entries else "modified" if path in before.entries else "added"
        found.append(FileChange(path=readable(path), kind=kind, sha_before=was, sha_after=present))
    return tuple(found)


def _sha(entry: Entry | None) -> str:
    return entry.sha if entry is not None and entry.kind == "file" else ""
