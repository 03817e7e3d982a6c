"""Content by hash: in the database, or above a megabyte in a file beside it.

A file stands complete on the disk before the transaction that names it, so a name never points at half of a content.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from agentic.core.events.execution_events import BlobRef
from agentic.ports.errors import StoreCorrupt, StoreUnavailable
from agentic.ports.failpoints import reach
from agentic.stores.sqlite.file.connection import Connection

IN_DATABASE_BYTES = 1_000_000
"""Larger content goes into a file."""

Content = tuple[bytes, bytes | None]
"""A hash, and its content or None where that stands in a file."""


def keep(folder: Path, ref: BlobRef, content: bytes) -> Content:
    """The content as its row will hold it; large content is in its file, on disk, when this returns."""
    if len(content) <= IN_DATABASE_BYTES:
        return bytes.fromhex(ref.sha), content
    try:
        _write_file(_path(folder, ref.sha), content)
    except OSError as error:
        raise StoreUnavailable(f"{folder} could not be written ({error}): make room or make it writable") from error
    return bytes.fromhex(ref.sha), None


def keep_by_hash(folder: Path, sha: str, content: bytes) -> Content:
    """The same for content from elsewhere, which must be what its hash says."""
    if hashlib.sha256(content).hexdigest() != sha:
        raise StoreCorrupt(f"blob {sha} does not match its hash: take it from where it came once more")
    return keep(folder, BlobRef(sha=sha, size=len(content)), content)


def insert(connection: Connection, contents: Sequence[Content]) -> None:
    """Keep each hash once."""
    for content in contents:
        connection.execute("INSERT INTO blobs (sha, content) VALUES (?, ?) ON CONFLICT DO NOTHING", content)


def in_files(connection: Connection) -> frozenset[str]:
    """The hashes of contents that stand in files."""
    rows = connection.execute("SELECT sha FROM blobs WHERE content IS NULL")
    return frozenset(cast(bytes, row[0]).hex() for row in rows)


def get(connection: Connection, folder: Path, sha: str) -> bytes | None:
    """The content, checked against its hash; None where it was never kept."""
    try:
        digest = bytes.fromhex(sha)
    except ValueError:
        return None
    row = connection.execute("SELECT content FROM blobs WHERE sha = ?", (digest,)).fetchone()
    if row is None:
        return None
    content = cast(bytes | None, row[0])
    if content is None:
        content = _read_file(_path(folder, sha))
    if hashlib.sha256(content).digest() != digest:
        raise StoreCorrupt(f"blob {sha} does not match its hash: restore it from a backup")
    return content


@contextmanager
def alone(folder: Path) -> Generator[None]:
    """Let no other process or thread in that wants a folder of files ``alone``.

    Else a sweep that has found a file old and unnamed deletes it in the moment in which it is needed again.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _path(folder: Path, sha: str) -> Path:
    return folder / sha[:2] / sha[2:]


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise StoreCorrupt(f"{path} is missing: restore it from a backup") from error
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be read: {error}") from error


def _write_file(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with alone(path.parent):
        if path.exists() and path.stat().st_size == len(content):
            os.utime(path)  # it is needed again: nobody takes it for a leftover
            return
    descriptor, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
        reach("store.blob.renamed")
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
    for folder in (path.parent, path.parent.parent):
        _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
