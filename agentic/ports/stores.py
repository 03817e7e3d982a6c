"""Protocols of what is kept: events and who was told of them, blobs, leases, inbox, outbox, sessions, facts, budgets, labels;
with their rows.

A label row says how an execution turned out; a calibrator is fitted from them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from pydantic import JsonValue

from agentic.core.events.execution_events import (
    BlobRef,
    Envelope,
    InboxItem,
    OutboxItem,
)
from agentic.core.outside.outline import Stream
from agentic.ports.lookup import Hit, Search, Wanted
from agentic.ports.retention import Buried, Kept, Retention
from agentic.ports.schedules import ScheduleRow, Schedules

LabelSource = Literal["person", "verifier", "merge", "tests", "reason", ""]
"""Who says how it came out, from the most to the least trusted; '' where nobody does.

'reason', the way it ended, is no evidence: it stands only in rows of earlier versions, and counts nothing."""


@dataclass(frozen=True, slots=True)
class Look:
    """An execution at the end of a turn; scores 0-100."""

    turn: int
    features: dict[str, float]
    self_report: float
    heuristic: int
    shown: int
    role: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class LabelRow:
    """How an execution came out, and what could be seen of it: numbers and names, no text of anyone."""

    execution: str
    thread: str
    guild: str
    role: str
    model: str
    tier: int
    label: bool | None
    """Whether it was right; None where nobody knows."""
    source: LabelSource
    weight: float
    """0-1: how far the source is trusted."""
    final: int
    """The confidence it ended with."""
    up: int = 0
    down: int = 0
    """Votes that stand."""
    talk: bool = False
    """It was answered without tools: of no use for fitting."""
    looks: tuple[Look, ...] = field(default=())
    """Half-way and at its end."""

    @property
    def known(self) -> bool:
        """Whether evidence says how it came out; the way it ended is none."""
        return self.label is not None and self.source != "reason"


class Labels(Protocol):
    """Labels of executions."""

    async def put_label(self, row: LabelRow) -> None:
        """Keep the row of an execution, in place of what was known of it."""
        ...

    async def labels(self, thread: str | None = None, *, newest: int = -1) -> list[LabelRow]:
        """All of them or a thread's, or the newest so many, in the order in which executions were first labelled."""
        ...

    async def labelled(self) -> int:
        """How many executions have a label."""
        ...


