"""File operations: read, write, delete, mkdir, stat, list.  Each answers with a header and a payload, or raises ``Fault``."""
# ruff: noqa: PTH208

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Callable

from ..frames import Fault, Json, Request
from .confined_paths import (
    Confined,
    Located,
    open_regular,
    sha_of,
)

MAX_READ = 32 * 1024 * 1024

Noted = Callable[[str, str], None]
"""Told the path and the hash after a write of ours, '' after a deletion, so that the next scan does not report it."""


def kind_of(mode: int) -> str:
    """The kind of what stands at a path."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "dir"
    return "link" if stat.S_ISLNK(mode) else "other"


class Files:
    """File operations below one root."""

    def __init__(self, confined: Confined, noted: Noted) -> None:
        self._confined = confined
        self._noted = noted

    def read(self, request: Request) -> tuple[dict[str, Json], bytes]:
        """Bytes of a file, with the hash of the whole."""
        path = request.text("path")
        limit = request.header.get("limit")
        with self._confined.open_file(path) as (descriptor, status, relative):
            if limit is None and status.st_size > MAX_READ:
                raise Fault("refused", f"it has {status.st_size} bytes, more than {MAX_READ}; read parts of it", path)
            sha = sha_of(descriptor)
            size = min(limit if isinstance(limit, int) else MAX_READ, MAX_READ)
            content = os.pread(descriptor, size, request.integer("offset"))
        return _described(relative, status, sha), content

    def stat(self, request: Request) -> tuple[dict[str, Json], bytes]:
        """What stands at a path."""
        path = request.text("path")
        try:
            with self._confined.locate(path) as at:
                status = at.status()
                if status is None:
                    return {"exists": False}, b""
                sha = ""
                if request.flag("sha") and stat.S_ISREG(status.st_mode):
                    sha = _sha_at(at, path)
                return {"exists": True, **_described(at.path, status, sha)}, b""
        except Fault as fault:
            if fault.kind == "missing":
                return {"exists": False}, b""
            raise

    def list(self, request: Request) -> tuple[dict[str, Json], bytes]:
        """The names in a folder, sorted, hidden ones left out."""
        limit = request.integer("limit", 1000)
        rows: list[Json] = []
        with self._confined.open_folder(request.text("path", ".")) as (descriptor, relative):
            names = sorted(os.listdir(descriptor))
            prefix = f"{relative}/" if relative else ""
            visible = [name for name in names if not self._confined.is_hidden(prefix + name)]
            for name in visible[:limit]:
                with contextlib.suppress(FileNotFoundError):
                    status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                    rows.append([_text(name), kind_of(status.st_mode), status.st_size])
        return {"entries": rows, "more": len(visible) > limit}, b""

    def mkdir(self, request: Request) -> tuple[dict[str, Json], bytes]:
        """A folder and its parents."""
        with self._confined.locate(request.text("path"), make_parents=True) as at:
            try:
                os.mkdir(at.name, 0o755, dir_fd=at.parent)
            except FileExistsError:
                status = at.status()
                if status is None or not stat.S_ISDIR(status.st_mode):
                    raise Fault("refused", "something else stands there", request.text("path")) from None
        return {}, b""

    def write(self, request: Request) -> tuple[dict[str, Json], bytes]:
        """Replace a file as a whole: a reader sees the old content or the new one."""
        path, create = request.text("path"), request.flag("create", True)
        with self._confined.locate(path, make_parents=create) as at:
            before, mode = _present(at, path)
            expected = request.optional_text("expected")
            if expected is not None and expected != before:
                raise Fault("conflict", "it changed", path, before)
            if not before and not create:
                raise Fault("conflict", "it does not exist", path, "")
            executable = request.header.get("executable")
            if isinstance(executable, bool):
                mode = mode | 0o111 if executable else mode & ~0o111
            _replace(at, request.payload, mode)
            after = hashlib.sha256(request.payload).hexdigest()
            self._noted(at.path, after)
        return {"changes": [[_text(at.path), "modified" if before else "added", before, after]]}, b""

    def delete(self, request: Request) -> tuple[dict[str, Json], bytes]:
        """Delete a file or a link."""
        path = request.text("path")
        with self._confined.locate(path, follow=False) as at:
            status = at.status()
            if status is None:
                raise Fault("missing", f"{path}: there is no such file", path)
            if stat.S_ISDIR(status.st_mode):
                raise Fault("refused", "it is a folder", path)
            before = _sha_at(at, path) if stat.S_ISREG(status.st_mode) else "link"
            expected = request.optional_text("expected")
            if expected is not None and expected != before:
                raise Fault("conflict", "it changed", path, before)
            os.unlink(at.name, dir_fd=at.parent)
            self._noted(at.path, "")
        return {"changes": [[_text(at.path), "deleted", before, ""]]}, b""


def _described(path: str, status: os.stat_result, sha: str) -> dict[str, Json]:
    return {
        "path": _text(path),
        "kind": kind_of(status.st_mode),
        "size": status.st_size,
        "mtime_ns": status.st_mtime_ns,
        "sha": sha,
    }


def _text(name: str) -> str:
    """A name as JSON can carry it; bytes that are no UTF-8 are replaced."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _sha_at(at: Located, path: str) -> str:
    descriptor = open_regular(at, path)
    try:
        return sha_of(descriptor)
    finally:
        os.close(descriptor)


def _present(at: Located, path: str) -> tuple[str, int]:
    status = at.status()
    if status is None:
        return "", 0o644
    return _sha_at(at, path), stat.S_IMODE(status.st_mode) & 0o777


def _replace(at: Located, content: bytes, mode: int) -> None:
    name = f".{os.urandom(8).hex()}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, 0o600, dir_fd=at.parent)
    try:
        try:
            view = memoryview(content)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fchmod(descriptor, mode)
        finally:
            os.close(descriptor)
        os.rename(name, at.name, src_dir_fd=at.parent, dst_dir_fd=at.parent)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=at.parent)
        raise
