"""The store of a simulated world: the real one as the truth, and each process's way to it, which can fail.

What is kept is kept at one moment; before and after it the process may die, the disk may be full, and the word that it
was kept may be lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from math import inf
from pathlib import Path
from typing import Any

from agentic.core.events.execution_events import (
    Asked,
    BlobRef,
    Decided,
    Envelope,
    Finished,
    InboxItem,
    OutboxItem,
    Started,
    ToolStarted,
)
from agentic.ports.errors import StoreUnavailable
from agentic.ports.runtime import Lease, OutboxRow
from agentic.stores.sqlite.store import SQLiteStore
from agentic.stores.sqlite.tables import events as events_table
from agentic.stores.sqlite.tables import outbox as outbox_table
from tests.chaos.simulated.town import Town
from tests.chaos.simulated.virtual import now
from tests.stores import DATABASE, inline

WRITES = frozenset(
    (
        "append", "append_outcome", "acquire", "renew", "release", "put", "discard", "put_outbox", "delivered",
        "save_session", "set_fact", "put_blob",
    )
)  # fmt: skip


EARLIER_BOOT = "an earlier boot/0/1/1"
"""A process that is provably dead."""
ALL = 1_000_000_000


class Truth(SQLiteStore):
    """What is really kept, with what the judge wants to know of how it came there."""

    def __init__(self, town: Town, folder: Path) -> None:
        self._inline, *others = inline(folder / DATABASE)
        super().__init__(self._inline, *others, town.loop.time)
        self.town = town
        self.kept: dict[str, tuple[float, InboxItem]] = {}
        """Every item that was ever kept, and when."""
        self.open: dict[str, tuple[float, float]] = {}
        """From when to when each execution was open, but those that answer a side question."""
        self.asking: dict[str, list[tuple[float, float]]] = {}
        """From when to when each of its questions was."""
        self.dropped: dict[str, float] = {}
        """Items that were taken out without an execution taking them in."""
        self.doubtful: set[str] = set()
        """Items that were kept and reported as not kept: nobody was promised anything."""
        self.stale_writes: list[str] = []
        self.same_host = town.dice("host").random() < 0.6
        """A dead owner is known to be dead; else its lease runs out."""
        self.dead: set[str] = set()

    def fence(self, thread: str) -> int:
        """The present one."""
        return self._lease(thread)[1]

    def owner(self, thread: str) -> str:
        """Who holds the thread, '' for nobody."""
        owner, _, until = self._lease(thread)
        return owner if until > now() else ""

    def log_of(self, execution: str) -> list[Envelope]:
        """A log as it stands."""
        return self._read(lambda connection: events_table.read(connection, execution, 0, ALL, ALL))[0]

    def logs(self) -> list[list[Envelope]]:
        """Every log, the oldest first."""
        return [self.log_of(name) for name in self._column("SELECT name FROM executions ORDER BY id")]

    def outbox_rows(self) -> list[OutboxRow]:
        """Every visible effect there is to be."""
        keys = self._column("SELECT key FROM outbox ORDER BY position")
        return [self._read(lambda connection, key=key: outbox_table.by_key(connection, key)) for key in keys]

    def inbox_ids(self) -> set[str]:
        """What waits to be taken in."""
        return {*self._column("SELECT id FROM inbox WHERE item IS NOT NULL")}

    def counted(self, execution: str) -> dict[str, int]:
        """By request, what is set aside or settled for it, in billionths of a US dollar."""
        asked = "SELECT key, max(nanos) FROM reservations WHERE key GLOB ? GROUP BY key"
        rows = self._read(lambda connection: [*connection.execute(asked, (f"{execution}/*",))])
        return {key.rpartition("/")[2]: nanos for key, nanos in rows}

    def let_go(self) -> None:
        """Close the file, when the world is over."""
        self._reader.close()
        self._inline.let_go()

    async def acquire(self, thread: str, owner: str, seconds: float = 20.0) -> Lease | None:
        """As on one host: who is provably dead is succeeded at once."""
        if self.same_host and self._lease(thread)[0] in self.dead:
            died = "UPDATE leases SET process = ? WHERE thread = ?"
            await self._inline.commit(lambda connection: [*connection.execute(died, (EARLIER_BOOT, thread))])
        lease = await super().acquire(thread, owner, seconds)
        if lease is not None:
            self.town.tell(f"{owner} holds thread {thread} under fence {lease.fence}")
        return lease

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
        """Keep it; a write under an old fence that is let through is noted."""
        stale = lease.fence != self.fence(lease.thread)
        held = self._let_through(lease)
        kept = [envelope.model_copy(update={"fence": held.fence}) for envelope in events] if stale else events
        await super().append(execution, expected_seq, held, kept, outbox, inbox_acks, blobs)
        if stale:
            self.stale_writes.append(f"{lease.owner} wrote to {execution} under fence {lease.fence}, which was stale")
        for envelope in events:
            self._time(envelope)
            self.town.tell(f"{lease.owner} {execution} #{envelope.seq} {_words(envelope)}")

    def is_asking(self, execution: str) -> bool:
        """It has asked somebody, who has not answered."""
        return self.asking.get(execution, [(0.0, 0.0)])[-1][1] == inf

    def _time(self, envelope: Envelope) -> None:
        """The world's own time of what people see of an execution; its log's is the machine's, which is set about."""
        execution, event = envelope.execution, envelope.event
        if isinstance(event, Started) and not event.side:
            self.open[execution] = (now(), inf)
        elif isinstance(event, Asked):
            self.asking.setdefault(execution, []).append((now(), inf))
        elif isinstance(event, Decided | Finished) and (asked := self.asking.get(execution)):
            asked[-1] = (asked[-1][0], min(now(), asked[-1][1]))
        if isinstance(event, Finished) and execution in self.open:
            self.open[execution] = (self.open[execution][0], now())

    async def put(self, item: InboxItem) -> bool:
        """Keep it, and note when."""
        new = await super().put(item)
        if new:
            self.kept[item.id] = (now(), item)
            self.town.tell(f"kept: {item.sort} {item.id} of thread {item.thread}: {item.text[:60]!r}")
        return new

    async def discard(self, ids: Sequence[str]) -> None:
        """Take them out, and note when."""
        waiting = self.inbox_ids()
        for id in ids:
            if id in waiting:
                self.dropped[id] = now()
                self.town.tell(f"dropped it: {id}")
        await super().discard(ids)

    async def renew(self, lease: Lease, seconds: float = 20.0) -> bool:
        """Hold it longer."""
        return await super().renew(self._let_through(lease), seconds)

    async def release(self, lease: Lease) -> None:
        """Give it back."""
        await super().release(self._let_through(lease))

    def _let_through(self, lease: Lease) -> Lease:
        """Where fences are switched off every lease counts as that of whoever holds the thread."""
        if self.town.without != "fences":
            return lease
        owner, fence, _ = self._lease(lease.thread)
        return Lease(lease.thread, owner, fence)

    def _lease(self, thread: str) -> tuple[str, int, float]:
        """Owner, fence, and until when."""
        held = "SELECT owner, fence, until FROM leases WHERE thread = ?"
        return self._read(lambda connection: connection.execute(held, (thread,)).fetchone()) or ("", 0, 0.0)

    def _column(self, query: str) -> list[str]:
        return self._read(lambda connection: [value for (value,) in connection.execute(query)])


