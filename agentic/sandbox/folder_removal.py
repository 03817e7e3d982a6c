"""Removes folders that a sandbox filled, however deep they are, and also where their owner closed them to himself.

``shutil.rmtree`` calls itself for each folder in a folder, and so ends with an error in one of a thousand.
"""

from __future__ import annotations

import contextlib
import os
import stat
import uuid
from pathlib import Path

_PLACE = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_tree(folder: Path | str, dir_fd: int | None = None) -> None:
    """Remove a folder and all in it, following no link; what cannot be removed stays, and nothing is raised.

    A folder in a folder is moved to the top first, so that no more than two are open.
    """
    with contextlib.suppress(OSError):
        top = _opened(folder, dir_fd)
        try:
            waiting = _without_files(top)
            while waiting:
                waiting += _lifted(waiting.pop(), top)
        finally:
            os.close(top)
        os.rmdir(folder, dir_fd=dir_fd)


def _lifted(name: str, top: int) -> list[str]:
    """Remove a folder at the top; returns the new names of those in it, which are at the top now."""
    lifted: list[str] = []
    with contextlib.suppress(OSError):
        descriptor = _opened(name, top)
        try:
            for inner in _without_files(descriptor):
                os.close(_opened(inner, descriptor))
                fresh = f".{uuid.uuid4().hex}"
                os.rename(inner, fresh, src_dir_fd=descriptor, dst_dir_fd=top)
                lifted.append(fresh)
        finally:
            os.close(descriptor)
        os.rmdir(name, dir_fd=top)
    return lifted


def _without_files(descriptor: int) -> list[str]:
    """Remove what is no folder; returns the folders."""
    folders: list[str] = []
    with os.scandir(descriptor) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            else:
                with contextlib.suppress(OSError):
                    os.unlink(entry.name, dir_fd=descriptor)
    return folders


def _opened(name: Path | str, parent: int | None) -> int:
    """A folder, which its owner may read, write and enter from now on."""
    place = os.open(name, _PLACE, dir_fd=parent)
    try:
        known = os.fstat(place)
        if known.st_mode & 0o700 != 0o700 and known.st_uid == os.geteuid():
            Path(f"/proc/self/fd/{place}").chmod(stat.S_IMODE(known.st_mode) | 0o700)
        return os.open(".", _FOLDER, dir_fd=place)
    finally:
        os.close(place)
