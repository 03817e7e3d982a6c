"""Snapshots where every machine finds them: the disk of one machine is a cache of them.

    threads/<thread>/checkpoints/packs/000007.pack   what snapshot 7 was the first to need
    threads/<thread>/checkpoints/000007-1f3a…        which versions of packs it needs, and its manifest as on a disk
    threads/<thread>/workspace.json                  which snapshot is the newest, and who works on it
    threads/<thread>/files/<path>                    files that tasks changed, as they are now, for people to look at

A snapshot is all or nothing here too: packs first, then its manifest, then the pointer, which is swapped only where it is as
its owner left it.  Whoever takes a thread writes a mark of theirs into the pointer; from then on nothing of an owner
before them gets into it, however late it comes.  A manifest names versions of packs, so a late pack takes no other's place.
The folder of the last owner's machine bears the same mark: where it does, what stands there is newer than any snapshot.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from agentic.ports.errors import AgenticError, StoreUnavailable
from agentic.ports.stores import ObjectVersion, StoredObject, VersionedObjects
from agentic.workspace.snapshots.manifest import Damaged, Entry, packs_in, read
from agentic.workspace.snapshots.packs import ContentLost, whole, whole_from

SHOWN_FILES, SHOWN_BYTES = 20, 1 << 20
"""Changed files of a snapshot that people can look at, and how large each may be; a whole repository is not laid out."""
LONGEST_PATH = 900
"""Bytes; an object's name has at most 1,024."""
POINTER = "workspace.json"
YOUNG_SECONDS = 3_600.0
MARK = "taken"
_NOBODY = ""


class Overtaken(AgenticError):
    """Another machine works on the thread now."""


@dataclass(slots=True)
class _Held:
    """A thread that this process has taken."""

    mark: str
    tag: str
    newest: str
    owed: str | None = None
    """The snapshot that the workspace on this machine is still to be brought to."""
    packs: dict[str, str] = field(default_factory=dict[str, str])
    """Versions of packs that are in the bucket."""
    files: Mapping[str, Entry] = field(default_factory=dict[str, Entry])
    """What the newest shared snapshot says of files."""


@dataclass(frozen=True, slots=True)
class SharedSnapshot:
    """A snapshot that is looked at where it is shared: nothing of it comes onto this machine."""

    thread: str
    name: str
    """'' where none was shared yet, and so nothing stands in it."""
    entries: Mapping[str, Entry]
    _packs: Mapping[str, str]
    _objects: VersionedObjects

    async def content(self, entry: Entry) -> bytes:
        """What a file of it holds, for one that is small.  Raises ``ContentLost`` and ``StoreUnavailable``."""
        kept: bytes | None = b""
        if entry.kept:
            pack = f"{_checkpoints(self.thread)}packs/{entry.pack}"
            kept = await self._objects.part(pack, self._packs.get(entry.pack, ""), entry.offset, entry.kept)
        if kept is None:
            raise ContentLost(entry.sha)
        return await asyncio.to_thread(whole_from, kept, entry)


