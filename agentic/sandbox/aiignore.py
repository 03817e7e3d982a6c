"""``.aiignore``: which paths of a workspace no tool may read or write (gitignore syntax).

The file is read on the host, where it lies; the paths it matches are hidden from commands before each of them runs, and
file operations are checked at once.  A file that appears and is read within one command is the documented limit.
The walk follows no link, so a workspace cannot lead it outside.  It enters ``.git``, where a pattern names files; folders
there, and what lies among git's objects, only a pattern that says ``.git`` does: ``logs/`` is not meant to stop git.
All here may take a while and belongs in a thread; how long is bounded in steps, and what was not decided within them is
hidden.

What was hidden once stays hidden: the file lies where the agent works, so a command that deletes or empties it must not
lift what a person laid down.  Every version is kept beside the sandbox's home, out of the agent's reach; a person lifts
one by deleting that record (``kept``).
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from agentic.ports.errors import PathRefused
from agentic.sandbox.gitignore import (
    MAX_BYTES,
    MAX_PATTERN,
    MAX_PATTERNS,
    Ignored,
    PatternLimit,
    Steps,
)

NAME = ".aiignore"
REASON = "it is hidden by .aiignore"
TOO_LONG = (
    f"all is hidden, because .aiignore is too long: at most {MAX_BYTES // 1024} KiB, {MAX_PATTERNS:,} patterns and "
    f"{MAX_PATTERN:,} characters in each"
)
UNDECIDED = "it is hidden, because there is too much here to check it against .aiignore"
TOO_MANY = "there is too much in the workspace to check it against .aiignore"

MAX_VERSIONS = 20
"""Each is kept as it is but the last, which takes up the patterns of all further ones without their exceptions: a flood
of versions drives out nothing that a person laid down."""
MAX_HIDDEN = 20_000
"""Paths that are hidden one by one."""
WALK_STEPS = 25_000_000
_OBJECTS = "/objects/"
CHECK_STEPS = 2_000_000
"""Of one path: tens of folders above it, thousands of patterns."""


class IgnoreFile:
    """The workspace's ``.aiignore``, in every version seen so far; read again whenever it changed.

    ``known``: versions seen before, for whoever only reads and so writes none down.
    """

    def __init__(self, workspace: Path, kept: Path | None = None, known: Sequence[str] = ()) -> None:
        self._workspace = workspace
        self._kept = kept
        self._stamp: tuple[int, int, int] | None = None
        self._lock = threading.Lock()
        self._texts: list[str] = [*recorded(kept), *known]
        self._versions: list[_Version | None] = [_read(text) for text in self._texts]
        self._undecided: frozenset[str] = frozenset()

    def version(self) -> tuple[int, int, int] | None:
        """Changes whenever what is hidden may; None while nothing ever was."""
        versions = self._current()
        return (self._stamp or (0, 0, len(versions))) if versions else None

    def unchanged(self) -> bool:
        """Whether the file stands as it was read last: ``version`` reads nothing then, and needs no thread of its own."""
        try:
            status = (self._workspace / NAME).lstat()
        except OSError:
            return self._stamp is None
        return (status.st_ino, status.st_mtime_ns, status.st_size) == self._stamp

    def check(self, path: str) -> None:
        """Raise ``PathRefused`` if the path, or a folder above it, is hidden."""
        versions, relative = self._current(), _relative(path)
        reason = self._why_hidden(versions, relative, Steps(CHECK_STEPS)) if versions and relative else ""
        if reason:
            raise PathRefused(path, reason, "hidden", relative)

    def visible(self, paths: Sequence[str]) -> frozenset[str]:
        """Those of the paths that are not hidden; within as many steps as one walk takes, the others count as hidden."""
        versions, steps = self._current(), Steps(WALK_STEPS)
        if not versions:
            return frozenset(paths)
        return frozenset(
            path for path in paths if not ((inner := _relative(path)) and self._why_hidden(versions, inner, steps))
        )

    def _why_hidden(self, versions: Sequence[_Version | None], path: str, steps: Steps) -> str:
        parts = path.split("/")
        if None in versions and path != NAME:
            return TOO_LONG
        if parts[0] in self._undecided:
            return UNDECIDED
        try:
            steps.take(len(parts) * len(path))
            above = ["/".join(parts[: at + 1]) for at in range(len(parts))]
            named = any(_named(versions, each, True, steps) for each in above) or _named(versions, path, False, steps)
        except PatternLimit:
            return UNDECIDED
        return REASON if named else ""

    def hidden(self) -> tuple[str, ...]:
        """The paths that exist and are hidden now; of a hidden folder only the folder itself.

        Raises ``PathRefused`` where they are too many to hide, or cannot be told.
        """
        versions = self._current()
        if not versions:
            return ()
        if None in versions:
            found, undecided = [name for name in _names(self._workspace) if name != NAME], set[str]()
        else:
            found, undecided = _walk(self._workspace, versions)
        self._undecided = frozenset(undecided)
        if len(found) > MAX_HIDDEN:
            raise PathRefused(".", TOO_MANY)
        return tuple(sorted(found))

    async def walk(self) -> tuple[str, ...]:
        """As ``hidden``, without holding up the loop, nor whatever else is done in threads."""
        return await asyncio.get_running_loop().run_in_executor(_walkers(), self.hidden)

    def _current(self) -> tuple[_Version | None, ...]:
        with self._lock:
            self._look()
            return tuple(self._versions)

    def _look(self) -> None:
        try:
            descriptor = os.open(self._workspace / NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            self._stamp = None
            return
        try:
            status = os.fstat(descriptor)
            stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
            if stamp != self._stamp:
                self._add(os.read(descriptor, MAX_BYTES + 1).decode("utf-8", "surrogateescape"))
                self._stamp = stamp
        finally:
            os.close(descriptor)

    def _add(self, text: str) -> None:
        if text in self._texts or not text.strip():
            return
        if len(self._texts) >= MAX_VERSIONS:
            merged = _merged(self._texts[-1], text)
            if merged == self._texts[-1]:
                return
            self._texts[-1:], self._versions[-1:] = [merged], [_read(merged)]
        else:
            self._texts.append(text)
            self._versions.append(_read(text))
        if self._kept is not None:
            self._kept.parent.mkdir(parents=True, exist_ok=True)
            fresh = self._kept.with_suffix(".new")
            fresh.write_text(json.dumps(self._texts))
            fresh.replace(self._kept)


@cache
def _walkers() -> ThreadPoolExecutor:
    """Threads of their own, so that long walks through some workspaces leave those of everybody else free."""
    return ThreadPoolExecutor(2, "aiignore")


def recorded(kept: Path | None) -> list[str]:
    """Every version of a workspace's file that was written down."""
    if kept is None or not kept.exists():
        return []
    texts: object = json.loads(kept.read_text())
    return [text for text in texts if isinstance(text, str)] if isinstance(texts, list) else []  # pyright: ignore[reportUnknownVariableType]


