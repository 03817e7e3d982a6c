"""Covers: what ``.aiignore`` hides when a sandbox begins is mounted over in it, so that nothing inside can open it up.

A cover is an empty file or folder with no rights, mounted read-only at the hidden path.  In the sandbox it can neither be
read, written, renamed, removed nor have its mode changed, whoever Threadwright is; and where the folder above it is
renamed, it goes along.  What is hidden later stands only behind ``masks``: nothing can be mounted into what runs.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

MAX_COVERS = 200
"""Each is a mount, and every mount makes the next one slower."""
MAX_PATH = 3_500
"""Bytes of a path, with room for what stands before it in a sandbox."""


@dataclass(frozen=True, slots=True)
class Cover:
    """A path below the workspace that a sandbox is to be begun without."""

    path: str
    folder: bool
    inode: int

    def source(self, made: tuple[Path, Path]) -> Path:
        """What is mounted there."""
        return made[1] if self.folder else made[0]


def covers(workspace: Path, paths: Iterable[str]) -> tuple[Cover, ...]:
    """Those of the hidden paths that can be covered, the nearest first; a folder that cannot be passed is covered itself.

    A link is left out, because what it leads to would be covered in its place.
    """
    found: dict[str, Cover] = {}
    for path in sorted(paths, key=lambda path: (path.count("/"), path)):
        cover = _cover(workspace, path)
        if cover is not None and not any(above in found for above in _above(cover.path)):
            found[cover.path] = cover
        if len(found) == MAX_COVERS:
            break
    return tuple(found.values())


def uncovered(workspace: Path, paths: Iterable[str], covered: Iterable[Cover]) -> tuple[str, ...]:
    """Those of the hidden paths that no cover holds: hidden later, put in another's place, or one too many."""
    held = {cover.path for cover in covered if _inode(workspace / cover.path) in (cover.inode, None)}
    return tuple(
        path for path in paths if not held.intersection((*_above(path), path)) and not (workspace / path).is_symlink()
    )


def moved(workspace: Path, inodes: Collection[int], steps: int = 100_000) -> list[str]:
    """Where the files and folders of these numbers stand now, within so many entries.

    One that is open to others is a new thing with an old number.
    """
    found, waiting = list[str](), [""] if inodes else []
    while waiting and steps > 0:
        folder = waiting.pop()
        try:
            with os.scandir(workspace / folder) as entries:
                for entry in entries:
                    steps -= 1
                    if entry.inode() in inodes and not entry.stat(follow_symlinks=False).st_mode & 0o077:
                        found.append(folder + entry.name)
                    elif entry.is_dir(follow_symlinks=False):
                        waiting.append(f"{folder}{entry.name}/")
        except OSError:
            continue  # it went away, or cannot be looked into
    return found


def made(folder: Path) -> tuple[Path, Path]:
    """The empty file and the empty folder that are mounted."""
    file, inner = folder / "hidden", folder / "hidden.d"
    folder.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        file.touch(0)
    file.chmod(0)
    inner.mkdir(mode=0, exist_ok=True)
    inner.chmod(0)
    return file, inner


def _cover(workspace: Path, path: str) -> Cover | None:
    if len(os.fsencode(path)) > MAX_PATH:
        path = path.partition("/")[0]
    for each in (*_above(path), path):
        try:
            status = (workspace / each).lstat()
        except OSError:
            return None
        folder = stat.S_ISDIR(status.st_mode)
        if each == path or not folder or not status.st_mode & stat.S_IXUSR:
            able = folder or (stat.S_ISREG(status.st_mode) and each == path)
            return Cover(each, folder, status.st_ino) if able else None
    return None


def _above(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[:at]) for at in range(1, len(parts)))


def _inode(path: Path) -> int | None:
    try:
        return path.lstat().st_ino
    except OSError:
        return None
