"""Files of workspaces as they are and as they were, for whoever only looks: nothing is written, nothing is run.

Versions are in the checkpoints of a thread: on this machine, or where machines share them. A file as it is stands in the
workspace on this machine, or in the newest checkpoint that another machine shared. What ``.aiignore`` hides, or ever hid,
stays hidden in all of them.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from agentic.sandbox.aiignore import NAME, IgnoreFile, recorded
from agentic.sandbox.supervisor.files.search import PASSED_OVER
from agentic.workspace.file_names import readable
from agentic.workspace.snapshots.file_contents import contents
from agentic.workspace.snapshots.manifest import Damaged, Entry
from agentic.workspace.snapshots.packs import ContentLost
from agentic.workspace.snapshots.shared_copies import SharedCopies, SharedSnapshot
from agentic.workspace.snapshots.snapshot_store import SnapshotLost, Snapshots
from bot.config.home import CHECKPOINTS, SANDBOXES
from bot.console.views.changed_files import is_inside

LARGEST = 32 << 20
"""Bytes of a file that is handed out."""
ENTRIES_KEPT = 20_000
"""What checkpoints say of single files stays in memory, so many of them."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """A file in a checkpoint."""

    path: str
    entry: Entry
    shared: SharedSnapshot | None
    """Where it lies, if that is not this machine."""


class FileVersions:
    """The files of each workspace below ``home``; ``shared`` where other machines keep some."""

    def __init__(self, home: Path, shared: SharedCopies | None = None) -> None:
        self._home, self._shared = home, shared
        self._snapshots = Snapshots(home / CHECKPOINTS, home=home)
        self._known: OrderedDict[tuple[str, str], dict[str, _Kept | None]] = OrderedDict()

    async def visible(self, place: str, paths: Collection[str]) -> frozenset[str]:
        """Those of the paths that are inside of a workspace and not hidden."""
        if not place.isalnum():
            return frozenset()
        inside = [path for path in paths if is_inside(path)]
        try:
            known = await self._laid_down(place)
        except (OSError, ValueError):
            return frozenset()  # nobody can tell what is hidden
        return await asyncio.to_thread(lambda: IgnoreFile(self._workspace(place), known=known).visible(inside))

    async def now(self, place: str, path: str) -> bytes | None:
        """A file as it is; None where there is none, or none that can be handed out. Raises ``StoreUnavailable``."""
        if path not in await self.visible(place, [path]):
            return None
        elsewhere = await self._elsewhere(place)
        if elsewhere is None:
            found = await asyncio.to_thread(contents, self._workspace(place), [path], LARGEST)
            return found.get(path)
        entry = next((entry for name, entry in elsewhere.entries.items() if readable(name) == path), None)
        return await self._content(place, _Kept(path, entry, elsewhere)) if entry is not None else None

    async def versions(
        self, place: str, wanted: Mapping[str, Collection[str]], at_most: int = LARGEST
    ) -> dict[tuple[str, str], bytes]:
        """Of these versions of files, by path and hash, those that a checkpoint has, without larger ones.

        Raises ``StoreUnavailable``.
        """
        shown, found = await self.visible(place, wanted), dict[tuple[str, str], bytes]()
        missing = {path: set(shas) - {""} for path, shas in wanted.items() if path in shown}
        for name in reversed(await self.listed(place)):
            open_paths = frozenset(path for path, shas in missing.items() if shas)
            if not open_paths:
                break
            for path, kept in (await self._of(place, name, open_paths)).items():
                if kept is None or kept.entry.size > at_most or kept.entry.sha not in missing.get(path, ()):
                    continue
                if (content := await self._content(place, kept)) is not None:
                    found[path, kept.entry.sha] = content
                    missing[path].discard(kept.entry.sha)
        return found

    async def saved(self, place: str, name: str) -> list[tuple[str, int]]:
        """The files of a checkpoint with their sizes, by path, without those in folders such as ``.git``.

        What is hidden is among them. Raises ``StoreUnavailable``.
        """
        entries, _ = await self._read(place, name)
        return await asyncio.to_thread(_listing, entries)

    async def _of(self, place: str, name: str, paths: frozenset[str]) -> Mapping[str, _Kept | None]:
        """What a checkpoint says of these files. A checkpoint never changes, so it is remembered."""
        known = self._known.setdefault((place, name), {})
        self._known.move_to_end((place, name))
        if unknown := paths - known.keys():
            entries, shared = await self._read(place, name)
            found = await asyncio.to_thread(_among, entries, unknown)
            known.update({path: _Kept(*found[path], shared) if path in found else None for path in unknown})
        while len(self._known) > 1 and sum(map(len, self._known.values())) > ENTRIES_KEPT:
            self._known.popitem(last=False)
        return known

    async def _read(self, place: str, name: str) -> tuple[Mapping[str, Entry], SharedSnapshot | None]:
        try:
            return (await self._snapshots.load(place, name)).entries, None
        except SnapshotLost:
            pass
        try:
            shared = await self._shared.look(place, name) if self._shared is not None else None
        except Damaged:
            shared = None
        return (shared.entries, replace(shared, entries={})) if shared is not None else ({}, None)

    async def _content(self, place: str, kept: _Kept) -> bytes | None:
        if kept.entry.kind != "file" or kept.entry.size > LARGEST:
            return None
        if kept.shared is not None:
            try:
                return await kept.shared.content(kept.entry)
            except ContentLost:
                return None
        was, _ = await self._snapshots.contents(place, self._workspace(place), {kept.path: kept.entry}, (), LARGEST)
        return was.get(kept.path)

    async def listed(self, place: str) -> tuple[str, ...]:
        """The checkpoints that are kept, oldest first. Raises ``StoreUnavailable``."""
        here = await self._snapshots.listed(place)
        return here if self._shared is None else tuple(sorted({*here, *await self._shared.listed(place)}))

    async def _elsewhere(self, place: str) -> SharedSnapshot | None:
        """The newest shared checkpoint of a workspace that stands on another machine; None for one on this machine."""
        try:
            here = self._workspace(place).is_dir()
            return await self._shared.elsewhere(place, here=here) if self._shared is not None else None
        except Damaged:
            return None

    async def _laid_down(self, place: str) -> list[str]:
        """The versions of ``.aiignore`` that are known beside the one in the workspace."""
        kept = recorded(self._home / SANDBOXES / "ignored" / f"{place}.json")
        elsewhere = await self._elsewhere(place)
        entry = elsewhere.entries.get(NAME) if elsewhere is not None else None
        content = await self._content(place, _Kept(NAME, entry, elsewhere)) if entry is not None else None
        return [*kept, content.decode("utf-8", "surrogateescape")] if content is not None else kept

    def _workspace(self, place: str) -> Path:
        return self._home / "workspaces" / place


def _listing(entries: Mapping[str, Entry]) -> list[tuple[str, int]]:
    found = ((readable(path), entry.size) for path, entry in entries.items() if entry.kind != "dir")
    return sorted(
        ((path, size) for path, size in found if PASSED_OVER.isdisjoint(path.split("/"))),
        key=lambda one: one[0].split("/"),
    )


def _among(entries: Mapping[str, Entry], paths: Collection[str]) -> dict[str, tuple[str, Entry]]:
    """Files by their names as people get them, with those that they have on the disk."""
    return {shown: (path, entry) for path, entry in entries.items() if (shown := readable(path)) in paths}
