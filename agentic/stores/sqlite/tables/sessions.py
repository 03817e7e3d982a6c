"""Threads with an agent, and small facts."""

from __future__ import annotations

from datetime import datetime
from typing import cast

import orjson
from pydantic import JsonValue

from agentic.ports.runtime import SessionRow
from agentic.stores.sqlite.file.connection import Connection
from agentic.stores.sqlite.tables.event_rows import micros, moment

_ROW = "SELECT thread, channel, guild, title, created, accessed, confidence, settings FROM sessions"


def save(connection: Connection, row: SessionRow) -> None:
    """Create or replace."""
    connection.execute(
        "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            row.thread,
            row.channel,
            row.guild,
            row.title,
            _micros(row.created),
            _micros(row.accessed),
            row.confidence,
            orjson.dumps(row.settings).decode(),
        ),
    )


def one(connection: Connection, thread: str) -> SessionRow | None:
    """One thread."""
    row = connection.execute(f"{_ROW} WHERE thread = ?", (thread,)).fetchone()
    return None if row is None else _row(row)


def every(connection: Connection) -> list[SessionRow]:
    """All of them, last accessed first."""
    return [_row(row) for row in list(connection.execute(f"{_ROW} ORDER BY accessed DESC NULLS LAST, thread"))]


def set_fact(connection: Connection, key: str, value: str) -> None:
    """Keep a fact."""
    connection.execute("INSERT OR REPLACE INTO facts (key, value) VALUES (?, ?)", (key, value))


def fact(connection: Connection, key: str) -> str | None:
    """A fact, or None."""
    return cast(str | None, connection.execute("SELECT value FROM facts WHERE key = ?", (key,)).get)


def _micros(at: datetime | None) -> int | None:
    return None if at is None else micros(at)


def _row(values: object) -> SessionRow:
    thread, channel, guild, title, created, accessed, confidence, settings = cast(
        tuple[str, str, str, str, int | None, int | None, int, str], values
    )
    return SessionRow(
        thread,
        channel,
        guild,
        title,
        None if created is None else moment(created),
        None if accessed is None else moment(accessed),
        confidence,
        cast(dict[str, JsonValue], orjson.loads(settings)),
    )
