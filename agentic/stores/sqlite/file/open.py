"""Connections: one that writes, and one that reads."""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from agentic.ports.errors import StoreCorrupt, StoreUnavailable
from agentic.stores.sqlite.file.connection import Connection, connect
from agentic.stores.sqlite.file.presence_file import check_present
from agentic.stores.sqlite.file.schema import prepare

BUSY_MILLISECONDS = 5_000
"""How long to wait for another process that writes."""

WAL_KEPT_BYTES = 8 * 1024 * 1024
"""What the WAL file is cut to after it grew."""

WAL_LAID_OUT_BYTES = 1_280 * 1024
"""A little more than what is written between two checkpoints."""

SPILLED_BYTES = 32 * 1024

HEADER_BYTES = 100

SAFE_SQLITE = (3, 51, 3)
"""The first version whose WAL cannot be reset under a second checkpointer."""


def open_writer(path: Path, busy_milliseconds: int = BUSY_MILLISECONDS) -> Connection:
    """The connection that writes, on a file that is ours and at the newest schema."""
    _create(path)
    connection = connect(str(path))
    connection.set_busy_timeout(busy_milliseconds)
    prepare(connection, path)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA secure_delete = ON")  # what was deleted is not to be found in the file
    connection.execute(f"PRAGMA journal_size_limit = {WAL_KEPT_BYTES}")
    lay_out_wal(connection)
    return connection


def open_reader(path: Path) -> Connection:
    """A connection that only reads and never checkpoints."""
    connection = connect(str(path), apsw.SQLITE_OPEN_READWRITE)
    connection.set_busy_timeout(BUSY_MILLISECONDS)
    connection.execute("PRAGMA query_only = 1")
    connection.wal_autocheckpoint(0)
    return connection


def version_problem(version: str = apsw.sqlite_lib_version()) -> str:
    """What is wrong with the SQLite in use, '' if nothing."""
    if tuple(int(part) for part in version.split(".")) >= SAFE_SQLITE:
        return ""
    return f"SQLite {version} can lose commits when a WAL is reset: install apsw 3.51.3 or newer"


def lay_out_wal(connection: Connection) -> None:
    """Let the WAL have its full length before anyone waits for it.

    A sync of a file that grew also writes the file system's journal, at twice the cost.  What a large transaction spills
    into the WAL stays there as unused length when it is rolled back.
    """
    cached = connection.execute("PRAGMA cache_size").get
    connection.execute("PRAGMA cache_size = 16")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("CREATE TABLE spilled (content BLOB)")
    for _ in range(WAL_LAID_OUT_BYTES // SPILLED_BYTES):
        connection.execute("INSERT INTO spilled VALUES (zeroblob(?))", (SPILLED_BYTES,))
    connection.execute("ROLLBACK")
    connection.execute(f"PRAGMA cache_size = {cached}")


def _create(path: Path) -> None:
    """Make the folder and an empty file that only this user may read; a rest of a file is not made a new one."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_present(path)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        size, wal = path.stat().st_size, path.with_name(f"{path.name}-wal")
        cut = 0 < size < HEADER_BYTES or (size == 0 and wal.exists() and wal.stat().st_size > 0)
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be written ({error}): check that the folder is writable") from error
    if cut:
        raise StoreCorrupt(f"{path} was cut to {size} bytes: restore it from a backup; nothing was overwritten")
