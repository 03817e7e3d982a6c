"""Frames: two big-endian lengths, a JSON header, a payload.  The same on both sides
(``agentic/sandbox/protocol/channel.py``)."""

from __future__ import annotations

import json
import os
import struct
from collections import deque
from typing import Union

Json = Union[None, bool, int, float, str, "list[Json]", "dict[str, Json]"]

LENGTHS = struct.Struct("!II")
MAX_FRAME = 128 * 1024 * 1024
READ = 1 << 18


class Fault(Exception):
    """A request that cannot be answered as asked; becomes an error frame.

    kind: refused, conflict, gone, missing, failed.  ``barred``: a rule keeps everybody off ``place`` (outside, hidden).
    """

    def __init__(
        self, kind: str, message: str, path: str = "", sha: str = "", barred: str = "", place: str = ""
    ) -> None:
        super().__init__(message)
        self.barred = barred
        self.place = place
        self.kind = kind
        self.message = message
        self.path = path
        self.sha = sha

    def header(self) -> dict[str, Json]:
        """The error as a header."""
        error: dict[str, Json] = {"error": self.kind, "message": self.message, "path": self.path, "sha": self.sha}
        return {**error, "barred": self.barred, "place": self.place} if self.barred else error


class Request:
    """A header with typed access; what is missing or of another type is the default."""

    def __init__(self, header: dict[str, Json], payload: bytes) -> None:
        self.header = header
        self.payload = payload

    @property
    def id(self) -> int:
        """The number that the answer carries, 0 for a frame that wants none."""
        return self.integer("id")

    def text(self, name: str, default: str = "") -> str:
        """A string."""
        value = self.header.get(name)
        return value if isinstance(value, str) else default

    def optional_text(self, name: str) -> str | None:
        """A string or None."""
        value = self.header.get(name)
        return value if isinstance(value, str) else None

    def integer(self, name: str, default: int = 0) -> int:
        """A whole number."""
        value = self.header.get(name)
        return int(value) if isinstance(value, (int, float)) else default

    def seconds(self, name: str, default: float = 0.0) -> float:
        """A number."""
        value = self.header.get(name)
        return float(value) if isinstance(value, (int, float)) else default

    def flag(self, name: str, default: bool = False) -> bool:
        """A truth value."""
        value = self.header.get(name)
        return value if isinstance(value, bool) else default

    def texts(self, name: str) -> list[str]:
        """A list of strings."""
        value = self.header.get(name)
        return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []

    def mapping(self, name: str) -> dict[str, Json]:
        """An object."""
        value = self.header.get(name)
        return value if isinstance(value, dict) else {}

    def environment(self, name: str) -> dict[str, str]:
        """An object of strings."""
        return {key: value for key, value in self.mapping(name).items() if isinstance(value, str)}


class FrameReader:
    """Bytes in, requests out."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._buffer = bytearray()

    def read(self) -> list[Request] | None:
        """The requests that are complete now; None at the end of the pipe."""
        try:
            chunk = os.read(self._descriptor, READ)
        except BlockingIOError:
            return []
        if not chunk:
            return None
        self._buffer += chunk
        return self._complete()

    def _complete(self) -> list[Request]:
        requests: list[Request] = []
        start = 0
        while len(self._buffer) - start >= LENGTHS.size:
            head, size = LENGTHS.unpack_from(self._buffer, start)
            if head + size > MAX_FRAME:
                raise ValueError("frame too long")
            begin = start + LENGTHS.size
            end = begin + head + size
            if len(self._buffer) < end:
                break
            header: dict[str, Json] = json.loads(bytes(self._buffer[begin : begin + head]))
            requests.append(Request(header, bytes(self._buffer[begin + head : end])))
            start = end
        del self._buffer[:start]
        return requests


class QueuedWriter:
    """Bytes out, never blocking: what the pipe does not take waits in a queue."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.waiting = 0
        self._queue: deque[memoryview] = deque()

    def put(self, data: bytes) -> None:
        """Queue bytes; ``flush`` writes them."""
        self._queue.append(memoryview(data))
        self.waiting += len(data)

    def flush(self) -> bool:
        """Write what can be written; True when nothing waits.  Raises ``OSError`` where nobody reads."""
        while self._queue:
            piece = self._queue[0]
            try:
                written = os.write(self.descriptor, piece)
            except BlockingIOError:
                return False
            self.waiting -= written
            if written == len(piece):
                self._queue.popleft()
            else:
                self._queue[0] = piece[written:]
        return True


class FrameWriter(QueuedWriter):
    """Frames out, in the same way."""

    def send(self, header: dict[str, Json], payload: bytes = b"") -> None:
        """Queue a frame and write what can be written."""
        head = json.dumps(header, separators=(",", ":")).encode()
        self.put(LENGTHS.pack(len(head), len(payload)) + head + payload)
        self.flush()
