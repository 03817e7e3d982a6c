"""A lease is renewed while work goes on, and work ends before the lease can run out."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from agentic.ports.errors import LeaseLost, StoreUnavailable
from agentic.ports.runtime import Lease
from agentic.stores.sqlite.store import SQLiteStore
from bot.sessions.lease import (
    LEASE_SECONDS,
    SAFETY_SECONDS,
    ThreadTaken,
    give_back,
    take,
    unless,
    while_held,
)
from tests.stores import fresh_store


class FastClock:
    """Time that passes in sleeps, each of which is over after a turn of the event loop."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)
        self.seconds += seconds


async def some_turns() -> None:
    """So many turns of the event loop that whatever waits for nothing outside has happened."""
    for _ in range(20):
        await asyncio.sleep(0)


class FullDisk(SQLiteStore):
    """A store that can no longer renew."""

    async def renew(self, lease: Lease, seconds: float = 20.0) -> bool:
        raise StoreUnavailable("the disk is full")


async def test_work_outlives_the_first_lease_because_it_is_renewed() -> None:
    clock = FastClock()
    store = fresh_store(seconds=clock.monotonic)
    lease = await take(store, clock, "t", "me")

    async def work() -> float:
        while clock.monotonic() < 3 * LEASE_SECONDS:
            await asyncio.sleep(0)
        return clock.monotonic()

    async with asyncio.timeout(60):
        assert await while_held(store, clock, lease, work()) >= 3 * LEASE_SECONDS
    assert await store.acquire("t", "another") is None


async def test_work_ends_before_a_lease_that_cannot_be_renewed_runs_out() -> None:
    clock = FastClock()
    store = fresh_store(FullDisk, seconds=clock.monotonic)
    lease = await take(store, clock, "t", "me")
    ended: list[float] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(clock.monotonic())

    async with asyncio.timeout(60):
        with pytest.raises(StoreUnavailable, match="disk is full"):
            await while_held(store, clock, lease, work())
    assert ended
    assert ended[0] <= LEASE_SECONDS - SAFETY_SECONDS + 1


async def test_effects_are_allowed_until_the_work_would_be_ended_and_no_longer_asked_about_after_it() -> None:
    """Each renewal allows them for longer; so they end before the lease does, also where nothing here can end them."""
    clock = FastClock()
    store = fresh_store(seconds=clock.monotonic)
    lease = await take(store, clock, "t", "me")
    allowed: list[tuple[str, float | None]] = []

    async def work() -> None:
        while clock.monotonic() < 2 * LEASE_SECONDS:
            await asyncio.sleep(0)

    async with asyncio.timeout(60):
        await while_held(store, clock, lease, work(), lambda thread, until: allowed.append((thread, until)))
    deadlines = [until for _, until in allowed if until is not None]
    assert deadlines[0] <= LEASE_SECONDS - SAFETY_SECONDS + 1
    assert deadlines == sorted(set(deadlines))
    assert deadlines[-1] > 2 * LEASE_SECONDS
    assert allowed[-1] == ("t", None)
    assert {thread for thread, _ in allowed} == {"t"}


async def test_work_ends_when_another_has_the_thread() -> None:
    clock = FastClock()
    store = fresh_store(seconds=clock.monotonic)
    lease = await take(store, clock, "t", "me")
    await store.release(lease)
    assert await store.acquire("t", "another") is not None
    async with asyncio.timeout(60):
        with pytest.raises(LeaseLost):
            await while_held(store, clock, lease, asyncio.Event().wait())


async def test_a_thread_that_another_process_works_in_is_not_taken() -> None:
    clock = FastClock()
    store = fresh_store(seconds=lambda: 0.0)
    assert await store.acquire("t", "another") is not None
    async with asyncio.timeout(60):
        with pytest.raises(ThreadTaken, match="running twice"):
            await take(store, clock, "t", "me")


async def test_a_failure_of_the_work_is_its_own() -> None:
    clock = FastClock()
    store = fresh_store(seconds=clock.monotonic)
    lease = await take(store, clock, "t", "me")

    async def work() -> None:
        raise ValueError("its own")

    async with asyncio.timeout(60):
        with pytest.raises(ValueError, match="its own"):
            await while_held(store, clock, lease, work())


