"""Visible effects and their receipts.  An item waits while it has no receipt."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import cast

import orjson
from pydantic import ValidationError

from agentic.core.events.execution_events import OutboxItem
from agentic.ports.errors import StoreError
from agentic.ports.runtime import OutboxRow
from agentic.stores.checks import lost_item
from agentic.stores.sqlite.file.connection import Connection, Value

log = logging.getLogger(__name__)

_ROW = "SELECT position, item, delivered FROM outbox"
_WAITING = "INDEXED BY outbox_waiting WHERE delivered IS NULL"
"""Without the word SQLite goes through all that was ever delivered."""
_THREADS = f"SELECT thread FROM outbox {_WAITING} GROUP BY thread ORDER BY min(position)"
_BY_MESSAGE = f"{_ROW} WHERE position = (SELECT item FROM receipts WHERE message = ?)"
_DELIVER = "UPDATE outbox SET delivered = ? WHERE key = ? RETURNING position"


def insert(connection: Connection, items: Sequence[OutboxItem]) -> None:
    """Keep them in order; an existing key is left as it is."""
    for item in items:
        connection.execute(
            "INSERT INTO outbox (key, thread, item) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (item.key, item.thread, item.model_dump_json(exclude_defaults=True)),
        )


def deliver(connection: Connection, key: str, messages: Sequence[str]) -> None:
    """Record what it became; a later receipt takes the place of an earlier one."""
    receipt = orjson.dumps(list(messages)).decode()
    position = connection.execute(_DELIVER, (receipt, key)).get
    if position is None:
        raise StoreError(f"there is no outbox item {key!r}")
    for message in messages:
        connection.execute(
            "INSERT INTO receipts (message, item) VALUES (?1, ?2) ON CONFLICT (message) DO UPDATE SET item = ?2",
            (message, position),
        )


def of_thread(connection: Connection, thread: str) -> list[OutboxItem]:
    """All items of a thread, in order."""
    rows = list(connection.execute(f"{_ROW} WHERE thread = ? ORDER BY position", (thread,)))
    return [_readable(connection, row).item for row in rows]


def reword(connection: Connection, items: Sequence[OutboxItem]) -> None:
    """Other items under the same keys."""
    for item in items:
        written = item.model_dump_json(exclude_defaults=True)
        connection.execute("UPDATE outbox SET item = ? WHERE key = ?", (written, item.key))


def waiting(connection: Connection, thread: str | None) -> list[OutboxRow]:
    """What was not delivered, in order."""
    if thread is None:
        rows = connection.execute(f"{_ROW} {_WAITING} ORDER BY position")
    else:
        rows = connection.execute(f"{_ROW} WHERE delivered IS NULL AND thread = ? ORDER BY position", (thread,))
    return [_readable(connection, row) for row in list(rows)]


def waiting_threads(connection: Connection) -> list[str]:
    """Threads for which something was not delivered, the longest waiting first."""
    return [cast(str, thread) for (thread,) in connection.execute(_THREADS)]


def by_key(connection: Connection, key: str) -> OutboxRow | None:
    """One item."""
    row = connection.execute(f"{_ROW} WHERE key = ?", (key,)).fetchone()
    return None if row is None else _readable(connection, row)


def by_message(connection: Connection, message: str) -> OutboxRow | None:
    """The item that became this message."""
    row = connection.execute(_BY_MESSAGE, (message,)).fetchone()
    return None if row is None else _readable(connection, row)


def _readable(connection: Connection, values: tuple[Value, ...]) -> OutboxRow:
    """The row; in the place of one that is damaged, a word that something is lost, so that what follows it goes on."""
    try:
        return _row(OutboxItem.model_validate_json(cast(str, values[1])), values)
    except ValidationError:
        key, thread = connection.execute(
            "SELECT key, thread FROM outbox WHERE position = ?", values[:1]
        ).fetchone() or ("", "")
        log.error("outbox item %s is damaged; its thread is told that something is lost", key)
        return _row(lost_item(cast(str, key), cast(str, thread)), values)


def _row(item: OutboxItem, values: tuple[Value, ...]) -> OutboxRow:
    position, _, delivered = cast(tuple[int, str, str | None], values)
    messages = () if delivered is None else tuple(cast(list[str], orjson.loads(delivered)))
    return OutboxRow(item, position, messages, delivered is not None)
