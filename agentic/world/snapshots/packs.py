"""Content of many files in one file: written once, in order, made durable by a single fsync."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator
from pathlib import Path

from agentic.world.snapshots.entries import Entry

BLOCK = 1 << 20


class OpenPack:
    """A pack that is being written; ``keep`` makes it durable, ``drop`` removes it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("xb")
        self._offset = 0

    @property
    def name(self) -> str:
        """The pack's name."""
        return self.path.name

    def begin(self) -> int:
        """The offset at which the next content begins."""
        return self._offset

    def add(self, block: bytes) -> None:
        """Append."""
        self._file.write(block)
        self._offset += len(block)

    def cut(self, offset: int) -> None:
        """Take back everything from ``offset`` on."""
        self._file.seek(offset)
        self._file.truncate()
        self._offset = offset

    def keep(self) -> None:
        """Make it durable; an empty one is removed."""
        if not self._offset:
            self.drop()
            return
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def leave(self) -> None:
        """Keep it for as long as the machine runs; an empty one is removed."""
        if not self._offset:
            self.drop()
            return
        self._file.close()

    def drop(self) -> None:
        """Remove it."""
        self._file.close()
        self.path.unlink(missing_ok=True)


class ContentLost(Exception):
    """Kept content is gone or not what was written."""


def content(packs: Path, entry: Entry) -> Generator[bytes]:
    """A file's content in blocks; raises ``ContentLost`` at the end where it is not what its hash says."""
    digest, left = hashlib.sha256(), entry.size
    if left:
        try:
            with (packs / entry.pack).open("rb") as file:
                file.seek(entry.offset)
                while left and (block := file.read(min(BLOCK, left))):
                    left -= len(block)
                    digest.update(block)
                    yield block
        except OSError as error:
            raise ContentLost(str(error)) from error
    if left or digest.hexdigest() != entry.sha:
        raise ContentLost(entry.sha)
