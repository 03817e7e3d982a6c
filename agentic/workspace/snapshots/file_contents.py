"""Single files of a workspace, read and unlocked by descriptor and following no link."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Collection, Generator, Sequence
from pathlib import Path

from agentic.workspace.snapshots.manifest import Manifest
from agentic.workspace.snapshots.packs import windows
from agentic.workspace.snapshots.scan import FOLDER, PLAIN

_HANDLE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_NEEDED = {"dir": 0o700, "file": 0o600, "link": 0}


def contents(workspace: Path, paths: Collection[str], at_most: int, *, sampled: bool = False) -> dict[str, bytes]:
    """The files at these paths, without those that cannot be read; of those above ``at_most`` bytes ``windows``, or none."""
    found: dict[str, bytes] = {}
    for path in paths:
        with contextlib.suppress(OSError), _opened(workspace, path, FOLDER, PLAIN) as descriptor:
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode) and (sampled or status.st_size <= at_most):
                pieces = ((0, at_most),) if status.st_size <= at_most else windows(status.st_size, at_most)
                found[path] = b"".join(os.pread(descriptor, length, at) for at, length in pieces)
    return found


def unlock(workspace: Path, before: Manifest, paths: Sequence[str]) -> None:
    """Give the owner back what rights they had before, from the outermost folder on.  Raises ``OSError``."""
    for path in sorted(paths):
        entry = before.entries[path]
        with (
            contextlib.suppress(FileNotFoundError, NotADirectoryError),
            _opened(workspace, path, _HANDLE, _HANDLE) as handle,
        ):
            mode = os.fstat(handle).st_mode
            if not stat.S_ISLNK(mode):
                os.chmod(f"/proc/self/fd/{handle}", stat.S_IMODE(mode) | (entry.mode & _NEEDED[entry.kind]))  # noqa: PTH101


def unlock_root(workspace: Path) -> bool:
    """Give the owner of a workspace what rights to it they lack; whether they lacked any.  Raises ``OSError``."""
    mode = workspace.stat().st_mode
    if mode & 0o700 == 0o700:
        return False
    workspace.chmod(stat.S_IMODE(mode) | 0o700)
    return True


@contextlib.contextmanager
def _opened(workspace: Path, path: str, folders: int, last: int) -> Generator[int]:
    descriptor = os.open(workspace, FOLDER)
    try:
        *parents, name = path.split("/")
        for part, flags in (*((part, folders) for part in parents), (name, last)):
            below = os.open(part, flags, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)
