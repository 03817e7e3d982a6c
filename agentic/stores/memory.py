"""A store that forgets everything when the process ends: for tests, tours and ``THREADWRIGHT_STORE=memory``."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from agentic.core.events.execution_events import (
    BlobRef,
    Envelope,
    Finished,
    InboxItem,
    OutboxItem,
    Started,
)
from agentic.core.events.ids import is_child
from agentic.core.events.upcasting import READING, ReaderVersion
from agentic.core.outside.outline import FOLLOWED, Stream
from agentic.core.text.searchable import searchable
from agentic.ports.errors import (
    LeaseLost,
    LogInvalid,
    SequenceConflict,
    StoreError,
    StoreUnavailable,
)
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
from agentic.stores.checks import MIN_READER, blob_ref, check_append, check_blob, check_bytes, check_items, check_reader
from agentic.stores.money import MemoryLedger
from agentic.text.word_query import WordQuery, composed

_HASH = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class _Hold:
    """The last lease of a thread; ``owner`` is '' once it was given back."""

    owner: str
    fence: int
    until: float


class MemoryStore(Store):
    """Keeps all in dictionaries; ``seconds`` is the clock that leases run by."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic, reading: ReaderVersion = READING) -> None:
        self._seconds = seconds
        self._reading = reading
        self._closed = False
        self._logs: dict[str, list[Envelope]] = {}
        self._positions: dict[str, list[int]] = {}
        """When each event of a log was written, counted over all logs."""
        self._written = 0
        self._told: dict[str, int] = {}
        """How far each target was told of ``_tellable``."""
        self._tellable: list[tuple[Stream, str, int]] = []
        """Places of events that somebody outside may want, once there is a target."""
        self._outcomes: dict[str, list[Envelope]] = {}
        self._rows: dict[str, ExecutionRow] = {}
        self._blobs: dict[str, bytes] = {}
        self._leases: dict[str, _Hold] = {}
        self._seen: set[str] = set()
        self._inbox: dict[str, InboxItem] = {}
        self._outbox: dict[str, OutboxRow] = {}
        self._messages: dict[str, str] = {}
        self._sessions: dict[str, SessionRow] = {}
        self._facts: dict[str, str] = {}
        self._labels: dict[str, LabelRow] = {}
        self._schedules: dict[str, ScheduleRow] = {}
        self._ledger = MemoryLedger()
        self._buried: dict[str, Buried] = {}
        self._items = 0
        """Outbox items there ever were."""
        self._ages: list[tuple[datetime, int]] = []
        """When there were how many."""

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
        """Keep all of it, or nothing."""
        self._check_open()
        check_items(len(events) + len(outbox) + len(inbox_acks) + len(blobs))
        check_append(execution, expected_seq, lease, events)
        for ref, content in blobs:
            check_blob(ref, content)
        check_bytes(
            execution, sum(len(each.event.model_dump_json()) for each in events) + sum(len(i.text) for i in outbox)
        )
        self._write(execution, expected_seq, lease, events, outbox)
        self._blobs.update({ref.sha: content for ref, content in blobs})
        self._acknowledge(inbox_acks)

    async def begin(
        self, execution: str, lease: Lease, events: Sequence[Envelope], outbox: Sequence[OutboxItem] = ()
    ) -> None:
        """Keep a log with a past, however long it is."""
        self._check_open()
        check_append(execution, 0, lease, events)
        self._write(execution, 0, lease, events, outbox)

    def _write(
        self,
        execution: str,
        expected_seq: int,
        lease: Lease,
        events: Sequence[Envelope],
        outbox: Sequence[OutboxItem],
    ) -> None:
        self._check_lease(execution, lease)
        if execution in self._buried:
            raise LogInvalid(f"the log of execution {execution} was deleted")
        head = len(self._logs.get(execution, ()))
        if head != expected_seq:
            raise SequenceConflict(execution, expected_seq, head)
        needs = self._reading.needs(envelope.event for envelope in events)
        if needs > 1:
            self._facts[MIN_READER] = str(max(needs, int(self._facts.get(MIN_READER, "1"))))
        if events:
            self._logs.setdefault(execution, []).extend(events)
            self._positions.setdefault(execution, []).extend(range(self._written + 1, self._written + len(events) + 1))
            self._written += len(events)
            self._update_row(execution, events)
            self._note_tellable(events, "log")
        self._add_outbox(outbox)

    async def read(self, execution: str, after: int = 0) -> AsyncIterator[Envelope]:
        """The events after ``after``, as they stand when asked for."""
        self._check_open()
        for envelope in self._logs.get(execution, [])[after:]:
            yield envelope

    async def append_outcome(self, execution: str, events: Sequence[Envelope]) -> None:
        """Add to the outcome stream; it numbers the events itself, from 1."""
        self._check_open()
        if execution not in self._rows:
            raise LogInvalid(f"there is no execution {execution} to add an outcome to")
        stream = self._outcomes.setdefault(execution, [])
        added = [
            envelope.model_copy(update={"execution": execution, "seq": seq})
            for seq, envelope in enumerate(events, len(stream) + 1)
        ]
        stream.extend(added)
        self._note_tellable(added, "outcome")

    async def read_outcome(self, execution: str) -> list[Envelope]:
        """The outcome stream, in order."""
        self._check_open()
        return list(self._outcomes.get(execution, ()))

    async def executions(self, thread: str) -> list[ExecutionRow]:
        """Executions of a thread, oldest first."""
        self._check_open()
        return [row for row in self._rows.values() if row.thread == thread and not is_child(row.execution)]

    async def open_executions(self, thread: str | None = None) -> list[ExecutionRow]:
        """Those that have not ended, oldest first."""
        self._check_open()
        return [row for row in self._rows.values() if not row.finished and thread in (None, row.thread)]

    async def open_threads(self, most: int, after: str = "") -> list[tuple[str, str]]:
        """Threads in which something is open besides children, oldest first, each with its place."""
        self._check_open()
        rows = ((f"{place:020d}", row) for place, row in enumerate(self._rows.values()))
        found = [(row.thread, at) for at, row in rows if not row.finished and not is_child(row.execution)]
        return [each for each in found if each[1] > after][:most]

    async def newest_executions(self, limit: int) -> list[ExecutionRow]:
        """Those that began last, oldest first."""
        self._check_open()
        rows = [row for row in self._rows.values() if not is_child(row.execution)]
        return rows[-limit:] if limit else []

    async def all_executions(self) -> AsyncIterator[ExecutionRow]:
        """Every execution, oldest first."""
        self._check_open()
        for row in list(self._rows.values()):
            yield row

    async def execution(self, execution: str) -> ExecutionRow | None:
        """One execution's row."""
        self._check_open()
        return self._rows.get(execution)

    async def set_aside(self, execution: str, reason: str) -> None:
        """Take an open execution out of those that are gone on with."""
        self._check_open()
        row = self._rows.get(execution)
        if row is not None and not row.finished:
            self._rows[execution] = replace(row, finished=reason)

    # --- publications ---

    async def subscribe(self, target: str) -> None:
        """Events wait for it from now on."""
        self._check_open()
        self._told.setdefault(target, len(self._tellable))

    async def unpublished(self, target: str, limit: int) -> list[LogEntry]:
        """What waits for it, in order."""
        self._check_open()
        told = self._told.get(target, len(self._tellable))
        waiting = [place for place in enumerate(self._tellable[told:], told + 1) if place[1][1] in self._rows]
        return [LogEntry(self._standing(*place), place[0], str(number)) for number, place in waiting[:limit]]

    async def published(self, target: str, entries: Sequence[LogEntry]) -> None:
        """These wait no more."""
        self._check_open()
        if target in self._told:
            self._told[target] = max([self._told[target], *(int(entry.mark) for entry in entries)])

    # --- blobs ---

    async def put_blob(self, content: bytes, media: str = "text/plain") -> BlobRef:
        """Store content once."""
        self._check_open()
        ref = blob_ref(content, media)
        self._blobs[ref.sha] = content
        return ref

    async def get_blob(self, sha: str) -> bytes | None:
        """The content, or None."""
        self._check_open()
        return self._blobs.get(sha)

    # --- leases ---

    async def acquire(self, thread: str, owner: str, seconds: float = 20.0) -> Lease | None:
        """Take the thread if it is free, has run out or is already ours."""
        self._check_open()
        check_reader(self._facts.get(MIN_READER), self._reading.reader)
        held = self._leases.get(thread, _Hold("", 0, 0.0))
        if held.owner not in ("", owner) and held.until > self._seconds():
            return None
        self._leases[thread] = _Hold(owner, held.fence + 1, self._seconds() + seconds)
        return Lease(thread, owner, held.fence + 1)

    async def renew(self, lease: Lease, seconds: float = 20.0) -> bool:
        """Hold it longer; False if it was taken or given back."""
        self._check_open()
        if not self._holds(lease):
            return False
        self._leases[lease.thread] = _Hold(lease.owner, lease.fence, self._seconds() + seconds)
        return True

    async def release(self, lease: Lease) -> None:
        """Give it back; the fence stays."""
        self._check_open()
        if self._holds(lease):
            self._leases[lease.thread] = _Hold("", lease.fence, 0.0)

    async def holder(self, thread: str) -> str:
        """Its owner, '' where it can be taken."""
        self._check_open()
        held = self._leases.get(thread, _Hold("", 0, 0.0))
        return held.owner if held.until > self._seconds() else ""

    # --- inbox ---

    async def put(self, item: InboxItem) -> bool:
        """Keep it; False if its id was ever kept."""
        self._check_open()
        if item.id in self._seen:
            return False
        self._seen.add(item.id)
        self._inbox[item.id] = item
        return True

    async def pending(self, thread: str) -> list[InboxItem]:
        """What waits for this thread, oldest first."""
        return [item for item in self._waiting() if item.thread == thread]

    async def pending_threads(self) -> list[str]:
        """Threads for which something waits, the longest waiting first."""
        return list(dict.fromkeys(item.thread for item in self._waiting()))

    async def discard(self, ids: Sequence[str]) -> None:
        """Acknowledge items that no execution will take in."""
        self._check_open()
        self._acknowledge(ids)

    # --- outbox ---

    async def put_outbox(self, items: Sequence[OutboxItem]) -> None:
        """Keep items; an existing key is left as it is."""
        self._check_open()
        self._add_outbox(items)

    async def undelivered(self, thread: str | None = None) -> list[OutboxRow]:
        """What waits, in order."""
        self._check_open()
        return [row for row in self._outbox.values() if not row.done and thread in (None, row.item.thread)]

    async def undelivered_threads(self) -> list[str]:
        """Threads for which something waits, the longest waiting first."""
        return list(dict.fromkeys(row.item.thread for row in await self.undelivered()))

    async def delivered(self, key: str, messages: Sequence[str]) -> None:
        """Record the ids of the messages an item became."""
        self._check_open()
        row = self._outbox.get(key)
        if row is None:
            raise StoreError(f"there is no outbox item {key!r}")
        self._outbox[key] = replace(row, delivered=tuple(messages), done=True)
        self._messages.update(dict.fromkeys(messages, key))

    async def outbox_row(self, key: str) -> OutboxRow | None:
        """One item with its receipts."""
        self._check_open()
        return self._outbox.get(key)

    async def by_message(self, message: str) -> OutboxRow | None:
        """The item that became this message, also where a later receipt named others."""
        self._check_open()
        key = self._messages.get(message)
        return None if key is None else self._outbox[key]

    # --- sessions and facts ---

    async def save_session(self, row: SessionRow) -> None:
        """Create or replace."""
        self._check_open()
        self._sessions[row.thread] = row

    async def session(self, thread: str) -> SessionRow | None:
        """One thread."""
        self._check_open()
        return self._sessions.get(thread)

    async def sessions(self, after: str = "") -> AsyncIterator[SessionRow]:
        """Those whose thread comes after ``after``, by thread."""
        self._check_open()
        for thread in sorted(thread for thread in self._sessions if thread > after):
            yield self._sessions[thread]

    async def recent_sessions(
        self, limit: int, *, guild: str | None = None, before: SessionRow | None = None
    ) -> list[SessionRow]:
        """The last accessed, the last first."""
        self._check_open()
        rows = sorted((row for row in self._sessions.values() if guild in (None, row.guild)), key=_age)
        return [row for row in rows if before is None or _age(row) > _age(before)][:limit]

    async def sessions_in(self, channel: str) -> list[SessionRow]:
        """Those in a channel, by thread."""
        self._check_open()
        return sorted((row for row in self._sessions.values() if row.channel == channel), key=lambda row: row.thread)

    async def set_fact(self, key: str, value: str) -> None:
        """Keep a small fact."""
        self._check_open()
        self._facts[key] = value

    async def fact(self, key: str) -> str | None:
        """A fact, or None."""
        self._check_open()
        return self._facts.get(key)

    async def facts(self, keys: Sequence[str]) -> dict[str, str]:
        """Those of these facts that there are."""
        self._check_open()
        return {key: self._facts[key] for key in keys if key in self._facts}

    async def swap_fact(self, key: str, before: str | None, after: str) -> bool:
        """Keep it if it is as it was."""
        self._check_open()
        if self._facts.get(key) != before:
            return False
        self._facts[key] = after
        return True

    # --- labels ---

    async def put_label(self, row: LabelRow) -> None:
        """Keep it in place of what was known."""
        self._check_open()
        self._labels[row.execution] = row

    async def labels(self, thread: str | None = None, *, newest: int = -1) -> list[LabelRow]:
        """All or a thread's, or the newest so many, in order."""
        self._check_open()
        rows = [row for row in self._labels.values() if thread in (None, row.thread)]
        return rows if newest < 0 else rows[max(0, len(rows) - newest) :]

    async def labelled(self) -> int:
        """Executions with a label."""
        self._check_open()
        return sum(row.known and not row.talk for row in self._labels.values())

    # --- schedules ---

    async def put_schedule(self, row: ScheduleRow) -> ScheduleRow | None:
        """Keep it, unless it was changed meanwhile."""
        self._check_open()
        known = self._schedules.get(row.id)
        if row.revision != (known.revision if known is not None else 0):
            return None
        self._schedules[row.id] = replace(row, revision=row.revision + 1)
        return self._schedules[row.id]

    async def schedule(self, id: str) -> ScheduleRow | None:
        """One of them."""
        self._check_open()
        return self._schedules.get(id)

    async def schedules(self, *, guild: str = "", person: str = "", thread: str = "") -> list[ScheduleRow]:
        """All, or those that fit."""
        self._check_open()
        return [
            row
            for row in self._schedules.values()
            if guild in ("", row.guild) and person in ("", row.person) and thread in ("", row.thread)
        ]

    async def schedules_due(self, by: datetime) -> list[ScheduleRow]:
        """Those that are to be looked at by then."""
        self._check_open()
        found = [(row.due, row) for row in self._schedules.values() if row.due is not None and row.due <= by]
        return [row for _, row in sorted(found, key=lambda pair: pair[0])]

    async def delete_schedules(self, ids: Sequence[str]) -> None:
        """Forget them."""
        self._check_open()
        for id in ids:
            self._schedules.pop(id, None)

    # --- ledger ---

    async def reserve_usd(self, key: str, scopes: Sequence[Scope], usd: float) -> Scope | None:
        """Set it aside in all scopes, or in none; the one that is full."""
        self._check_open()
        return self._ledger.reserve(key, scopes, usd)

    async def settle_usd(self, key: str, usd: float) -> None:
        """What it came to; the first settlement counts."""
        self._check_open()
        self._ledger.settle(key, usd)

    async def release_usd(self, key: str) -> None:
        """Forget a reservation that was not settled."""
        self._check_open()
        self._ledger.release(key)

    async def spent_usd(self, scope: str) -> float:
        """Settled and set aside, in US dollars."""
        self._check_open()
        return self._ledger.spent(scope)

    async def raise_usd(self, key: str, scope: str, usd: float) -> None:
        """People added to the cap of a scope; the first raise of a key counts."""
        self._check_open()
        self._ledger.raise_cap(key, scope, usd)

    async def raised_usd(self, scope: str) -> float:
        """What people added to the cap of a scope, in US dollars."""
        self._check_open()
        return self._ledger.raised(scope)

    async def unsettled_usd(self, prefix: str) -> list[str]:
        """Keys of reservations that stand."""
        self._check_open()
        return self._ledger.unsettled(prefix)

    # --- retention ---

    async def expire(self, before: datetime, most: int = 20) -> int:
        """Bury what is finished and old; how many executions that were."""
        self._check_open()
        held = {row.thread for row in self._rows.values() if not row.finished}
        held |= {item.thread for item in self._inbox.values()}
        held |= {row.item.thread for row in self._outbox.values() if not row.done}
        old = [row for row in self._rows.values() if row.thread not in held and self._last(row.execution) < before]
        return await self.bury([row.execution for row in old[:most]])

    async def bury(self, executions: Sequence[str]) -> int:
        """Bury these, unless they are open; here they are gone at once."""
        self._check_open()
        done = [row for name in executions if (row := self._rows.get(name)) is not None and row.finished]
        for row in done:
            self._buried[row.execution] = Buried(row.execution, row.thread, row.started_at)
            self._drop(row.execution)
        return len(done)

    async def forget_thread(self, thread: str, facts: Sequence[str] = ()) -> bool:
        """Let go of a thread that is no more, unless something in it is open."""
        self._check_open()
        rows = [row for row in self._rows.values() if row.thread == thread]
        if any(not row.finished for row in rows):
            return False
        for row in rows:
            self._drop(row.execution)
        for name in [one.execution for one in self._buried.values() if one.thread == thread]:
            del self._buried[name]
        self._acknowledge([item.id for item in self._inbox.values() if item.thread == thread])
        self._drop_items(
            row for row in self._outbox.values() if row.item.thread == thread and row.item.sort != "lesson"
        )
        self._sessions.pop(thread, None)
        for fact in facts:
            self._facts.pop(fact, None)
        return True

    async def burials(self) -> list[str]:
        """Nothing waits to be cleared here."""
        return []

    async def clear(self, thread: str) -> bool:
        """Nothing is left of what is buried here."""
        self._check_open()
        return False

    async def buried(self, thread: str) -> list[Buried]:
        """Executions of a thread whose logs were deleted, oldest first."""
        return [one for one in self._buried.values() if one.thread == thread]

    async def was_buried(self, execution: str) -> Buried | None:
        """One whose log was deleted."""
        return self._buried.get(execution)

    async def expire_outbox(self, now: datetime, before: datetime) -> bool:
        """Delete what was delivered long ago."""
        self._check_open()
        if not self._ages or now - self._ages[-1][0] >= timedelta(hours=1):
            self._ages.append((now, self._items))
        mark = max((items for at, items in self._ages if at < before), default=0)
        self._drop_items(
            row
            for row in self._outbox.values()
            if row.done and row.order <= mark and row.item.sort != "lesson" and row.item.execution not in self._rows
        )
        return False

    async def sweep_blobs(self) -> bool:
        """Delete contents that no log names, all at once."""
        self._check_open()
        logs = (envelope for stream in (*self._logs.values(), *self._outcomes.values()) for envelope in stream)
        named = {sha for envelope in logs for sha in _HASH.findall(envelope.model_dump_json())}
        self._blobs = {sha: content for sha, content in self._blobs.items() if sha in named}
        return False

    async def scrub(self) -> bool:
        """Nothing stands anywhere else here."""
        return True

    async def rewrite(self, execution: str, log: Sequence[Envelope], outcome: Sequence[Envelope]) -> bool:
        """Put other events in the places of a finished execution's."""
        self._check_open()
        row, first = self._rows.get(execution), log[0].event
        there = (self._logs.get(execution, []), self._outcomes.get(execution, []))
        if row is None or not row.finished or [_places(each) for each in there] != [_places(log), _places(outcome)]:
            return False
        self._logs[execution] = [*log]
        if outcome:
            self._outcomes[execution] = [*outcome]
        self._rows[execution] = replace(row, task=first.task if isinstance(first, Started) else row.task)
        return True

    async def said_in(self, thread: str) -> list[OutboxItem]:
        """All outbox items of a thread."""
        self._check_open()
        return [row.item for row in self._outbox.values() if row.item.thread == thread]

    async def reword(self, items: Sequence[OutboxItem]) -> None:
        """Put items in the place of those under the same keys."""
        self._check_open()
        for item in items:
            if (row := self._outbox.get(item.key)) is not None:
                self._outbox[item.key] = replace(row, item=item)

    async def erase_spending(self, scope: str, before: str) -> None:
        """Forget earlier days of the ledger."""
        self._check_open()
        self._ledger.erase(scope, before)

    async def mentioning(self, words: str) -> list[str]:
        """Executions in which these characters stand."""
        self._check_open()
        streams = {name: (*self._logs[name], *self._outcomes.get(name, ())) for name in self._rows}
        return [name for name, stream in streams.items() if any(words in e.event.model_dump_json() for e in stream)]

    async def kept(self) -> Kept:
        """How much there is."""
        began = [row.started_at for row in self._rows.values() if row.started_at is not None]
        opened = sum(not row.finished for row in self._rows.values())
        events = sum(len(log) for log in self._logs.values())
        return Kept(len(self._rows), opened, events, min(began, default=None), len(self._outbox))

    # --- search ---

    async def take_in(self) -> bool:
        """Nothing has to be taken in here: the logs themselves are read."""
        self._check_open()
        return False

    async def search(self, query: WordQuery, wanted: Wanted) -> list[Hit]:
        """Events with these words, the newest first."""
        self._check_open()
        hits: list[Hit] = []
        for row in self._rows.values():
            session = self._sessions.get(row.thread)
            named = wanted.threads is None or row.thread in wanted.threads
            if named and wanted.thread in ("", row.thread) and wanted.guild in (None, session and session.guild):
                log = zip(self._positions[row.execution], self._logs[row.execution], strict=True)
                hits += [Hit(position, row.thread, envelope) for position, envelope in log if _has(envelope, query)]
        older = [hit for hit in hits if not wanted.before or hit.position < wanted.before]
        return sorted(older, key=lambda hit: -hit.position)[: wanted.most]

    def _last(self, execution: str) -> datetime:
        return max(stream[-1].at for stream in (self._logs[execution], self._outcomes.get(execution)) if stream)

    def _drop(self, execution: str) -> None:
        for kept in (self._rows, self._logs, self._positions, self._outcomes):
            kept.pop(execution, None)
        self._drop_items(row for row in self._outbox.values() if row.item.key.startswith(f"{execution}."))
        self._ledger.forget((f"{execution}.", f"{execution}/"))
        for fact in ("learned", "imported"):
            self._facts.pop(f"{fact}: {execution}", None)

    def _drop_items(self, rows: Iterable[OutboxRow]) -> None:
        gone = {row.item.key for row in rows}
        self._outbox = {key: row for key, row in self._outbox.items() if key not in gone}
        self._messages = {message: key for message, key in self._messages.items() if key not in gone}

    async def close(self) -> None:
        """Refuse what comes after."""
        self._closed = True

    # --- inside ---

    def _note_tellable(self, events: Sequence[Envelope], stream: Stream) -> None:
        if self._told:
            self._tellable.extend((stream, e.execution, e.seq) for e in events if e.event.kind in FOLLOWED)

    def _standing(self, stream: Stream, execution: str, seq: int) -> Envelope:
        return (self._logs if stream == "log" else self._outcomes)[execution][seq - 1]

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailable("the store is closed")

    def _holds(self, lease: Lease) -> bool:
        held = self._leases.get(lease.thread)
        return held is not None and (held.owner, held.fence) == (lease.owner, lease.fence)

    def _check_lease(self, execution: str, lease: Lease) -> None:
        if not self._holds(lease):
            raise LeaseLost(f"thread {lease.thread} is no longer held under fence {lease.fence}")
        row = self._rows.get(execution)
        if row is not None and row.thread != lease.thread:
            raise LeaseLost(f"execution {execution} belongs to thread {row.thread}, not to {lease.thread}")

    def _update_row(self, execution: str, events: Sequence[Envelope]) -> None:
        row = self._rows.get(execution)
        first, last = events[0], events[-1]
        if isinstance(first.event, Started):
            row = ExecutionRow(execution, first.event.thread, first.event.task, 0, started_at=first.at)
        if row is None:
            raise LogInvalid(f"execution {execution} has no beginning")
        reasons = [envelope.event.reason for envelope in events if isinstance(envelope.event, Finished)]
        self._rows[execution] = replace(row, head=last.seq, finished=reasons[-1] if reasons else row.finished)

    def _add_outbox(self, items: Sequence[OutboxItem]) -> None:
        for item in items:
            if item.key not in self._outbox:
                self._items += 1
                self._outbox[item.key] = OutboxRow(item, self._items)

    def _acknowledge(self, ids: Sequence[str]) -> None:
        for item in ids:
            self._inbox.pop(item, None)

    def _waiting(self) -> list[InboxItem]:
        self._check_open()
        return sorted(self._inbox.values(), key=lambda item: item.at)


def _age(row: SessionRow) -> tuple[float, str]:
    return -row.accessed.timestamp() if row.accessed else 0.0, row.thread


def _has(envelope: Envelope, query: WordQuery) -> bool:
    words = searchable(envelope.event)
    return words is not None and bool(query.places(composed(words.text)))


def _places(stream: Sequence[Envelope]) -> list[tuple[int, datetime, int]]:
    return [(envelope.seq, envelope.at, envelope.fence) for envelope in stream]
