"""Keeps snapshots below one folder, a folder a thread, and deletes what no kept snapshot needs.

    <root>/<thread>/packs/000007.pack        content that snapshot 7 was the first to need
    <root>/<thread>/manifests/000007-1f3a…   what stood where; written last, so without it there is no snapshot 7
    <root>/<thread>/savepoint, savepoint.call what stood where before the command that began last, and what became of it

A snapshot is all or nothing: its pack is durable before its manifest is, and the manifest appears by a rename.  What a
crash leaves is removed by the next one.  Only the newest ``kept`` manifests stay, and of those the oldest go where all
take more than ``total``; what somebody still needs is asked for before one goes.  A pack stays while a manifest needs it,
and what the newest one still needs of a pack that is mostly dead is copied, so that the room is bounded.

A savepoint is for the processes of one machine's run: after a crash of a process it is there, and a machine that was
started anew knows nothing of the command any more.  So nothing of it waits for the disk.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Awaitable, Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict, TypeVar, cast

from agentic.core.events.ids import thread_of
from agentic.ports.errors import AgenticError, StoreUnavailable
from agentic.ports.failpoints import reach
from agentic.ports.runtime import Saved
from agentic.workspace.snapshots.file_contents import contents, unlock, unlock_root
from agentic.workspace.snapshots.losses import Shown
from agentic.workspace.snapshots.manifest import (
    Damaged,
    Entry,
    Manifest,
    packs_in,
    read,
    written,
)
from agentic.workspace.snapshots.packs import ContentLost, OpenPack, blob_id, sample, whole
from agentic.workspace.snapshots.restore import Restored, Wanted, restore
from agentic.workspace.snapshots.scan import (
    CalledOff,
    Pack,
    SnapshotTooLarge,
    Unkept,
    Walk,
)
from agentic.workspace.snapshots.shared_copies import YOUNG_SECONDS, Overtaken, SharedCopies, SharedSnapshot

__all__ = ["Saved", "Savepoint", "SnapshotLimits", "SnapshotLost", "Snapshots"]

T = TypeVar("T")
SMALL_PACK = 1 << 20
NEWEST = 2
"""So many stay whatever they take: one that was just saved, and the one before it."""


class _Let(TypedDict):
    losses: list[str]
    named: list[str]


class _Noted(TypedDict, total=False):
    """What stands in ``savepoint.call``; versions before wrote only what its call was and what that destroyed."""

    call: str
    destroyed: str
    losses: list[str]
    shown: _Let | None
    moved: list[str]
    done: bool


Needed = Callable[[str], Awaitable[Collection[str]]]
"""Which snapshots of a thread have to stay whatever they take."""


@dataclass(frozen=True, slots=True)
class SnapshotLimits:
    """How much a snapshot may hold, how many are kept, what they may take together, and what must stay free on the disk."""

    max_bytes: int = 1 << 30
    max_files: int = 100_000
    kept: int = 30
    total: int = 4 << 30
    free: int = 256 << 20


@dataclass(frozen=True, slots=True)
class Savepoint:
    """The workspace as it was before a call."""

    call: str
    manifest: Manifest
    destroyed: str = ""
    """What the call did, from when on it is certain that all is put back."""
    losses: frozenset[str] = frozenset()
    """The same as ``marks``."""
    shown: Shown | None = None
    """What a person let the call destroy; None where nobody was asked."""
    moved: frozenset[str] = frozenset()
    """Contents that commands moved away from where somebody had put them, wherever they stand now."""
    done: bool = False
    """All of it was put back."""


class SnapshotLost(AgenticError):
    """A snapshot is gone or damaged; the text says which and what that means."""


class Snapshots:
    """Saves, loads and restores workspaces; ``home`` is never looked into, wherever it lies.

    Where they are ``shared``, one is kept once other machines find it too, and those of others are found here.
    """

    def __init__(
        self,
        root: Path,
        limits: SnapshotLimits | None = None,
        home: Path | None = None,
        needed: Needed | None = None,
        shared: SharedCopies | None = None,
    ) -> None:
        self._shared = shared
        self._root = root
        self._needed = needed
        self._limits = limits or SnapshotLimits()
        self._home = home or root

    async def save(self, thread: str, workspace: Path, hidden: Sequence[str] = ()) -> Saved:
        """Keep the workspace as it is; what prevents it becomes a ``problem``, and nothing is raised."""
        called_off: list[bool] = []
        try:
            name = await self._in_thread(lambda: self._save(thread, workspace, hidden, called_off), called_off)
            if await asyncio.to_thread(self._is_crowded, thread):
                needed = frozenset(await self._needed(thread)) if self._needed is not None else frozenset[str]()
                await asyncio.to_thread(self._thin_out, thread, needed)
            if self._shared is not None:
                await self._shared.share(thread, name)
            return Saved(name)
        except (SnapshotTooLarge, Overtaken, StoreUnavailable) as problem:
            return Saved(problem=str(problem))
        except (OSError, Damaged) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            return Saved(problem=f"the state before could not be kept ({reason or type(error).__name__})")

    async def load(self, thread: str, manifest: str) -> Manifest:
        """What stood where.  Raises ``SnapshotLost``."""
        await self._bring(thread, manifest)
        return await asyncio.to_thread(self._load, thread, manifest)

    async def take_over(self, thread: str, workspace: Path) -> Restored | None:
        """Bring the workspace to where its last owner on another machine shared it; None where it is here already.

        Where that snapshot is lost, to the newest that is whole, and the result says so.
        Raises ``StoreUnavailable``, ``Overtaken``, ``SnapshotLost`` and ``OSError``; doing it again goes on from there.
        """
        name = await self._shared.take(thread) if self._shared is not None else None
        if self._shared is None or name is None:
            return None
        wanted, lost = await self._newest_whole(thread, name, self._shared) if name else (Manifest(), "")
        now = await self.look(workspace, wanted)
        restored = await self.restore(thread, workspace, {**dict.fromkeys(now.entries), **wanted.entries}, now)
        restored.lost = lost
        await self._shared.is_as(thread)
        return restored

    async def _newest_whole(self, thread: str, name: str, shared: SharedCopies) -> tuple[Manifest, str]:
        """The snapshot, or the newest before it that is whole, with the name of the one that is lost."""
        try:
            return await self.load(thread, name), ""
        except SnapshotLost as lost:
            if isinstance(lost.__cause__, StoreUnavailable):
                raise  # it may be there, and only the way to it is broken
            for earlier in reversed(await shared.listed(thread)):
                if earlier != name:
                    with suppress(SnapshotLost):
                        return await self.load(thread, earlier), name
            raise

    async def elsewhere(self, thread: str, *, here: bool) -> SharedSnapshot | None:
        """The newest shared snapshot of a thread whose files stand on another machine; None where they stand on this one.

        ``here``: there is a workspace of it on this machine.  Raises ``SnapshotLost`` and ``StoreUnavailable``.
        """
        try:
            return await self._shared.elsewhere(thread, here=here) if self._shared is not None else None
        except Damaged as damaged:
            raise SnapshotLost("What was saved last of these files is damaged and cannot be shown.") from damaged

    async def content(self, thread: str, manifest: str, path: str, at_most: int = 1 << 20) -> bytes | None:
        """A file as it was; None where it was no file, is too large or its content is damaged.  Raises ``SnapshotLost``."""
        entry = (await self.load(thread, manifest)).entries.get(path)
        if entry is None or entry.kind != "file" or entry.size > at_most:
            return None
        try:
            return await asyncio.to_thread(whole, self._packs(thread), entry)
        except ContentLost:
            return None

    # --- before a command, and after it -----------------------------------------------------------------------

    async def hold(
        self,
        thread: str,
        workspace: Path,
        call: str,
        hidden: Sequence[str] = (),
        last: Savepoint | None = None,
        shown: Shown | None = None,
        still: Mapping[str, Entry] | None = None,
    ) -> Savepoint:
        """Keep the workspace as it is before a call, in the place of the thread's savepoint before.

        ``last`` is that one: where nothing has changed since, only the call is noted.  ``still`` are files of it that are
        missing, and of which is not decided yet whether they are put back.  Raises ``SnapshotLost``.
        """
        called_off: list[bool] = []
        try:
            return await self._in_thread(
                lambda: self._hold(thread, workspace, call, hidden, last, shown, still or {}, called_off), called_off
            )
        except (SnapshotTooLarge, OSError, Damaged) as error:
            await asyncio.to_thread(self._release, thread)
            raise SnapshotLost(str(error) if isinstance(error, SnapshotTooLarge) else "it cannot be copied") from error

    async def held(self, thread: str, call: str | None = None) -> Savepoint | None:
        """The savepoint of a call, or of whichever was the last; None where there is none."""
        return await asyncio.to_thread(self._held, thread, call)

    async def note(self, thread: str, savepoint: Savepoint) -> None:
        """Note what became of a call; one of which it says what it destroyed is put back, whoever lives to do it.

        Raises ``OSError``.
        """
        await asyncio.to_thread(self._note, thread, savepoint)

    async def look(
        self, workspace: Path, before: Manifest, hidden: Sequence[str] = (), *, lenient: bool = False
    ) -> Manifest:
        """What stands in a workspace now; nothing is kept of it.  Raises ``SnapshotLost`` where it cannot be looked at.

        ``lenient``: of one that has become too large, at least what stood there ``before``.
        """
        called_off: list[bool] = []
        walk = replace(self._walk(Unkept(), before.entries, hidden, called_off), lenient=lenient)
        try:
            return await self._in_thread(lambda: walk.run(str(workspace)), called_off)
        except (SnapshotTooLarge, OSError) as error:
            raise SnapshotLost(f"The workspace cannot be looked at: {error}") from error

    async def contents(
        self,
        thread: str,
        workspace: Path,
        before: Mapping[str, Entry],
        now: Collection[str],
        at_most: int,
        *,
        sampled: bool = False,
    ) -> tuple[dict[str, bytes], dict[str, bytes]]:
        """Files as they were, and as they stand in the workspace; without those that cannot be read.

        Those that are larger than ``at_most`` bytes are left out, or ``sampled``: their beginning, middle and end.
        """

        def read_all() -> tuple[dict[str, bytes], dict[str, bytes]]:
            packs, was = self._packs(thread), dict[str, bytes]()
            for path, entry in before.items():
                if entry.kind == "file" and (sampled or entry.size <= at_most):
                    with suppress(ContentLost):
                        was[path] = whole(packs, entry) if entry.size <= at_most else sample(packs, entry, at_most)
            return was, contents(workspace, now, at_most, sampled=sampled)

        return await asyncio.to_thread(read_all)

    async def blobs(self, thread: str, files: Mapping[str, Entry]) -> dict[str, str]:
        """Under which ids git keeps these contents; without those that cannot be read."""

        def hashed() -> dict[str, str]:
            found = dict[str, str]()
            for path, entry in files.items():
                with suppress(ContentLost):
                    found[path] = blob_id(self._packs(thread), entry)
            return found

        return await asyncio.to_thread(hashed)

    async def unlock_root(self, workspace: Path) -> bool:
        """Let its owner use a workspace again; whether they could not.  Raises ``OSError``."""
        return await asyncio.to_thread(unlock_root, workspace)

    async def unlock(self, workspace: Path, before: Manifest, paths: Sequence[str]) -> None:
        """Let the owner of these files and folders use them again.  Raises ``OSError``."""
        await asyncio.to_thread(unlock, workspace, before, paths)

    async def restore(self, thread: str, workspace: Path, wanted: Wanted, now: Manifest) -> Restored:
        """Bring paths into the wanted state; ``now`` is what stands there.  Raises ``SnapshotLost`` and ``OSError``.

        What it reads nobody removes meanwhile.  Where it is cancelled it ends at its next file, and only then returns.
        """
        called_off: list[bool] = []

        def act() -> Restored:
            with self._locked(thread):
                return restore(workspace, self._packs(thread), wanted, now, called_off)

        work = asyncio.create_task(asyncio.to_thread(act))
        try:
            return await asyncio.shield(work)
        except ContentLost as lost:
            raise SnapshotLost("The copy is damaged, so not everything could be restored.") from lost
        except asyncio.CancelledError:
            called_off.append(True)
            await asyncio.wait((work,))
            work.exception()  # it was called off: whoever cancelled it hears no more of it
            raise

    async def adopt(self, source: str, thread: str, manifests: Sequence[str]) -> None:
        """Give a thread its own hold on snapshots of another; those that are gone are left out.  Raises ``OSError``.

        Doing it again does nothing.  What is kept is never written again, so both hold the same content by links.
        """
        for name in manifests:
            with suppress(SnapshotLost):
                await self._bring(source, name)
        await asyncio.to_thread(self._adopt, source, thread, frozenset(manifests))
        if self._shared is not None:
            for name in await asyncio.to_thread(self._names, thread):
                await self._shared.share(thread, name)

    async def forget(self, thread: str) -> None:
        """Delete all snapshots of a thread.  Raises ``StoreUnavailable`` where they are shared."""
        if self._shared is not None:
            await self._shared.forget(thread)
        await asyncio.to_thread(shutil.rmtree, self._folder(thread), ignore_errors=True)

    async def of_copies(self, thread: str, *, settled: bool = False) -> tuple[str, ...]:
        """The copies of a thread's workspace of which there are snapshots, by name; ``settled``: none of this hour."""
        here = await asyncio.to_thread(self._of_copies, thread, time.time() - YOUNG_SECONDS if settled else None)
        return (
            here
            if self._shared is None
            else tuple(sorted({*here, *await self._shared.copies(thread, settled=settled)}))
        )

    async def keep_only(self, thread: str, manifests: Collection[str]) -> None:
        """Delete the snapshots of a thread but these, the newest, and those of this hour.  Raises ``OSError``.

        One that was just saved may stand in no log yet, and what has not changed since is not saved anew.
        """
        await asyncio.to_thread(self._keep_only, thread, frozenset(manifests))
        if self._shared is not None:
            await self._shared.keep_only(thread, {*manifests, *await asyncio.to_thread(self._names, thread)})

    async def threads(self) -> tuple[str, ...]:
        """The threads of which there are snapshots, those first that were saved longest ago."""
        return await asyncio.to_thread(self._threads)

    async def listed(self, thread: str) -> tuple[str, ...]:
        """The snapshots that are kept, oldest first.  Raises ``StoreUnavailable`` where they are shared."""
        here = await asyncio.to_thread(self._names, thread)
        return here if self._shared is None else tuple(sorted({*here, *await self._shared.listed(thread)}))

    async def _bring(self, thread: str, manifest: str) -> None:
        """Fetch a snapshot that other machines shared, where it is not here.  Raises ``SnapshotLost``."""
        if self._shared is None or (self._folder(thread) / "manifests" / Path(manifest).name).exists():
            return
        try:
            await self._shared.bring(thread, Path(manifest).name)
        except (StoreUnavailable, OSError) as error:
            raise SnapshotLost(f"The checkpoint {manifest} could not be fetched: {error}") from error

    # --- in a worker thread -----------------------------------------------------------------------------------

    def _save(self, thread: str, workspace: Path, hidden: Sequence[str], called_off: list[bool]) -> str:
        with self._locked(thread):
            manifests = self._manifests(thread)
            number = self._number(thread, manifests)
            known = self._reusable(thread, manifests[-1:])
            self._clean(thread, manifests)
            room = shutil.disk_usage(self._root).free - self._limits.free
            if room < 0:
                raise SnapshotTooLarge(
                    f"less than {self._limits.free >> 20} MB are free on the disk, so no copy was kept"
                )
            pack = OpenPack(self._packs(thread) / f"{number:06}.pack")
            try:
                manifest = self._walk(pack, known, hidden, called_off, room).run(str(workspace))
                reach("checkpoint.pack.before")
                pack.keep()
                reach("checkpoint.pack.after")
            except BaseException:
                pack.drop()
                raise
            listing = written(manifest)
            if manifests and manifests[-1].name.endswith(f"-{_mark(listing)}"):
                return manifests[-1].name  # nothing has changed since
            name = self._publish(thread, f"{number:06}-{_mark(listing)}", listing)
            self._clean(thread, self._manifests(thread))
            return name

    def _walk(
        self, pack: Pack, known: Mapping[str, Entry], hidden: Sequence[str], called_off: list[bool], room: int = 1 << 62
    ) -> Walk:
        limits = self._limits
        return Walk(
            pack, known, frozenset(hidden), self._avoided(), limits.max_files, limits.max_bytes, called_off, room
        )

    def _names(self, thread: str) -> tuple[str, ...]:
        return tuple(path.name for path in self._manifests(thread))

    def _hold(
        self,
        thread: str,
        workspace: Path,
        call: str,
        hidden: Sequence[str],
        last: Savepoint | None,
        shown: Shown | None,
        still: Mapping[str, Entry],
        called_off: list[bool],
    ) -> Savepoint:
        with self._locked(thread):
            manifests, noted = self._manifests(thread), self._noted(thread)
            if last is not None and noted.get("call") != last.call:
                last = None  # another agent's stands in its place, and what it needs may be gone
            known = last.manifest.entries if last is not None else self._reusable(thread, manifests[-1:])
            room = shutil.disk_usage(self._root).free - self._limits.free
            pack = OpenPack(self._packs(thread) / f"{self._number(thread, manifests):06}.pack")
            try:
                walk = self._walk(pack, known, hidden, called_off, max(room, 0))
                manifest = walk.run(str(workspace))
                manifest = replace(manifest, entries={**manifest.entries, **still}) if still else manifest
                pack.leave()
            except BaseException:
                pack.drop()
                raise
            if last is None or manifest != last.manifest:
                self._replace(thread, "savepoint", written(manifest))
                self._clean(thread, manifests)
            moved = noted.get("moved", ())
            standing = {entry.sha for entry in manifest.entries.values()} if moved else set[str]()
            savepoint = Savepoint(call, manifest, shown=shown, moved=frozenset(moved) & standing)
            self._note_call(thread, savepoint)
            return savepoint

    def _held(self, thread: str, call: str | None) -> Savepoint | None:
        try:
            noted = self._noted(thread)
            if call not in (None, noted.get("call")):
                return None
            manifest, shown = read((self._folder(thread) / "savepoint").read_bytes()), noted.get("shown")
            of, destroyed = noted.get("call", ""), noted.get("destroyed", "")
            let = Shown(frozenset(shown["losses"]), tuple(shown["named"])) if shown is not None else None
            losses, moved = frozenset(noted.get("losses", ())), frozenset(noted.get("moved", ()))
            return Savepoint(of, manifest, destroyed, losses, let, moved, noted.get("done", False))
        except (OSError, ValueError, KeyError, Damaged):
            return None

    def _noted(self, thread: str) -> _Noted:
        try:
            return cast("_Noted", json.loads((self._folder(thread) / "savepoint.call").read_bytes()))
        except (OSError, ValueError):
            return {}

    def _note(self, thread: str, savepoint: Savepoint) -> None:
        with self._locked(thread):
            if not savepoint.done or self._noted(thread).get("call") == savepoint.call:  # else another one stands there
                self._note_call(thread, savepoint)

    def _note_call(self, thread: str, savepoint: Savepoint) -> None:
        let = savepoint.shown
        shown: _Let | None = {"losses": sorted(let.losses), "named": [*let.named]} if let is not None else None
        noted: _Noted = {
            "call": savepoint.call, "destroyed": savepoint.destroyed, "losses": sorted(savepoint.losses), "shown": shown,
            "moved": sorted(savepoint.moved), "done": savepoint.done,
        }  # fmt: skip
        self._replace(thread, "savepoint.call", json.dumps(noted).encode())

    def _release(self, thread: str) -> None:
        for name in ("savepoint.call", "savepoint"):
            (self._folder(thread) / name).unlink(missing_ok=True)

    def _replace(self, thread: str, name: str, content: bytes) -> None:
        fresh = self._folder(thread) / f"{name}.new"
        fresh.write_bytes(content)
        fresh.replace(self._folder(thread) / name)

    def _adopt(self, source: str, thread: str, names: frozenset[str]) -> None:
        with self._locked(source), self._locked(thread):
            kept = [path for path in self._manifests(source) if path.name in names]
            for path in kept:
                for pack in sorted(_packs_of(path)):
                    _link(self._packs(source) / pack, self._packs(thread) / pack)
                reach("checkpoint.adopt")
            _sync_folder(self._packs(thread))
            for path in kept:
                _link(path, self._folder(thread) / "manifests" / path.name)
            _sync_folder(self._folder(thread) / "manifests")

    def _keep_only(self, thread: str, names: frozenset[str]) -> None:
        if not self._folder(thread).is_dir():
            return
        with self._locked(thread):
            young = time.time() - YOUNG_SECONDS
            for path in self._manifests(thread)[:-1]:
                if path.name not in names and path.stat().st_mtime < young:
                    path.unlink(missing_ok=True)
            self._clean(thread, self._manifests(thread))

    def _of_copies(self, thread: str, before: float | None) -> tuple[str, ...]:
        found = [path for path in self._root.glob(f"{thread}w*") if thread_of(path.name) == thread != path.name]
        return tuple(sorted(p.name for p in found if before is None or (p / "manifests").stat().st_mtime < before))

    def _publish(self, thread: str, name: str, listing: bytes) -> str:
        folder = self._folder(thread) / "manifests"
        fresh = folder / f"{name}.new"
        with fresh.open("wb") as file:
            file.write(listing)
            file.flush()
            os.fsync(file.fileno())
        _sync_folder(self._packs(thread))
        reach("checkpoint.manifest.before")
        fresh.rename(folder / name)
        _sync_folder(folder)
        reach("checkpoint.manifest.after")
        return name

    def _number(self, thread: str, manifests: Sequence[Path]) -> int:
        """One that nothing bears yet: what a crash left may be kept because a manifest cannot be read."""
        numbers = [path.name.partition("-")[0] for path in manifests[-1:]]
        numbers += [path.stem for path in self._packs(thread).glob("*.pack")]
        return max((int(number) for number in numbers), default=0) + 1

    def _reusable(self, thread: str, newest: Sequence[Path]) -> dict[str, Entry]:
        """The files of the newest snapshot, without those in packs that are mostly dead or gone."""
        try:
            manifest = read(newest[0].read_bytes()) if newest else Manifest()
        except (Damaged, OSError):
            return {}
        spent: set[str] = set()
        for pack, live in manifest.packs.items():
            try:
                size = (self._packs(thread) / pack).stat().st_size
            except OSError:
                spent.add(pack)
            else:
                if size > SMALL_PACK and live * 2 < size:
                    spent.add(pack)
        return {path: e for path, e in manifest.entries.items() if e.kind == "file" and e.pack not in spent}

    def _is_crowded(self, thread: str) -> bool:
        manifests = self._manifests(thread)
        return len(manifests) > self._limits.kept or self._taken(thread, manifests) > self._limits.total

    def _thin_out(self, thread: str, needed: frozenset[str]) -> None:
        """Remove the oldest snapshots until the others are few and small enough, but those that are needed."""
        with self._locked(thread):
            kept = self._manifests(thread)
            for old in [path for path in kept[:-NEWEST] if path.name not in needed]:
                if len(kept) <= self._limits.kept and self._taken(thread, kept) <= self._limits.total:
                    break
                old.unlink(missing_ok=True)
                kept.remove(old)
            self._clean(thread, kept)

    def _taken(self, thread: str, manifests: Iterable[Path]) -> int:
        """Bytes that these snapshots take together."""
        names = frozenset[str]().union(*(_packs_of(path) for path in manifests))
        packs = [self._packs(thread) / name for name in names]
        return sum(pack.stat().st_size for pack in packs if pack.exists())

    def _clean(self, thread: str, manifests: Sequence[Path]) -> None:
        """Remove packs and leftovers that no manifest needs.

        Where a manifest cannot be read, nobody knows what it needs, and no pack is removed.
        """
        needed: set[str] = set()
        savepoint = self._folder(thread) / "savepoint"
        for path in (*manifests, *([savepoint] if savepoint.exists() else ())):
            try:
                with path.open("rb") as file:
                    needed |= packs_in(file.readline())
            except (Damaged, OSError):
                return
        for pack in self._packs(thread).iterdir():
            if pack.name not in needed:
                pack.unlink(missing_ok=True)
        for leftover in (self._folder(thread) / "manifests").glob("*.new"):
            leftover.unlink(missing_ok=True)

    def _threads(self) -> tuple[str, ...]:
        saved = [(path.stat().st_mtime, path.parent.name) for path in self._root.glob("*/manifests")]
        return tuple(thread for _, thread in sorted(saved))

    def _load(self, thread: str, manifest: str) -> Manifest:
        path = self._folder(thread) / "manifests" / Path(manifest).name
        try:
            listing = path.read_bytes()
            if _mark(listing) != path.name.rpartition("-")[2]:
                raise Damaged
            return read(listing)
        except FileNotFoundError as gone:
            newest = f"Of each thread the newest {self._limits.kept} are kept, fewer where they take more than"
            newest += f" {self._limits.total >> 20:,} MB together."
            raise SnapshotLost(f"The checkpoint {path.name} is no longer there. {newest}") from gone
        except (Damaged, OSError) as error:
            raise SnapshotLost(f"The checkpoint {path.name} is damaged and cannot be used.") from error

    async def _in_thread(self, act: Callable[[], T], called_off: list[bool]) -> T:
        """Run it beside the event loop; whoever is cancelled does not wait, and the work ends at its next file."""
        try:
            return await asyncio.to_thread(act)
        except asyncio.CancelledError:
            called_off.append(True)
            raise
        except CalledOff as off:
            raise asyncio.CancelledError from off

    # --- places -----------------------------------------------------------------------------------------------

    def _folder(self, thread: str) -> Path:
        if not thread.isalnum():
            raise ValueError(f"{thread!r} cannot name a thread")
        return self._root / thread

    def _packs(self, thread: str) -> Path:
        return self._folder(thread) / "packs"

    def _manifests(self, thread: str) -> list[Path]:
        found = (self._folder(thread) / "manifests").glob("[0-9]*-*")
        return sorted(path for path in found if path.suffix != ".new")

    def _avoided(self) -> frozenset[tuple[int, int]]:
        found = [path.stat() for path in (self._root, self._home) if path.is_dir()]
        return frozenset((status.st_dev, status.st_ino) for status in found)

    @contextmanager
    def _locked(self, thread: str) -> Generator[None]:
        """One snapshot at a time, also where a process that lost the thread has not noticed yet."""
        folder = self._folder(thread)
        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        for path in (folder, folder / "packs", folder / "manifests"):
            path.mkdir(exist_ok=True, mode=0o700)
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _packs_of(manifest: Path) -> frozenset[str]:
    try:
        with manifest.open("rb") as file:
            return packs_in(file.readline())
    except (Damaged, FileNotFoundError):
        return frozenset()  # whoever loads it is told


def _link(source: Path, target: Path) -> None:
    """The same content under another name; a copy where the disk knows no links."""
    try:
        os.link(source, target)
    except (FileExistsError, FileNotFoundError):
        return  # what is missing is missed by whoever loads it, and told
    except OSError:
        fresh = target.with_name(f"{target.name}.new")
        shutil.copyfile(source, fresh)
        with fresh.open("rb+") as file:
            os.fsync(file.fileno())
        fresh.rename(target)


def _mark(listing: bytes) -> str:
    return hashlib.sha256(listing).hexdigest()[:12]


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
