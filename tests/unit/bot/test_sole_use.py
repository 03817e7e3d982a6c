"""On a store of many machines a process that does everything begins only where no other talks, and nobody joins it."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from bot.app.sole_use import PLACE_SECONDS, SEEN_SECONDS, SEVERAL, WAITING, SharedWithOthers, sole_use
from bot.cli.run import AlreadyRunning, one_of_several, only_one
from bot.sessions.lease import LEASE_SECONDS
from tests.stores import fresh_inline_store
from tests.unit.bot.test_shards import Jumping, together


async def test_a_process_that_does_everything_and_others_keep_apart(caplog: pytest.LogCaptureFixture) -> None:
    clock = Jumping()
    store = fresh_inline_store(seconds=clock.monotonic)

    async def refused(owner: str, *, alone: bool) -> str:
        with pytest.raises(SharedWithOthers) as why:
            async with sole_use(store, clock, owner, alone=alone):
                pass
        return str(why.value)

    async def story() -> None:
        async with sole_use(store, clock, "one", alone=True):
            await clock.sleep(5 * LEASE_SECONDS)
            for alone in (True, False):
                assert "`threadwright run` (one) works on the same table" in await refused("two", alone=alone)
            assert [entry.getMessage() for entry in caplog.records] == [WAITING % ("one", 25)], "who waits is told why"
        async with AsyncExitStack() as first, AsyncExitStack() as second, AsyncExitStack() as third:
            for stack, name in ((first, "w1"), (second, "w2")):
                await stack.enter_async_context(sole_use(store, clock, name, alone=False))
            await first.aclose()
            await clock.sleep(5 * PLACE_SECONDS)
            assert "or `threadwright worker` (w2) works on the same table" in await refused("two", alone=True)
            await third.enter_async_context(sole_use(store, clock, "w3", alone=False))
            await second.aclose()
            assert await store.fact(SEVERAL) == "2", "it took the place that was free"
            assert "(w3) works on the same table" in await refused("two", alone=True)
            # One that slept while another one took its place takes one anew when it wakes.
            slept = await store.acquire("process: 0", "w3", 0.0)
            assert slept is not None
            async with sole_use(store, clock, "w4", alone=False):
                await clock.sleep(2 * SEEN_SECONDS)
            assert "(w3) works on the same table" in await refused("two", alone=True)
        async with sole_use(store, clock, "three", alone=True):
            pass

    await together(clock, story())


def test_on_one_home_workers_without_a_gateway_are_named(tmp_path: Path) -> None:
    (tmp_path / "run.lock").write_text("1\n")  # of a gateway that has ended
    workers = (
        rf"`threadwright worker` already works on \S+ \(process {os.getpid()}\)\. .* \(kill {os.getpid()}\), or start"
    )
    with one_of_several(tmp_path, names=False), pytest.raises(AlreadyRunning, match=workers), only_one(tmp_path):
        pass
    for first, second in (
        (one_of_several(tmp_path, names=True), only_one(tmp_path)),
        (only_one(tmp_path), one_of_several(tmp_path, names=False)),
    ):
        with (
            first,
            pytest.raises(AlreadyRunning, match=rf"already runs on \S+ \(process {os.getpid()}\)\. Stop it first"),
            second,
        ):
            pass