__all__ = [
    "Blobs",
    "Budgets",
    "Buried",
    "EventLog",
    "EventReader",
    "ExecutionRow",
    "Facts",
    "Hit",
    "Inbox",
    "Kept",
    "LabelRow",
    "LabelSource",
    "Labels",
    "Lease",
    "Leases",
    "LogEntry",
    "Look",
    "ObjectVersion",
    "Outbox",
    "OutboxRow",
    "Publications",
    "Retention",
    "ScheduleRow",
    "Schedules",
    "Scope",
    "Search",
    "SessionRow",
    "Sessions",
    "Store",
    "StoredObject",
    "VersionedObjects",
    "Wanted",
]


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write for a thread; every write carries its ``fence``."""

    thread: str
    owner: str
    fence: int


@dataclass(frozen=True, slots=True)
class ExecutionRow:
    """What is known of an execution without reading its log."""

    execution: str
    thread: str
    task: str
    head: int
    """Sequence number of its last event, 0 before the first."""
    finished: str = ""
    """The reason it ended, '' while it is open."""
    started_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A thread with an agent."""

    thread: str
    channel: str
    guild: str
    title: str = ""
    created: datetime | None = None
    accessed: datetime | None = None
    confidence: int = 80
    settings: dict[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """An outbox item with its receipts."""

    item: OutboxItem
    order: int
    """Grows with each item of the store; items of a thread are delivered in this order."""
    delivered: tuple[str, ...] = ()
    """Ids of the messages it became, one a part; empty while it waits."""
    done: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """What a cap counts for; who asks puts the day into the name, so that each day begins anew."""

    name: str
    cap_usd: float


class EventReader(Protocol):
    """Reads logs and outcomes, and what is known of executions without them."""

    def read(self, execution: str, after: int = 0) -> AsyncIterator[Envelope]:
        """The events after ``after``, in order; checks each row's checksum."""
        ...

    async def read_outcome(self, execution: str) -> list[Envelope]:
        """The outcome stream, in order."""
        ...

    async def execution(self, execution: str) -> ExecutionRow | None:
        """One execution's row."""
        ...

    async def executions(self, thread: str) -> list[ExecutionRow]:
        """Executions of a thread, oldest first, without children, whose work is their parent's."""
        ...

    async def open_executions(self, thread: str | None = None) -> list[ExecutionRow]:
        """Those that have not ended, children too, oldest first, everywhere or in one thread; costs as much as is open."""
        ...

    async def open_threads(self, most: int, after: str = "") -> list[tuple[str, str]]:
        """Threads in which something is open besides children, oldest first, so many behind a place, each with its own.

        What is asked again and again, so it costs as much as it tells. May name a thread twice, and one in which it ended
        a moment ago.
        """
        ...

    async def newest_executions(self, limit: int) -> list[ExecutionRow]:
        """The ``limit`` executions that began last, oldest first, without children."""
        ...

    def all_executions(self) -> AsyncIterator[ExecutionRow]:
        """Every execution, oldest first, read page by page; for commands beside the bot."""
        ...


class EventLog(EventReader, Protocol):
    """The one port that writes an execution's log."""

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
        """Make all of it durable in one transaction, or nothing.

        The events are numbered from ``expected_seq + 1``.  Raises ``LeaseLost`` if the fence is not the thread's
        current one, ``SequenceConflict`` if the log does not end at ``expected_seq``, ``AppendTooLarge`` if it is more
        than one transaction may hold, ``StoreUnavailable`` if it could not be written.
        The first event of a log must be ``Started``, whose ``thread`` the execution then belongs to.
        """
        ...

    async def begin(
        self, execution: str, lease: Lease, events: Sequence[Envelope], outbox: Sequence[OutboxItem] = ()
    ) -> None:
        """Write the log of a new execution that begins with a past, however long that is.

        Readers find all of it or none.  Raises what ``append`` raises, but for ``AppendTooLarge``.
        """
        ...

    async def append_outcome(self, execution: str, events: Sequence[Envelope]) -> None:
        """Add to the outcome stream (evaluation, feedback, reflection); needs no lease, numbers follow on."""
        ...

    async def set_aside(self, execution: str, reason: str) -> None:
        """Take an open one out of those that are gone on with, whose log cannot be read; the log stays as it is."""
        ...


class Blobs(Protocol):
    """Content by hash."""

    async def put_blob(self, content: bytes, media: str = "text/plain") -> BlobRef:
        """Store content once; what no event names goes with the next sweep (``Retention.sweep_blobs``)."""
        ...

    async def get_blob(self, sha: str) -> bytes | None:
        """The content, or None."""
        ...


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """An object as it was written: which version it is, and the tag that a later write can expect."""

    version: str
    tag: str


@dataclass(frozen=True, slots=True)
class StoredObject(ObjectVersion):
    """An object as it was read."""

    content: bytes


class VersionedObjects(Protocol):
    """VersionedObjects in a bucket that keeps versions; all raise ``StoreUnavailable``."""

    async def put(self, name: str, content: bytes | Path, *, expected: str | None = None) -> ObjectVersion | None:
        """Write an object whole, durably.

        With ``expected``, only where the object bears this tag, or for '' where there is none; else None is returned.
        """
        ...

    async def get(self, name: str) -> StoredObject | None:
        """An object, None where there is none."""
        ...

    async def copy_to(self, name: str, version: str, path: Path) -> bool:
        """Write a version of an object into a new file; False where there is none."""
        ...

    async def part(self, name: str, version: str, begin: int, size: int) -> bytes | None:
        """So many bytes of a version of an object, at least one; None where there is none."""
        ...

    def names(self, prefix: str, *, older: float = 0.0) -> AsyncIterator[str]:
        """The objects whose names begin so; with ``older``, those that were written at least so many seconds ago."""
        ...

    async def delete(self, names: Sequence[str]) -> None:
        """Take objects away; their earlier versions go by the bucket's rules."""
        ...

    async def erase(self, prefix: str) -> None:
        """Delete all versions of all objects whose names begin so."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


class Leases(Protocol):
    """One owner a thread."""

    async def acquire(self, thread: str, owner: str, seconds: float = 20.0) -> Lease | None:
        """Take the thread; the fence grows.  None if another holds it.

        It can be taken when it is free, has run out, is already ours, or its owner is provably dead on this host.
        Raises ``StoreTooNew`` where a newer version wrote what this one would misread.
        """
        ...

    async def renew(self, lease: Lease, seconds: float = 20.0) -> bool:
        """Hold it longer; False if it is no longer ours."""
        ...

    async def release(self, lease: Lease) -> None:
        """Give it back; a lease that is no longer ours is left alone.  The fence is kept for ever."""
        ...

    async def holder(self, thread: str) -> str:
        """Who has the thread now, '' where it can be taken."""
        ...


class Inbox(Protocol):
    """What people did, until an execution has taken it in."""

    async def put(self, item: InboxItem) -> bool:
        """Keep it durably; False if an item with this id was ever kept."""
        ...

    async def pending(self, thread: str) -> list[InboxItem]:
        """What waits for this thread, oldest first."""
        ...

    async def pending_threads(self) -> list[str]:
        """Threads for which something waits."""
        ...

    async def discard(self, ids: Sequence[str]) -> None:
        """Acknowledge items that no execution will take in."""
        ...


class Outbox(Protocol):
    """Visible effects, until they are delivered."""

    async def put_outbox(self, items: Sequence[OutboxItem]) -> None:
        """Keep items that belong to no event (receipts, notices); an existing key is left as it is."""
        ...

    async def undelivered(self, thread: str | None = None) -> list[OutboxRow]:
        """What waits, in order."""
        ...

    async def undelivered_threads(self) -> list[str]:
        """Threads for which something waits, the longest waiting first; costs as much as waits, however much was delivered."""
        ...

    async def delivered(self, key: str, messages: Sequence[str]) -> None:
        """Record the ids of the messages an item became."""
        ...

    async def outbox_row(self, key: str) -> OutboxRow | None:
        """One item with its receipts."""
        ...

    async def by_message(self, message: str) -> OutboxRow | None:
        """The item that became this message."""
        ...


class Sessions(Protocol):
    """Threads with an agent."""

    async def save_session(self, row: SessionRow) -> None:
        """Create or replace."""
        ...

    async def session(self, thread: str) -> SessionRow | None:
        """One thread."""
        ...

    def sessions(self, after: str = "") -> AsyncIterator[SessionRow]:
        """Those whose thread comes after ``after``, by thread, read page by page."""
        ...

    async def recent_sessions(
        self, limit: int, *, guild: str | None = None, before: SessionRow | None = None
    ) -> list[SessionRow]:
        """The ``limit`` last accessed, the last first: those that come after ``before``, of one guild or of all."""
        ...

    async def sessions_in(self, channel: str) -> list[SessionRow]:
        """Those whose threads hang in a channel, by thread."""
        ...


class Facts(Protocol):
    """Small facts that must survive a restart, by their names."""

    async def set_fact(self, key: str, value: str) -> None:
        """Keep a small fact (a watermark, a fingerprint)."""
        ...

    async def fact(self, key: str) -> str | None:
        """A fact, or None."""
        ...

    async def facts(self, keys: Sequence[str]) -> dict[str, str]:
        """Those of these facts that there are, for the price of one."""
        ...

    async def swap_fact(self, key: str, before: str | None, after: str) -> bool:
        """Keep a fact if it still is as it was read (None: there is none); of several who try at once one succeeds."""
        ...


class Budgets(Protocol):
    """US dollars that many executions spend from the same caps: set aside before a paid call, settled after it.

    What was never settled, because its owner died, counts as it was reserved until somebody settles or releases it.
    Amounts are kept to a billionth.
    """

    async def reserve_usd(self, key: str, scopes: Sequence[Scope], usd: float) -> Scope | None:
        """Set ``usd`` aside in all scopes; where it does not fit into one of them, in none, and that one is returned.

        A scope that is used up is full for an amount of 0 too.  A key that was reserved before is granted as it was.
        """
        ...

    async def settle_usd(self, key: str, usd: float) -> None:
        """What it came to, in place of what was reserved; the first settlement of a key counts.

        A key that was never reserved counts nowhere.
        """
        ...

    async def release_usd(self, key: str) -> None:
        """It was never spent: forget a reservation that was not settled."""
        ...

    async def spent_usd(self, scope: str) -> float:
        """US dollars settled and set aside in a scope, by its name."""
        ...

    async def raise_usd(self, key: str, scope: str, usd: float) -> None:
        """People added to the cap of a scope: from now on so much more fits into it; the first raise of a key counts."""
        ...

    async def raised_usd(self, scope: str) -> float:
        """US dollars that people added to the cap of a scope, by its name."""
        ...

    async def unsettled_usd(self, prefix: str) -> list[str]:
        """The keys with this beginning under which something is set aside and was neither settled nor released."""
        ...


@dataclass(frozen=True, slots=True)
class LogEntry:
    """An event that waits to be told to somebody outside; ``mark`` is the store's own word for its place."""

    envelope: Envelope
    stream: Stream
    mark: str


class Publications(Protocol):
    """How far each target outside was told of the logs.

    Events that say nothing outside (``core/outside/outline.py``) are passed over.  A target is told at least once: what it
    was told and the store was not, because the process died between, waits again.  What was deleted before it was told, and
    what was brought here from another store, never waits.
    """

    async def subscribe(self, target: str) -> None:
        """From now on events wait for it; one that is known goes on where it was."""
        ...

    async def unpublished(self, target: str, limit: int) -> list[LogEntry]:
        """Up to ``limit`` events that wait for it, those of one execution in their order, its log before its outcome.

        One that cannot be read is left out.  Nothing waits for a target that is not known.
        """
        ...

    async def published(self, target: str, entries: Sequence[LogEntry]) -> None:
        """The first of what ``unpublished`` returned, up to some place, were told; they wait no more."""
        ...


class Store(
    EventLog, Publications, Blobs, Leases, Inbox, Outbox, Sessions, Facts, Budgets, Labels, Schedules, Retention, Search,
    Protocol,
):  # fmt: skip
    """All of it, as one embedded store offers it."""

    async def close(self) -> None:
        """Finish what was begun and let go of files."""
        ...
