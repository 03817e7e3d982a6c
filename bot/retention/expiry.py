"""Delete what has expired: logs of ended tasks, delivered messages, contents and checkpoints that nothing names.

One background task does it, a while after the start and then every hour, in pieces of a few milliseconds with a pause
after each, so that nobody waits for it. Each piece is a transaction of its own: a process may end between any two.
Lessons, labels, open work, and the ids that prevent handling anything twice are never deleted.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from agentic.core.events.execution_events import CheckpointSaved, Event, WorkspaceRestored
from agentic.core.events.ids import child_of
from agentic.ports.errors import AgenticError, StoreError
from bot.access.denials import Bound
from bot.config.home import DATABASE, TASKS
from bot.history.erasure_mark import mark_erasure
from bot.ports.conversation import named_fact
from bot.rendering.answer_card import card_fact
from bot.workspace.pull_requests import PullRows

if TYPE_CHECKING:
    from agentic.ports.runtime import Store
    from agentic.workspace.snapshots.snapshot_store import Snapshots

FIRST_SECONDS, EVERY_SECONDS = 60.0, 3_600.0
"""Seconds from the start to the first round, and between rounds."""
PAUSE = 0.02
"""Seconds after each piece."""
EXPIRED_A_PIECE = 10

log = logging.getLogger(__name__)


class Retention:
    """Deletes what is older than ``days`` while ``run`` runs; with 0 days only what people deleted."""

    def __init__(
        self, store: Store, days: int, snapshots: Snapshots | None = None, home: Path | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:  # fmt: skip
        self._store, self._days, self._snapshots, self._home, self._now = store, days, snapshots, home, now
        self._due = asyncio.Event()
        self._clearing = asyncio.Lock()
        self._to_scrub = False
        """Something was deleted that may still stand in the files."""

    def poke(self) -> None:
        """Something was deleted: begin a round now."""
        self._to_scrub = True
        self._due.set()

    async def run(self) -> None:
        """Delete until cancelled."""
        wait = FIRST_SECONDS
        while True:
            try:
                async with asyncio.timeout(wait):
                    await self._due.wait()
            except TimeoutError:
                pass
            self._due.clear()
            wait = EVERY_SECONDS
            try:
                await self.round()
            except (AgenticError, OSError) as error:
                log.warning("what is to be deleted stays for now: %s", error)

    async def round(self) -> None:
        """Delete everything that is due. Raises ``StoreError`` and ``OSError``; the next round continues where it was."""
        if self._days:
            await self._expire(self._now() - timedelta(days=self._days))
        await self.clear()
        self._to_scrub |= await _through(self._store.sweep_blobs)
        if self._to_scrub:
            self._to_scrub = not await self._store.scrub()

    async def clear(self) -> None:
        """Delete what is left of logs that are marked deleted; contents that only they named go with the next round."""
        async with self._clearing:
            for thread in await self._store.burials():
                await self._clear(thread)

    async def _expire(self, before: datetime) -> None:
        expired = 0
        while buried := await self._store.expire(before, EXPIRED_A_PIECE):
            expired += buried
            await asyncio.sleep(PAUSE)
        if expired:
            log.info("%d logs are older than %d days and are deleted", expired, self._days)
        await _through(lambda: self._store.expire_outbox(self._now(), before))
        await self._store.erase_spending("*", f"{before:%Y-%m-%d}")
        if self._home is not None:
            await asyncio.to_thread(_delete_tasks, self._home / TASKS, before)

    async def _clear(self, thread: str) -> None:
        """Delete the snapshots first: while the log is still marked, a restart looks for them again."""
        if self._snapshots is not None and (named := await self._named(thread)) is not None:
            await self._snapshots.keep_only(thread, named)
            for place in await self._snapshots.of_copies(thread, settled=True):
                if await self._store.execution(child_of(place)) is None:
                    await self._snapshots.forget(place)
        await _through(lambda: self._store.clear(thread))

    async def _named(self, thread: str) -> frozenset[str] | None:
        """Return the checkpoints that the thread's remaining logs name; None, so that all stay, where one cannot be
        read.
        """
        named: set[str] = set()
        for row in await self._store.executions(thread):
            try:
                async for envelope in self._store.read(row.execution):
                    named.update(_checkpoints_in(envelope.event))
                for envelope in await self._store.read_outcome(row.execution):
                    named.update(_checkpoints_in(envelope.event))
            except StoreError as damaged:
                log.warning("no checkpoint of thread %s is deleted: %s", thread, damaged)
                return None
            await asyncio.sleep(0)
        return frozenset(named)


class Expiry:
    """Texts about tasks whose logs were deleted."""

    def __init__(self, store: Store, days: int) -> None:
        self._store, self._bound = store, Bound(days)

    async def of_execution(self, execution: str, thread: str) -> str:
        """Say why nothing can be done with an execution of this thread, '' where its log exists or never did."""
        buried = await self._store.was_buried(execution) if execution else None
        return self._bound.expired if buried is not None and buried.thread == thread else ""

    async def of_thread(self, thread: str) -> str:
        """Say what is missing from a thread's figures, '' for nothing."""
        buried = await self._store.buried(thread)
        return self._bound.missing(len(buried)) if buried else ""

    @property
    def always(self) -> str:
        """Say what lists of several threads leave out, '' where nothing ever is."""
        return self._bound.always


async def forget_logs(store: Store, thread: str, owner: str) -> None:
    """Delete the logs, messages and inbox of a deleted thread in which nothing runs. Raises ``StoreError``.

    Open executions of it can no longer be continued; where another process holds the thread, it stays until that ends.
    """
    opened = await store.open_executions(thread)
    lease = await store.acquire(thread, owner) if opened else None
    if lease is not None:
        for row in opened:
            await store.set_aside(row.execution, "cancelled")
        await store.release(lease)
    pulls = PullRows(store)
    facts = (
        *await pulls.facts_of(thread),
        f"progress:{thread}",
        f"held: {thread}",
        f"titled: {thread}",
        card_fact(thread),
        named_fact(thread),
        f"preference.thread.{thread}",
        f"repository.thread.{thread}",
    )
    if not await store.forget_thread(thread, facts):
        log.warning("thread %s was deleted, and something of it is still open: its logs stay for now", thread)
    await pulls.forgotten()
    await mark_erasure(store)


async def _through(piece: Callable[[], Awaitable[bool]]) -> bool:
    """Delete one piece; returns whether there was anything to delete."""
    any_ = False
    while await piece():  # nothing is waited for: others go first
        any_ = True
        await asyncio.sleep(PAUSE)
    return any_


def _checkpoints_in(event: Event) -> tuple[str, ...]:
    match event:
        case CheckpointSaved():
            return (event.manifest,)
        case WorkspaceRestored():
            return event.manifest, event.kept, event.after
        case _:
            return ()


def _delete_tasks(tasks: Path, before: datetime) -> None:
    """Delete the state of `threadwright task` folders that were not written to since."""
    for database in tasks.glob(f"*/{DATABASE}"):
        if database.stat().st_mtime < before.timestamp():
            shutil.rmtree(database.parent, ignore_errors=True)
