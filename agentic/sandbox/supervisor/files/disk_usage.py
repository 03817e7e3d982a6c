"""What a thread's files take on the disk: counted so that nothing a command does with them can hide any.

Folders are gone through by descriptor: no path is too long, and no link is followed.  A folder that its owner may not read
is opened for its owner for as long as it is counted.  A file without a name counts as long as a process has it open or
mapped.
"""
# ruff: noqa: PTH101, PTH116, PTH123, PTH208

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Collection, Sequence

from ..processes.proc_table import table
from .confined_paths import FOLDER

READ_AND_ENTER = 0o500
PLACE = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
HELD = 256
"""So many folders, one in the other, are held open; what lies deeper is gone through from there, when these are done."""
WAITING = 1_000
"""So many folders may wait for that; each further one counts as if it held ``UNCOUNTED`` files, and so does one for which
no descriptor is left."""
UNCOUNTED = 1_000_000
IN_MEMORY = (b"/memfd:", b"/dev/zero", b"/dev/shm/", b"/SYSV")


def usage(folders: Sequence[str], hidden: Collection[str] = ()) -> tuple[int, int]:
    """Bytes on disk and number of files and folders below these folders, with those that have lost their name there.

    ``hidden`` paths are closed on purpose, and stay so.
    """
    count = _Count(hidden)
    for folder in folders:
        count.below(folder)
    size, unnamed = _unnamed(count.devices)
    return count.size + size, count.number + unnamed


class _Folder:
    """An open folder, and the names of those in it that are still to be gone through."""

    __slots__ = ("closed", "descriptor", "left", "path")

    def __init__(self, descriptor: int, path: str, closed: int | None) -> None:
        self.descriptor = descriptor
        self.path = path
        self.closed = closed
        """The mode that it has without us, where it was opened."""
        self.left: list[str] = []

    def leave(self) -> None:
        """Close it, also for its owner where it was so before."""
        if self.closed is not None:
            with contextlib.suppress(OSError):
                os.fchmod(self.descriptor, self.closed)
        os.close(self.descriptor)


class _Count:
    """Goes through folders and adds up."""

    def __init__(self, hidden: Collection[str]) -> None:
        self.size = self.number = 0
        self.devices: set[int] = set()
        self._hidden = hidden
        self._waiting: list[_Folder] = []

    def below(self, path: str) -> None:
        """Add all that lies below a folder."""
        root = self._open(path, path, None)
        if root is None:
            return
        self.devices.add(os.fstat(root.descriptor).st_dev)
        self._waiting.append(root)
        while self._waiting:
            self._through(self._waiting.pop())

    def _through(self, first: _Folder) -> None:
        held = [first]
        self._list(first)
        while held:
            folder = held[-1]
            if not folder.left:
                held.pop().leave()
                continue
            name = folder.left.pop()
            below = self._open(name, f"{folder.path}/{name}", folder.descriptor)
            if below is None:
                continue
            if len(held) < HELD:
                self._list(below)
                held.append(below)
            elif len(self._waiting) < WAITING:
                self._waiting.append(below)
            else:
                self.number += UNCOUNTED
                below.leave()

    def _list(self, folder: _Folder) -> None:
        """Count what lies in it."""
        try:
            with os.scandir(folder.descriptor) as entries:
                for entry in entries:
                    self.number += 1
                    with contextlib.suppress(OSError):  # it went away
                        self.size += entry.stat(follow_symlinks=False).st_blocks * 512
                        if entry.is_dir(follow_symlinks=False):
                            folder.left.append(entry.name)
        except OSError as error:
            self._not_seen(error)

    def _not_seen(self, error: OSError) -> None:
        """A folder that could not be opened: too much where it may hide anything, nothing where it is gone or not ours."""
        if error.errno in (errno.EMFILE, errno.ENFILE):
            self.number += UNCOUNTED

    def _open(self, name: str, path: str, parent: int | None) -> _Folder | None:
        """A folder with all that its owner needs to go through it; None where it is none of ours, or gone."""
        try:
            place = os.open(name, PLACE, dir_fd=parent)
        except OSError as error:
            self._not_seen(error)
            return None
        try:
            known = os.fstat(place)
            mode = stat.S_IMODE(known.st_mode)
            closed = mode & READ_AND_ENTER != READ_AND_ENTER and known.st_uid == os.geteuid() != 0
            if closed and path in self._hidden:
                return None
            if closed:
                os.chmod(f"/proc/self/fd/{place}", mode | READ_AND_ENTER)
            return _Folder(os.open(".", FOLDER, dir_fd=place), path, mode if closed else None)
        except OSError as error:
            self._not_seen(error)
            return None
        finally:
            os.close(place)


def _unnamed(devices: Collection[int]) -> tuple[int, int]:
    """Bytes and number of the files on these devices that no folder names and our processes hold open, or mapped."""
    found: dict[int, int] = {}
    pids = tuple(table(os.getpid()))
    for pid in pids:
        with contextlib.suppress(OSError):
            for name in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    known = os.stat(f"/proc/{pid}/fd/{name}")
                    if not known.st_nlink and known.st_dev in devices and stat.S_ISREG(known.st_mode):
                        found[known.st_ino] = known.st_blocks * 512
    for inode, size in _mapped_and_deleted(pids).items():
        found.setdefault(inode, size)
    return sum(found.values()), len(found)


def _mapped_and_deleted(pids: Sequence[int]) -> dict[int, int]:
    """Files without a name that processes have mapped: by inode, up to where they are mapped."""
    found: dict[int, int] = {}
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/maps", "rb") as source:
            for line in source:
                if line.endswith(b" (deleted)\n"):
                    place, _, offset, _, inode, path = line.split(None, 5)
                    if not path.startswith(IN_MEMORY) and not path.startswith(b"/tmp/"):
                        begin, _, end = place.partition(b"-")
                        size = int(offset, 16) + int(end, 16) - int(begin, 16)
                        found[int(inode)] = max(found.get(int(inode), 0), size)
    return found
