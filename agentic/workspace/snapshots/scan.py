"""Reads a workspace into a manifest, by descriptor and following no link; unchanged files are not read again.

A file is unchanged when its times, size and inode are; the change time cannot be set back from inside a sandbox.  A file
that was written within the clock's grain of the reading is read again next time, and so is one that changed meanwhile, or
that somebody had open or mapped for writing: its content can change without its times.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from agentic.sandbox.supervisor.files.open_writers import may_be_written
from agentic.workspace.snapshots.manifest import Entry, Manifest, Stamp
from agentic.workspace.snapshots.sparse_files import Content, parts

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
CACHES = frozenset(
    {"node_modules", "__pycache__", ".venv", ".tox", ".nox", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
)
"""Folders that are made again rather than put back; known by name alone, so that no file in one decides about it."""
MADE_AGAIN = "caches and installed packages are not kept"
HIDDEN = "it is hidden by .aiignore"
UNREADABLE = "it cannot be read"
MAX_DEPTH = 64
GRAIN_NS = 20_000_000


class SnapshotTooLarge(Exception):
    """The workspace is larger than a snapshot may be; the text says by which measure."""


class CalledOff(Exception):
    """Whoever wanted the snapshot does not wait for it any more."""


class Pack(Protocol):
    """Where new content goes."""

    @property
    def name(self) -> str:
        """The pack's name."""
        ...

    def begin(self) -> int:
        """The offset at which the next content begins."""
        ...

    def add(self, block: bytes) -> None:
        """Append."""
        ...

    def cut(self, offset: int) -> None:
        """Take back everything from ``offset`` on."""
        ...


class Unkept:
    """Keeps nothing: for whoever only wants to know what stands there."""

    name = ""

    def begin(self) -> int:
        """Always the beginning."""
        return 0

    def add(self, block: bytes) -> None:
        """Forget."""

    def cut(self, offset: int) -> None:
        """Nothing is there to take back."""


