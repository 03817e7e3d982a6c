"""The full-text index over logs: one row for each event that has words, under the event's position.

It follows the log: ``search_progress`` says up to which position events were taken in, so nothing has to be done in the
transaction of an append.  What takes events away or puts others in their place does the same here in its own transaction.
The newest events, which were not taken in yet, are looked through as they are: so what was said a moment ago is found also
by a process that only reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

import orjson

from agentic.core.events.upcasting import ShapeUnknown, read_event
from agentic.core.text.searchable import KINDS, searchable
from agentic.ports.errors import StoreCorrupt, StoreTooNew
from agentic.ports.lookup import Hit, Wanted
from agentic.ports.maintenance import EventRow
from agentic.stores.event_rows import COLUMNS, to_envelope
from agentic.stores.sqlite.file.connection import Connection
from agentic.text.word_query import WordQuery, composed, words_in

TAKEN_A_PIECE, CHARACTERS_A_PIECE = 200, 500_000
"""Events that are taken in with one transaction, and characters after which it ends."""

LOOKED_THROUGH, BYTES_LOOKED_THROUGH = 2_000, 4_000_000
"""The newest events that were not taken in and are looked through by a search; and so many bytes of them."""

_KIND = re.compile(r'\{"kind":"(\w+)"')
_PROGRESS = "SELECT position FROM search_progress"
_EVENT = f"""
    executions.name, executions.thread, {", ".join(f"events.{each}" for each in COLUMNS.split(", "))}
"""  # names of ours
_WHERE = """
    CROSS JOIN executions ON executions.id = events.execution AND executions.gone = 0
    LEFT JOIN sessions ON sessions.thread = executions.thread
    WHERE events.position < :before
        AND (:guild IS NULL OR sessions.guild = :guild) AND (:thread = '' OR executions.thread = :thread)
        AND (:threads IS NULL OR executions.thread IN (SELECT value FROM json_each(:threads)))
"""
_FOUND = f"""
    SELECT events.position, {_EVENT} FROM search CROSS JOIN events ON events.position = search.rowid {_WHERE}
        AND search MATCH :words AND search.rowid < :before
    ORDER BY search.rowid DESC LIMIT :most
"""  # names of ours
_NEW = f"""
    SELECT events.position, {_EVENT} FROM events {_WHERE} AND events.position > ({_PROGRESS})
    ORDER BY events.position DESC LIMIT {LOOKED_THROUGH}
"""  # names of ours
_FAR_BEHIND = f"""
    SELECT count(*) > :events OR total(bytes) > :bytes FROM (
        SELECT octet_length(event) AS bytes FROM events WHERE position > ({_PROGRESS}) LIMIT :events + 1
    )
