"""What people did.  An item that was taken in leaves its id behind for ever, so that it cannot come twice."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import cast

from pydantic import ValidationError

from agentic.core.events.execution_events import InboxItem
from agentic.stores.event_rows import micros
from agentic.stores.sqlite.file.connection import Connection

log = logging.getLogger(__name__)


def put(connection: Connection, item: InboxItem) -> bool:
    """Keep it; False if its id was ever kept."""
    connection.execute(
        "INSERT INTO inbox (id, thread, at, item) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (item.id, item.thread, micros(item.at), item.model_dump_json()),
    )
    return connection.changes() == 1


def acknowledge(connection: Connection, ids: Sequence[str]) -> None:
    """Let go of the items, keep their ids."""
    for item in ids:
        connection.execute("UPDATE inbox SET item = NULL WHERE id = ?", (item,))


def pending(connection: Connection, thread: str) -> list[InboxItem]:
    """What waits for this thread, oldest first."""
    waiting = "SELECT id, item FROM inbox WHERE thread = ? AND item IS NOT NULL ORDER BY at, position"
    rows = list(connection.execute(waiting, (thread,)))
    return [item for id, text in rows if (item := _read(cast(str, id), cast(str, text))) is not None]


def _read(id: str, text: str) -> InboxItem | None:
    """None for one that is damaged: it stays, ``threadwright doctor`` names it, and the others are taken in."""
    try:
        return InboxItem.model_validate_json(text)
    except ValidationError:
        log.error("inbox item %s is damaged and is not taken in: `threadwright doctor` shows more", id)
        return None


def pending_threads(connection: Connection) -> list[str]:
    """Threads for which something waits, the longest waiting first."""
    rows = connection.execute(
        "SELECT thread FROM inbox WHERE item IS NOT NULL GROUP BY thread ORDER BY min(at), min(position)"
    )
    return [cast(str, row[0]) for row in rows]
