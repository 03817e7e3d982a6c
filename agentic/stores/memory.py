"""A store that forgets everything when the process ends: for tests, tours and ``THREADWRIGHT_STORE=memory``."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace

from agentic.core.events import BlobRef, Envelope, Finished, InboxItem, OutboxItem, Started
from agentic.core.lazy_dataclass import dataclass
from agentic.core.upcasting import READING, Reading
from agentic.errors import LeaseLost, LogInvalid, SequenceConflict, StoreError, StoreUnavailable
from agentic.ports import ExecutionRow, LabelRow, Lease, OutboxRow, Scope, SessionRow, Store
from agentic.stores.checks import MIN_READER, blob_ref, check_append, check_blob, check_reader
from agentic.stores.ledger import MemoryLedger


@dataclass(frozen=True, slots=True)
class _Hold:
    """The last lease of a thread; ``owner`` is '' once it was given back."""

    owner: str
    fence: int
    until: float


class MemoryStore(Store):
    """Keeps all in dictionaries; ``seconds`` is the clock that leases run by."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic, reading: Reading = READING) -> None:
        self._seconds = seconds
        self._reading = reading
        self._closed = False
        self._logs: dict[str, list[Envelope]] = {}
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
        self._ledger = MemoryLedger()

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
        check_append(execution, expected_seq, lease, events)
        for ref, content in blobs:
            check_blob(ref, content)
        self._check_lease(execution, lease)
        head = len(self._logs.get(execution, ()))
        if head != expected_seq:
            raise SequenceConflict(execution, expected_seq, head)
        needs = self._reading.needs(envelope.event for envelope in events)
        if needs > 1:
            self._facts[MIN_READER] = str(max(needs, int(self._facts.get(MIN_READER, "1"))))
        if events:
            self._logs.setdefault(execution, []).extend(events)
            self._update_row(execution, events)
        self._blobs.update({ref.sha: content for ref, content in blobs})
        self._add_outbox(outbox)
        self._acknowledge(inbox_acks)

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
        stream.extend(
            envelope.model_copy(update={"execution": execution, "seq": seq})
            for seq, envelope in enumerate(events, len(stream) + 1)
        )

    async def read_outcome(self, execution: str) -> list[Envelope]:
        """The outcome stream, in order."""
        self._check_open()
        return list(self._outcomes.get(execution, ()))

    async def executions(self, thread: str | None = None, *, open_only: bool = False) -> list[ExecutionRow]:
        """Executions, oldest first."""
        self._check_open()
        rows = self._rows.values()
        return [row for row in rows if thread in (None, row.thread) and not (open_only and row.finished)]

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

    async def sessions(self) -> list[SessionRow]:
        """All of them, last accessed first."""
        self._check_open()
        rows = sorted(self._sessions.values(), key=lambda row: row.thread)
        return sorted(rows, key=lambda row: -row.accessed.timestamp() if row.accessed else 0.0)

    async def set_fact(self, key: str, value: str) -> None:
        """Keep a small fact."""
        self._check_open()
        self._facts[key] = value

    async def fact(self, key: str) -> str | None:
        """A fact, or None."""
        self._check_open()
        return self._facts.get(key)

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
        return sum(row.label is not None and not row.talk for row in self._labels.values())

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

    async def close(self) -> None:
        """Refuse what comes after."""
        self._closed = True

    # --- inside ---

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
            self._outbox.setdefault(item.key, OutboxRow(item, len(self._outbox) + 1))

    def _acknowledge(self, ids: Sequence[str]) -> None:
        for item in ids:
            self._inbox.pop(item, None)

    def _waiting(self) -> list[InboxItem]:
        self._check_open()
        return sorted(self._inbox.values(), key=lambda item: item.at)
