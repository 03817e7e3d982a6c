"""The executions' logs and outcome streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import cast

from agentic.core.events.execution_events import (
    Envelope,
    Finished,
    OutboxItem,
    Started,
)
from agentic.ports.errors import (
    LeaseLost,
    LogInvalid,
    SequenceConflict,
    StoreCorrupt,
)
from agentic.ports.maintenance import EventRow
from agentic.ports.runtime import ExecutionRow, Lease
from agentic.stores.event_rows import COLUMNS, moment, to_envelope, to_row
from agentic.stores.sqlite.file import min_reader_version
from agentic.stores.sqlite.file.connection import Connection, Value
from agentic.stores.sqlite.tables import blobs, inbox, outbox

_TOGETHER = 16
"""Events inserted with one statement."""

_LEASE = "SELECT fence, owner FROM leases WHERE thread = ?"
_THREAD = "SELECT thread, gone FROM executions WHERE name = ?"
_PLACE = """
    SELECT (SELECT fence FROM leases WHERE thread = ?2), (SELECT owner FROM leases WHERE thread = ?2), id,
        (SELECT max(seq) FROM events WHERE execution = executions.id)
    FROM executions WHERE name = ?1 AND thread = ?2 AND gone = 0
"""

_NO_CHILD = "NOT (length(name) = 16 AND name GLOB 'c*')"
"""As ``agentic.core.events.ids.is_child`` has it."""
_OF_EXECUTION = "WHERE execution = (SELECT id FROM executions WHERE name = ? AND gone = 0)"
_EVENTS = f"SELECT {COLUMNS} FROM events {_OF_EXECUTION}"  # names of ours
_OUTCOMES = f"SELECT {COLUMNS} FROM outcomes {_OF_EXECUTION}"  # names of ours

_EXECUTION = """
    SELECT name, thread, task, finished, started_at,
        (SELECT max(seq) FROM events WHERE execution = executions.id)
    FROM executions WHERE gone = 0
"""


@dataclass(frozen=True, slots=True)
class Append:
    """One append, with what could be prepared outside of the transaction."""

    execution: str
    expected_seq: int
    lease: Lease
    rows: tuple[EventRow, ...]
    started: Started | None
    finished: str
    outbox: tuple[OutboxItem, ...]
    inbox_acks: tuple[str, ...]
    blobs: tuple[blobs.Content, ...]
    reader: int = 1
    """The oldest reader that does not misread these events."""

    @property
    def bytes(self) -> int:
        """About how much its events and outbox items are as JSON."""
        return sum(len(row[-1]) for row in self.rows) + sum(len(item.text) for item in self.outbox)

    def __call__(self, connection: Connection) -> None:
        """Write it all."""
        number = self._check(connection)
        if self.started is not None:
            number = self._begin(connection, self.started)
        if self.rows:
            if number is None:
                raise LogInvalid(f"execution {self.execution} has no beginning")
            _insert(connection, "events", number, self.rows)
        if self.finished:
            connection.execute("UPDATE executions SET finished = ? WHERE id = ?", (self.finished, number))
        blobs.insert(connection, self.blobs)
        outbox.insert(connection, self.outbox)
        inbox.acknowledge(connection, self.inbox_acks)
        if self.reader > 1:
            min_reader_version.require(connection, self.reader)

    def _check(self, connection: Connection) -> int | None:
        place = connection.execute(_PLACE, (self.execution, self.lease.thread)).fetchone()
        if place is None:
            place = self._check_new(connection)
        fence, owner, number, head = cast(tuple[int | None, str | None, int | None, int | None], place)
        if fence != self.lease.fence or owner != self.lease.owner:
            raise LeaseLost(f"thread {self.lease.thread} is no longer held under fence {self.lease.fence}")
        if (head or 0) != self.expected_seq:
            raise SequenceConflict(self.execution, self.expected_seq, head or 0)
        return number

    def _check_new(self, connection: Connection) -> tuple[Value, ...]:
        """The place of an execution that has no log yet, or whose thread is another."""
        thread, gone = connection.execute(_THREAD, (self.execution,)).fetchone() or (None, 0)
        if thread is not None and thread != self.lease.thread:
            raise LeaseLost(f"execution {self.execution} belongs to thread {thread}, not to {self.lease.thread}")
        if gone:
            raise LogInvalid(f"the log of execution {self.execution} was deleted")
        held = connection.execute(_LEASE, (self.lease.thread,)).fetchone() or (None, None)
        return (*held, None, None)

    def _begin(self, connection: Connection, started: Started) -> int:
        connection.execute(
            "INSERT INTO executions (name, thread, task, started_at) VALUES (?, ?, ?, ?)",
            (self.execution, started.thread, started.task, self.rows[0][1]),
        )
        return connection.last_insert_rowid()


def prepare(
    execution: str,
    expected_seq: int,
    lease: Lease,
    events: Sequence[Envelope],
    outbox_items: Sequence[OutboxItem],
    inbox_acks: Sequence[str],
    contents: Sequence[blobs.Content],
    reader: int = 1,
) -> Append:
    """An append that was checked, ready for its transaction."""
    first = events[0].event if events else None
    reasons = [envelope.event.reason for envelope in events if isinstance(envelope.event, Finished)]
    return Append(
        execution,
        expected_seq,
        lease,
        tuple([to_row(envelope) for envelope in events]),
        first if isinstance(first, Started) else None,
        reasons[-1] if reasons else "",
        tuple(outbox_items),
        tuple(inbox_acks),
        tuple(contents),
        reader,
    )


def append_outcome(connection: Connection, execution: str, events: Sequence[Envelope]) -> None:
    """Number the events on from the stream's end and add them."""
    number = connection.execute("SELECT id FROM executions WHERE name = ? AND gone = 0", (execution,)).get
    if number is None:
        raise LogInvalid(f"there is no execution {execution} to add an outcome to")
    head = cast(
        int, connection.execute("SELECT coalesce(max(seq), 0) FROM outcomes WHERE execution = ?", (number,)).get
    )
    rows = [
        to_row(envelope.model_copy(update={"execution": execution, "seq": seq}))
        for seq, envelope in enumerate(events, head + 1)
    ]
    _insert(connection, "outcomes", cast(int, number), rows)


