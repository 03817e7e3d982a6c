"""The executions' logs and outcome streams.

The events of one append are one item, under the number of the last of them: they are written together and read together.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from uuid import uuid4

import orjson

from agentic.aws.aws_errors import ConditionFailed, Reason
from agentic.aws.items import (
    ABSENT,
    PRESENT,
    ConditionCheck,
    Delete,
    Item,
    Put,
    Update,
    Value,
    Write,
    keyed,
    number,
    text,
)
from agentic.core.events.execution_events import BlobRef, Envelope, Finished, OutboxItem, Started, TurnEnded
from agentic.core.events.ids import is_child
from agentic.ports.errors import (
    AppendTooLarge,
    LeaseLost,
    LogInvalid,
    SequenceConflict,
    StoreCorrupt,
    StoreUnavailable,
)
from agentic.ports.failpoints import reach
from agentic.ports.maintenance import EventRow
from agentic.ports.stores import ExecutionRow, Lease
from agentic.stores.aws import layout
from agentic.stores.aws.followers import publications as followers
from agentic.stores.aws.layout import LISTED, SORT, WAITING, Key, padded
from agentic.stores.aws.store_subject import Aws, StoreSubject
from agentic.stores.aws.subjects import blobs as contents
from agentic.stores.aws.subjects import inbox
from agentic.stores.aws.subjects import outbox as effects
from agentic.stores.aws.subjects.inbox import waiting_items
from agentic.stores.aws.subjects.turn_rows import TurnSoFar
from agentic.stores.aws.subjects.turn_rows import rows as turn_rows
from agentic.stores.aws.table import MOST_WRITES
from agentic.stores.checks import MIN_READER, check_append, check_blob, check_bytes, check_items
from agentic.stores.event_rows import moment, to_envelope, to_row

SORT_OF_WAITING = "open"
LIST = "EXEC"
"""The list of all executions, by when they began."""
NOTED_SECONDS = 40 * 24 * 3600
"""So long it is noted that a log changed; a copy that was not used for so long is made anew."""
GONE = "gone"
"""An attribute of an execution's place whose log was deleted."""

_PAGE = 50
_PIECE_BYTES = 1_000_000
_MOST_PIECES = 60
_MOST_TRIES = 20
_HELD = "#fence = :fence AND #owner = :owner"


@dataclass(frozen=True, slots=True)
class _Append:
    """One append: its place, and its events as they are stored."""

    execution: str
    expected: int
    lease: Lease
    events: Sequence[Envelope]
    rows: Sequence[EventRow]
    reader: int
    """The oldest reader that does not misread it."""
    token: str
    """By which it knows itself again where its answer was lost."""
    turns: Sequence[Item]
    """Rows for people that follow from it."""
    turn: TurnSoFar
    """What is known after it of the turn that goes on."""

    @property
    def head(self) -> int:
        """Where the log ends with it."""
        return self.expected + len(self.events)

    @property
    def finished(self) -> str:
        """Why the execution ended in it, '' where it did not."""
        reasons = [envelope.event.reason for envelope in self.events if isinstance(envelope.event, Finished)]
        return reasons[-1] if reasons else ""


