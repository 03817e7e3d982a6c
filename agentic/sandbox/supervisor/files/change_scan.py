"""What changed in the workspace since the scan before; in a thread of its own, to which ``note`` only hands things over.

The state of every file is kept folder by folder.  A scan reads the folders that inotify names, or all of them where events
were lost; either way it compares what stands on disk, so an event only says where to look.  A file counts as changed when
its hash does; large files are told apart by size and time.  A file that was written within the clock's grain of the scan,
or that somebody has open for writing, is looked at again next time.  What is written through a mapping causes no event:
while a process has one, all folders are read.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections import deque
from collections.abc import Callable, Iterable

from ..frames import Json
from .confined_paths import (
    FOLDER,
    PLAIN,
    Confined,
    sha_of,
)
from .inotify import Notify
from .open_writers import mapped_below, may_be_written
from .search import PASSED_OVER

HASHED_FILE = 1024 * 1024
BASELINE_FILES = 5_000
BASELINE_BYTES = 64 * 1024 * 1024
GRAIN_NS = 20_000_000
MAX_CHANGES = 500
MAX_DEPTH = 64
"""Folders deeper than that are not looked at."""

Stamp = tuple[int, int, int, int]


class Seen:
    """A file as the last scan saw it."""

    __slots__ = ("sha", "stamp")

    def __init__(self, stamp: Stamp, sha: str) -> None:
        self.stamp = stamp
        self.sha = sha


class Folder:
    """The files and subfolders of one folder as the last scan saw them."""

    __slots__ = ("files", "folders")

    def __init__(self) -> None:
        self.files: dict[str, Seen] = {}
        self.folders: set[str] = set()


class Scanner:
    """Keeps the state of the workspace between scans."""

    def __init__(self, confined: Confined) -> None:
        self._confined = confined
        self._notify = Notify()
        self._folders: dict[str, Folder] = {}
        self._changes: dict[str, tuple[str, str]] = {}
        """path -> (sha before, sha after), '' = it does not exist."""
        self._noted: deque[tuple[str, str]] = deque()
        self._hash_files, self._hash_bytes = BASELINE_FILES, BASELINE_BYTES
        self._enter("")
        self._changes.clear()
        self._hash_files = self._hash_bytes = 1 << 62

    def scan(self, wanted: Callable[[], bool]) -> dict[str, Json] | None:
        """The changes since the last scan that was told, as fields of a header.

        ``wanted`` is asked once all was looked at: where nobody wants to hear of it now, the next scan tells it.
        """
        self._take_notes()
        touched = self._notify.touched()
        if mapped_below(self._confined.root):
            touched = None
        for folder in sorted(self._folders if touched is None else touched):
            if folder in self._folders:
                self._look(folder)
        self._take_notes()
        return self._told() if wanted() else None

    def note(self, path: str, sha: str) -> None:
        """A file operation of ours wrote (or deleted, '') this file: no scan reports it, also none that goes on now."""
        self._noted.append((path, sha))

    def _take_notes(self) -> None:
        while self._noted:
            self._note(*self._noted.popleft())

    def _note(self, path: str, sha: str) -> None:
        folder, _, name = path.rpartition("/")
        known = self._folders.get(folder)
        if known is None:
            self._look_upwards(folder)
            known = self._folders.get(folder)
        if known is None:
            return
        if not sha:
            known.files.pop(name, None)
        else:
            known.files[name] = Seen((0, 0, 0, 0), sha)
        self._changes.pop(path, None)

    def _look_upwards(self, folder: str) -> None:
        parent = folder.rpartition("/")[0]
        if parent not in self._folders and parent:
            self._look_upwards(parent)
        if parent in self._folders:
            self._look(parent)

    def _told(self) -> dict[str, Json]:
        rows: list[Json] = []
        for path, (before, after) in sorted(self._changes.items())[:MAX_CHANGES]:
            kind = "modified" if before and after else ("added" if after else "deleted")
            rows.append([path.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), kind, before, after])
        more = max(0, len(self._changes) - MAX_CHANGES)
        self._changes.clear()
        return {"changes": rows, "more_changes": more}

    def _enter(self, folder: str) -> None:
        self._folders[folder] = Folder()
        self._look(folder)

    def _leave(self, folder: str) -> None:
        known = self._folders.pop(folder, None)
        self._notify.drop(folder)
        if known is None:
            return
        for name, seen in known.files.items():
            self._changed(_join(folder, name), seen.sha, "")
        for name in known.folders:
            self._leave(_join(folder, name))

    def _look(self, folder: str) -> None:
        known = self._folders[folder]
        try:
            descriptor = self._open(folder)
        except PermissionError:
            return  # hidden, or closed by a command: as it was
        except OSError:
            self._leave(folder)
            return
        try:
            self._notify.add(folder, descriptor)
            self._compare(folder, known, descriptor)
        finally:
            os.close(descriptor)

    def _open(self, folder: str) -> int:
        descriptor = self._confined.open_root()
        for part in folder.split("/") if folder else ():
            above = descriptor
            try:
                descriptor = os.open(part, FOLDER, dir_fd=above)
            finally:
                os.close(above)
        return descriptor

    def _compare(self, folder: str, known: Folder, descriptor: int) -> None:
        files: set[str] = set()
        folders: set[str] = set()
        hidden = bool(self._confined.hidden)
        with os.scandir(descriptor) as entries:
            for entry in entries:
                name = entry.name
                if hidden and self._confined.is_hidden(_join(folder, name)):
                    (folders if name in known.folders else files).add(name)
                elif entry.is_dir(follow_symlinks=False):
                    if name not in PASSED_OVER and folder.count("/") < MAX_DEPTH:
                        folders.add(name)
                else:
                    files.add(name)
                    with contextlib.suppress(OSError):  # it went away, or became something else, while we looked
                        self._file(folder, name, known, entry.stat(follow_symlinks=False), descriptor)
        self._gone(folder, known, files, folders)
        for name in folders - known.folders:
            known.folders.add(name)
            self._enter(_join(folder, name))

    def _gone(self, folder: str, known: Folder, files: Iterable[str], folders: Iterable[str]) -> None:
        for name in known.files.keys() - set(files):
            self._changed(_join(folder, name), known.files.pop(name).sha, "")
        for name in known.folders - set(folders):
            known.folders.discard(name)
            self._leave(_join(folder, name))

    def _file(self, folder: str, name: str, known: Folder, status: os.stat_result, descriptor: int) -> None:
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns)
        seen = known.files.get(name)
        if seen is not None and seen.stamp == stamp:
            return
        sha, written = self._sha(name, status, descriptor)
        if written or abs(time.time_ns() - status.st_ctime_ns) < GRAIN_NS:
            stamp = (0, 0, 0, 0)
        known.files[name] = Seen(stamp, sha)
        before = seen.sha if seen is not None else ""
        if before != sha:
            self._changed(_join(folder, name), before, sha)

    def _changed(self, path: str, before: str, after: str) -> None:
        first = self._changes.pop(path, (before, ""))[0]
        if first != after:
            self._changes[path] = (first, after)

    def _sha(self, name: str, status: os.stat_result, descriptor: int) -> tuple[str, bool]:
        """What tells the content apart, and whether it may change without new times."""
        if stat.S_ISLNK(status.st_mode):
            return "link:" + os.readlink(name, dir_fd=descriptor).encode("utf-8", "surrogateescape").hex(), False
        if not stat.S_ISREG(status.st_mode):
            return f"special:{stat.S_IFMT(status.st_mode):o}", False
        affordable = status.st_size <= HASHED_FILE and self._hash_files > 0 and self._hash_bytes > status.st_size
        if affordable:
            self._hash_files -= 1
            self._hash_bytes -= status.st_size
            try:
                opened = os.open(name, PLAIN, dir_fd=descriptor)
            except OSError:
                return f"unreadable:{status.st_size}:{status.st_mtime_ns}", False
            try:
                written = may_be_written(opened)
                return sha_of(opened), written
            finally:
                os.close(opened)
        return f"unhashed:{status.st_size}:{status.st_mtime_ns}", False


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