class _Version:
    """What one version names, also below ``.git``."""

    def __init__(self, text: str) -> None:
        self._all = Ignored(text)
        about_git = [line for line in text.split("\n") if ".git" in line]
        self._git = Ignored("\n".join(about_git)) if about_git else None

    @property
    def speaks_of_git(self) -> bool:
        """A pattern of it may name folders of git's own, and what lies among its objects."""
        return self._git is not None

    def names(self, path: str, folder: bool, steps: Steps) -> bool:
        """Whether this very path is named."""
        _, inside, within = f"/{path}".partition("/.git/")
        if inside and (folder or _OBJECTS in f"/{within}"):
            return self._git is not None and self._git.names(path, folder, steps)
        return self._all.names(path, folder, steps)


def _merged(old: str, new: str) -> str:
    """The patterns of both without exceptions, so that all is named that either named; too long where they are too many."""
    lines = [line for text in (old, new) for line in text.removeprefix("\ufeff").split("\n")]
    kept = dict.fromkeys(line for line in lines if line.strip() and not line.startswith(("!", "#")))
    return "\n".join(kept)[: MAX_BYTES + 1]


def _read(text: str) -> _Version | None:
    """What a version names; None where it is too long to be read, so that it hides all."""
    try:
        return _Version(text)
    except PatternLimit:
        return None


def _named(versions: Sequence[_Version | None], path: str, folder: bool, steps: Steps) -> bool:
    return any(version is None or version.names(path, folder, steps) for version in versions)


def _relative(path: str) -> str:
    inside = os.path.normpath(path.removeprefix("/workspace").lstrip("/") or ".")
    return "" if inside == "." else inside


def _names(workspace: Path) -> list[str]:
    try:
        return os.listdir(workspace)  # noqa: PTH208 - names alone
    except OSError:
        return []


def _walk(workspace: Path, versions: Sequence[_Version | None]) -> tuple[list[str], set[str]]:
    """What is hidden, and the names at the top below which not all could be decided: those are hidden whole."""
    steps, found, waiting = Steps(WALK_STEPS), list[str](), [""]
    undecided: set[str] = set()
    objects = any(version is not None and version.speaks_of_git for version in versions)
    at = 0
    while at < len(waiting):  # the nearest first, so that what lies deep is what stays undecided
        folder, at = waiting[at], at + 1
        top = folder.partition("/")[0]
        if top in undecided:
            continue
        try:
            below = _entries(workspace, folder, steps, lambda path, is_folder: _named(versions, path, is_folder, steps))
        except PatternLimit:
            if not top:
                raise PathRefused(".", TOO_MANY) from None
            undecided.add(top)
            continue
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                undecided.add(top)  # deeper than a path of the host goes
            continue  # it went away while we looked
        found += [path for path, _, named in below if named]
        waiting += [
            path + "/"
            for path, is_folder, named in below
            if is_folder and not named and (objects or not _holds_objects(path))
        ]
        if len(found) > MAX_HIDDEN and top:
            undecided.add(top)
            found = [path for path in found if path.partition("/")[0] != top]
    return [*(path for path in found if path.partition("/")[0] not in undecided), *undecided], undecided


def _holds_objects(folder: str) -> bool:
    """A folder of git's own with what it stores, which no pattern but one about ``.git`` names."""
    return "/.git/" in f"/{folder}" and folder.endswith("/objects")


def _entries(
    workspace: Path, folder: str, steps: Steps, named: Callable[[str, bool], bool]
) -> list[tuple[str, bool, bool]]:
    """Of each entry of a folder its path, whether it is a folder, and whether it is hidden."""
    below: list[tuple[str, bool, bool]] = []
    with os.scandir(workspace / folder) as entries:
        for entry in entries:
            steps.take(5)
            path, is_folder = folder + entry.name, entry.is_dir(follow_symlinks=False)
            if hidden := named(path, is_folder):
                below.append((path, is_folder, True))
            elif is_folder:
                below.append((path, True, hidden))
    return below
