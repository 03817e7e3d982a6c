"""A command's output: head and tail in memory, the whole in a file once it is longer than that."""
# ruff: noqa: PTH208

from __future__ import annotations

import contextlib
import os
from collections import deque

from ..files.confined_paths import Confined
from ..frames import Fault, Json, Request

FOLDER = ".threadwright/outputs"
KEPT_FILES = 200
KEPT_BYTES = 512 * 1024 * 1024


class Outputs:
    """The saved outputs, below the home folder, outside of the workspace; the oldest give way."""

    def __init__(self, home: Confined) -> None:
        self._home = home

    def create(self, ref: str) -> int:
        """A new file for an output, open for writing."""
        self._prune()
        with self._home.locate(f"{FOLDER}/{ref}", make_parents=True) as at:
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            return os.open(at.name, flags, 0o600, dir_fd=at.parent)

    def open(self, ref: str) -> int:
        """A saved output, open for reading."""
        if not ref or not ref.replace("-", "").isalnum():
            raise Fault("gone", f"there is no saved output {ref!r}")
        try:
            with self._home.open_file(f"{FOLDER}/{ref}") as (descriptor, _, _):
                return os.dup(descriptor)
        except Fault as fault:
            raise Fault("gone", f"the saved output {ref!r} is no longer there") from fault

    def page(self, request: Request) -> tuple[dict[str, Json], bytes]:
        """Bytes of a saved output."""
        descriptor = self.open(request.text("ref"))
        try:
            size = os.fstat(descriptor).st_size
            offset, limit = request.integer("offset"), min(request.integer("limit", 20_000), 1 << 20)
            data = os.pread(descriptor, limit, offset)
        finally:
            os.close(descriptor)
        return {"size": size, "more": offset + len(data) < size}, data

    def _prune(self) -> None:
        with contextlib.suppress(Fault, OSError), self._home.open_folder(FOLDER) as (descriptor, _):
            rows: list[tuple[int, int, str]] = []
            for name in os.listdir(descriptor):
                with contextlib.suppress(OSError):
                    status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                    rows.append((status.st_mtime_ns, status.st_size, name))
            rows.sort()
            total = sum(size for _, size, _ in rows)
            while rows and (len(rows) >= KEPT_FILES or total > KEPT_BYTES):
                _, size, name = rows.pop(0)
                total -= size
                with contextlib.suppress(OSError):
                    os.unlink(name, dir_fd=descriptor)


class Collector:
    """Takes output in; at most ``cap`` bytes are shown, all of it is kept in a file if it is longer."""

    def __init__(self, outputs: Outputs, ref: str, cap: int) -> None:
        self.total = 0
        self.ref = ref
        self._outputs = outputs
        self._half = cap // 2
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._file: int | None = None
        self._unsaved = False

    @property
    def saved_as(self) -> str:
        """The reference of the file that all of it stands in, '' where there is none."""
        return self.ref if self.truncated and not self._unsaved else ""

    @property
    def truncated(self) -> bool:
        """More came than is shown."""
        return self.total > 2 * self._half

    def feed(self, data: bytes) -> None:
        """Take a piece."""
        if self._file is None and not self._unsaved and self.total + len(data) > 2 * self._half:
            self._save(bytes(self._head) + b"".join(self._tail))
        self.total += len(data)
        if self._file is not None:
            self._save(data)
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._keep_tail(data)

    def shown(self) -> bytes:
        """Head and tail, with a line between them where something is left out."""
        tail = b"".join(self._tail)
        if not self.truncated:
            return bytes(self._head) + tail
        left_out = self.total - 2 * self._half
        where = "they could not be saved" if self._unsaved else f"all of it: output {self.ref}"
        note = f"\n[… {left_out} bytes left out here; {where} …]\n"
        return bytes(self._head) + note.encode() + tail[-self._half :]

    def kept(self, offset: int, limit: int) -> bytes:
        """Bytes of the whole output from ``offset`` on."""
        if self._file is not None:
            return os.pread(self._file, limit, offset)
        return (bytes(self._head) + b"".join(self._tail))[offset : offset + limit]

    def close(self) -> None:
        """Let go of the file; it stays."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _save(self, data: bytes) -> None:
        """Add to the file; where it cannot be had (full, or something stands in its way) only head and tail are kept."""
        try:
            if self._file is None:
                self._file = self._outputs.create(self.ref)
            _write_all(self._file, data)
        except (OSError, Fault):
            self._unsaved = True
            self.close()

    def _keep_tail(self, data: bytes) -> None:
        self._tail.append(data)
        self._tail_size += len(data)
        while self._tail_size - len(self._tail[0]) >= self._half and len(self._tail) > 1:
            self._tail_size -= len(self._tail.popleft())


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
