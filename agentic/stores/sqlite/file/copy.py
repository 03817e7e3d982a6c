"""A copy of a database while others write to it: one moment of it, in whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

import apsw

from agentic.ports.errors import StoreUnavailable
from agentic.ports.maintenance import Told
from agentic.stores.sqlite.file.connection import Connection, connect
from agentic.stores.sqlite.file.presence_file import check_present
from agentic.stores.sqlite.file.sqlite_errors import plainly

STEP_PAGES = 2_000

KEPT_COPIES = 2
"""Copies from before a migration; older ones are removed."""


def open_quietly(path: Path) -> Connection:
    """A connection that only looks: it changes nothing, and leaves the write-ahead log to those who write.

    Raises ``StoreCorrupt`` and ``StoreUnavailable``.
    """
    check_present(path)
    if not path.exists():
        raise StoreUnavailable(f"{path} is not there")
    with plainly():
        opened = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        opened.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection = cast(Connection, opened)
        connection.set_busy_timeout(5_000)
        connection.wal_autocheckpoint(0)
        connection.execute("PRAGMA query_only = 1")
    return connection


def copy(source: Path, target: Path, told: Told = lambda _: None) -> None:
    """Write the database as it is at this moment to ``target``, a new file, and make that durable.

    The pages are read in one transaction, so writers go on meanwhile and nothing of what they do is half there.
    """
    looking = open_quietly(source)
    try:
        with plainly():
            looking.execute("BEGIN")
            looking.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # from here on this moment is what is read
            _copy_pages(looking, target, told)
            looking.execute("ROLLBACK")
    finally:
        looking.close(force=True)


def keep_copy(connection: Connection, path: Path, version: int) -> None:
    """Keep the database as it is before a migration from ``version``, beside it; only the newest copies stay."""
    kept = path.with_name(f"{path.name}.before-{version + 1}")
    fresh = kept.with_name(f"{kept.name}.{os.getpid()}.part")
    fresh.unlink(missing_ok=True)
    try:
        connection.execute("VACUUM INTO ?", (str(fresh),))
        fresh.chmod(0o600)
        with fresh.open("rb") as file:
            os.fsync(file.fileno())
        fresh.replace(kept)
    finally:
        fresh.unlink(missing_ok=True)
    copies = [each for each in path.parent.glob(f"{path.name}.before-*") if each.suffix.rpartition("-")[2].isdigit()]
    for old in sorted(copies, key=lambda each: int(each.name.rpartition("-")[2]))[:-KEPT_COPIES]:
        old.unlink(missing_ok=True)


def _copy_pages(source: Connection, target: Path, told: Told) -> None:
    page = cast(int, source.execute("PRAGMA page_size").get)
    copied = connect(str(target))
    try:
        with cast(apsw.Connection, copied).backup("main", cast(apsw.Connection, source), "main") as backup:
            done = 0
            while not backup.done:
                backup.step(STEP_PAGES)
                told((backup.page_count - backup.remaining - done) * page)
                done = backup.page_count - backup.remaining
        copied.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it
    finally:
        copied.close()
