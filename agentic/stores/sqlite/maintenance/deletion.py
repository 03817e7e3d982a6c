"""How logs, contents and delivered messages go: each function is one piece of it, within one transaction of the writer.

``executions.gone`` says how far it is: ``BURIED`` no reader finds the log, and its rows still have to be deleted; ``CLEARED``
nothing is left but the row, which says that it was there; ``FORGOTTEN`` as buried, and the row goes as well.  The row of an
execution stays until its events are deleted, so that its number is never given to another one before.

Contents are swept by marking.  While a sweep is under way (a row stands in ``sweep``) each hash that stands in an event is
noted in ``marked``, in the order in which events were written.  Once all were read, contents without a mark go, piece by
piece, each time after reading what was written since in the same transaction: a content is stored in the transaction of
the event that names it, so no log ever names what is deleted.  Whatever looks like a hash is taken for one: at worst
something stays too long.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal, cast

from agentic.core.events.execution_events import Envelope
from agentic.ports.maintenance import EventRow
from agentic.ports.retention import Buried, Kept
from agentic.stores.event_rows import micros, moment, to_row
from agentic.stores.sqlite.file.connection import Connection
from agentic.stores.sqlite.file.schema import (
    BURIED,
    CLEARED,
    FORGOTTEN,
    there,
)
from agentic.stores.sqlite.tables import blobs, search

EVENTS_A_PIECE = 100
"""Events that are deleted in one transaction."""
MARKED_A_PIECE = 200
"""Events that are read for hashes in one transaction."""
LOOKED_AT_A_PIECE, SWEPT_BYTES = 100, 500_000
"""Contents that are looked at in one transaction, and how much of them is deleted at most."""
DELIVERED_A_PIECE = 100
AGE_EVERY = timedelta(hours=1)
"""So exactly the age of what was delivered is known."""
FILE_SECONDS = 3_600.0
"""A file of a content that nothing names is deleted once it is this old: whoever writes one now names it in a moment."""
BLOBS_DUE = "retention: blobs"
"""The fact that something was deleted since the last sweep began."""

_HASH = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}")
_EXPIRED = """
    SELECT id FROM executions AS e
    WHERE gone = 0 AND finished != '' AND started_at < :before
        AND coalesce((SELECT at FROM events WHERE execution = e.id ORDER BY seq DESC LIMIT 1), 0) < :before
        AND coalesce((SELECT at FROM outcomes WHERE execution = e.id ORDER BY seq DESC LIMIT 1), 0) < :before
        AND coalesce((SELECT CAST(value AS INTEGER) FROM facts WHERE key = 'imported: ' || e.name), 0) < :before / 1000000
        AND NOT EXISTS (SELECT 1 FROM executions AS o WHERE o.thread = e.thread AND o.finished = '' AND o.gone = 0)
        AND NOT EXISTS (SELECT 1 FROM inbox WHERE thread = e.thread AND item IS NOT NULL)
        AND NOT EXISTS (SELECT 1 FROM outbox WHERE thread = e.thread AND delivered IS NULL)
    ORDER BY started_at LIMIT :most
"""
_ITEM = "CASE WHEN json_valid(item) THEN item ELSE '{}' END"
"""An outbox item; one that is damaged says nothing, and hinders nothing."""
_NO_LESSON = f"coalesce({_ITEM} ->> '$.sort', '') != 'lesson'"
_DELIVERED = f"""
    SELECT position FROM outbox
    WHERE position <= ? AND delivered IS NOT NULL AND {_NO_LESSON}
        AND NOT EXISTS (SELECT 1 FROM executions WHERE name = coalesce({_ITEM} ->> '$.execution', '') AND gone = 0)
    ORDER BY position LIMIT ?
"""
_OLD_SCOPES = """
    SELECT scope FROM budgets
    WHERE (scope GLOB ?1 || ' ????-??-??' OR scope GLOB 'raised ' || ?1 || ' ????-??-??') AND substr(scope, -10) < ?2
        AND NOT EXISTS (SELECT 1 FROM reservations WHERE reservations.scope = budgets.scope AND settled = 0)
