"""How far each target outside was told of the logs: a position in ``events`` and one in ``outcomes``.

Positions grow in the order of the commits, so nothing has to be written with an event, and nothing appears later below a
position.  What deletes the last events moves the positions back (``deletion.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, cast

from agentic.core.outside.outline import FOLLOWED, Stream
from agentic.ports.errors import StoreCorrupt, StoreTooNew
from agentic.ports.maintenance import EventRow
from agentic.ports.stores import LogEntry
from agentic.stores.event_rows import COLUMNS, moment, to_envelope
from agentic.stores.sqlite.file.connection import Connection

Table = Literal["events", "outcomes"]
_STREAMS: dict[Table, Stream] = {"events": "log", "outcomes": "outcome"}
_TABLES: dict[Stream, Table] = {"log": "events", "outcome": "outcomes"}
_KINDS = ", ".join(f"'{kind}'" for kind in sorted(FOLLOWED))
_FOLLOWED = f"substr(row.event, 10, instr(substr(row.event, 10, 40), '\"') - 1) IN ({_KINDS})"
"""By the beginning of its JSON, ``{"kind":"finished"``: most rows are never read further."""


def _waiting(table: Table, columns: str) -> str:
    return f"""
        SELECT row.position, executions.name, {columns} FROM {table} AS row
        CROSS JOIN executions ON executions.id = row.execution AND executions.gone = 0
        WHERE row.position > (SELECT {table} FROM publications WHERE target = ?) AND {_FOLLOWED}
            AND NOT EXISTS (SELECT 1 FROM facts WHERE key = 'imported: ' || executions.name)
        ORDER BY row.position LIMIT ?
    """  # names of ours


_ROWS = {table: _waiting(table, ", ".join(f"row.{each}" for each in COLUMNS.split(", "))) for table in _STREAMS}
_OLDEST = {table: _waiting(table, "row.at") for table in _STREAMS}


def subscribe(connection: Connection, target: str) -> None:
    """Begin at the end of the logs, unless the target is known."""
    newest = "(SELECT coalesce(max(position), 0) FROM {})"
    connection.execute(
        "INSERT INTO publications (target, events, outcomes)"
        f" SELECT ?, {newest.format('events')}, {newest.format('outcomes')} WHERE TRUE ON CONFLICT DO NOTHING",
        (target,),
    )


def unpublished(connection: Connection, target: str, limit: int) -> list[LogEntry]:
    """What waits: first of the logs, then of the outcomes.

    The outcomes are read first: whatever is in them, the end of its log is in what is read afterwards.
    """
    outcomes = _entries(connection, "outcomes", target, limit)
    return (_entries(connection, "events", target, limit) + outcomes)[:limit]


def _entries(connection: Connection, table: Table, target: str, limit: int) -> list[LogEntry]:
    entries: list[LogEntry] = []
    for position, execution, *row in list(connection.execute(_ROWS[table], (target, limit))):
        try:
            envelope = to_envelope(cast(str, execution), cast(EventRow, tuple(row)))
        except (StoreCorrupt, StoreTooNew):
            continue
        entries.append(LogEntry(envelope, _STREAMS[table], str(position)))
    return entries


def published(connection: Connection, target: str, entries: Sequence[LogEntry]) -> None:
    """Go on to the last of them that is still there: another event may have taken the place of one that was deleted."""
    left: set[Stream] = {"log", "outcome"}
    for entry in reversed(entries):
        if entry.stream in left and _advance(connection, target, entry):
            left.discard(entry.stream)


def _advance(connection: Connection, target: str, entry: LogEntry) -> bool:
    table, envelope = _TABLES[entry.stream], entry.envelope
    there = (
        f"SELECT 1 FROM {table} AS row JOIN executions ON executions.id = row.execution"
        " WHERE row.position = ? AND row.seq = ? AND executions.name = ?"
    )
    if connection.execute(there, (int(entry.mark), envelope.seq, envelope.execution)).get is None:
        return False
    connection.execute(f"UPDATE publications SET {table} = max({table}, ?) WHERE target = ?", (int(entry.mark), target))
    return True


def waiting_since(connection: Connection, target: str) -> datetime | None:
    """When the oldest event happened that waits for a target; None for nothing, also in a file of an earlier version."""
    if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'publications'").get is None:
        return None
    found = [connection.execute(_OLDEST[table], (target, 1)).fetchone() for table in _STREAMS]
    return min((moment(cast(int, row[2])) for row in found if row is not None), default=None)
