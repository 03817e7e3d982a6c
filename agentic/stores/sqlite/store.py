"""The embedded store as a whole: each method is one transaction of the writer, or one short read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import closing
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

from agentic.core.events.execution_events import (
    BlobRef,
    Envelope,
    InboxItem,
    OutboxItem,
    Started,
)
from agentic.core.events.upcasting import READING, ReaderVersion
from agentic.ports.errors import LogInvalid, StoreUnavailable
from agentic.ports.failpoints import reach
from agentic.ports.runtime import (
    Buried,
    ExecutionRow,
    Hit,
    Kept,
    LabelRow,
    Lease,
    LogEntry,
    OutboxRow,
    ScheduleRow,
    Scope,
    SessionRow,
    Store,
    Wanted,
)
from agentic.stores.checks import blob_ref, check_append, check_blob, check_bytes, check_items
from agentic.stores.process_identity import provably_dead, seconds_since_boot, this_process
from agentic.stores.sqlite.file.connection import Connection
from agentic.stores.sqlite.file.open import BUSY_MILLISECONDS, open_reader, open_writer
from agentic.stores.sqlite.file.presence_file import mark_closed, mark_open
from agentic.stores.sqlite.file.sqlite_errors import plainly
from agentic.stores.sqlite.group_commit import Counters
from agentic.stores.sqlite.maintenance import deletion
from agentic.stores.sqlite.tables import blobs as contents
from agentic.stores.sqlite.tables import (
    budgets,
    inbox,
    labels,
    leases,
    outbox,
    publications,
    schedule_rows,
    search,
    sessions,
)
from agentic.stores.sqlite.tables import (
    events as events_table,
)
from agentic.stores.sqlite.writer import Writer
from agentic.text.word_query import WordQuery

T = TypeVar("T")

PAGE_EVENTS = 200
"""Events read at a time; between pages other tasks run."""
PAGE_ROWS = 200
"""Sessions and executions read at a time."""
PAGE_CHARACTERS = 500_000
"""With the first event by which a page has so many it ends."""


class SQLiteStore(Store):
    """Keeps all in one file; several processes may open it, and each thread still has one owner."""

    def __init__(
        self,
        writer: Writer,
        reader: Connection,
        path: Path,
        seconds: Callable[[], float],
        reading: ReaderVersion = READING,
        *,
        keeps_index: bool = True,
    ) -> None:
        self._writer = writer
        self._reader = reader
        self._path = path
        self._folder = path.parent / "blobs"
        self._seconds = seconds
        self._reading = reading
        self._keeps_index = keeps_index
        self._process = this_process()
        self._closed = False

    @classmethod
    def open(
        cls,
        path: Path | str,
        seconds: Callable[[], float] = seconds_since_boot,
        busy_milliseconds: int = BUSY_MILLISECONDS,
        reading: ReaderVersion = READING,
        *,
        keeps_index: bool = True,
    ) -> Self:
        """Open or create the file.

        ``seconds`` is the clock that leases run by; another process that writes is waited for ``busy_milliseconds``;
        ``reading`` is what this version understands; without ``keeps_index`` the index for searches is left to others.
        Raises ``StoreTooNew``, ``StoreCorrupt`` or ``StoreUnavailable``, each saying what to do.
        """
        path = Path(path)
        with plainly():
            connection = open_writer(path, busy_milliseconds)
            reader = open_reader(path)
            mark_open(path)
            writer = Writer(connection, lambda: mark_closed(path))
        return cls(writer, reader, path, seconds, reading, keeps_index=keeps_index)

    @property
    def counters(self) -> Counters:
        """What the writer has done since the store was opened."""
        return self._writer.counters

    async def close(self) -> None:
        """Write what waits, copy the write-ahead log into the database, close the file."""
        if self._closed:
            return
        self._closed = True
        self._reader.close()
        await self._writer.close()

    # --- log ---

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
        """Make all of it durable in one transaction, or nothing."""
        check_items(len(events) + len(outbox) + len(inbox_acks) + len(blobs))
        check_append(execution, expected_seq, lease, events)
        kept = [await self._keep(ref, content) for ref, content in blobs]
        append = self._prepared(execution, expected_seq, lease, events, outbox, inbox_acks, kept)
        check_bytes(execution, append.bytes)
        await self._commit(append)

    async def begin(
        self, execution: str, lease: Lease, events: Sequence[Envelope], outbox: Sequence[OutboxItem] = ()
    ) -> None:
        """Write a log with a past in one transaction, however long it is."""
        check_append(execution, 0, lease, events)
        await self._commit(self._prepared(execution, 0, lease, events, outbox))

    async def _commit(self, append: events_table.Append) -> None:
        reach("store.append.before")
        await self._writer.commit(append)
        reach("store.append.after")

    async def read(self, execution: str, after: int = 0) -> AsyncIterator[Envelope]:
        """The events after ``after``, in order, also those appended while this reads."""
        page, more = self._page(execution, after)
        while page:
            for envelope in page:
                yield envelope
            if not more:
                return
            await asyncio.sleep(0)
            page, more = self._page(execution, page[-1].seq)
            if not page and await self.was_buried(execution) is not None:
                raise LogInvalid(f"the log of execution {execution} was deleted while it was read")

    async def append_outcome(self, execution: str, events: Sequence[Envelope]) -> None:
        """Add to the outcome stream; it numbers the events itself, from 1."""
        reach("store.outcome.before")
        await self._writer.commit(lambda connection: events_table.append_outcome(connection, execution, events))
        reach("store.outcome.after")

    async def read_outcome(self, execution: str) -> list[Envelope]:
        """The outcome stream, in order."""
        return self._read(lambda connection: events_table.read_outcome(connection, execution))

    async def executions(self, thread: str) -> list[ExecutionRow]:
        """Executions of a thread, oldest first."""
        return self._read(lambda connection: events_table.executions(connection, thread))

    async def open_executions(self, thread: str | None = None) -> list[ExecutionRow]:
        """Those that have not ended, oldest first."""
        return self._read(lambda connection: events_table.open_executions(connection, thread))

    async def open_threads(self, most: int, after: str = "") -> list[tuple[str, str]]:
        """Threads in which something is open besides children, oldest first, each with its place."""
        return self._read(lambda connection: events_table.open_threads(connection, most, after))

    async def newest_executions(self, limit: int) -> list[ExecutionRow]:
        """Those that began last, oldest first."""
        return self._read(lambda connection: events_table.newest_executions(connection, limit))

    async def all_executions(self) -> AsyncIterator[ExecutionRow]:
        """Every execution, oldest first; other tasks run between its pages."""
        last = ""
        while page := self._read(partial(events_table.executions_after, name=last, limit=PAGE_ROWS)):
            for row in page:
                yield row
            last = page[-1].execution
            await asyncio.sleep(0)

    async def execution(self, execution: str) -> ExecutionRow | None:
        """One execution's row."""
        return self._read(lambda connection: events_table.execution(connection, execution))

    async def set_aside(self, execution: str, reason: str) -> None:
        """Take an open execution out of those that are gone on with."""
        aside = "UPDATE executions SET finished = ? WHERE name = ? AND finished = ''"
        await self._writer.commit(lambda connection: connection.execute(aside, (reason, execution)).fetchone())

    # --- publications ---

    async def subscribe(self, target: str) -> None:
        """Events wait for it from now on."""
        await self._writer.commit(lambda connection: publications.subscribe(connection, target))

    async def unpublished(self, target: str, limit: int) -> list[LogEntry]:
        """What waits for it, in order."""
        return self._read(lambda connection: publications.unpublished(connection, target, limit))

    async def published(self, target: str, entries: Sequence[LogEntry]) -> None:
        """These wait no more."""
        await self._writer.commit(lambda connection: publications.published(connection, target, entries))

    # --- blobs ---

    async def put_blob(self, content: bytes, media: str = "text/plain") -> BlobRef:
        """Store content once."""
        ref = blob_ref(content, media)
        kept = await self._keep(ref, content)
        await self._writer.commit(lambda connection: contents.insert(connection, [kept]))
        return ref

    async def get_blob(self, sha: str) -> bytes | None:
        """The content, or None."""
        return self._read(lambda connection: contents.get(connection, self._folder, sha))

    # --- leases ---

    async def acquire(self, thread: str, owner: str, seconds: float = 20.0) -> Lease | None:
        """Take the thread if it is free, has run out, is already ours, or its owner is provably dead."""
        reach("lease.acquire.before")
        lease = await self._writer.commit(
            lambda connection: leases.acquire(
                connection,
                (thread, owner),
                self._seconds() + seconds,
                self._seconds(),
                self._process,
                provably_dead,
                self._reading.reader,
            )
        )
        reach("lease.acquire.after")
        return lease

    async def renew(self, lease: Lease, seconds: float = 20.0) -> bool:
        """Hold it longer; False if it was taken or given back."""
        reach("lease.renew.before")
        held = await self._writer.commit(lambda connection: leases.renew(connection, lease, self._seconds() + seconds))
        reach("lease.renew.after")
        return held

    async def release(self, lease: Lease) -> None:
        """Give it back; the fence stays."""
        reach("lease.release.before")
        await self._writer.commit(lambda connection: leases.release(connection, lease))
        reach("lease.release.after")

    async def holder(self, thread: str) -> str:
        """Its owner, '' where it can be taken."""
        now = self._seconds()
        return self._read(lambda connection: leases.holder(connection, thread, now, provably_dead))

    # --- inbox ---

    async def put(self, item: InboxItem) -> bool:
        """Keep it durably; False if its id was ever kept."""
        reach("inbox.put.before")
        kept = await self._writer.commit(lambda connection: inbox.put(connection, item))
        reach("inbox.put.after")
        return kept

    async def pending(self, thread: str) -> list[InboxItem]:
        """What waits for this thread, oldest first."""
        return self._read(lambda connection: inbox.pending(connection, thread))

    async def pending_threads(self) -> list[str]:
        """Threads for which something waits, the longest waiting first."""
        return self._read(inbox.pending_threads)

    async def discard(self, ids: Sequence[str]) -> None:
        """Acknowledge items that no execution will take in."""
        reach("inbox.discard.before")
        await self._writer.commit(lambda connection: inbox.acknowledge(connection, ids))
        reach("inbox.discard.after")

    # --- outbox ---

    async def put_outbox(self, items: Sequence[OutboxItem]) -> None:
        """Keep items; an existing key is left as it is."""
        reach("outbox.put.before")
        await self._writer.commit(lambda connection: outbox.insert(connection, items))
        reach("outbox.put.after")

    async def undelivered(self, thread: str | None = None) -> list[OutboxRow]:
        """What waits, in order."""
        return self._read(lambda connection: outbox.waiting(connection, thread))

    async def undelivered_threads(self) -> list[str]:
        """Threads for which something waits, the longest waiting first."""
        return self._read(outbox.waiting_threads)

    async def delivered(self, key: str, messages: Sequence[str]) -> None:
        """Record the ids of the messages an item became."""
        reach("outbox.delivered.before")
        await self._writer.commit(lambda connection: outbox.deliver(connection, key, messages))
        reach("outbox.delivered.after")

    async def outbox_row(self, key: str) -> OutboxRow | None:
        """One item with its receipts."""
        return self._read(lambda connection: outbox.by_key(connection, key))

    async def by_message(self, message: str) -> OutboxRow | None:
        """The item that became this message, also where a later receipt named others."""
        return self._read(lambda connection: outbox.by_message(connection, message))

    # --- sessions and facts ---

    async def save_session(self, row: SessionRow) -> None:
        """Create or replace."""
        reach("session.save.before")
        await self._writer.commit(lambda connection: sessions.save(connection, row))
        reach("session.save.after")

    async def session(self, thread: str) -> SessionRow | None:
        """One thread."""
        return self._read(lambda connection: sessions.one(connection, thread))

    async def sessions(self, after: str = "") -> AsyncIterator[SessionRow]:
        """Those whose thread comes after ``after``; other tasks run between its pages."""
        while page := self._read(partial(sessions.after, thread=after, limit=PAGE_ROWS)):
            for row in page:
                yield row
            after = page[-1].thread
            await asyncio.sleep(0)

    async def recent_sessions(
        self, limit: int, *, guild: str | None = None, before: SessionRow | None = None
    ) -> list[SessionRow]:
        """The last accessed, the last first."""
        return self._read(lambda connection: sessions.recent(connection, limit, guild, before))

    async def sessions_in(self, channel: str) -> list[SessionRow]:
        """Those in a channel."""
        return self._read(lambda connection: sessions.of_channel(connection, channel))

    async def set_fact(self, key: str, value: str) -> None:
        """Keep a small fact."""
        await self._wrote_fact(lambda connection: sessions.set_fact(connection, key, value))

    async def fact(self, key: str) -> str | None:
        """A fact, or None."""
        return self._read(lambda connection: sessions.fact(connection, key))

    async def facts(self, keys: Sequence[str]) -> dict[str, str]:
        """Those of these facts that there are."""
        found = self._read(lambda connection: {key: sessions.fact(connection, key) for key in keys})
        return {key: value for key, value in found.items() if value is not None}

    async def swap_fact(self, key: str, before: str | None, after: str) -> bool:
        """Keep a fact if it is as it was."""
        return await self._wrote_fact(lambda connection: sessions.swap_fact(connection, key, before, after))

    async def _wrote_fact(self, write: Callable[[Connection], T]) -> T:
        reach("fact.set.before")
        wrote = await self._writer.commit(write)
        reach("fact.set.after")
        return wrote

    # --- labels ---

    async def put_label(self, row: LabelRow) -> None:
        """Keep it in place of what was known."""
        await self._writer.commit(lambda connection: labels.put(connection, row))

    async def labels(self, thread: str | None = None, *, newest: int = -1) -> list[LabelRow]:
        """All or a thread's, or the newest so many, in order."""
        return self._read(lambda connection: labels.rows(connection, thread, newest))

    async def labelled(self) -> int:
        """Executions with a label."""
        return self._read(labels.count)

    # --- schedules ---

    async def put_schedule(self, row: ScheduleRow) -> ScheduleRow | None:
        """Keep it, unless it was changed meanwhile."""
        reach("schedule.put.before")
        kept = await self._writer.commit(lambda connection: schedule_rows.put(connection, row))
        reach("schedule.put.after")
        return kept

    async def schedule(self, id: str) -> ScheduleRow | None:
        """One of them."""
        return self._read(lambda connection: schedule_rows.one(connection, id))

    async def schedules(self, *, guild: str = "", person: str = "", thread: str = "") -> list[ScheduleRow]:
        """All, or those that fit."""
        return self._read(lambda connection: schedule_rows.some(connection, guild, person, thread))

    async def schedules_due(self, by: datetime) -> list[ScheduleRow]:
        """Those that are to be looked at by then."""
        return self._read(lambda connection: schedule_rows.due(connection, by))

    async def delete_schedules(self, ids: Sequence[str]) -> None:
        """Forget them."""
        await self._writer.commit(lambda connection: schedule_rows.delete(connection, ids))

    # --- ledger ---

    async def reserve_usd(self, key: str, scopes: Sequence[Scope], usd: float) -> Scope | None:
        """Set it aside in all scopes, or in none; the one that is full."""
        return await self._writer.commit(lambda connection: budgets.reserve(connection, key, scopes, usd))

    async def settle_usd(self, key: str, usd: float) -> None:
        """What it came to; the first settlement counts."""
        await self._writer.commit(lambda connection: budgets.settle(connection, key, usd))

    async def release_usd(self, key: str) -> None:
        """Forget a reservation that was not settled."""
        await self._writer.commit(lambda connection: budgets.release(connection, key))

    async def spent_usd(self, scope: str) -> float:
        """Settled and set aside, in US dollars."""
        return self._read(lambda connection: budgets.spent(connection, scope))

    async def raise_usd(self, key: str, scope: str, usd: float) -> None:
        """People added to the cap of a scope; the first raise of a key counts."""
        await self._writer.commit(lambda connection: budgets.raise_cap(connection, key, scope, usd))

    async def raised_usd(self, scope: str) -> float:
        """What people added to the cap of a scope, in US dollars."""
        return self._read(lambda connection: budgets.raised(connection, scope))

    async def unsettled_usd(self, prefix: str) -> list[str]:
        """Keys of reservations that stand."""
        return self._read(lambda connection: budgets.unsettled(connection, prefix))

    # --- retention ---

    async def expire(self, before: datetime, most: int = 20) -> int:
        """Bury what is finished and old; how many executions that were."""
        return await self._writer.commit(lambda connection: deletion.expire(connection, before, most))

    async def bury(self, executions: Sequence[str]) -> int:
        """Bury these, unless they are open."""
        return await self._writer.commit(lambda connection: deletion.bury(connection, executions))

    async def forget_thread(self, thread: str, facts: Sequence[str] = ()) -> bool:
        """Let go of a thread that is no more, unless something in it is open."""
        return await self._writer.commit(lambda connection: deletion.forget_thread(connection, thread, facts))

    async def burials(self) -> list[str]:
        """Threads in which something is to be cleared."""
        return self._read(deletion.burials)

    async def clear(self, thread: str) -> bool:
        """Delete a piece of what is buried; False when nothing is left."""
        return await self._writer.commit(lambda connection: deletion.clear(connection, thread))

    async def buried(self, thread: str) -> list[Buried]:
        """Executions of a thread whose logs were deleted, oldest first."""
        return self._read(lambda connection: deletion.buried(connection, thread))

    async def was_buried(self, execution: str) -> Buried | None:
        """One whose log was deleted."""
        return self._read(lambda connection: deletion.was_buried(connection, execution))

    async def expire_outbox(self, now: datetime, before: datetime) -> bool:
        """Delete a piece of what was delivered long ago; True while more may be left."""
        return await self._writer.commit(lambda connection: deletion.expire_outbox(connection, now, before))

    async def sweep_blobs(self) -> bool:
        """Do a piece of deleting contents that no log names; True while more is to be done."""
        come = await self._writer.commit(deletion.sweep_blobs)
        if come == "done":
            await asyncio.to_thread(self._delete_files)
        return come != "idle"

    async def scrub(self) -> bool:
        """What was deleted leaves the write-ahead log too; False where that has to wait."""
        return await self._writer.empty_wal()

    async def rewrite(self, execution: str, log: Sequence[Envelope], outcome: Sequence[Envelope]) -> bool:
        """Put other events in the places of a finished execution's."""
        rows = await asyncio.to_thread(deletion.written, log, outcome)
        first = log[0].event
        task = first.task if isinstance(first, Started) else ""
        return await self._writer.commit(lambda connection: deletion.rewrite(connection, execution, task, rows))

    async def said_in(self, thread: str) -> list[OutboxItem]:
        """All outbox items of a thread."""
        return self._read(lambda connection: outbox.of_thread(connection, thread))

    async def reword(self, items: Sequence[OutboxItem]) -> None:
        """Put items in the place of those under the same keys."""
        await self._writer.commit(lambda connection: outbox.reword(connection, items))

    async def erase_spending(self, scope: str, before: str) -> None:
        """Forget earlier days of the ledger."""
        await self._writer.commit(lambda connection: deletion.erase_spending(connection, scope, before))

    async def mentioning(self, words: str) -> list[str]:
        """Executions in which these characters stand; read beside the event loop, over a connection of its own."""

        def read() -> list[str]:
            with plainly(), closing(open_reader(self._path)) as connection:
                return deletion.mentioning(connection, words)

        return await asyncio.to_thread(read)

    async def kept(self) -> Kept:
        """How much there is."""
        return self._read(lambda connection: deletion.kept(connection, self._path))

    # --- search ---

    async def take_in(self) -> bool:
        """Take in a piece of what was written since the last time; True while there may be more.

        A store that leaves that to another process says whether more is left than a search looks through by itself.
        """
        if not self._keeps_index:
            return self._read(search.is_far_behind)
        return self._read(search.is_behind) and await self._writer.commit(search.take_in)

    async def search(self, query: WordQuery, wanted: Wanted) -> list[Hit]:
        """Events with these words, the newest first; read beside the event loop, over a connection of its own."""

        def read() -> list[Hit]:
            with plainly(), closing(open_reader(self._path)) as connection:
                return search.found(connection, query, wanted)

        return await asyncio.to_thread(read)

    # --- inside ---

    def _prepared(
        self,
        execution: str,
        expected_seq: int,
        lease: Lease,
        events: Sequence[Envelope],
        outbox: Sequence[OutboxItem],
        inbox_acks: Sequence[str] = (),
        kept: Sequence[contents.Content] = (),
    ) -> events_table.Append:
        needs = self._reading.needs(envelope.event for envelope in events)
        return events_table.prepare(execution, expected_seq, lease, events, outbox, inbox_acks, kept, needs)

    def _page(self, execution: str, after: int) -> tuple[list[Envelope], bool]:
        return self._read(
            lambda connection: events_table.read(connection, execution, after, PAGE_EVENTS, PAGE_CHARACTERS)
        )

    def _read(self, query: Callable[[Connection], T]) -> T:
        # On the event loop's thread on purpose: a read takes tens of microseconds, less than handing it to a thread.
        if self._closed:
            raise StoreUnavailable("the store is closed")
        with plainly():
            return query(self._reader)

    def _delete_files(self) -> None:
        with plainly(), closing(open_reader(self._path)) as connection:
            named = contents.in_files(connection)
        deletion.delete_files(self._folder, named, time.time())

    async def _keep(self, ref: BlobRef, content: bytes) -> contents.Content:
        check_blob(ref, content)
        if len(content) <= contents.IN_DATABASE_BYTES:
            return contents.keep(self._folder, ref, content)
        return await asyncio.to_thread(contents.keep, self._folder, ref, content)