"""


def expire(connection: Connection, before: datetime, most: int) -> int:
    """Bury what is old and finished, in threads where nothing is open."""
    found = list(connection.execute(_EXPIRED, {"before": micros(before), "most": most}))
    for (number,) in found:
        connection.execute("UPDATE executions SET gone = ?, task = '' WHERE id = ?", (BURIED, number))
    return len(found)


def bury(connection: Connection, executions: Sequence[str]) -> int:
    """Bury these, as far as they are finished."""
    return sum(_bury(connection, name) for name in executions)


def _bury(connection: Connection, name: str) -> int:
    connection.execute(
        "UPDATE executions SET gone = ?, task = '' WHERE name = ? AND gone = 0 AND finished != ''", (BURIED, name)
    )
    return connection.changes()


def forget_thread(connection: Connection, thread: str, facts: Sequence[str]) -> bool:
    """Everything of a thread, unless something in it is open."""
    opened = "SELECT 1 FROM executions WHERE thread = ? AND finished = '' AND gone = 0"
    if connection.execute(opened, (thread,)).get is not None:
        return False
    connection.execute("UPDATE executions SET gone = ?, task = '' WHERE thread = ?", (FORGOTTEN, thread))
    connection.execute("UPDATE inbox SET item = NULL WHERE thread = ? AND item IS NOT NULL", (thread,))
    posted = f"SELECT position FROM outbox WHERE thread = ? AND {_NO_LESSON}"
    _drop(connection, [cast(int, row[0]) for row in connection.execute(posted, (thread,))])
    connection.execute("DELETE FROM sessions WHERE thread = ?", (thread,))
    for fact in facts:
        connection.execute("DELETE FROM facts WHERE key = ?", (fact,))
    return True


def burials(connection: Connection) -> list[str]:
    """Threads in which something is to be cleared."""
    rows = connection.execute(f"SELECT DISTINCT thread FROM executions WHERE gone IN ({BURIED}, {FORGOTTEN})")
    return [cast(str, row[0]) for row in rows]


def clear(connection: Connection, thread: str) -> bool:
    """A piece of the thread's oldest log that is buried; with the last piece what else is named after it."""
    select = f"SELECT id, name, gone FROM executions WHERE thread = ? AND gone IN ({BURIED}, {FORGOTTEN}) LIMIT 1"
    found = connection.execute(select, (thread,)).fetchone()
    if found is None:
        return False
    number, name, gone = cast(tuple[int, str, int], found)
    if _delete_piece(connection, "events", number) or _delete_piece(connection, "outcomes", number):
        return True
    _drop_named(connection, name)
    if gone == FORGOTTEN:
        connection.execute("DELETE FROM executions WHERE id = ?", (number,))
    else:
        connection.execute("UPDATE executions SET gone = ? WHERE id = ?", (CLEARED, number))
    connection.execute("INSERT OR REPLACE INTO facts (key, value) VALUES (?, '1')", (BLOBS_DUE,))
    return True


def _delete_piece(connection: Connection, table: str, number: int) -> bool:
    """Whether there may be more."""
    piece = f"SELECT position FROM {table} WHERE execution = ? ORDER BY seq LIMIT {EVENTS_A_PIECE}"
    if table == "events":
        search.delete(connection, piece, (number,))
    connection.execute(f"DELETE FROM {table} WHERE position IN ({piece})", (number,))
    deleted = connection.changes()
    if deleted:  # what comes next takes the positions of the last rows: who was there has to look again
        newest = f"(SELECT coalesce(max(position), 0) FROM {table})"
        for follower in ("sweep", "publications"):
            connection.execute(f"UPDATE {follower} SET {table} = min({table}, {newest})")
        search.step_back(connection)
    return deleted == EVENTS_A_PIECE


def _drop_named(connection: Connection, name: str) -> None:
    """What is kept under the name of an execution: messages, money that was settled, notes about it."""
    below = (f"{name}.", f"{name}0")  # what follows the name is '.' or '/'
    posted = list(connection.execute("SELECT position FROM outbox WHERE key >= ? AND key < ?", below))
    _drop(connection, [cast(int, row[0]) for row in posted])
    connection.execute("DELETE FROM reservations WHERE key >= ? AND key < ? AND settled = 1", below)
    connection.execute("DELETE FROM facts WHERE key IN (?, ?)", (f"learned: {name}", f"imported: {name}"))


