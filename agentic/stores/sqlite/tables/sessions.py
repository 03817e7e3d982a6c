"""Threads with an agent, and small facts."""

from __future__ import annotations

from datetime import datetime
from typing import cast

import orjson
from pydantic import JsonValue

from agentic.ports.runtime import SessionRow
from agentic.stores.event_rows import micros, moment
from agentic.stores.sqlite.file.connection import Connection, Value

_ROW = "SELECT thread, channel, guild, title, created, accessed, confidence, settings FROM sessions"
_AGE = "-coalesce(accessed, 0)"
"""Written as the indexes have it, or they are not used."""


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


def after(connection: Connection, thread: str, limit: int) -> list[SessionRow]:
    """So many whose thread comes after this one."""
    return [
        _row(row)
        for row in list(connection.execute(f"{_ROW} WHERE thread > ? ORDER BY thread LIMIT ?", (thread, limit)))
    ]


def recent(connection: Connection, limit: int, guild: str | None, before: SessionRow | None) -> list[SessionRow]:
    """So many that were accessed last, of those after ``before``."""
    where: list[str] = []
    bindings: list[Value] = []
    if guild is not None:
        where.append("guild = ?")
        bindings.append(guild)
    if before is not None:
        age = -(_micros(before.accessed) or 0)
        where.append(f"{_AGE} >= ? AND ({_AGE}, thread) > (?, ?)")  # the first half is what finds the place in an index
        bindings += [age, age, before.thread]
    condition = f"WHERE {' AND '.join(where)}" if where else ""
    query = f"{_ROW} {condition} ORDER BY {_AGE}, thread LIMIT ?"
    return [_row(row) for row in list(connection.execute(query, [*bindings, limit]))]


def of_channel(connection: Connection, channel: str) -> list[SessionRow]:
    """Those in a channel."""
    return [_row(row) for row in list(connection.execute(f"{_ROW} WHERE channel = ? ORDER BY thread", (channel,)))]


def set_fact(connection: Connection, key: str, value: str) -> None:
    """Keep a fact."""
    connection.execute("INSERT OR REPLACE INTO facts (key, value) VALUES (?, ?)", (key, value))


def fact(connection: Connection, key: str) -> str | None:
    """A fact, or None."""
    return cast(str | None, connection.execute("SELECT value FROM facts WHERE key = ?", (key,)).get)


def swap_fact(connection: Connection, key: str, before: str | None, after: str) -> bool:
    """Keep a fact if it is as it was; whether it was."""
    if before is None:
        connection.execute("INSERT OR IGNORE INTO facts (key, value) VALUES (?, ?)", (key, after))
    else:
        connection.execute("UPDATE facts SET value = ? WHERE key = ? AND value = ?", (after, key, before))
    return connection.changes() == 1


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
