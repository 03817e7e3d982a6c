"""Hiding files from the commands of a sandbox, from the outside, while it runs.

Nothing can be mounted into a running sandbox without rights that no sandbox here has.  So a hidden file changes hands:
where Threadwright is root it belongs to root with mode 0600, and the sandbox's user can neither read it nor change that.
Where it is an ordinary user, files and commands have the same owner and only the mode can be taken away: a plain ``cat``
fails, a command that sets out to change the mode back succeeds.  ``Hidden.firm`` says which of the two it is.  What is
hidden when a sandbox begins is mounted over too (``covers``), which is firm for everybody.

Every step goes by descriptor and follows no link, because the tree belongs to whoever wrote in it.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import threading
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

MAX_DEPTH = 64
_STRAYS = ""
"""Their row in the ledger: no path is empty."""


@dataclass(frozen=True, slots=True)
class _Before:
    uid: int
    gid: int
    mode: int
    inode: int = 0


class Hidden:
    """The paths of one workspace that are hidden now, and how they were before; the ledger survives a crash."""

    def __init__(self, workspace: Path, ledger: Path) -> None:
        self._workspace = workspace
        self._ledger = ledger
        self._before, self._strays = _load(ledger)
        self._lock = threading.Lock()
        self._began = self._over = False

    @property
    def firm(self) -> bool:
        """The sandbox's user cannot undo it."""
        return os.geteuid() == 0

    @property
    def paths(self) -> tuple[str, ...]:
        """What is hidden now."""
        return tuple(self._before)

    @property
    def strays(self) -> frozenset[int]:
        """Inodes of what was hidden and then moved away from its name: it stays closed, whatever it is called now."""
        return frozenset(self._strays)

    def set(self, paths: Iterable[str]) -> None:
        """Hide exactly these paths; those no longer named become as they were.

        It runs in a thread, which goes on where its call was given up: once all was shown again, it hides nothing.
        """
        with self._lock:
            if not self._over:
                self._began = True
                self._set(set(paths))

    def _set(self, wanted: set[str]) -> None:
        lifted = [path for path in self._before if path not in wanted]
        new = {path: before for path in sorted(wanted) if (before := self._visible(path)) is not None}
        if not lifted and not new:
            return
        self._strays |= {self._before[path].inode for path in new if path in self._before} - {0}
        self._before |= new
        self._save()  # before the act: a crash in between must leave a way back
        for path in new:
            self._apply(path, None)
        for path in lifted:
            before = self._before.pop(path)
            if self._stands(path, before):
                self._apply(path, before)
            else:
                self._strays.add(before.inode)
        self._save()

    def lift(self) -> None:
        """Show everything again: what a crash left hidden, and at the end of the sandbox."""
        with self._lock:
            self._over = self._began
            self._set(set())

    def _stands(self, path: str, before: _Before) -> bool:
        """Whether what was hidden still has its name; a ledger of an earlier version does not know."""
        with _parent(self._workspace, path) as parent:
            status = _status(parent, path) if parent is not None else None
        return not before.inode or (status is not None and status.st_ino == before.inode)

    def _visible(self, path: str) -> _Before | None:
        with _parent(self._workspace, path) as parent:
            if parent is None:
                return None
            status = _status(parent, path)
        if status is None or stat.S_ISLNK(status.st_mode):
            return None
        hidden = (
            not stat.S_IMODE(status.st_mode) & 0o077 and status.st_uid == 0
            if self.firm
            else not stat.S_IMODE(status.st_mode)
        )
        return (
            None
            if hidden and path in self._before
            else _Before(status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode), status.st_ino)
        )

    def _apply(self, path: str, before: _Before | None) -> None:
        with _parent(self._workspace, path) as parent:
            if parent is None:
                return
            with contextlib.suppress(FileNotFoundError, OSError):
                descriptor = os.open(path.rsplit("/", 1)[-1], os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
                try:
                    self._change(descriptor, before)
                finally:
                    os.close(descriptor)

    def _change(self, descriptor: int, before: _Before | None) -> None:
        status = os.fstat(descriptor)
        if stat.S_ISLNK(status.st_mode):
            return
        handle = f"/proc/self/fd/{descriptor}"
        closed = (0o700 if stat.S_ISDIR(status.st_mode) else 0o600) if self.firm else 0
        if before is None:
            os.chmod(handle, closed)  # noqa: PTH101 - by descriptor, so that no link is followed
            if self.firm:
                os.chown(handle, 0, 0)
            return
        if self.firm:
            os.chown(handle, before.uid, before.gid)
        os.chmod(handle, before.mode)  # noqa: PTH101 - as above

    def _save(self) -> None:
        if not self._before and not self._strays:
            self._ledger.unlink(missing_ok=True)
            return
        rows = {path: [was.uid, was.gid, was.mode, was.inode] for path, was in self._before.items()}
        fresh = self._ledger.with_suffix(".new")
        fresh.write_text(json.dumps(rows | {_STRAYS: sorted(self._strays)}))
        fresh.replace(self._ledger)


def _load(ledger: Path) -> tuple[dict[str, _Before], set[int]]:
    try:
        rows: dict[str, list[int]] = json.loads(ledger.read_text())
    except (FileNotFoundError, ValueError):
        return {}, set()
    strays = set(rows.pop(_STRAYS, []))
    return {path: _Before(*was) for path, was in rows.items()}, strays


@contextlib.contextmanager
def _parent(workspace: Path, path: str) -> Generator[int | None]:
    """A descriptor of the folder that holds ``path``; None where that is gone or led through a link."""
    opened: list[int] = []
    try:
        opened.append(os.open(workspace, _FOLDER))
        for part in path.split("/")[:-1]:
            opened.append(os.open(part, _FOLDER, dir_fd=opened[-1]))
        yield opened[-1]
    except OSError:
        yield None
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _status(parent: int, path: str) -> os.stat_result | None:
    try:
        return os.stat(path.rsplit("/", 1)[-1], dir_fd=parent, follow_symlinks=False)
    except OSError:
        return None


def adopt(folder: Path, uid: int, gid: int, but: frozenset[int] = frozenset()) -> None:
    """Give a folder and all in it to the sandbox's user; only root can, and only what is not theirs yet is touched.

    Inodes of ``but`` stay whose they are, with all below them; one that is open to others is a new thing with an old number.
    Goes no deeper than ``MAX_DEPTH``: whoever made folders without end in the sandbox owns them already.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if os.geteuid() != 0:
        return
    waiting = [""]
    while waiting:
        inner = waiting.pop()
        with _parent(folder, f"{inner}/x" if inner else "x") as descriptor:
            if descriptor is not None:
                names = _adopt_entries(descriptor, uid, gid, but)
                waiting += [f"{inner}/{name}" if inner else name for name in names if inner.count("/") < MAX_DEPTH]
    if folder.stat().st_uid != uid:
        os.chown(folder, uid, gid, follow_symlinks=False)


def _adopt_entries(descriptor: int, uid: int, gid: int, but: frozenset[int]) -> list[str]:
    """Take over what stands in an open folder; returns the names of its folders."""
    folders: list[str] = []
    with os.scandir(descriptor) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                if entry.inode() in but and not stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode) & 0o077:
                    continue
                if entry.stat(follow_symlinks=False).st_uid != uid:
                    os.chown(entry.name, uid, gid, dir_fd=descriptor, follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
    return folders