def _drop(connection: Connection, positions: Sequence[int]) -> None:
    """Outbox items with their receipts."""
    for position in positions:
        connection.execute("DELETE FROM receipts WHERE item = ?", (position,))
        connection.execute("DELETE FROM outbox WHERE position = ?", (position,))


def buried(connection: Connection, thread: str) -> list[Buried]:
    """Executions of a thread that are gone, oldest first."""
    rows = connection.execute(
        "SELECT name, thread, started_at FROM executions WHERE thread = ? AND gone != 0 ORDER BY id", (thread,)
    )
    return [_buried(row) for row in rows]


def was_buried(connection: Connection, execution: str) -> Buried | None:
    """One that is gone."""
    row = connection.execute(
        "SELECT name, thread, started_at FROM executions WHERE name = ? AND gone != 0", (execution,)
    ).fetchone()
    return None if row is None else _buried(row)


def _buried(row: object) -> Buried:
    name, thread, started = cast(tuple[str, str, int], row)
    return Buried(name, thread, moment(started))


def expire_outbox(connection: Connection, now: datetime, before: datetime) -> bool:
    """Note how far the outbox is now, and delete a piece of what was there before and is delivered."""
    newest = cast("int | None", connection.execute("SELECT max(at) FROM outbox_ages").get)
    if newest is None or micros(now) - newest >= AGE_EVERY // timedelta(microseconds=1):
        connection.execute(
            "INSERT OR REPLACE INTO outbox_ages SELECT ?, coalesce(max(position), 0) FROM outbox", (micros(now),)
        )
    mark = connection.execute(
        "SELECT at, position FROM outbox_ages WHERE at < ? ORDER BY at DESC LIMIT 1", (micros(before),)
    ).fetchone()
    if mark is None:
        return False
    connection.execute("DELETE FROM outbox_ages WHERE at < ?", mark[:1])
    old = [cast(int, row[0]) for row in connection.execute(_DELIVERED, (mark[1], DELIVERED_A_PIECE))]
    _drop(connection, old)
    return len(old) == DELIVERED_A_PIECE


def erase_spending(connection: Connection, scope: str, before: str) -> None:
    """The sums of earlier days with what they are the sums of; a day with an open reservation stays."""
    for (name,) in list(connection.execute(_OLD_SCOPES, (scope, before))):
        connection.execute("DELETE FROM reservations WHERE scope = ?", (name,))
        connection.execute("DELETE FROM budgets WHERE scope = ?", (name,))


Written = Mapping[str, Sequence[EventRow]]


def written(log: Sequence[Envelope], outcome: Sequence[Envelope]) -> Written:
    """The rows of a log and its outcome by their tables; made outside of the transaction, for a log may be long."""
    return {"events": [to_row(each) for each in log], "outcomes": [to_row(each) for each in outcome]}


def rewrite(connection: Connection, execution: str, task: str, written: Written) -> bool:
    """Other events in the same places, with checksums of their own; those that are the same are left alone."""
    select = "SELECT id FROM executions WHERE name = ? AND gone = 0 AND finished != ''"
    number = cast("int | None", connection.execute(select, (execution,)).get)
    if number is None:
        return False
    other: list[tuple[str, EventRow]] = []
    for table, rows in written.items():
        select = f"SELECT seq, at, fence, version, checksum FROM {table} WHERE execution = ? ORDER BY seq"
        there = list(connection.execute(select, (number,)))
        if [row[:3] for row in there] != [row[:3] for row in rows]:
            return False
        other += [(table, row) for row, old in zip(rows, there, strict=True) if row[3:5] != old[3:]]
    for table, row in other:
        _replace(connection, table, number, row)
    connection.execute("UPDATE executions SET task = ? WHERE id = ?", (task, number))
    return True


def _replace(connection: Connection, table: str, number: int, row: EventRow) -> None:
    seq, _, _, version, checksum, cause, build, event = row
    connection.execute(
        f"UPDATE {table} SET version = ?, checksum = ?, cause = ?, build = ?, event = ? WHERE execution = ? AND seq = ?",
        (version, checksum, cause, build, event, number, seq),
    )
    if table == "events":
        search.replace(connection, number, seq)


# --- contents ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Sweep:
    """How far a sweep has come: positions of events and outcomes that were read, the last content looked at."""

    events: int
    outcomes: int
    blobs: int


