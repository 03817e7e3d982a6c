"""Files with holes: what is kept of them is what is no hole, and what their hash is.

A hole is a whole block of zeros, whether the disk has it as one or not, so that the same content is the same file
everywhere.  Holes of the disk are not read.  The hash of a file without holes, or of a small one, is the SHA-256 of its
content; of a large one with holes it is that of its data, its holes and its size: nobody reads through a terabyte of nothing.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Generator

GRAIN = 1 << 16
READ = 1 << 20
PLAIN = 1 << 20
"""Bytes up to which the hash is that of the whole content: so large are the files that a sandbox hashes itself."""
_ZEROS = bytes(GRAIN)

Hole = tuple[int, int]
"""Where it begins, and how many bytes it has."""


class Content:
    """Takes a file's content from its beginning to its end, in data and holes, and knows its hash then."""

    def __init__(self, size: int) -> None:
        self._plain = size <= PLAIN
        self._digest = hashlib.sha256()
        self._holes: list[Hole] = []
        self.size = 0

    def add(self, data: bytes) -> None:
        """Data goes on."""
        self._digest.update(data)
        self.size += len(data)

    def skip(self, length: int) -> None:
        """A hole goes on."""
        if self._plain:
            for at in range(0, length, GRAIN):
                self._digest.update(_ZEROS[: length - at])
        if self._holes and sum(self._holes[-1]) == self.size:
            begin, before = self._holes.pop()
            self._holes.append((begin, before + length))
        else:
            self._holes.append((self.size, length))
        self.size += length

    @property
    def holes(self) -> tuple[Hole, ...]:
        """Those that were skipped."""
        return tuple(self._holes)

    @property
    def sha(self) -> str:
        """The hash of all that came."""
        data = self._digest.hexdigest()
        if self._plain or not self._holes:
            return data
        return hashlib.sha256(f"{data} {self._holes} {self.size}".encode()).hexdigest()


def parts(descriptor: int, size: int) -> Generator[bytes | int]:
    """A file's content up to ``size``: data, or the length of a hole; less where it has become shorter."""
    if size < GRAIN:
        yield os.pread(descriptor, size, 0)
        return
    at = 0
    for begin, end in _ranges(descriptor, size):
        if begin > at:
            yield begin - at
        at = begin
        while at < end and (block := os.pread(descriptor, min(READ, end - at), at)):
            yield from _split(block)
            at += len(block)
        if at < end:
            return
    if at < size:
        yield size - at


def _split(block: bytes) -> Generator[bytes | int]:
    begin = 0
    for at in range(0, len(block), GRAIN):
        if block[at : at + GRAIN] == _ZEROS:
            if at > begin:
                yield block[begin:at]
            yield GRAIN
            begin = at + GRAIN
    if begin < len(block):
        yield block[begin:] if begin else block


def _ranges(descriptor: int, size: int) -> Generator[tuple[int, int]]:
    """Where the disk has data, in whole blocks."""
    at = 0
    while at < size:
        found = _seek(descriptor, at, os.SEEK_DATA)
        if found is None:
            return
        begin = found // GRAIN * GRAIN
        hole = _seek(descriptor, found, os.SEEK_HOLE)
        end = size if hole is None else min(size, -(-hole // GRAIN) * GRAIN)
        if begin >= end:
            return
        yield begin, end
        at = end


def _seek(descriptor: int, at: int, what: int) -> int | None:
    """The next data, or hole; None where there is none.  A disk that knows no holes has data everywhere."""
    try:
        return os.lseek(descriptor, at, what)
    except OSError as error:
        if error.errno == errno.EINVAL and what == os.SEEK_DATA:
            return at
        if error.errno in (errno.ENXIO, errno.EINVAL):
            return None
        raise