async def test_a_stop_ends_the_wait_for_the_lease_of_another_process() -> None:
    store = fresh_store(seconds=lambda: 0.0)
    assert await store.acquire("t", "another") is not None
    halt = asyncio.Event()
    taking = asyncio.create_task(take(store, FastClock(), "t", "me", halt))
    await asyncio.sleep(0)
    halt.set()
    async with asyncio.timeout(60):
        with pytest.raises(ThreadTaken, match="another process"):
            await taking


async def test_who_is_cancelled_while_giving_the_lease_back_gives_it_back_first() -> None:
    class Slow(SQLiteStore):
        asked, answers = asyncio.Event(), asyncio.Event()

        async def release(self, lease: Lease) -> None:
            self.asked.set()
            await self.answers.wait()
            await super().release(lease)

    store = fresh_store(Slow, seconds=lambda: 0.0)
    lease = await take(store, FastClock(), "t", "me")
    giving = asyncio.create_task(give_back(store, lease))
    async with asyncio.timeout(60):
        await store.asked.wait()
        giving.cancel()
        await asyncio.sleep(0)
        store.answers.set()
        with pytest.raises(asyncio.CancelledError):
            await giving
        assert await store.acquire("t", "another") is not None


@pytest.mark.parametrize("turns", range(5))
async def test_however_often_it_is_called_off_the_work_has_ended_before_the_lease_is_given_back(turns: int) -> None:
    """Whoever gives the lease back does so when ``while_held`` returns: the second call may come at any moment."""
    clock = FastClock()
    store = fresh_store(seconds=clock.monotonic)
    lease = await take(store, clock, "t", "me")
    begun, told, may_end, ended = (asyncio.Event() for _ in range(4))

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            told.set()
            await may_end.wait()  # as a command whose end is waited for
            ended.set()

    holding = asyncio.create_task(while_held(store, clock, lease, work()))
    async with asyncio.timeout(60):
        await begun.wait()
        holding.cancel()
        for _ in range(turns):
            await asyncio.sleep(0)
        holding.cancel()
        await some_turns()
        assert not holding.done(), "the work goes on"
        assert told.is_set(), "and was never told to end"
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await holding
    assert ended.is_set()


async def test_a_wait_that_is_called_off_twice_ends_what_it_waited_for() -> None:
    """As a download that a stop ends while the bot closes."""
    told, may_end, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            told.set()
            await may_end.wait()
            ended.set()

    waiting = asyncio.create_task(unless(asyncio.Event(), work()))
    async with asyncio.timeout(60):
        await asyncio.sleep(0)
        waiting.cancel()
        await told.wait()
        waiting.cancel()
        await some_turns()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert ended.is_set()


async def test_a_lease_whose_grant_came_late_is_asked_for_anew_because_it_may_have_run_out() -> None:
    clock = FastClock()

    class Stalled(SQLiteStore):
        times = 0

        async def acquire(self, thread: str, owner: str, seconds: float = 20.0) -> Lease | None:
            lease = await super().acquire(thread, owner, seconds)
            self.times += 1
            if self.times == 1:
                clock.seconds += LEASE_SECONDS + 1.0
            return lease

    store = fresh_store(Stalled, seconds=clock.monotonic)
    lease = await take(store, clock, "t", "me")
    assert (store.times, lease.fence) == (2, 2)
    assert await store.acquire("t", "another") is None


async def test_where_several_work_nobody_wants_a_thread_that_another_is_seen_to_have() -> None:
    """What is refused is written and counts as a conflict; a look is neither."""
    wanted = list[str]()

    class Wanted(SQLiteStore):
        async def acquire(self, thread: str, owner: str, seconds: float = 20.0) -> Lease | None:
            wanted.append(owner)
            return await super().acquire(thread, owner, seconds)

    clock = FastClock()
    store = fresh_store(Wanted, seconds=clock.monotonic)
    await take(store, clock, "t", "one", patient=False)
    with pytest.raises(ThreadTaken, match="another process"):
        await take(store, clock, "t", "other", patient=False)
    await take(store, clock, "t", "one", patient=False)
    clock.seconds += LEASE_SECONDS + 1.0
    await take(store, clock, "t", "other", patient=False)
    assert wanted == ["one", "one", "other"]
