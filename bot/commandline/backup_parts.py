"""What of a home goes into a backup, while a bot may be working on it.

The databases come first, each as it was at one moment; then what they refer to, which is never changed once it is named:
large contents, and checkpoints, held open under their thread's lock so that none is cleared away meanwhile.  Workspaces
are read by descriptor and following no link, as they stand, without what ``.aiignore`` hides in them.  Sandboxes are not
kept: they are made again.  What does not belong to a home is left out.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Generator, Iterator
from dataclasses import field
from pathlib import Path
from typing import BinaryIO

from agentic.core.lazy_dataclass import dataclass
from agentic.errors import PathRefused, StoreCorrupt
from agentic.stores.sqlite import checking
from agentic.stores.sqlite.copying import copy
from agentic.world.ignore import IgnoreFile
from bot.commandline.backup_archive import Told, Writing
from bot.commandline.backup_places import DATABASES, IGNORED, TREES, Kind, belongs
from bot.state import CHECKPOINTS, DATABASE, TASKS

DEPTH = 64
HIDDEN = "hidden by .aiignore"
_KINDS: dict[int, Kind] = {stat.S_IFLNK: "link", stat.S_IFDIR: "folder", stat.S_IFREG: "file"}
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def places(home: Path) -> Iterator[tuple[str, Path]]:
    """The home itself, and those of `threadwright task`, each with how its names begin."""
    yield "", home
    for task in sorted((home / TASKS).glob("*/")):
        if not task.is_symlink():
            yield f"{TASKS}/{task.name}/", task


def size_of(home: Path) -> int:
    """About how many bytes there are to read."""
    total = 0
    for _, place in places(home):
        for part in (*DATABASES, *TREES, CHECKPOINTS):
            total += sum(_sizes(place / part))
    return total


def _sizes(path: Path) -> Iterator[int]:
    if path.is_file():
        yield path.stat().st_size
    for folder, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(OSError):
                yield Path(folder, name).lstat().st_size


@dataclass(slots=True)
class Gathering:
    """Puts a home into an archive."""

    archive: Writing
    staging: Path
    """A folder for copies of databases; they are removed again."""
    told: Told
    damaged: list[str] = field(default_factory=list[str])
    """What is not as it was once written; it is kept as far as it can be read."""
    left_out: dict[str, str] = field(default_factory=dict[str, str])
    _hidden: frozenset[str] = frozenset()

    def gather(self, home: Path) -> None:
        """All of it."""
        for prefix, place in places(home):
            for name in DATABASES:
                if (place / name).is_file():
                    self._database(place / name, f"{prefix}{name}")
            self._hidden = frozenset(self._told_to_hide(place, prefix))
            for name in (*TREES, IGNORED):
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    self._tree(os.open(place / name, _FOLDER), f"{prefix}{name}")
            for thread in sorted((place / CHECKPOINTS).glob("*/")):
                self._checkpoints(thread, f"{prefix}{CHECKPOINTS}/{thread.name}")

    def _told_to_hide(self, place: Path, prefix: str) -> Iterator[str]:
        """Names in the archive of what people hid in a home's workspaces; a whole workspace where that cannot be told."""
        for workspace in sorted((place / "workspaces").glob("*/")):
            name = f"{prefix}workspaces/{workspace.name}"
            kept = self.staging / "ignored.json"
            kept.unlink(missing_ok=True)
            with contextlib.suppress(FileNotFoundError):
                kept.write_bytes((place / IGNORED / f"{workspace.name}.json").read_bytes())
            try:
                yield from (f"{name}/{path}" for path in IgnoreFile(workspace, kept).hidden())
            except PathRefused:
                yield name

    def _database(self, path: Path, name: str) -> None:
        copied = self.staging / "copy.sqlite"
        try:
            copy(path, copied, self.told)
            ours = path.name == DATABASE
            found = checking.whole(copied, path.parent) if ours else checking.pages(copied, thoroughly=True)
            self.damaged += [f"{name}: {damage.what}" for damage in found]
            with copied.open("rb") as file:
                self.archive.file(name, file, os.fstat(file.fileno()))
        except StoreCorrupt as error:
            if name == DATABASE:
                raise  # without it there is no backup
            self.damaged.append(f"{name}: {error}")
        finally:
            copied.unlink(missing_ok=True)

    def _tree(self, folder: int, name: str, depth: int = 0) -> None:
        try:
            if belongs(name, "folder"):
                self.archive.folder(name, os.fstat(folder).st_mode)
            for entry in sorted(os.listdir(folder)):
                self._entry(folder, entry, f"{name}/{entry}", depth)
        except PermissionError as error:
            self.left_out[name] = error.strerror or str(error)
        finally:
            os.close(folder)

    def _entry(self, folder: int, entry: str, name: str, depth: int) -> None:
        try:
            status = os.stat(entry, dir_fd=folder, follow_symlinks=False)
            sort = stat.S_IFMT(status.st_mode)
            kind = _KINDS.get(sort)
            if name in self._hidden:
                self.left_out[name] = HIDDEN
                return
            if kind is not None and not belongs(name, kind):
                self.left_out[name] = "no bot wrote it there"
                return
            if kind == "link":
                self.archive.link(name, os.readlink(entry, dir_fd=folder))
                return
            if kind is None or depth == DEPTH:
                self.left_out[name] = "neither a file nor a folder" if kind is None else "too deep"
                return
            opened = os.open(entry, _FOLDER if kind == "folder" else _PLAIN, dir_fd=folder)
        except FileNotFoundError:
            return  # deleted meanwhile
        except OSError as error:
            self.left_out[name] = error.strerror or str(error)
            return
        if kind == "folder":
            self._tree(opened, name, depth + 1)
        else:
            with os.fdopen(opened, "rb") as file:
                self._file(name, file)

    def _file(self, name: str, file: BinaryIO) -> None:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            return
        if trouble := self.archive.file(name, file, status, self.told):
            self.damaged.append(f"{name}: {trouble}")

    def _checkpoints(self, thread: Path, name: str) -> None:
        with contextlib.ExitStack() as stack:
            held: list[tuple[str, BinaryIO]] = []
            with _locked(thread):
                found = sorted((*(thread / "packs").glob("*"), *(thread / "manifests").glob("*")))
                held += [
                    (f"{name}/{path.parent.name}/{path.name}", stack.enter_context(path.open("rb")))
                    for path in found
                    if belongs(f"{name}/{path.parent.name}/{path.name}", "file")
                    and path.is_file()
                    and not path.is_symlink()
                ]
            for each, file in held:
                self._file(each, file)


@contextlib.contextmanager
def _locked(thread: Path) -> Generator[None]:
    """Nothing is added to a thread's checkpoints or cleared away."""
    try:
        lock = os.open(thread / "lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        yield
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