def sweep_blobs(connection: Connection) -> Literal["more", "done", "idle"]:
    """A piece of a sweep; one begins where something was deleted since the last began."""
    sweep = _under_way(connection) or _begun(connection)
    if sweep is None:
        return "idle"
    for table in ("events", "outcomes"):
        if _mark(connection, table):
            return "more"
    marked = "sha IN (SELECT sha FROM marked)"
    select = f"SELECT id, {marked}, coalesce(length(content), 0) FROM blobs WHERE id > ? ORDER BY id LIMIT ?"
    held = number = 0
    rows = cast("list[tuple[int, int, int]]", list(connection.execute(select, (sweep.blobs, LOOKED_AT_A_PIECE))))
    for number, named, size in rows:
        if not named:
            connection.execute("DELETE FROM blobs WHERE id = ?", (number,))
            held += size
        if held > SWEPT_BYTES:
            break
    if rows:
        connection.execute("UPDATE sweep SET blobs = ?", (number,))
        return "more"
    connection.execute("DELETE FROM marked")
    connection.execute("DELETE FROM sweep")
    return "done"


def _under_way(connection: Connection) -> _Sweep | None:
    row = connection.execute("SELECT events, outcomes, blobs FROM sweep").fetchone()
    return None if row is None else _Sweep(*cast(tuple[int, int, int], row))


def _begun(connection: Connection) -> _Sweep | None:
    connection.execute("DELETE FROM facts WHERE key = ?", (BLOBS_DUE,))
    if connection.changes() == 0:
        return None
    connection.execute("INSERT INTO sweep (one, events, outcomes, blobs) VALUES (1, 0, 0, 0)")
    return _Sweep(0, 0, 0)


def _mark(connection: Connection, table: str) -> bool:
    """Note the hashes of the next events that were not read yet; whether there may be more of them."""
    read = f"SELECT position, event FROM {table} WHERE position > (SELECT {table} FROM sweep) ORDER BY position LIMIT ?"
    rows = cast("list[tuple[int, str]]", list(connection.execute(read, (MARKED_A_PIECE,))))
    for sha in {sha for _, event in rows for sha in _HASH.findall(event)}:
        connection.execute("INSERT OR IGNORE INTO marked VALUES (?)", (bytes.fromhex(sha),))
    if rows:
        connection.execute(f"UPDATE sweep SET {table} = ?", (rows[-1][0],))
    return len(rows) == MARKED_A_PIECE


def delete_files(folder: Path, named: Collection[str], now: float) -> None:
    """Delete files of contents that no row names, unless they are being written in these moments."""
    for path in _files(folder):
        if path.parent.name + path.name in named:
            continue
        with suppress(FileNotFoundError), blobs.alone(path.parent):  # not there: another process was quicker
            if path.stat().st_mtime < now - FILE_SECONDS:
                path.unlink()


def _files(folder: Path) -> Iterator[Path]:
    for below in sorted(folder.iterdir()) if folder.is_dir() else ():
        yield from sorted(below.iterdir()) if below.is_dir() else ()


def mentioning(connection: Connection, words: str) -> list[str]:
    """Executions in which these characters stand."""
    found = " UNION ".join(f"SELECT execution FROM {each} WHERE instr(event, ?1)" for each in ("events", "outcomes"))
    rows = connection.execute(f"SELECT name FROM executions WHERE gone = 0 AND id IN ({found}) ORDER BY id", (words,))
    return [cast(str, row[0]) for row in rows]


# --- how much ------------------------------------------------------------------------------------------------------


def kept(connection: Connection, database: Path) -> Kept:
    """Counts, and bytes on the disk."""
    executions, opened, oldest = cast(
        "tuple[int, int, int | None]",
        connection.execute(
            f"SELECT count(*), total(finished = ''), min(started_at) FROM executions WHERE {there(connection)}"
        ).fetchone(),
    )
    events, outbox = (
        cast(int, connection.execute(f"SELECT count(*) FROM {each}").get) for each in ("events", "outbox")
    )
    page, free = (cast(int, connection.execute(f"PRAGMA {each}").get) for each in ("page_size", "freelist_count"))
    size = sum(_size(path) for path in (database, *_files(database.parent / "blobs")))
    since = None if oldest is None else moment(oldest)
    return Kept(executions, int(opened), events, since, outbox, size, page * free)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
