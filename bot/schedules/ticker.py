"""The one asyncio task that notices when a time has come.

It sleeps until the next time, but never for long, so that a clock that was set is noticed; and it is woken by every change.
What has come is claimed in the store before anything follows from it, and each claim is worked off by a task of its own, so
that one channel that does not answer keeps nobody else waiting. What cannot be done now stays claimed and is tried again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol

from agentic.ports.errors import StoreError
from agentic.ports.failpoints import reach
from agentic.ports.runtime import Clock
from agentic.ports.schedules import Schedules
from bot.schedules.book import Entry, ScheduleBook, entries
from bot.schedules.schedule import ScheduledTask, claimed, due, replanned

BOUND = timedelta(seconds=30)
"""The longest sleep."""
CLOCK_SET = timedelta(seconds=20)
"""The wall clock went another way than time by more than this: somebody set it."""
AGAIN_SECONDS = 30.0
"""A claim that failed is tried again after this."""

log = logging.getLogger(__name__)


class Later(Exception):
    """It cannot be done now; the message says why, in words for the program's log."""

    def __init__(self, why: str, seconds: float = AGAIN_SECONDS) -> None:
        super().__init__(why)
        self.seconds = seconds


class Carrier(Protocol):
    """Brings what has come to its place: ``bot/schedules/claim_delivery.py``."""

    async def carry(self, schedule: ScheduledTask) -> ScheduledTask:
        """Do all that follows from the claim, each thing once however often this is called; return it settled.

        Raises ``Later`` and ``StoreError``.
        """
        ...


class Ticker:
    """Notices times for as long as ``run`` runs."""

    def __init__(
        self, store: Schedules, book: ScheduleBook, clock: Clock, carrier: Carrier,
        ours: Callable[[str], bool] = lambda _: True,
    ) -> None:  # fmt: skip
        self._store, self._book, self._clock, self._carrier = store, book, clock, carrier
        self._ours = ours
        """Whether what belongs to a server is for this process to notice."""
        self._working: dict[str, asyncio.Task[None]] = {}
        self._held: dict[str, float] = {}
        """Claims that are tried again later, by the monotonic clock."""
        self._started: datetime | None = None
        """What the wall clock showed when the monotonic one began; None before the first look."""

    async def run(self) -> None:
        """Notice until cancelled."""
        try:
            while True:
                self._book.changed.clear()
                seconds = await self._looked()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await self._book.changed.wait()
        finally:
            await self.close()

    async def _looked(self) -> float:
        try:
            return (await self.look()).total_seconds()
        except StoreError as error:
            log.warning("schedules cannot be read now: %s", error)
            return BOUND.total_seconds()

    async def look(self) -> timedelta:
        """Claim what has come and begin with it; return how long nothing else is due."""
        now = self._clock.now()
        if self._was_set(now):
            await self._replan(now)
        wait = BOUND
        for entry in entries(await self._store.schedules_due(now + BOUND)):
            schedule = entry.schedule
            if not self._ours(schedule.guild):
                continue
            if schedule.claim is None:
                come = due(schedule, now)
                if come is None:
                    wait = min(wait, schedule.due - now) if schedule.due is not None else wait
                    continue
                taken = await self._book.put(claimed(schedule, come), entry.revision)
                if taken is None:
                    wait = timedelta(0)  # somebody changed it in this moment
                    continue
                entry = taken
            wait = min(wait, self._begin(entry))
        return max(wait, timedelta(0))

    async def settled(self) -> None:
        """Wait until nothing is being worked off."""
        while self._working:
            await asyncio.wait([*self._working.values()])

    async def close(self) -> None:
        """Leave what is being worked off to the next process."""
        tasks = [*self._working.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, entry: Entry) -> timedelta:
        """Work a claim off, unless that is being done or has to wait; return for how long it has to."""
        id = entry.schedule.id
        left = self._held.get(id, 0.0) - self._clock.monotonic()
        if id in self._working:
            return BOUND
        if left > 0:
            return timedelta(seconds=left)
        self._held.pop(id, None)
        task = asyncio.create_task(self._work(entry), name=f"schedule {id}")
        self._working[id] = task
        task.add_done_callback(lambda _: self._ended(id))
        return BOUND

    def _ended(self, id: str) -> None:
        """Look again: the next time may have come meanwhile."""
        self._working.pop(id, None)
        self._book.changed.set()

    async def _work(self, entry: Entry) -> None:
        schedule = entry.schedule
        try:
            reach("schedule.claimed")
            settled = await self._carrier.carry(schedule)
            if settled.over and settled.kind == "task":
                await self._book.delete([schedule.id])
            elif await self._book.put(settled, entry.revision) is None:
                await self._book.change(schedule.id, lambda other: _merged(other, settled, schedule))
        except Later as later:
            log.warning("schedule %s waits: %s", schedule.id, later)
            self._held[schedule.id] = self._clock.monotonic() + later.seconds
        except StoreError as error:
            log.warning("schedule %s waits: %s", schedule.id, error)
            self._held[schedule.id] = self._clock.monotonic() + AGAIN_SECONDS
        except Exception:  # a bug in one must not end the task that all others wait for
            log.exception("a fault of ours in schedule %s; it is tried again", schedule.id)
            self._held[schedule.id] = self._clock.monotonic() + AGAIN_SECONDS

    def _was_set(self, now: datetime) -> bool:
        """Whether the wall clock was set since the last look; true at the first, which knows of none before."""
        started = now - timedelta(seconds=self._clock.monotonic())
        before, self._started = self._started, started
        return before is None or abs(started - before) > CLOCK_SET

    async def _replan(self, now: datetime) -> None:
        for entry in entries(await self._store.schedules()):
            other = replanned(entry.schedule, now)
            if other != entry.schedule:
                log.warning("schedule %s: its next time is %s now, by the clock as it is", other.id, other.next)
                await self._book.put(other, entry.revision)


def _merged(other: ScheduledTask, settled: ScheduledTask, claimed: ScheduledTask) -> ScheduledTask:
    """Return one that a person changed while its claim was worked off: their change stays, the claim is done."""
    if other.claim is None or claimed.claim is None or other.claim.id != claimed.claim.id:
        return other
    return other.changed(claim=None, run=settled.run, paused=other.paused or settled.paused)