class SharedCopies:
    """Shares the snapshots of a machine's folder, which has a folder a thread, and brings those of others into it."""

    def __init__(self, objects: VersionedObjects, root: Path) -> None:
        self._objects, self._root = objects, root
        self._held: dict[str, _Held] = {}

    async def take(self, thread: str) -> str | None:
        """Work on a thread from now on: nothing of an owner before gets in any more.

        None where the workspace on this machine is the thread's own; else the snapshot that it is to be brought to, '' for
        none.  Then ``is_as`` says when that is done.  Raises ``StoreUnavailable``.
        """
        pointer = await self._objects.get(_pointer(thread))
        told = _told(pointer)
        held = self._held.get(thread)
        if held is not None and pointer is not None and pointer.tag == held.tag:
            return held.owed
        own = await asyncio.to_thread(self._marks, thread)
        mark = uuid.uuid4().hex
        current = told["mark"] in own if pointer is not None else True
        if current:
            await asyncio.to_thread(self._mark, thread, told["mark"], mark)
        taken = await self._point(thread, told["newest"], mark, pointer.tag if pointer is not None else "")
        owed = None if current else told["newest"]
        self._held[thread] = fresh = _Held(mark, taken.tag, told["newest"], owed)
        if fresh.newest and (listing := await self._listing(thread, fresh.newest)) is not None:
            fresh.packs = listing.packs
            fresh.files = await asyncio.to_thread(_files, listing.manifest)
        if current:
            await asyncio.to_thread(self._mark, thread, mark)
        return owed

    async def is_as(self, thread: str) -> None:
        """The workspace on this machine is as the thread's newest snapshot."""
        held = self._held[thread]
        await asyncio.to_thread(self._mark, thread, held.mark)
        held.owed = None

    async def share(self, thread: str, name: str) -> None:
        """Share a snapshot as the newest.  Raises ``Overtaken``, ``StoreUnavailable`` and ``OSError``."""
        if thread not in self._held:
            await self.take(thread)
        held = self._held[thread]
        if held.newest == name:
            return
        manifest = await asyncio.to_thread((self._folder(thread) / "manifests" / name).read_bytes)
        needed = packs_in(manifest.partition(b"\n")[0])
        for pack in sorted(needed - held.packs.keys()):
            written = await self._objects.put(
                f"{_checkpoints(thread)}packs/{pack}", self._folder(thread) / "packs" / pack
            )
            assert written is not None, "nothing was expected"
            held.packs[pack] = written.version
        head = json.dumps({"packs": {pack: held.packs[pack] for pack in sorted(needed)}}).encode()
        await self._objects.put(f"{_checkpoints(thread)}{name}", head + b"\n" + manifest)
        held.tag = (await self._point(thread, name, held.mark, held.tag)).tag
        held.newest = name
        await self._show(thread, held, await asyncio.to_thread(_files, manifest))

    async def bring(self, thread: str, name: str) -> bool:
        """Bring a snapshot into this machine's folder; False where it is not shared.

        Raises ``StoreUnavailable`` and ``OSError``.
        """
        listing = await self._listing(thread, name)
        if listing is None:
            return False
        folder = self._folder(thread)
        for path in (folder / "packs", folder / "manifests"):
            await asyncio.to_thread(path.mkdir, parents=True, exist_ok=True, mode=0o700)
        for pack, version in listing.packs.items():
            there = folder / "packs" / pack
            came = there.with_name(f"{pack}.{version[:16]}.new")
            came.unlink(missing_ok=True)
            if not await self._objects.copy_to(f"{_checkpoints(thread)}packs/{pack}", version, came):
                return False
            came.replace(there)
        fresh = folder / "manifests" / f"{name}.new"
        await asyncio.to_thread(fresh.write_bytes, listing.manifest)
        fresh.replace(folder / "manifests" / name)
        return True

    async def elsewhere(self, thread: str, *, here: bool) -> SharedSnapshot | None:
        """The newest snapshot of a thread whose files stand on another machine; None where they stand on this one.

        ``here``: there is a workspace on this machine, which is the thread's own where none was ever shared.
        Raises ``Damaged`` where the snapshot is gone or cannot be read, and ``StoreUnavailable``.
        """
        try:
            pointer = await self._objects.get(_pointer(thread))
        except StoreUnavailable:
            if thread in self._held:
                return None  # as far as is known
            raise
        told = _told(pointer)
        if here and (pointer is None or told["mark"] in await asyncio.to_thread(self._marks, thread)):
            return None
        if not told["newest"]:
            return SharedSnapshot(thread, "", {}, {}, self._objects)
        found = await self.look(thread, told["newest"])
        if found is None:
            raise Damaged
        return found

    async def look(self, thread: str, name: str) -> SharedSnapshot | None:
        """A snapshot where it is shared; None where it is not. Raises ``Damaged`` and ``StoreUnavailable``."""
        listing = await self._listing(thread, name)
        if listing is None:
            return None
        manifest = await asyncio.to_thread(read, listing.manifest)
        return SharedSnapshot(thread, name, manifest.entries, listing.packs, self._objects)

    async def listed(self, thread: str) -> tuple[str, ...]:
        """The snapshots of a thread that are shared, oldest first.  Raises ``StoreUnavailable``."""
        begin = _checkpoints(thread)
        names = [name.removeprefix(begin) async for name in self._objects.names(begin)]
        return tuple(sorted(name for name in names if "/" not in name))

    async def keep_only(self, thread: str, names: Collection[str]) -> None:
        """Take away all but these, the newest and those of this hour, and packs that none of them needs.

        What is young may be on its way into a log or into the pointer.  Raises ``StoreUnavailable``.
        """
        kept, gone = set[str](), list[str]()
        old = {name async for name in self._objects.names(_checkpoints(thread), older=YOUNG_SECONDS)}
        newest = _told(await self._objects.get(_pointer(thread)))["newest"]
        for name in await self.listed(thread):
            if name not in names and name != newest and f"{_checkpoints(thread)}{name}" in old:
                gone.append(f"{_checkpoints(thread)}{name}")
            elif (listing := await self._listing(thread, name)) is not None:
                kept |= listing.packs.keys()
        begin = f"{_checkpoints(thread)}packs/"
        gone += [name for name in old if name.startswith(begin) and name.removeprefix(begin) not in kept]
        await self._objects.delete(gone)

    async def forget(self, thread: str) -> None:
        """Delete all that is kept of a thread's workspace, earlier versions too.  Raises ``StoreUnavailable``."""
        self._held.pop(thread, None)
        for part in ("checkpoints/", "files/", POINTER):  # beside them lie parts of its log, which go with that
            await self._objects.erase(f"threads/{thread}/{part}")

    async def copies(self, thread: str, *, settled: bool = False) -> tuple[str, ...]:
        """The copies of its workspace of which something is shared; ``settled``: nothing of this hour.

        Raises ``StoreUnavailable``.
        """
        begin = f"threads/{thread}w"
        every = {name async for name in self._objects.names(begin)}
        old = {name async for name in self._objects.names(begin, older=YOUNG_SECONDS)} if settled else every
        young = {name.split("/")[1] for name in every - old}
        return tuple(sorted({name.split("/")[1] for name in old} - young))

    # --- the pointer and the mark -----------------------------------------------------------------------------

    async def _point(self, thread: str, newest: str, mark: str, tag: str) -> ObjectVersion:
        told = json.dumps({"newest": newest, "mark": mark}).encode()
        written = await self._objects.put(_pointer(thread), told, expected=tag)
        if written is None:
            now = await self._objects.get(_pointer(thread))
            if now is not None and now.content == told:  # it was written, and the answer was lost
                return now
            self._held.pop(thread, None)
            raise Overtaken("Another machine works on this thread now, so its files are not kept from here.")
        return written

    def _marks(self, thread: str) -> frozenset[str]:
        """Marks under which the folder of this machine is the thread's own: two where a process died while it took it."""
        try:
            return frozenset((self._folder(thread) / MARK).read_text().split())
        except OSError:
            return frozenset()

    def _mark(self, thread: str, *marks: str) -> None:
        folder = self._folder(thread)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = folder / f"{MARK}.new"
        fresh.write_text("\n".join(mark for mark in marks if mark))
        fresh.replace(folder / MARK)

    # --- what is shared ---------------------------------------------------------------------------------------

    async def _listing(self, thread: str, name: str) -> _Listing | None:
        found = await self._objects.get(f"{_checkpoints(thread)}{name}")
        if found is None:
            return None
        head, _, manifest = found.content.partition(b"\n")
        try:
            return _Listing(cast("dict[str, dict[str, str]]", json.loads(head))["packs"], manifest)
        except (ValueError, KeyError, TypeError):
            return None

    async def _show(self, thread: str, held: _Held, now: Mapping[str, Entry]) -> None:
        """Lay out the files that are others than in the snapshot before, where they are few."""
        before, held.files = held.files, now
        changed = [path for path, entry in now.items() if (was := before.get(path)) is None or was.sha != entry.sha]
        begin = f"threads/{thread}/files/"
        if len(changed) <= SHOWN_FILES:
            packs = self._folder(thread) / "packs"
            for path in changed:
                if _shown(path, now[path]):
                    with suppress(ContentLost):
                        await self._objects.put(f"{begin}{path}", await asyncio.to_thread(whole, packs, now[path]))
        gone = [path for path in before if path not in now and _shown(path, before[path])]
        if gone:
            await self._objects.delete([f"{begin}{path}" for path in gone[:1_000]])

    def _folder(self, thread: str) -> Path:
        if not thread.isalnum():
            raise ValueError(f"{thread!r} cannot name a thread")
        return self._root / thread


@dataclass(frozen=True, slots=True)
class _Listing:
    packs: dict[str, str]
    manifest: bytes


def _checkpoints(thread: str) -> str:
    return f"threads/{thread}/checkpoints/"


def _pointer(thread: str) -> str:
    return f"threads/{thread}/{POINTER}"


def _told(pointer: StoredObject | None) -> dict[str, str]:
    told = {"newest": "", "mark": _NOBODY}
    try:
        return told | (cast("dict[str, str]", json.loads(pointer.content)) if pointer is not None else {})
    except ValueError:
        return told


def _files(manifest: bytes) -> dict[str, Entry]:
    try:
        return {path: entry for path, entry in read(manifest).entries.items() if entry.kind == "file"}
    except Damaged:
        return {}


def _shown(path: str, entry: Entry) -> bool:
    """Whether people can look at a file: it is small enough, and its path can name an object."""
    try:
        return entry.size <= SHOWN_BYTES and len(path.encode()) <= LONGEST_PATH
    except UnicodeEncodeError:
        return False
