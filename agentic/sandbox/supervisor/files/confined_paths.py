"""Paths below one folder, whatever the folder's contents do meanwhile.

A path is walked component by component, each opened relative to the descriptor of the one before with O_NOFOLLOW.  Links
are resolved here, by hand, and only to places below the root; ``..`` never leaves it.  So a component that is swapped for
a link during the walk makes the open fail instead of leading outside.  Only regular files are opened, never blocking, and
what was opened is looked at again, so a FIFO or a device does not hang anybody.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections import deque
from collections.abc import Generator, Iterable

from ..frames import Fault

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
MAX_LINKS = 16
HASHED = 64 * 1024 * 1024
BLOCK = 1 << 20


class Located:
    """A place: its name in the folder ``parent`` (a descriptor), and the path from the root with all links resolved."""

    def __init__(self, parent: int, name: str, path: str) -> None:
        self.parent = parent
        self.name = name
        self.path = path

    def status(self) -> os.stat_result | None:
        """What stands there (a last link is not followed), None if nothing does."""
        try:
            return os.stat(self.name, dir_fd=self.parent, follow_symlinks=False)
        except FileNotFoundError:
            return None


class Confined:
    """The paths below ``root``; ``hidden`` ones are refused with all below them."""

    def __init__(self, root: str, what: str = "the workspace") -> None:
        self.root = root.rstrip("/")
        self.hidden: frozenset[str] = frozenset()
        self._what = what
        self._fd = os.open(root, FOLDER)

    def is_hidden(self, path: str) -> bool:
        """The path, or a folder above it, is hidden."""
        if not self.hidden:
            return False
        while path:
            if path in self.hidden:
                return True
            path = path.rpartition("/")[0]
        return False

    def hidden_places(self) -> frozenset[str]:
        """The whole paths of what is hidden."""
        return frozenset(f"{self.root}/{path}" for path in self.hidden)

    @contextlib.contextmanager
    def locate(self, path: str, *, follow: bool = True, make_parents: bool = False) -> Generator[Located]:
        """The place that ``path`` names; ``follow`` resolves a link at its end too."""
        walk = _Walk(self, path, follow, make_parents)
        try:
            yield walk.run()
        finally:
            walk.close()

    def open_root(self) -> int:
        """A fresh descriptor of the root."""
        return os.open(".", FOLDER, dir_fd=self._fd)

    def parts(self, path: str, original: str) -> deque[str]:
        """The components of a path as given, relative to the root."""
        if "\0" in path:
            raise Fault("refused", "it has a NUL in it", original)
        if path.startswith("/"):
            if path != self.root and not path.startswith(self.root + "/"):
                place = os.path.normpath(path)
                raise Fault("refused", f"it is outside of {self._what}", original, barred="outside", place=place)
            path = path[len(self.root) :]
        return deque(part for part in path.split("/") if part not in ("", "."))

    @contextlib.contextmanager
    def open_folder(self, path: str) -> Generator[tuple[int, str]]:
        """A descriptor of a folder and its path from the root."""
        with self.locate(path) as at:
            descriptor = _open(at, FOLDER, path)
        try:
            yield descriptor, at.path
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def open_file(self, path: str) -> Generator[tuple[int, os.stat_result, str]]:
        """A descriptor of a regular file, its status, and its path from the root."""
        with self.locate(path) as at:
            descriptor = open_regular(at, path)
        try:
            yield descriptor, os.fstat(descriptor), at.path
        finally:
            os.close(descriptor)


class _Walk:
    def __init__(self, confined: Confined, path: str, follow: bool, make_parents: bool) -> None:
        self._confined = confined
        self._path = path
        self._follow = follow
        self._make = make_parents
        self._stack = [confined.open_root()]
        self._names: list[str] = []
        self._links = 0

    def close(self) -> None:
        for descriptor in self._stack:
            os.close(descriptor)

    def run(self) -> Located:
        parts = self._confined.parts(self._path, self._path)
        while parts:
            part = parts.popleft()
            if part == "..":
                self._up()
                continue
            target = self._link(part) if parts or self._follow else None
            if target is not None:
                self._jump(target, parts)
            elif parts:
                self._down(part)
            else:
                return Located(self._stack[-1], part, self._reach(part))
        return Located(self._stack[-1], ".", "/".join(self._names))

    def _up(self) -> None:
        if not self._names:
            place = os.path.normpath(self._path)
            raise Fault("refused", "it leads outside of the workspace", self._path, barred="outside", place=place)
        self._names.pop()
        os.close(self._stack.pop())

    def _link(self, part: str) -> str | None:
        try:
            return os.readlink(part, dir_fd=self._stack[-1])
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT):
                return None
            raise _as_fault(error, self._path) from None

    def _jump(self, target: str, parts: deque[str]) -> None:
        self._links += 1
        if self._links > MAX_LINKS:
            raise Fault("refused", "it goes through too many links", self._path)
        if target.startswith("/"):
            while self._names:
                self._up()
        parts.extendleft(reversed(self._confined.parts(target, self._path)))

    def _reach(self, part: str) -> str:
        path = "/".join([*self._names, part])
        if self._confined.is_hidden(path):
            raise Fault("refused", "it is hidden by .aiignore", self._path, barred="hidden", place=path)
        return path

    def _down(self, part: str) -> None:
        self._reach(part)
        if self._make:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, 0o755, dir_fd=self._stack[-1])
        try:
            self._stack.append(os.open(part, FOLDER, dir_fd=self._stack[-1]))
        except OSError as error:
            raise _as_fault(error, self._path) from None
        self._names.append(part)


def _as_fault(error: OSError, path: str) -> Fault:
    if error.errno == errno.ENOENT:
        return Fault("missing", f"{path}: there is no such file or folder", path)
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return Fault("refused", "a part of it is not a folder", path)
    return Fault("failed", f"{path}: {error.strerror}", path)


def _open(at: Located, flags: int, path: str) -> int:
    try:
        return os.open(at.name, flags, dir_fd=at.parent)
    except OSError as error:
        raise _as_fault(error, path) from None


def open_regular(at: Located, path: str) -> int:
    """A descriptor of a regular file; a FIFO, device, socket or folder is refused."""
    status = at.status()
    if status is None:
        raise Fault("missing", f"{path}: there is no such file", path)
    _require_regular(status, path)
    descriptor = _open(at, PLAIN, path)
    try:
        _require_regular(os.fstat(descriptor), path)
    except Fault:
        os.close(descriptor)
        raise
    return descriptor


def _require_regular(status: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise Fault("refused", "it is a folder", path)
    if not stat.S_ISREG(status.st_mode):
        raise Fault("refused", "it is no regular file", path)


def pieces(descriptor: int) -> Iterable[bytes]:
    """The bytes of an open file, from where it stands."""
    while piece := os.read(descriptor, BLOCK):
        yield piece


def sha_of(descriptor: int) -> str:
    """The hash of an open file; a file too large to hash is told apart by size and time."""
    status = os.fstat(descriptor)
    if status.st_size > HASHED:
        return f"unhashed:{status.st_size}:{status.st_mtime_ns}"
    digest = hashlib.sha256()
    os.lseek(descriptor, 0, os.SEEK_SET)
    for piece in pieces(descriptor):
        digest.update(piece)
    return digest.hexdigest()
