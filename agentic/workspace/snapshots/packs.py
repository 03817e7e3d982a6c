"""Content of many files in one file: written once, in order, made durable by a single fsync."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
from collections.abc import Generator
from itertools import chain
from os import pread
from pathlib import Path
from typing import BinaryIO

from agentic.workspace.snapshots.manifest import Entry
from agentic.workspace.snapshots.sparse_files import Content

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


def content(packs: Path, entry: Entry) -> Generator[tuple[int, bytes]]:
    """A file's data, each piece with its place; what lies between is zeros.

    Raises ``ContentLost`` at the end where it is not what its hash says.
    """
    try:
        with contextlib.ExitStack() as opened:
            file = opened.enter_context((packs / entry.pack).open("rb")) if entry.kept else None
            if file is not None:
                file.seek(entry.offset)
            yield from _pieces(file, entry)
    except OSError as error:
        raise ContentLost(str(error)) from error


def whole(packs: Path, entry: Entry) -> bytes:
    """All of a file at once, for one that is small.  Raises ``ContentLost``."""
    return _together(content(packs, entry), entry)


def whole_from(kept: bytes, entry: Entry) -> bytes:
    """The same, of what its pack holds of it.  Raises ``ContentLost``."""
    return _together(_pieces(io.BytesIO(kept), entry), entry)


def sample(packs: Path, entry: Entry, size: int) -> bytes:
    """About ``size`` bytes of a large file without holes: from its beginning, its middle and its end.

    Raises ``ContentLost``; nobody checks that they are what was kept.
    """
    if entry.holes:
        raise ContentLost(entry.sha)
    try:
        with (packs / entry.pack).open("rb") as file:
            return b"".join(pread(file.fileno(), length, entry.offset + at) for at, length in windows(entry.size, size))
    except OSError as error:
        raise ContentLost(str(error)) from error


def windows(size: int, most: int) -> tuple[tuple[int, int], ...]:
    """Where the beginning, the middle and the end of a large file lie, and how much of each is read."""
    piece = most // 3
    return ((0, piece), ((size - piece) // 2, piece), (size - piece, piece))


def blob_id(packs: Path, entry: Entry) -> str:
    """Under which id git keeps a file's content.  Raises ``ContentLost``."""
    digest, came = hashlib.sha1(b"blob %d\0" % entry.size, usedforsecurity=False), 0
    for place, block in chain(content(packs, entry), ((entry.size, b""),)):
        for at in range(came, place, BLOCK):
            digest.update(bytes(min(BLOCK, place - at)))
        digest.update(block)
        came = place + len(block)
    return digest.hexdigest()


def _pieces(file: BinaryIO | None, entry: Entry) -> Generator[tuple[int, bytes]]:
    came = Content(entry.size)
    for begin, length in (*entry.holes, (entry.size, 0)):
        while file is not None and came.size < begin and (block := file.read(min(BLOCK, begin - came.size))):
            yield came.size, block
            came.add(block)
        if length and came.size == begin:
            came.skip(length)
    if came.size != entry.size or came.sha != entry.sha:
        raise ContentLost(entry.sha)


def _together(pieces: Generator[tuple[int, bytes]], entry: Entry) -> bytes:
    together = bytearray(entry.size)
    for place, block in pieces:
        together[place : place + len(block)] = block
    return bytes(together)