@dataclass(slots=True)
class Walk:
    """One reading of a workspace."""

    pack: Pack
    known: Mapping[str, Entry]
    """Files as the snapshot before found them, whose content may be used again."""
    hidden: frozenset[str] = frozenset()
    avoided: frozenset[tuple[int, int]] = frozenset()
    """Folders by device and inode that are never entered: where snapshots lie."""
    max_files: int = 100_000
    max_bytes: int = 1 << 30
    called_off: list[bool] = field(default_factory=list[bool])
    room: int = 1 << 62
    """So many bytes of new content the disk can take: others write there too."""
    read: int = 0
    """How many files had to be read."""
    lenient: bool = False
    """Beyond ``max_files`` and ``max_bytes`` what is ``known`` is read and told, and nothing else."""
    _entries: dict[str, Entry] = field(default_factory=dict[str, Entry])
    _left_out: dict[str, str] = field(default_factory=dict[str, str])
    _by_sha: dict[str, Entry] = field(default_factory=dict[str, Entry])
    _bytes: int = 0
    _owner: int | None = None

    def run(self, workspace: str) -> Manifest:
        """The manifest.  Raises ``SnapshotTooLarge``, ``CalledOff`` and ``OSError``."""
        self._by_sha = {entry.sha: entry for entry in self.known.values() if entry.kind == "file"}
        root = os.open(workspace, FOLDER)
        try:
            if os.geteuid() == 0:
                self._owner = os.fstat(root).st_uid
            self._folder(root, "", 0)
        finally:
            os.close(root)
        return Manifest(self._entries, self._left_out)

    def _folder(self, descriptor: int, folder: str, depth: int) -> None:
        if self.called_off:
            raise CalledOff
        with os.scandir(descriptor) as scanned:
            found = sorted(scanned, key=lambda one: one.name)
        for entry in found:
            path = f"{folder}/{entry.name}" if folder else entry.name
            try:
                self._entry(descriptor, entry.name, path, entry.stat(follow_symlinks=False), depth)
            except FileNotFoundError:
                continue  # it went away while we looked
            except PermissionError:
                self._left_out[path] = UNREADABLE

    def _entry(self, parent: int, name: str, path: str, status: os.stat_result, depth: int) -> None:
        if path in self.hidden:
            self._left_out[path] = HIDDEN
        elif self._owner not in (None, status.st_uid):
            self._left_out[path] = "it belongs to somebody else"
        elif stat.S_ISDIR(status.st_mode):
            self._below(parent, name, path, status, depth)
        elif stat.S_ISLNK(status.st_mode):
            self._keep(path, Entry("link", sha=os.readlink(name, dir_fd=parent)))
        elif stat.S_ISREG(status.st_mode):
            self._file(parent, name, path, status)
        else:
            self._left_out[path] = "it is not a regular file (a pipe, socket or device)"

    def _below(self, parent: int, name: str, path: str, status: os.stat_result, depth: int) -> None:
        if name in CACHES:
            self._left_out[path] = MADE_AGAIN
        elif (status.st_dev, status.st_ino) in self.avoided:
            self._left_out[path] = "Threadwright keeps its own data there"
        elif depth >= MAX_DEPTH:
            self._left_out[path] = f"it is more than {MAX_DEPTH} folders deep"
        else:
            descriptor = _opened(name, FOLDER, parent)
            if descriptor is None:
                return
            try:
                self._keep(path, Entry("dir", stat.S_IMODE(status.st_mode) & 0o777))
                self._folder(descriptor, path, depth + 1)
            finally:
                os.close(descriptor)

    def _file(self, parent: int, name: str, path: str, status: os.stat_result) -> None:
        known = self.known.get(path)
        if known is not None and known.stamp and known.stamp == stamp_of(status):
            self._keep(path, known)
            return
        if self.lenient and known is None and self._bytes + status.st_size > self.max_bytes:
            return
        descriptor = _opened(name, PLAIN, parent)
        if descriptor is None:
            return
        try:
            opened = os.fstat(descriptor)
            if stat.S_ISREG(opened.st_mode) and self._owner in (None, opened.st_uid):
                self._keep(path, self._read(descriptor, opened))
        finally:
            os.close(descriptor)

    def _read(self, descriptor: int, status: os.stat_result) -> Entry:
        """The file's entry, its content in the pack unless it is kept already."""
        self.read += 1
        written = may_be_written(descriptor)
        offset, came = self.pack.begin(), Content(status.st_size)
        for part in parts(descriptor, status.st_size):
            if self.called_off:
                raise CalledOff
            if isinstance(part, int):
                came.skip(part)
            else:
                self._add(offset, part)
                came.add(part)
        kept = self.pack.begin() - offset
        stamp = () if written else settled(status, descriptor)
        mode, pack = stat.S_IMODE(status.st_mode) & 0o777, self.pack.name if kept else ""
        fresh = Entry("file", mode, came.size, came.sha, stamp, pack, offset if kept else 0, came.holes)
        known = self._by_sha.setdefault(fresh.sha, fresh)
        if known is fresh:
            return fresh
        self.pack.cut(offset)
        return replace(fresh, pack=known.pack, offset=known.offset, holes=known.holes)

    def _add(self, offset: int, block: bytes) -> None:
        """Content of a file that begins at ``offset``."""
        self._room(self.pack.begin() - offset + len(block))
        if self.pack.begin() + len(block) > self.room:
            raise SnapshotTooLarge("the disk is too full, so no copy was kept")
        self.pack.add(block)

    def _room(self, size: int) -> None:
        if not self.lenient and self._bytes + size > self.max_bytes:
            raise SnapshotTooLarge(
                f"the files have more than {self.max_bytes >> 20:,} MB together, too many to keep a copy"
            )

    def _keep(self, path: str, entry: Entry) -> None:
        self._bytes += entry.kept
        self._room(0)
        if self.lenient and len(self._entries) >= self.max_files:
            if path in self.known:
                self._entries[path] = entry
            return
        if len(self._entries) >= self.max_files:
            raise SnapshotTooLarge(f"there are more than {self.max_files:,} files and folders, too many to keep a copy")
        self._entries[path] = entry


def stamp_of(status: os.stat_result) -> Stamp:
    """What changes whenever a file does."""
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, stat.S_IMODE(status.st_mode))


def settled(before: os.stat_result, descriptor: int) -> Stamp:
    """The stamp of a file that was just read; () where it may have changed since."""
    after = os.fstat(descriptor)
    if stamp_of(before) != stamp_of(after) or abs(time.time_ns() - after.st_ctime_ns) < GRAIN_NS:
        return ()
    return stamp_of(after)


def _opened(name: str, flags: int, parent: int) -> int | None:
    """A descriptor; None where the thing was swapped for another kind while we looked."""
    try:
        return os.open(name, flags, dir_fd=parent)
    except (NotADirectoryError, FileNotFoundError):
        return None
    except OSError as error:
        if isinstance(error, PermissionError):
            raise
        return None
