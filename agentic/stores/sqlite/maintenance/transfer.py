"""Single executions out of one database and into another, row by row as they are stored, checksums and all."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import apsw

from agentic.ports.maintenance import EXECUTION_FIELDS, SESSION_FIELDS, EventRow, Row, StoredExecution
from agentic.stores.event_rows import COLUMNS
from agentic.stores.sqlite.file.connection import Connection, Value
from agentic.stores.sqlite.file.open import open_writer
from agentic.stores.sqlite.file.presence_file import mark_closed, mark_open
from agentic.stores.sqlite.file.schema import (
    BURIED,
    CLEARED,
    FORGOTTEN,
    there,
)
from agentic.stores.sqlite.file.sqlite_errors import plainly
from agentic.stores.stored_executions import IMPORTED, being_deleted, missing


def names(connection: Connection, thread: str) -> list[str]:
    """The executions of a thread, oldest first."""
    rows = connection.execute(
        f"SELECT name FROM executions WHERE thread = ? AND {there(connection)} ORDER BY id", (thread,)
    )
    return [cast(str, row[0]) for row in rows]


def stored(connection: Connection, name: str) -> StoredExecution | None:
    """One execution, None where there is none of that name."""
    select = f"SELECT id, {', '.join(EXECUTION_FIELDS)} FROM executions WHERE name = ? AND {there(connection)}"
    found = connection.execute(select, (name,)).fetchone()
    if found is None:
        return None
    events, outcomes = (_rows(connection, table, found[0]) for table in ("events", "outcomes"))
    return StoredExecution(found[1:], events, outcomes)


def was_deleted(connection: Connection, name: str) -> bool:
    """Whether there was an execution of this name whose log is gone."""
    gone = f"SELECT 1 FROM executions WHERE name = ? AND NOT ({there(connection)})"
    return connection.execute(gone, (name,)).get is not None


def session(connection: Connection, thread: str) -> Row | None:
    """The thread's row."""
    return connection.execute(
        f"SELECT {', '.join(SESSION_FIELDS)} FROM sessions WHERE thread = ?", (thread,)
    ).fetchone()


def _rows(connection: Connection, table: str, number: Value) -> tuple[EventRow, ...]:
    rows = connection.execute(f"SELECT {COLUMNS} FROM {table} WHERE execution = ? ORDER BY seq", (number,))
    return tuple(cast(EventRow, row) for row in rows)


@contextmanager
def opened(path: Path) -> Generator[Connection]:
    """The database, made if it is not there, in one transaction that is durable afterwards, or as if it had not been."""
    with plainly():
        connection = open_writer(path)
        try:
            mark_open(path)
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            mark_closed(path)
            connection.close()


def bring_in(connection: Connection, coming: StoredExecution) -> bool:
    """Add an execution that was checked; False where all of it was there.  Raises ``OtherContent``."""
    known = stored(connection, coming.name)
    if known is not None:
        return _complete(connection, known, coming)
    name, thread, task, started_at, finished = coming.execution
    if connection.execute("SELECT gone FROM executions WHERE name = ?", (name,)).get in (BURIED, FORGOTTEN):
        raise being_deleted(coming.name)
    connection.execute("DELETE FROM executions WHERE name = ? AND gone = ?", (name, CLEARED))
    connection.execute(
        "INSERT INTO executions (name, thread, task, started_at, finished) VALUES (?, ?, ?, ?, ?)",
        (name, thread, task, started_at, finished or IMPORTED),
    )
    number = connection.last_insert_rowid()
    _insert(connection, "events", number, coming.events)
    _insert(connection, "outcomes", number, coming.outcomes)
    # A later owner of the thread is newer than all that wrote here.
    connection.execute(
        "INSERT INTO leases (thread, fence, owner, until, process) VALUES (?1, ?2, '', 0, '')"
        " ON CONFLICT (thread) DO UPDATE SET fence = max(fence, ?2)",
        (thread, max((row[2] for row in coming.events), default=0)),
    )
    # When it came is kept: its age counts from then.
    connection.execute("INSERT OR REPLACE INTO facts (key, value) VALUES (?, unixepoch())", (f"imported: {name}",))
    return True


def bring_in_session(connection: Connection, row: Row) -> None:
    """Add the thread's row; one that is there stays."""
    connection.execute(
        f"INSERT INTO sessions ({', '.join(SESSION_FIELDS)}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        row,
    )


def _complete(connection: Connection, known: StoredExecution, coming: StoredExecution) -> bool:
    """The same execution: what its outcome lacks is added."""
    more = missing(known, coming)
    number = cast(int, connection.execute("SELECT id FROM executions WHERE name = ?", (coming.name,)).get)
    _insert(connection, "outcomes", number, more)
    return bool(more)


def _insert(connection: Connection, table: str, number: int, rows: Sequence[EventRow]) -> None:
    for row in rows:
        connection.execute(
            f"INSERT INTO {table} (execution, {COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (number, *row)
        )