def read(
    connection: Connection, execution: str, after: int, limit: int, characters: int
) -> tuple[list[Envelope], bool]:
    """Up to ``limit`` events of the log after ``after``, and whether there may be more; it ends with the first event by
    which they have so many characters."""
    # All rows first: a row that cannot be read must not leave the statement open, and with it an old state to be read.
    cursor = connection.execute(f"{_EVENTS} AND seq > ? ORDER BY seq LIMIT ?", (execution, after, limit))
    rows: list[tuple[object, ...]] = []
    for row in cursor:
        rows.append(row)
        characters -= len(cast(EventRow, row)[-1])
        if characters <= 0:
            cursor.close(force=True)
            break
    envelopes = [to_envelope(execution, row) for row in rows]
    if envelopes and envelopes[-1].seq != max(after, 0) + len(envelopes):
        raise StoreCorrupt(f"events are missing from the log of {execution}: restore the database from a backup")
    return envelopes, characters <= 0 or len(rows) == limit


def read_outcome(connection: Connection, execution: str) -> list[Envelope]:
    """The whole outcome stream."""
    rows = list(connection.execute(f"{_OUTCOMES} ORDER BY seq", (execution,)))
    return [to_envelope(execution, row) for row in rows]


def executions(connection: Connection, thread: str) -> list[ExecutionRow]:
    """Those of a thread in the order they were begun, without children."""
    rows = connection.execute(f"{_EXECUTION} AND thread = ? AND {_NO_CHILD} ORDER BY id", (thread,))
    return [_row(row) for row in list(rows)]


def open_executions(connection: Connection, thread: str | None) -> list[ExecutionRow]:
    """Those that have not ended, in the order they were begun."""
    where, bindings = (" AND thread = ?", (thread,)) if thread is not None else ("", ())
    return [
        _row(row) for row in list(connection.execute(f"{_EXECUTION} AND finished = ''{where} ORDER BY id", bindings))
    ]


def open_threads(connection: Connection, most: int, after: str) -> list[tuple[str, str]]:
    """The threads of those that are no children, with their places, so many behind a place."""
    where = f"gone = 0 AND finished = '' AND {_NO_CHILD} AND id > ? ORDER BY id LIMIT ?"
    rows = connection.execute(f"SELECT thread, id FROM executions WHERE {where}", (int(after or 0), most))
    return [(str(thread), str(id)) for thread, id in rows]


def newest_executions(connection: Connection, limit: int) -> list[ExecutionRow]:
    """The last that were begun, in order, without children."""
    rows = connection.execute(f"{_EXECUTION} AND {_NO_CHILD} ORDER BY id DESC LIMIT ?", (limit,))
    return [_row(row) for row in list(rows)][::-1]


def executions_after(connection: Connection, name: str, limit: int) -> list[ExecutionRow]:
    """So many that were begun after this one, '' for the first."""
    after = "coalesce((SELECT id FROM executions WHERE name = ?), 0)"
    rows = list(connection.execute(f"{_EXECUTION} AND id > {after} ORDER BY id LIMIT ?", (name, limit)))
    return [_row(row) for row in rows]


def execution(connection: Connection, name: str) -> ExecutionRow | None:
    """One execution."""
    row = connection.execute(f"{_EXECUTION} AND name = ?", (name,)).fetchone()
    return None if row is None else _row(row)


def _row(values: object) -> ExecutionRow:
    name, thread, task, finished, started_at, head = cast(tuple[str, str, str, str, int, int | None], values)
    return ExecutionRow(name, thread, task, head or 0, finished, moment(started_at))


def _insert(connection: Connection, table: str, execution: int, rows: Sequence[EventRow]) -> None:
    for start in range(0, len(rows), _TOGETHER):
        part = rows[start : start + _TOGETHER]
        connection.execute(_insertion(table, len(part)), [value for row in part for value in (execution, *row)])


@cache
def _insertion(table: str, rows: int) -> str:
    marks = ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?, ?)"] * rows)
    return f"INSERT INTO {table} (execution, {COLUMNS}) VALUES {marks}"  # names of ours
