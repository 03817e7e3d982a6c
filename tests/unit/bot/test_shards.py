"""Gateways that share Discord's events: each hears a part of its own, and all of them keep within Discord's limits."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections import defaultdict
from datetime import UTC, datetime, timedelta

import pytest

from agentic.ports.runtime import Lease
from agentic.stores.sqlite.store import SQLiteStore
from bot.app.identify_budget import PERIOD, IdentifyBudget, StartLimit
from bot.app.shards import COUNT, Shard, ShardLeases
from tests.stores import fresh_inline_store

BEGAN = datetime(2026, 3, 1, tzinfo=UTC)


class Jumping:
    """A clock that goes on to the next who waits as soon as nobody has anything else to do."""

    def __init__(self, ahead: float = 0.0, of: Jumping | None = None) -> None:
        self._time, self._waiting = 0.0, list[tuple[float, int, asyncio.Event]]()
        self._ahead, self._of = ahead, of or self

    def now(self) -> datetime:
        return BEGAN + timedelta(seconds=self._of._time + self._ahead)

    def monotonic(self) -> float:
        return self._of._time

    async def sleep(self, seconds: float) -> None:
        if seconds > 0:
            bell = asyncio.Event()
            heapq.heappush(self._of._waiting, (self._of._time + seconds, id(bell), bell))
            await bell.wait()

    async def run(self) -> None:
        while True:
            for _ in range(30):
                await asyncio.sleep(0)
            if self._waiting:
                self._time, _, bell = heapq.heappop(self._waiting)
                bell.set()


class Discord:
    """What Discord counts, and what it says of it."""

    def __init__(self, clock: Jumping, concurrency: int, remaining: int = 1_000) -> None:
        self.clock, self.concurrency, self.remaining = clock, concurrency, remaining
        self.identified: dict[int, list[float]] = defaultdict(list)
        self.resets_at = 3_600.0

    async def limit(self) -> StartLimit:
        await asyncio.sleep(0)
        if self.clock.monotonic() >= self.resets_at:
            self.resets_at, self.remaining = self.resets_at + 86_400, 1_000
        return StartLimit(1_000, self.remaining, self.resets_at - self.clock.monotonic(), self.concurrency)

    def identify(self, shard: int) -> None:
        self.identified[shard % self.concurrency].append(self.clock.monotonic())
        self.remaining -= 1


async def together(clock: Jumping, *work: object) -> None:
    running = asyncio.create_task(clock.run())
    try:
        async with asyncio.timeout(60):
            await asyncio.gather(*work)  # type: ignore[call-overload]
    finally:
        running.cancel()


@pytest.mark.parametrize("concurrency", [1, 4])
async def test_many_gateways_never_identify_faster_than_discord_allows(concurrency: int) -> None:
    clock, store = Jumping(), fresh_inline_store()
    discord = Discord(clock, concurrency)

    async def gateway(shard: int) -> None:
        budget = IdentifyBudget(store, clock, discord.limit)
        for _ in range(2):  # a session that cannot be resumed identifies anew
            await budget.wait(shard)
            discord.identify(shard)

    await together(clock, *(gateway(shard) for shard in range(12)))
    assert sum(map(len, discord.identified.values())) == 24
    for times in discord.identified.values():
        assert all(later - before >= PERIOD for before, later in itertools.pairwise(times)), times
    assert max(map(max, discord.identified.values())) < 24 / concurrency * (PERIOD + 1) + 60, "and lose no time"


async def test_the_last_starts_of_a_day_are_left_and_the_next_day_goes_on() -> None:
    clock, store = Jumping(), fresh_inline_store()
    discord = Discord(clock, 16, remaining=53)

    async def gateway(shard: int) -> None:
        await IdentifyBudget(store, clock, discord.limit).wait(shard)
        if clock.monotonic() < 3_600:
            discord.identify(shard)
            assert discord.remaining >= 50, "five in a hundred are never used"

    await together(clock, *(gateway(shard) for shard in range(9)))
    assert discord.remaining == 1_000, "the others waited for the next day"
    assert sum(map(len, discord.identified.values())) == 3


async def test_a_gateway_whose_clock_is_far_ahead_holds_up_nobody() -> None:
    clock, store = Jumping(), fresh_inline_store()
    discord = Discord(clock, 1)
    await IdentifyBudget(store, Jumping(600, clock), discord.limit).wait(0)
    await together(clock, IdentifyBudget(store, clock, discord.limit).wait(0))
    assert clock.monotonic() < 60


async def test_each_shard_has_one_gateway_and_a_spare_one_takes_over() -> None:
    clock = Jumping()
    store = fresh_inline_store(seconds=clock.monotonic)
    taken: dict[str, tuple[Shard, object]] = {}

    async def gateway(name: str) -> None:
        taken[name] = await ShardLeases(store, clock, name).take(3)

    await together(clock, *(gateway(str(number)) for number in range(3)))
    assert {shard.number for shard, _ in taken.values()} == {0, 1, 2}
    assert {shard.count for shard, _ in taken.values()} == {3}
    await together(clock, gateway("spare"))  # nobody renews, so one runs out
    assert clock.monotonic() > 10
    assert taken["spare"][0].count == 3


async def test_who_comes_later_divides_as_those_do_that_are_connected() -> None:
    clock = Jumping()
    store = fresh_inline_store(seconds=clock.monotonic)
    first, lease = await ShardLeases(store, clock, "one").take(1)
    assert (first.number, first.count) == (0, 1)
    waiting = asyncio.create_task(ShardLeases(store, clock, "two").take(2))
    for _ in range(50):
        await asyncio.sleep(0)
    assert not waiting.done(), "Discord recommends more now, but the first one hears everything"
    await store.release(lease)
    running = asyncio.create_task(clock.run())
    shard, _ = await waiting
    running.cancel()
    assert shard.count == 2
    assert await store.fact(COUNT) == "2"


async def test_a_shard_that_was_granted_too_late_is_asked_for_anew() -> None:
    clock = Jumping()

    class Slow(SQLiteStore):
        late = True

        async def acquire(self, thread: str, owner: str, seconds: float = 20.0) -> Lease | None:
            lease = await super().acquire(thread, owner, seconds)
            if self.late:
                self.late = False
                await clock.sleep(60)
            return lease

    store = fresh_inline_store(Slow, seconds=clock.monotonic)

    async def gateway() -> None:
        await ShardLeases(store, clock, "one").take(1)
        assert await store.holder("shard: 0/1") == "one"

    await together(clock, gateway())


def test_each_server_is_on_one_shard_and_direct_messages_are_on_the_first() -> None:
    guilds = [str(number << 22) for number in range(40)]
    for guild in guilds:
        assert sum(Shard(number, 4).has(guild) for number in range(4)) == 1
    assert [Shard(number, 4).has("") for number in range(4)] == [True, False, False, False]
    assert Shard().has("no number at all")