"""  # names of ours
_NEWEST = 2**62


def is_behind(connection: Connection) -> bool:
    """Whether there are events that were not taken in."""
    return bool(connection.execute(f"SELECT EXISTS (SELECT 1 FROM events WHERE position > ({_PROGRESS}))").get)


def take_in(connection: Connection) -> bool:
    """Take in the next events; True while there may be more."""
    cursor = connection.execute(
        f"SELECT position, version, event FROM events WHERE position > ({_PROGRESS}) ORDER BY position LIMIT ?",
        (TAKEN_A_PIECE,),
    )
    rows: list[tuple[int, int, str]] = []
    characters = CHARACTERS_A_PIECE
    for row in cursor:
        rows.append(cast("tuple[int, int, str]", row))
        characters -= len(rows[-1][2])
        if characters <= 0:
            cursor.close(force=True)
            break
    for position, version, event in rows:
        _insert(connection, position, version, event)
    if rows:
        connection.execute("UPDATE search_progress SET position = ?", (rows[-1][0],))
    return characters <= 0 or len(rows) == TAKEN_A_PIECE


def replace(connection: Connection, execution: int, seq: int) -> None:
    """Another event stands in this place now."""
    select = "SELECT position, version, event FROM events WHERE execution = ? AND seq = ?"
    position, version, event = cast("tuple[int, int, str]", connection.execute(select, (execution, seq)).fetchone())
    if position <= cast(int, connection.execute(_PROGRESS).get):
        connection.execute("DELETE FROM search WHERE rowid = ?", (position,))
        _insert(connection, position, version, event)


def delete(connection: Connection, positions: str, bindings: tuple[int]) -> None:
    """Take out these positions, which ``positions`` selects, before their events are deleted."""
    connection.execute(f"DELETE FROM search WHERE rowid IN ({positions})", bindings)


def step_back(connection: Connection) -> None:
    """Events were deleted: what comes next takes the positions of the last ones, and is to be taken in."""
    newest = "(SELECT coalesce(max(position), 0) FROM events)"
    connection.execute(f"UPDATE search_progress SET position = min(position, {newest})")


def found(connection: Connection, query: WordQuery, wanted: Wanted) -> list[Hit]:
    """Events with these words, the newest first; what cannot be read is left out."""
    if not query.phrases:
        return []
    bindings = {
        "before": wanted.before or _NEWEST, "guild": wanted.guild, "thread": wanted.thread,
        "threads": named_threads(wanted),
    }  # fmt: skip
    connection.execute("BEGIN")  # what is taken in meanwhile is neither left out nor found twice
    try:
        new = _found_among_the_new(connection, query, bindings)
        if len(new) >= wanted.most:
            return new[: wanted.most]
        more = {"words": matching(query), "most": wanted.most - len(new)}
        known = [_hit(row) for row in connection.execute(_FOUND, bindings | more)]
        return [*new, *(hit for hit in known if hit is not None)]
    finally:
        connection.execute("COMMIT")


def _found_among_the_new(
    connection: Connection, query: WordQuery, bindings: Mapping[str, int | str | None]
) -> list[Hit]:
    hits: list[Hit] = []
    left = BYTES_LOOKED_THROUGH
    for row in connection.execute(_NEW, bindings):
        event = cast(str, row[-1])
        left -= len(event)
        if left < 0:
            break
        kind = _KIND.match(event)
        hit = _hit(row) if kind is not None and kind[1] in KINDS else None
        words = searchable(hit.envelope.event) if hit is not None else None
        if hit is not None and words is not None and query.places(composed(words.text)):
            hits.append(hit)
    return hits


def is_far_behind(connection: Connection) -> bool:
    """Whether more events were not taken in than a search looks through."""
    bounds = {"events": LOOKED_THROUGH, "bytes": BYTES_LOOKED_THROUGH}
    return bool(connection.execute(_FAR_BEHIND, bounds).get)


def _hit(row: Sequence[object]) -> Hit | None:
    position, execution, thread, *event = row
    try:
        envelope = to_envelope(cast(str, execution), cast(EventRow, tuple(event)))
    except (StoreCorrupt, StoreTooNew):
        return None
    return Hit(cast(int, position), cast(str, thread), envelope)


def named_threads(wanted: Wanted) -> str | None:
    """The threads that are looked through, as a list that SQLite reads."""
    return orjson.dumps(sorted(wanted.threads)).decode() if wanted.threads is not None else None


def _insert(connection: Connection, position: int, version: int, event: str) -> None:
    text = text_of(version, event)
    if text is not None:
        connection.execute("INSERT INTO search (rowid, text) VALUES (?, ?)", (position, text))


def text_of(version: int, event: str) -> str | None:
    """The words of a stored event as the index holds them; None where nothing in it is found by words."""
    kind = _KIND.match(event)
    if kind is None or kind[1] not in KINDS:
        return None
    try:
        words = searchable(read_event(event, version))
    except (ShapeUnknown, ValueError):
        return None  # it is damaged or of a newer version, and not read elsewhere either
    # FTS5 takes accents from fewer letters than we do
    return None if words is None else " ".join(words_in(composed(words.text)))


def matching(query: WordQuery) -> str:
    """A query as FTS5 reads it; letters and digits alone."""
    return " ".join(f'"{" ".join(phrase)}" *' for phrase in query.phrases)
