"""Events as lines of JSON in a file, whose size is bounded: a full one is renamed, and the oldest one goes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path

from agentic.core.outside.outside_events import AnyOutsideEvent, as_json
from agentic.event_targets.event_target import EventTarget, NotDelivered

FILE_BYTES = 16 * 1024 * 1024
OLDER_FILES = 4
"""``events.jsonl.1`` is the one before, ``.4`` the oldest."""


class EventFile(EventTarget):
    """Appends to a file, and makes each delivery durable."""

    name = "file"

    def __init__(self, path: Path, most: int = FILE_BYTES) -> None:
        self._path, self._most = path, most
        self.place = str(path)

    async def deliver(self, events: Sequence[AnyOutsideEvent]) -> AsyncIterator[str]:
        """Write them all, or none."""
        lines = b"".join(as_json(event) + b"\n" for event in events)
        try:
            await asyncio.to_thread(self._append, lines)
        except OSError as error:
            why = f"{self._path} cannot be written ({error.strerror or type(error).__name__})"
            raise NotDelivered(f"{why}: make room, or make it writable") from error
        for event in events:
            yield event.key

    async def close(self) -> None:
        """Nothing is held open."""

    def _append(self, lines: bytes) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._path.exists() and self._path.stat().st_size + len(lines) > self._most:
            self._rename()
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            before = os.fstat(descriptor).st_size
            # A process that died while it wrote left half a line, whose event comes again.
            torn = before > 0 and os.pread(descriptor, 1, before - 1) != b"\n"
            left = memoryview(b"\n" + lines if torn else lines)
            try:
                while left:
                    left = left[os.write(descriptor, left) :]
                os.fsync(descriptor)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(descriptor, before)
                raise
        finally:
            os.close(descriptor)

    def _rename(self) -> None:
        for number in range(OLDER_FILES, 0, -1):
            older = self._path if number == 1 else self._older(number - 1)
            if older.exists():
                older.replace(self._older(number))

    def _older(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")