class Events(StoreSubject):
    """Reads and writes logs."""

    async def append(
        self,
        execution: str,
        expected_seq: int,
        lease: Lease,
        events: Sequence[Envelope],
        outbox: Sequence[OutboxItem] = (),
        inbox_acks: Sequence[str] = (),
        blobs: Sequence[tuple[BlobRef, bytes]] = (),
    ) -> None:
        """Make all of it durable in one transaction, or nothing; contents before it, for they have no place in time."""
        check_items(len(events) + len(outbox) + len(inbox_acks) + len(blobs))
        check_append(execution, expected_seq, lease, events)
        for ref, content in blobs:
            check_blob(ref, content)
        append = await self._prepared(execution, expected_seq, lease, events)
        check_bytes(execution, sum(len(row[-1]) for row in append.rows) + sum(len(item.text) for item in outbox))
        await contents.keep_named(self._aws, blobs, execution, append.rows)
        await self._commit(append, outbox, inbox_acks)

    async def begin(
        self, execution: str, lease: Lease, events: Sequence[Envelope], outbox: Sequence[OutboxItem] = ()
    ) -> None:
        """Write a log with a past in one transaction, however long it is."""
        check_append(execution, 0, lease, events)
        append = await self._prepared(execution, 0, lease, events)
        await contents.keep_named(self._aws, (), execution, append.rows)
        await self._commit(append, outbox, ())

    async def _prepared(self, execution: str, expected_seq: int, lease: Lease, events: Sequence[Envelope]) -> _Append:
        rows = [to_row(envelope) for envelope in events]
        needs = self._aws.reading.needs(envelope.event for envelope in events)
        so_far = await self._turn_so_far(execution, lease.thread, expected_seq) if events else TurnSoFar()
        # Of a past that is copied, only that it began is told again.
        told = events if expected_seq else events[:1]
        turns, _ = turn_rows(so_far, told, lease.thread)
        so_far = turn_rows(so_far, events, lease.thread)[1]
        return _Append(execution, expected_seq, lease, events, rows, needs, uuid4().hex, turns, so_far)

    async def _commit(self, append: _Append, outbox: Sequence[OutboxItem], acks: Sequence[str]) -> None:
        """The transaction, again without what turned out to be settled; each of its refusals is looked at by itself."""
        reach("store.append.before")
        log = await self._log(append)
        settled: list[Write] = [Delete(key) for key in await inbox.places(self._aws, acks)]
        effects_of_it = await effects.puts(self._aws, outbox)
        for _ in range(_MOST_TRIES):
            reader = await self._reader(append.reader)
            writes = [*log, *settled, *reader, *effects_of_it]
            if len(writes) > MOST_WRITES:
                raise AppendTooLarge(f"{len(writes)} items were to be written at once: write them in parts")
            try:
                await self._table.transact(writes)
            except ConditionFailed as refused:
                if self._was_written(append, refused.reasons[1]):
                    break
                await self._refuse(append, refused)
                effects_of_it = effects.without_taken(effects_of_it, refused)
            else:
                break
        else:
            raise StoreUnavailable(
                f"execution {append.execution} cannot be written beside others: it is tried again later"
            )
        reach("store.append.after")
        if append.events:
            self._aws.threads.put(append.execution, append.lease.thread)
            self._aws.turns.put(append.execution, (append.head, append.turn))
        if append.finished:
            self._aws.turns.drop(append.execution)

    # --- what an append writes ---

    async def _log(self, append: _Append) -> list[Write]:
        """The lease that is checked, the head that moves, and the events; the lease first, then the head."""
        lease, thread = append.lease, append.lease.thread
        held = ConditionCheck(layout.lease(thread), _HELD, {"fence": lease.fence, "owner": lease.owner})
        if not append.events:
            return [held, self._head(append, {})]
        pieces = await self._pieces(append)
        head = self._head(append, await followers.mark(self._aws, thread, append.execution, append.events))
        return [held, head, *await self._begun(append), *pieces, *(Put(row) for row in append.turns)]

    def _head(self, append: _Append, marks: Item) -> Write:
        key = layout.execution(append.lease.thread, append.execution)
        if not append.expected:
            return self._first(append, marks) if append.events else ConditionCheck(key, ABSENT)
        at_its_end, expected = "#head = :expected", {"expected": append.expected}
        if not append.events:
            return ConditionCheck(key, at_its_end, expected)
        changes = [
            "#head = :head",
            "#fence = :fence",
            "#token = :token",
            "#last_at = :last_at",
            *followers.changes(marks),
        ]
        values: dict[str, Value] = {
            "head": append.head,
            "fence": append.lease.fence,
            "token": append.token,
            "last_at": append.rows[-1][1],
            **expected,
            **marks,
        }
        if append.finished:
            changes.append("#finished = :finished")
            values["finished"] = append.finished
        return Update(key, f"SET {', '.join(changes)}", at_its_end, values)

    def _first(self, append: _Append, marks: Item) -> Write:
        order = self._aws.order.next()
        attributes: Item = {
            "execution": append.execution,
            "order": order,
            "started_at": append.rows[0][1],
            "last_at": append.rows[-1][1],
            "head": append.head,
            "fence": append.lease.fence,
            "token": append.token,
            "finished": append.finished,
            **layout.listed(LIST, f"{padded(append.rows[0][1])}#{padded(order)}"),
            **marks,
        }
        return Put(keyed(layout.execution(append.lease.thread, append.execution), attributes), ABSENT)

    async def _begun(self, append: _Append) -> list[Write]:
        """What stands of an execution besides: where it belongs, and that it is open."""
        thread, execution = append.lease.thread, append.execution
        first = append.events[0].event
        writes: list[Write] = []
        if isinstance(first, Started):
            task = await self._aws.bodies.pack(first.task.encode(), log_folder(thread, execution))
            writes.append(Put(keyed(layout.execution_place(execution), {"thread": thread, **task}), ABSENT))
            writes.append(changed(self._aws, thread, execution))
        if append.finished:
            return [*writes, Delete(layout.open_execution(thread, execution))] if append.expected else writes
        if not append.expected:
            waits = layout.waiting(SORT_OF_WAITING, thread, padded(self._aws.order.last))
            writes.append(Put(keyed(layout.open_execution(thread, execution), waits)))
        return writes

    async def _pieces(self, append: _Append) -> list[Write]:
        """The events, in one item, or for a log with a long past in several."""
        thread, execution = append.lease.thread, append.execution
        size = max(_PIECE_BYTES, sum(len(row[-1]) for row in append.rows) // _MOST_PIECES)
        pieces: list[list[EventRow]] = [[]]
        room = size if not append.expected else sum(len(row[-1]) for row in append.rows) + 1
        left = room
        for row in append.rows:
            if left < 0:
                pieces.append([])
                left = room
            pieces[-1].append(row)
            left -= len(row[-1])
        return [
            Put(keyed(layout.events(thread, execution, piece[-1][0]), await self._packed(piece, thread, execution)))
            for piece in pieces
        ]

    async def _packed(self, rows: Sequence[EventRow], thread: str, execution: str) -> Item:
        body = await self._aws.bodies.pack(orjson.dumps(rows), log_folder(thread, execution))
        return {"first": rows[0][0], "order": self._aws.order.next(), **body}

    async def _turn_so_far(self, execution: str, thread: str, head: int) -> TurnSoFar:
        """What is known of the turn that goes on at ``head``; of one that another process began, from the log."""
        known = self._aws.turns.get(execution)
        if known is not None and known[0] == head:
            return known[1]
        key = _key_of(thread, execution)
        begun: list[Envelope] = []
        async for item in self._table.query(thread, after=key(0), until=key(head), newest=True):
            piece = [to_envelope(execution, row) for row in orjson.loads(await self._aws.bodies.unpack(item))]
            begun = piece + begun
            if any(isinstance(envelope.event, TurnEnded) for envelope in piece):
                break
        return turn_rows(TurnSoFar(), begun, thread)[1]

    async def _reader(self, needed: int) -> list[Write]:
        """What keeps versions away that would misread it, where there are such."""
        if needed <= 1:
            return []
        known = await self._table.get(layout.fact(MIN_READER))
        if known is None:
            return [Put(keyed(layout.fact(MIN_READER), {"value": str(needed)}), ABSENT)]
        if int(text(known, "value")) >= needed:
            return []
        fact = keyed(layout.fact(MIN_READER), {"value": str(needed)})
        return [Put(fact, "#value = :known", {"known": text(known, "value")})]

    # --- what a refusal means ---

    @staticmethod
    def _was_written(append: _Append, head: Reason) -> bool:
        return head.item is not None and text(head.item, "token") == append.token

    async def _refuse(self, append: _Append, refused: ConditionFailed) -> None:
        """Raise what it means that the lease or the head was refused."""
        held, head, *others = refused.reasons
        place = await self._table.get(layout.execution_place(append.execution)) if head.refused or others else None
        if place is not None and text(place, "thread") != append.lease.thread:
            raise LeaseLost(
                f"execution {append.execution} belongs to thread {text(place, 'thread')}, not to {append.lease.thread}"
            )
        if place is not None and GONE in place:
            raise LogInvalid(f"the log of execution {append.execution} was deleted")
        if held.refused:
            raise LeaseLost(f"thread {append.lease.thread} is no longer held under fence {append.lease.fence}")
        if head.refused:
            raise SequenceConflict(append.execution, append.expected, number(head.item or {}, "head"))

    # --- reading ---

    async def read(self, execution: str, after: int = 0) -> AsyncIterator[Envelope]:
        """The events after ``after``, in order, also those appended while this reads."""
        found = await self._placed(execution)
        if found is None:
            return
        place, _ = found
        thread, seq = text(place, "thread"), max(after, 0)
        key = _key_of(thread, execution)
        async for item in self._table.query(thread, after=key(seq), until=key(10**19)):
            if number(item, "first") > seq + 1:
                break
            for row in orjson.loads(await self._aws.bodies.unpack(item)):
                if row[0] <= seq:
                    continue
                envelope = to_envelope(execution, row)
                seq = envelope.seq
                yield envelope
            await asyncio.sleep(0)
        await self._check_end(execution, seq, number(found[1], "head"))

    async def _check_end(self, execution: str, seq: int, head: int) -> None:
        """Raise an error if a log that reached to ``head`` was read to ``seq`` only."""
        if seq >= head:
            return
        if await self.execution(execution) is None:
            raise LogInvalid(f"the log of execution {execution} was deleted while it was read")
        raise StoreCorrupt(f"events are missing from the log of {execution}: restore the table from a backup")

    async def append_outcome(self, execution: str, events: Sequence[Envelope]) -> None:
        """Add to the outcome stream; it numbers the events itself, from 1."""
        reach("store.outcome.before")
        found = await self._placed(execution)
        token = uuid4().hex
        for _ in range(_MOST_TRIES):
            if found is None:
                raise LogInvalid(f"there is no execution {execution} to add an outcome to")
            thread, head = text(found[0], "thread"), number(found[1], "outcome")
            if not events or text(found[1], "outcome_token") == token:
                break
            try:
                await self._table.transact(await self._outcome(thread, execution, head, events, token))
                break
            except ConditionFailed:
                found = await self._placed(execution)
        else:
            raise StoreUnavailable(f"others add to the outcome of {execution}: it is tried again later")
        reach("store.outcome.after")

    async def _outcome(
        self, thread: str, execution: str, head: int, events: Sequence[Envelope], token: str
    ) -> list[Write]:
        rows = [
            to_row(envelope.model_copy(update={"execution": execution, "seq": seq}))
            for seq, envelope in enumerate(events, head + 1)
        ]
        await contents.keep(self._aws, (), contents.references(execution, rows))
        last, last_at = rows[-1][:2]
        item = keyed(layout.outcome(thread, execution, last), await self._packed(rows, thread, execution))
        numbered = [envelope.model_copy(update={"seq": seq}) for seq, envelope in enumerate(events, head + 1)]
        marks = await followers.mark(self._aws, thread, execution, numbered, "outcome")
        changes = ["#outcome = :last", "#outcome_token = :token", "#last_at = :last_at", *followers.changes(marks)]
        values: dict[str, Value] = {"last": last, "token": token, "last_at": last_at, **marks}
        at_its_end = "attribute_not_exists(#outcome)"
        if head:
            at_its_end, values = "#outcome = :head", {**values, "head": head}
        return [
            Update(
                layout.execution(thread, execution),
                f"SET {', '.join(changes)}",
                f"{PRESENT} AND {at_its_end}",
                values,
            ),
            Put(item),
        ]

    async def read_outcome(self, execution: str) -> list[Envelope]:
        """The outcome stream, in order."""
        found = await self._placed(execution)
        if found is None:
            return []
        items = self._table.query(text(found[0], "thread"), layout.prefix(f"OC#{execution}"))
        return [
            to_envelope(execution, row)
            async for item in items
            for row in cast(list[EventRow], orjson.loads(await self._aws.bodies.unpack(item)))
        ]

    # --- rows ---

    async def execution(self, execution: str) -> ExecutionRow | None:
        """One execution's row."""
        found = await self._placed(execution)
        return None if found is None else await self._row(*found)

    async def executions(self, thread: str) -> list[ExecutionRow]:
        """Executions of a thread, oldest first."""
        items = [item async for item in self._table.query(thread, layout.prefix("EXEC"))]
        return await self._rows([item for item in items if not is_child(text(item, "execution"))])

    async def open_executions(self, thread: str | None = None) -> list[ExecutionRow]:
        """Those that have not ended, oldest first."""
        if thread is None:
            waiting = await waiting_items(self._aws, SORT_OF_WAITING)
        else:
            waiting = [item async for item in self._table.query(thread, layout.prefix("OPEN"))]
        return [row for row in await self._listed(waiting, "OPEN") if not row.finished]

    async def open_threads(self, most: int, after: str = "") -> list[tuple[str, str]]:
        """Threads in which something is open besides children, oldest first, each with its place; by the index alone."""
        waiting = await waiting_items(self._aws, SORT_OF_WAITING, after, most, _is_no_child)
        return [(text(item, layout.PARTITION), text(item, WAITING.sort)) for item in waiting]

    async def newest_executions(self, limit: int) -> list[ExecutionRow]:
        """Those that began last, oldest first."""
        found: list[Item] = []
        if limit:
            async for item in self._table.query(LIST, newest=True, page=limit + 1, index=LISTED):
                if not is_child(text(item, SORT).removeprefix(layout.prefix("EXEC"))):
                    found.append(item)
                if len(found) == limit:
                    break
        return await self._listed(found, "EXEC")

    async def all_executions(self) -> AsyncIterator[ExecutionRow]:
        """Every execution, oldest first."""
        page: list[Item] = []
        async for item in self._table.query(LIST, index=LISTED):
            page.append(item)
            if len(page) == _PAGE:
                for row in await self._listed(page, "EXEC"):
                    yield row
                page = []
        for row in await self._listed(page, "EXEC"):
            yield row

    async def set_aside(self, execution: str, reason: str) -> None:
        """Take an open execution out of those that are gone on with."""
        found = await self._placed(execution)
        if found is None or text(found[1], "finished"):
            return
        thread = text(found[0], "thread")
        aside: list[Write] = [
            Update(
                layout.execution(thread, execution),
                "SET #finished = :reason",
                "#finished = :open",
                {"reason": reason, "open": ""},
            ),
            Delete(layout.open_execution(thread, execution)),
        ]
        try:
            await self._table.transact(aside)
        except ConditionFailed:
            return  # it has ended meanwhile

    async def _placed(self, execution: str) -> tuple[Item, Item] | None:
        """Where it belongs, and its head; None where it never was, or its log is gone."""
        place_key, thread = layout.execution_place(execution), self._aws.threads.get(execution)
        if thread is not None:
            head_key = layout.execution(thread, execution)
            found = await self._table.get_all([place_key, head_key])
            place, head = found.get(place_key), found.get(head_key)
        else:
            place = await self._table.get(place_key)
            head = None if place is None else await self._table.get(layout.execution(text(place, "thread"), execution))
        if place is None or head is None or GONE in place:
            self._aws.threads.drop(execution)
            return None
        self._aws.threads.put(execution, text(place, "thread"))
        return place, head

    async def _heads(self, listed: Sequence[Item], kind: str) -> list[Item]:
        """The heads of executions of which only the keys of one item are known."""
        keys = _head_keys(listed, kind)
        found = await self._table.get_all(keys)
        return [found[key] for key in keys if key in found]

    async def _listed(self, listed: Sequence[Item], kind: str) -> list[ExecutionRow]:
        """Rows of executions of which only the keys of one item are known: heads and places in one request."""
        keys = _head_keys(listed, kind)
        places = [layout.execution_place(key[1].removeprefix(layout.prefix("EXEC"))) for key in keys]
        found = await self._table.get_all([*keys, *places])
        return await self._placed_rows([found[key] for key in keys if key in found], found)

    async def _rows(self, heads: Sequence[Item]) -> list[ExecutionRow]:
        """Rows of executions whose heads were read."""
        places = [layout.execution_place(text(head, "execution")) for head in heads]
        return await self._placed_rows(heads, await self._table.get_all(places))

    async def _placed_rows(self, heads: Sequence[Item], places: Mapping[Key, Item]) -> list[ExecutionRow]:
        """Rows of those whose logs are there, oldest first."""
        heads = sorted(heads, key=lambda head: number(head, "order"))
        found = [(places.get(layout.execution_place(text(head, "execution"))), head) for head in heads]
        return [await self._row(place, head) for place, head in found if place is not None and GONE not in place]

    async def _row(self, place: Item, head: Item) -> ExecutionRow:
        return ExecutionRow(
            text(head, "execution"),
            text(place, "thread"),
            (await self._aws.bodies.unpack(place)).decode(),
            number(head, "head"),
            text(head, "finished"),
            moment(number(head, "started_at")),
        )


def _head_keys(listed: Sequence[Item], kind: str) -> list[Key]:
    return [
        layout.execution(text(item, layout.PARTITION), text(item, SORT).removeprefix(layout.prefix(kind)))
        for item in listed
    ]


def _is_no_child(opened: Item) -> bool:
    return not is_child(text(opened, SORT).removeprefix(layout.prefix("OPEN")))


def log_folder(thread: str, execution: str) -> str:
    """Where in the bucket larger parts of a log lie."""
    return f"threads/{thread}/log/{execution}"


def changed(aws: Aws, thread: str, execution: str) -> Put:
    """What notes that a log began, is gone or was rewritten, for whoever keeps words of it elsewhere."""
    noted: Item = {"thread": thread, "execution": execution, layout.TTL: int(time.time()) + NOTED_SECONDS}
    return Put(keyed(layout.changed(aws.order.next(), execution), noted))


def _key_of(thread: str, execution: str) -> Callable[[int], str]:
    """The sort key of the events whose last has a number."""
    return lambda last: layout.events(thread, execution, last)[1]
