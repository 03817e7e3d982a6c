"""Puts paths of a workspace back, by descriptor and following no link.

Each file is written beside its place and renamed over it, so that nothing is ever written through a hard link and nobody
sees half a file.  Where something else stands than was expected a moment ago, it is left alone and named.
"""

from __future__ import annotations

import contextlib
import os
import stat
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentic.ports.failpoints import reach
from agentic.sandbox.folder_removal import remove_tree
from agentic.workspace.snapshots.manifest import Entry, Manifest
from agentic.workspace.snapshots.packs import content
from agentic.workspace.snapshots.scan import CACHES, FOLDER, CalledOff, stamp_of

Wanted = Mapping[str, Entry | None]
"""How each path is to be; None = nothing is to stand there."""
_MEANWHILE = "it changed just now"


@dataclass(slots=True)
class Restored:
    """What was done: paths that are as wanted again, and those that were left, with the reason."""

    files: list[str] = field(default_factory=list[str])
    left: dict[str, str] = field(default_factory=dict[str, str])
    lost: str = ""
    """The snapshot that was wanted and is lost, so that an earlier one was used; '' for none."""


def restore(workspace: Path, packs: Path, wanted: Wanted, now: Manifest, called_off: Sequence[bool] = ()) -> Restored:
    """Bring every path of ``wanted`` into its state; ``now`` is what stands there at present.

    Raises ``ContentLost``, ``OSError``, and ``CalledOff`` once ``called_off`` has something in it; what was done until
    then stays, and doing it again goes on from there.
    """
    reach("restore.before")
    work = _Restoring(os.open(workspace, FOLDER), packs, now, called_off)
    try:
        for path in sorted(
            (p for p, entry in wanted.items() if _is_in_the_way(entry, now.entries.get(p))), reverse=True
        ):
            work.remove(path, wanted[path])
        for path, entry in sorted(wanted.items()):
            if entry is not None and path not in work.done.left:
                work.make(path, entry)
                reach("restore.file")
    finally:
        os.close(work.root)
    reach("restore.after")
    return work.done


def _is_in_the_way(wanted: Entry | None, present: Entry | None) -> bool:
    return present is not None and (wanted is None or wanted.kind != present.kind)


@dataclass(slots=True)
class _Restoring:
    root: int
    packs: Path
    now: Manifest
    called_off: Sequence[bool]
    done: Restored = field(default_factory=Restored)

    def remove(self, path: str, wanted: Entry | None) -> None:
        """Remove a file, a link, or a folder in which nothing is left."""
        present = self.now.entries[path]
        act = _remove_folder if present.kind == "dir" else _remove_file
        if self._attempt(path, present, act) and wanted is None and present.kind != "dir":
            self.done.files.append(path)

    def make(self, path: str, entry: Entry) -> None:
        """Make a folder, a link or a file."""
        present = self.now.entries.get(path)
        if present is not None and present.kind != entry.kind:
            present = None  # it was removed
        act = self._make_folder if entry.kind == "dir" else self._make_file
        if self._attempt(path, present, lambda folder, name: act(folder, name, entry)) and entry.kind != "dir":
            self.done.files.append(path)

    def _attempt(self, path: str, present: Entry | None, act: Callable[[int, str], None]) -> bool:
        """Act in the folder of ``path``, unless something else stands there than should."""
        self._go_on()
        name = path.rpartition("/")[2]
        try:
            with self._folder_of(path) as folder:
                if _differs(folder, name, present):
                    self.done.left[path] = _MEANWHILE
                else:
                    act(folder, name)
                    return True
        except FileNotFoundError:
            self.done.left[path] = "its folder is gone"
        except (NotADirectoryError, IsADirectoryError, FileExistsError):
            self.done.left[path] = _MEANWHILE
        except PermissionError:
            self.done.left[path] = "it cannot be written"
        return False

    def _go_on(self) -> None:
        if self.called_off:
            raise CalledOff

    def _make_folder(self, folder: int, name: str, entry: Entry) -> None:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, entry.mode, dir_fd=folder)
            descriptor = os.open(name, FOLDER, dir_fd=folder)
            try:
                if not os.listdir(descriptor):  # noqa: PTH208 - of a descriptor; else it is not what was just made
                    self._own(descriptor)
            finally:
                os.close(descriptor)

    def _make_file(self, folder: int, name: str, entry: Entry) -> None:
        fresh = f".{uuid.uuid4().hex}.restoring"
        try:
            if entry.kind == "link":
                self._link(folder, fresh, entry)
            else:
                self._write(folder, fresh, entry)
            os.rename(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(fresh, dir_fd=folder)
            raise

    def _write(self, folder: int, name: str, entry: Entry) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(name, flags, 0o600, dir_fd=folder)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor, not a path
            for place, block in content(self.packs, entry):
                self._go_on()
                file.seek(place)
                file.write(block)
            file.truncate(entry.size)
            os.fchmod(descriptor, entry.mode)
            self._own(descriptor)

    def _link(self, folder: int, name: str, entry: Entry) -> None:
        os.symlink(entry.sha, name, dir_fd=folder)
        descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            if stat.S_ISLNK(os.fstat(descriptor).st_mode):
                self._own(descriptor)
        finally:
            os.close(descriptor)

    def _own(self, descriptor: int) -> None:
        """As root, what is made belongs to whom the workspace belongs to.

        By descriptor: a name could by now stand for something that is hidden from them.
        """
        if os.geteuid() == 0:
            owner = os.fstat(self.root)
            os.chown(f"/proc/self/fd/{descriptor}", owner.st_uid, owner.st_gid)

    @contextlib.contextmanager
    def _folder_of(self, path: str) -> Generator[int]:
        descriptor = os.open(".", FOLDER, dir_fd=self.root)
        try:
            for part in path.split("/")[:-1]:
                below = os.open(part, FOLDER, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = below
            yield descriptor
        finally:
            os.close(descriptor)


def _differs(folder: int, name: str, expected: Entry | None) -> bool:
    """Whether something stands there that is not what the look before found; a folder is any folder."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    if stat.S_ISDIR(status.st_mode):
        return expected is not None and expected.kind != "dir"
    if expected is None or expected.kind == "dir":
        return True
    if expected.kind == "link":
        return not stat.S_ISLNK(status.st_mode) or os.readlink(name, dir_fd=folder) != expected.sha
    return not stat.S_ISREG(status.st_mode) or (bool(expected.stamp) and expected.stamp != stamp_of(status))


def _remove_file(folder: int, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def _remove_folder(folder: int, name: str) -> None:
    """A folder that did not exist then, with the caches in it; one that holds anything else stays."""
    descriptor = os.open(name, FOLDER, dir_fd=folder)
    try:
        names = os.listdir(descriptor)  # noqa: PTH208 - of a descriptor
        if all(one in CACHES for one in names):
            for one in names:
                remove_tree(one, descriptor)
    finally:
        os.close(descriptor)
    with contextlib.suppress(OSError):
        os.rmdir(name, dir_fd=folder)