class Access:
    """One process's way to the store."""

    def __init__(self, truth: Truth, cross: Callable[[str], Any]) -> None:
        self._truth, self._cross = truth, cross
        self.down_until = 0.0
        self.slow_until = 0.0
        self._dice = truth.town.dice("store")
        self._late: dict[str, tuple[Any, ...]] = {}
        """Appends that were acknowledged and are not kept yet, where intents are switched off."""

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._truth, name)
        if name == "append":
            method = self._append

        async def call(*args: Any, **named: Any) -> Any:
            await self._before(name)
            result = await method(*args, **named)
            await self._after(name, args)
            return result

        self.__dict__[name] = call
        return call

    async def read(self, execution: str, after: int = 0) -> AsyncIterator[Envelope]:
        """A log, as it stood at one moment."""
        await self._before("read")
        for envelope in [one async for one in self._truth.read(execution, after)]:
            yield envelope

    async def close(self) -> None:
        """The truth stays."""

    async def _before(self, name: str) -> None:
        if name in WRITES:
            await self._cross(f"before {name}")
            await asyncio.sleep(self._dice.uniform(0.0005, 0.004))
        if now() < self.slow_until:
            await asyncio.sleep(self._dice.uniform(0.3, 1.5))
        if now() < self.down_until:
            raise StoreUnavailable("database or disk is full")

    async def _after(self, name: str, args: tuple[Any, ...]) -> None:
        if name not in WRITES:
            return
        await self._cross(f"after {name}")
        if name in ("append", "put", "delivered", "put_outbox") and self._truth.town.strikes("store_answer_lost"):
            self._truth.town.tell(f"FAULT store_answer_lost: {name} was kept, and reported as failed")
            self._truth.town.disturb(0.5)
            if name == "put":
                self._truth.doubtful.add(args[0].id)
            raise StoreUnavailable("disk I/O error")

    async def _append(self, *args: Any, **named: Any) -> None:
        """Without intents, what announces an effect is kept with what comes after the effect."""
        if self._truth.town.without != "intents":
            await self._truth.append(*args, **named)
            return
        if args[0] in self._late:
            await self._truth.append(*self._late.pop(args[0]))
        if any(isinstance(envelope.event, ToolStarted) for envelope in args[3]):
            self._late[args[0]] = (*args, *named.values())
        else:
            await self._truth.append(*args, **named)


def _words(envelope: Envelope) -> str:
    event = envelope.event
    more = getattr(event, "call", "") or getattr(event, "request", "") or getattr(event, "reason", "")
    rest = getattr(event, "outcome", "") or getattr(event, "sort", "") or getattr(event, "failure", "")
    return " ".join(filter(None, (event.kind, str(more), str(rest))))
