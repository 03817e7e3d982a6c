"""Schedules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import cast

from agentic.ports.schedules import ScheduleRow
from agentic.stores.event_rows import micros, moment
from agentic.stores.sqlite.file.connection import Connection

_ROW = "SELECT id, guild, person, thread, due, body, revision FROM schedules"


def put(connection: Connection, row: ScheduleRow) -> ScheduleRow | None:
    """Insert a new one, or change one that still is as it was read."""
    due = None if row.due is None else micros(row.due)
    if row.revision == 0:
        connection.execute(
            "INSERT INTO schedules (id, guild, person, thread, due, body, revision) VALUES (?, ?, ?, ?, ?, ?, 1)"
            " ON CONFLICT (id) DO NOTHING",
            (row.id, row.guild, row.person, row.thread, due, row.body),
        )
    else:
        connection.execute(
            "UPDATE schedules SET guild = ?, person = ?, thread = ?, due = ?, body = ?, revision = revision + 1"
            " WHERE id = ? AND revision = ?",
            (row.guild, row.person, row.thread, due, row.body, row.id, row.revision),
        )
    return replace(row, revision=row.revision + 1) if connection.changes() else None


def one(connection: Connection, id: str) -> ScheduleRow | None:
    """One of them."""
    row = connection.execute(f"{_ROW} WHERE id = ?", (id,)).fetchone()
    return None if row is None else _row(row)


def some(connection: Connection, guild: str, person: str, thread: str) -> list[ScheduleRow]:
    """Those that fit, in the order in which they were made."""
    where = "(?1 = '' OR guild = ?1) AND (?2 = '' OR person = ?2) AND (?3 = '' OR thread = ?3)"
    rows = connection.execute(f"{_ROW} WHERE {where} ORDER BY position", (guild, person, thread))
    return [_row(row) for row in list(rows)]


def due(connection: Connection, by: datetime) -> list[ScheduleRow]:
    """Those that are due by then."""
    rows = connection.execute(f"{_ROW} WHERE due <= ? ORDER BY due, position", (micros(by),))
    return [_row(row) for row in list(rows)]


def delete(connection: Connection, ids: Sequence[str]) -> None:
    """Forget them."""
    for id in ids:
        connection.execute("DELETE FROM schedules WHERE id = ?", (id,))


def _row(values: object) -> ScheduleRow:
    id, guild, person, thread, due, body, revision = cast(tuple[str, str, str, str, int | None, str, int], values)
    return ScheduleRow(id, guild, person, thread, None if due is None else moment(due), body, revision)
