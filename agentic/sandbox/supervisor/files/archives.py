"""Unpacking archives that others made, within caps on bytes, number of entries and ratio.  Runs in a forked child."""
# ruff: noqa: SIM115

from __future__ import annotations

import os
import tarfile
import zipfile
from collections.abc import Callable, Generator
from typing import IO

from ..frames import Fault, Json, Request
from .confined_paths import Confined
from .operations import Files

MAX_ENTRIES_SEEN = 200_000
MAX_TOLD = 200
RATIO_FLOOR = 1024 * 1024
"""Below so many bytes the ratio says nothing."""


class Entry:
    """One member of an archive; ``refused`` says why it is left out."""

    def __init__(self, name: str, open_it: Callable[[], IO[bytes] | None], executable: bool, refused: str = "") -> None:
        self.name = name
        self.open_it = open_it
        self.executable = executable
        self.refused = refused


def extract(confined: Confined, request: Request) -> tuple[dict[str, Json], bytes]:
    """Unpack a zip or tar archive of the workspace below ``target``."""
    path = request.text("path")
    with confined.open_file(path) as (descriptor, status, _), os.fdopen(os.dup(descriptor), "rb") as stream:
        unpacking = _Unpacking(confined, request, max(status.st_size, 1))
        try:
            for entry in _entries(stream, path):
                unpacking.take(entry)
        except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, RuntimeError) as error:
            raise Fault("failed", f"{path}: the archive cannot be read: {error}", path) from None
    return unpacking.header(), b""


def _entries(stream: IO[bytes], path: str) -> Generator[Entry]:
    if zipfile.is_zipfile(stream):
        stream.seek(0)
        yield from _zip_entries(stream)
        return
    stream.seek(0)
    try:
        archive = tarfile.open(fileobj=stream, mode="r:*")
    except tarfile.TarError:
        raise Fault("refused", "it is no zip or tar archive", path) from None
    with archive:
        for member in archive:
            plain = "" if member.isfile() else ("a folder" if member.isdir() else "a link or device")
            yield Entry(member.name, lambda m=member: archive.extractfile(m), bool(member.mode & 0o100), plain)


def _zip_entries(stream: IO[bytes]) -> Generator[Entry]:
    with zipfile.ZipFile(stream) as archive:
        for info in archive.infolist():
            mode = info.external_attr >> 16
            kind = mode & 0o170000
            refused = "a folder" if info.is_dir() else ("" if kind in (0, 0o100000) else "a link or device")
            if info.flag_bits & 1:
                refused = "encrypted"
            yield Entry(info.filename, lambda i=info: archive.open(i), bool(mode & 0o100), refused)


class _Unpacking:
    def __init__(self, confined: Confined, request: Request, packed: int) -> None:
        self._files = Files(confined, lambda _path, _sha: None)
        self._target = request.text("target", ".")
        self._path = request.text("path")
        self._max_bytes = request.integer("max_bytes", 512 * 1024 * 1024)
        self._max_files = request.integer("max_files", 20_000)
        self._max_ratio = request.seconds("max_ratio", 200.0)
        self._packed = packed
        self._seen = 0
        self._size = 0
        self._made: list[str] = []
        self._skipped: list[str] = []

    def header(self) -> dict[str, Json]:
        """The result."""
        made: list[Json] = list(self._made)
        skipped: list[Json] = list(self._skipped[:MAX_TOLD])
        if len(self._skipped) > MAX_TOLD:
            skipped.append(f"… and {len(self._skipped) - MAX_TOLD} more")
        return {"files": made, "size": self._size, "skipped": skipped}

    def take(self, entry: Entry) -> None:
        """Write one entry, or note why not; past a cap nothing more is written."""
        self._seen += 1
        if self._seen > MAX_ENTRIES_SEEN:
            raise Fault("refused", f"the archive has more than {MAX_ENTRIES_SEEN} entries", self._path)
        name = entry.name.replace("\\", "/")
        if entry.refused == "a folder":
            return
        if name.startswith("/") or ".." in name.split("/") or "\0" in name:
            entry.refused = "its name leads outside"
        if entry.refused:
            self._skipped.append(f"{name[:200]}: {entry.refused}")
            return
        if len(self._made) >= self._max_files:
            raise Fault("refused", f"the archive has more than {self._max_files} files", self._path)
        self._write(entry, f"{self._target}/{name}")

    def _write(self, entry: Entry, path: str) -> None:
        content = self._content(entry)
        header: dict[str, Json] = {"path": path, "create": True, "executable": entry.executable}
        try:
            self._files.write(Request(header, content))
        except Fault as fault:
            self._skipped.append(f"{path[:200]}: {fault.message}")
            return
        self._made.append(path.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))

    def _content(self, entry: Entry) -> bytes:
        stream = entry.open_it()
        if stream is None:
            return b""
        content = bytearray()
        with stream:
            while piece := stream.read(1 << 18):
                content += piece
                self._size += len(piece)
                if self._size > self._max_bytes:
                    raise Fault("refused", f"unpacked it has more than {self._max_bytes} bytes", self._path)
                if self._size > RATIO_FLOOR and self._size > self._packed * self._max_ratio:
                    raise Fault("refused", f"it unpacks to over {self._max_ratio:.0f} times its size", self._path)
        return bytes(content)
