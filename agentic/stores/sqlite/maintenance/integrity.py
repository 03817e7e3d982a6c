"""Whether a database holds what was written: by SQLite's own look at its pages, and by the checksum of each row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import apsw
from pydantic import ValidationError

from agentic.core.events.execution_events import InboxItem, OutboxItem
from agentic.ports.errors import StoreCorrupt, StoreError, StoreTooNew
from agentic.ports.maintenance import Damage
from agentic.stores.event_rows import COLUMNS, to_envelope
from agentic.stores.sqlite.file.connection import Connection
from agentic.stores.sqlite.file.copy import open_quietly
from agentic.stores.sqlite.file.schema import check, there
from agentic.stores.sqlite.file.sqlite_errors import plainly
from agentic.stores.sqlite.tables import blobs, labels

SHOWN = 20
"""Problems beyond these are not listed."""


def pages(path: Path, *, thoroughly: bool = False) -> tuple[Damage, ...]:
    """What SQLite finds wrong with a file's structure; ``thoroughly``, also whether its indexes agree with its rows."""
    try:
        connection = open_quietly(path)
        try:
            with plainly():
                return tuple(_pages(connection, "integrity_check" if thoroughly else "quick_check"))
        finally:
            connection.close(force=True)
    except StoreCorrupt as corrupt:
        return (Damage(str(corrupt)),)


def whole(path: Path, home: Path | None = None) -> tuple[Damage, ...]:
    """Everything that can be known of a database of ours: its pages, each event, each content.

    Of a copy, large contents lie in its ``home``.  Raises ``StoreTooNew`` and ``StoreUnavailable``.
    Takes about a minute for a gigabyte.
    """
    return pages(path, thoroughly=True) or rows(path, home)


def rows(path: Path, home: Path | None = None) -> tuple[Damage, ...]:
    """What of its rows and contents is not what was written, where its pages are good."""
    connection = open_quietly(path)
    try:
        with plainly():
            check(connection, path)
            blobs_folder = (home or path.parent) / "blobs"
            found = (
                *_logs(connection),
                *_items(connection),
                *_labels(connection),
                *_contents(connection, blobs_folder),
            )
    except StoreTooNew:
        raise
    except StoreCorrupt as corrupt:
        return (Damage(str(corrupt)),)
    finally:
        connection.close(force=True)
    return found[:SHOWN]


def _pages(connection: Connection, pragma: str) -> Iterator[Damage]:
    for row in connection.execute(f"PRAGMA {pragma}({SHOWN})"):
        if row[0] != "ok":
            yield Damage(str(row[0]).replace("\n", " "))


def _logs(connection: Connection) -> Iterator[Damage]:
    for number, name in list(
        connection.execute(f"SELECT id, name FROM executions WHERE {there(connection)} ORDER BY id")
    ):
        for table in ("events", "outcomes"):
            rows = connection.execute(f"SELECT {COLUMNS} FROM {table} WHERE execution = ? ORDER BY seq", (number,))
            try:
                seqs = [to_envelope(cast(str, name), row).seq for row in rows]
            except (StoreError, apsw.Error, UnicodeDecodeError) as error:
                yield Damage(str(error), cast(str, name))
                continue
            if seqs != list(range(1, len(seqs) + 1)):
                yield Damage(f"{table} are missing from the log of {name}", cast(str, name))


def _items(connection: Connection) -> Iterator[Damage]:
    kinds: tuple[tuple[str, str, type[InboxItem | OutboxItem]], ...] = (
        ("inbox", "SELECT id, thread, item FROM inbox WHERE item IS NOT NULL", InboxItem),
        ("outbox", "SELECT key, thread, item FROM outbox WHERE delivered IS NULL", OutboxItem),
    )
    for box, select, kind in kinds:
        for name, thread, item in list(connection.execute(select)):
            try:
                kind.model_validate_json(cast(str, item))
            except ValidationError:
                yield Damage(f"{box} item {name} of thread {thread} cannot be read and is lost")


def _labels(connection: Connection) -> Iterator[Damage]:
    """Labels, where the file is new enough to have them."""
    if not list(connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'labels'")):
        return
    for execution, problem in labels.damaged(connection):
        yield Damage(problem, execution)


def _contents(connection: Connection, folder: Path) -> Iterator[Damage]:
    for (sha,) in list(connection.execute("SELECT sha FROM blobs")):
        digest = cast(bytes, sha).hex()
        try:
            blobs.get(connection, folder, digest)
        except StoreError as error:
            yield Damage(str(error))
