"""Executions out of the store on AWS and into it, row by row as they are stored, checksums and all.

A transaction takes 100 items, and an execution may be more: its events are written first, where no reader looks for them, and
then, in one transaction, its place and its head.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, cast
from uuid import uuid4

from agentic.aws.aws_errors import ConditionFailed
from agentic.aws.aws_place import AwsPlace
from agentic.aws.items import (
    ABSENT,
    PRESENT,
    Delete,
    Item,
    Put,
    Update,
    Value,
    Write,
    expression_values,
    from_wire,
    key_of,
    keyed,
    number,
    text,
)
from agentic.core.events.execution_events import BlobRef, Envelope
from agentic.ports.errors import StoreCorrupt, StoreError
from agentic.ports.maintenance import EventRow, Row, StoredExecution, StoreExport, StoreImport, StoreTransfer
from agentic.ports.schedules import ScheduleRow
from agentic.ports.stores import LabelRow
from agentic.stores.aws import layout
from agentic.stores.aws.layout import PARTITION, padded
from agentic.stores.aws.store import AwsStore
from agentic.stores.aws.subjects import blobs
from agentic.stores.aws.subjects.events import GONE, LIST, changed, log_folder
from agentic.stores.aws.subjects.sessions import item_of_row, row_of_item
from agentic.stores.checks import blob_ref
from agentic.stores.stored_executions import IMPORTED, OtherContent, being_deleted, missing, problems, streams

T = TypeVar("T")

_PIECE_BYTES = 300_000
"""Of events in one item, before they are packed."""


class AwsTransfer(StoreTransfer):
    """The store of a place; it is asked by commands that wait for each answer."""

    def __init__(self, place: AwsPlace) -> None:
        self._place = place

    def streams(self, stored: StoredExecution) -> tuple[list[Envelope], list[Envelope]]:
        """Its log and its outcome."""
        return streams(stored)

    def problems(self, stored: StoredExecution) -> Sequence[StoreError]:
        """What of it is not as it was written."""
        return problems(stored)

    @contextmanager
    def exporting(self) -> Generator[StoreExport]:
        """Look at it; nothing is changed."""
        with self._opened() as (store, runner):
            yield _Export(store, runner)

    @contextmanager
    def importing(self) -> Generator[StoreImport]:
        """Add to it; what comes is looked at first, and counts when this ends well."""
        with self._opened() as (store, runner):
            coming = _Import(store, runner)
            yield coming
            coming.commit()

    @contextmanager
    def _opened(self) -> Generator[tuple[_Store, asyncio.Runner]]:
        with asyncio.Runner() as runner:
            store = _Store.open(self._place)
            try:
                yield store, runner
            finally:
                runner.run(store.close())


class _Export(StoreExport):
    def __init__(self, store: _Store, runner: asyncio.Runner) -> None:
        self._store, self._runner = store, runner

    def threads(self) -> list[str]:
        return self._runner.run(self._store.threads())

    def facts(self) -> list[tuple[str, str]]:
        return self._runner.run(self._store.all_facts())

    def schedules(self) -> list[ScheduleRow]:
        return self._runner.run(self._store.schedules())

    def names(self, thread: str) -> list[str]:
        return self._runner.run(self._store.names(thread))

    def execution(self, name: str) -> StoredExecution | None:
        return self._runner.run(self._store.stored(name))

    def was_deleted(self, name: str) -> bool:
        return self._runner.run(self._store.was_buried(name)) is not None

    def session(self, thread: str) -> Row | None:
        return self._runner.run(self._store.session_row(thread))

    def content(self, sha: str) -> bytes | None:
        return self._runner.run(self._store.get_blob(sha))


class _Import(StoreImport):
    """Looks at once, and writes at the end."""

    def __init__(self, store: _Store, runner: asyncio.Runner) -> None:
        self._store, self._runner = store, runner
        self._work: list[Callable[[], Coroutine[object, object, object]]] = []
        self._sessions: dict[str, Row] = {}

    def execution(self, coming: StoredExecution) -> bool:
        fresh = self._runner.run(self._store.looked_at(coming))
        if fresh:
            self._work.append(partial(self._store.bring_in, coming))
        return fresh

    def session(self, row: Row) -> None:
        thread = str(row[0])
        if self._runner.run(self._store.session_row(thread)) is None:
            self._sessions[thread] = row

    def guild(self, thread: str) -> str:
        known = self._sessions.get(thread) or self._runner.run(self._store.session_row(thread))
        return str(known[2]) if known is not None else ""

    def content(self, sha: str, content: bytes) -> None:
        ref = blob_ref(content)
        if ref.sha != sha:
            raise StoreCorrupt(f"blob {sha} does not match its hash: take it from where it came once more")
        self._runner.run(self._store.bring_in_content(ref, content))

    def label(self, row: LabelRow) -> None:
        self._work.append(partial(self._store.put_label, row))

    def fact(self, key: str, value: str) -> None:
        self._work.append(partial(self._store.add, keyed(layout.fact(key), {"value": value})))

    def schedule(self, row: ScheduleRow) -> None:
        self._work.append(partial(self._store.put_schedule, replace(row, revision=0)))

    def commit(self) -> None:
        for row in self._sessions.values():
            self._runner.run(self._store.add(item_of_row(row)))
        for work in self._work:
            self._runner.run(work())


class _Store(AwsStore):
    """Reads and writes rows as they are."""

    async def threads(self) -> list[str]:
        """Every thread that has a row or an execution."""
        with_rows = {row.thread async for row in self.sessions()}
        return sorted(with_rows | {row.thread async for row in self.all_executions()})

    async def all_facts(self) -> list[tuple[str, str]]:
        """Small facts, by their keys; reads the whole table, for they stand apart from each other."""
        facts, condition = layout.prefix("FACT"), f"begins_with(#{PARTITION}, :facts)"
        arguments: dict[str, Any] = {"FilterExpression": condition, "ConsistentRead": True}
        arguments |= expression_values(condition, {"facts": facts})
        found: list[tuple[str, str]] = []
        while True:
            answer = await self._table.call("scan", **arguments)
            items = [from_wire(wire) for wire in answer.get("Items", [])]
            found += [(text(item, PARTITION).removeprefix(facts), text(item, "value")) for item in items]
            if not answer.get("LastEvaluatedKey"):
                return sorted(found)
            arguments["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    async def names(self, thread: str) -> list[str]:
        """The executions of a thread, oldest first."""
        heads = [item async for item in self._table.query(thread, layout.prefix("EXEC"))]
        return [text(head, "execution") for head in sorted(heads, key=lambda head: number(head, "order"))]

    async def stored(self, name: str) -> StoredExecution | None:
        """One execution, verbatim."""
        found = await self._placed(name)
        if found is None:
            return None
        place, head = found
        thread = text(place, "thread")
        task = (await self._aws.bodies.unpack(place)).decode()
        execution: Row = (name, thread, task, number(head, "started_at"), text(head, "finished"))
        events, outcomes = [
            tuple([row for _, rows in await self._stream(thread, name, sort) for row in rows]) for sort in ("EV", "OC")
        ]
        return StoredExecution(execution, events, outcomes)

    async def session_row(self, thread: str) -> Row | None:
        """A thread's row, verbatim."""
        item = await self._table.get(layout.session(thread))
        return None if item is None else row_of_item(item)

    async def add(self, item: Item) -> None:
        """Add an item; one that is there stays."""
        with suppress(ConditionFailed):
            await self._table.write(Put(item, ABSENT))

    async def bring_in_content(self, ref: BlobRef, content: bytes) -> None:
        """Add content; it is swept where nothing that comes in names it."""
        await self._table.put_all([keyed(layout.unnamed(ref.sha), {})])
        await blobs.keep(self._aws, [(ref, content)])

    async def looked_at(self, coming: StoredExecution) -> bool:
        """Whether there is something to bring in.  Raises ``OtherContent``."""
        known = await self.stored(coming.name)
        if known is not None:
            return bool(missing(known, coming))
        buried = await self.was_buried(coming.name)
        if buried is not None and "waits" in (await self._burial_of(coming.name) or {}):
            raise being_deleted(coming.name)
        return True

    async def bring_in(self, coming: StoredExecution) -> None:
        """Add it, or what its outcome lacks here."""
        known = await self.stored(coming.name)
        if known is not None:
            more = missing(known, coming)
            await self._write_rows("OC", coming, more)
            last: dict[str, Value] = {"outcome": coming.outcomes[-1][0], "token": uuid4().hex}
            change = "SET #outcome = :outcome, #outcome_token = :token"
            await self._table.write(Update(layout.execution(coming.thread, coming.name), change, PRESENT, last))
            return
        await self._write_rows("EV", coming, coming.events)
        await self._write_rows("OC", coming, coming.outcomes)
        await self._raise_fence(coming)
        # When it came is kept: its age counts from then.
        imported = keyed(layout.fact(f"imported: {coming.name}"), {"value": str(int(time.time()))})
        burial = await self._burial_of(coming.name)
        gone: list[Write] = [] if burial is None else [Delete(key_of(burial))]
        order = self._aws.order.next()
        try:
            await self._table.transact(
                [
                    await self._place_of(coming),
                    Put(self._head_of(coming, order), ABSENT),
                    Put(imported),
                    changed(self._aws, coming.thread, coming.name),
                    *gone,
                ]
            )
        except ConditionFailed as refused:
            raise OtherContent(f"execution {coming.name} was begun here meanwhile: import it again") from refused

    async def _place_of(self, coming: StoredExecution) -> Put:
        task = await self._aws.bodies.pack(str(coming.execution[2]).encode(), log_folder(coming.thread, coming.name))
        free = f"{ABSENT} OR attribute_exists(#{GONE})"
        return Put(keyed(layout.execution_place(coming.name), {"thread": coming.thread, **task}), free)

    @staticmethod
    def _head_of(coming: StoredExecution, order: int) -> Item:
        *_, started_at, finished = cast(tuple[str, str, str, int, str], coming.execution)
        head: Item = {
            "execution": coming.name,
            "order": order,
            "started_at": started_at,
            "last_at": max((row[1] for row in (*coming.events, *coming.outcomes)), default=started_at),
            "head": len(coming.events),
            "fence": coming.events[-1][2] if coming.events else 0,
            "token": uuid4().hex,
            "finished": finished or IMPORTED,
            **layout.listed(LIST, f"{padded(started_at)}#{padded(order)}"),
        }
        if coming.outcomes:
            head |= {"outcome": len(coming.outcomes), "outcome_token": uuid4().hex}
        return keyed(layout.execution(coming.thread, coming.name), head)

    async def _write_rows(self, sort: str, coming: StoredExecution, rows: Sequence[EventRow]) -> None:
        """Write events, as many to an item as it well holds."""
        await self._table.put_all(blobs.references(coming.name, rows))
        place = layout.events if sort == "EV" else layout.outcome
        for piece in _pieces(rows):
            body = await self._packed(piece, coming.thread, coming.name)
            await self._table.write(Put(keyed(place(coming.thread, coming.name, piece[-1][0]), body)))

    async def _raise_fence(self, coming: StoredExecution) -> None:
        """A later owner of the thread is newer than all that wrote this."""
        fence = max((row[2] for row in coming.events), default=0)
        change = "SET #fence = :fence, #owner = if_not_exists(#owner, :free), #until = if_not_exists(#until, :none)"
        values: dict[str, Value] = {"fence": fence, "free": "", "none": 0}
        lower = "attribute_not_exists(#fence) OR #fence < :fence"
        try:
            await self._table.write(Update(layout.lease(coming.thread), change, lower, values))
        except ConditionFailed:
            return

    async def _burial_of(self, name: str) -> Item | None:
        place = await self._table.get(layout.execution_place(name))
        if place is None or GONE not in place:
            return None
        return await self._table.get(layout.burial(text(place, "thread"), number(place, GONE), name))


def _pieces(rows: Sequence[EventRow]) -> list[list[EventRow]]:
    pieces: list[list[EventRow]] = []
    left = 0
    for row in rows:
        if left <= 0:
            pieces.append([])
            left = _PIECE_BYTES
        pieces[-1].append(row)
        left -= len(row[-1])
    return pieces
