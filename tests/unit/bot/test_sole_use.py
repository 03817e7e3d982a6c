"""On a store of many machines a process that does everything begins only where no other talks, and nobody joins it."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from agentic.stores.memory import MemoryStore
from bot.app.shards import ShardLeases
from bot.app.sole_use import WAITING, SharedWithOthers, sole_use
from bot.sessions.lease import LEASE_SECONDS
from tests.unit.bot.test_shards import Jumping, together


async def test_a_process_that_does_everything_and_others_keep_apart(caplog: pytest.LogCaptureFixture) -> None:
    clock = Jumping()
    store = MemoryStore(clock.monotonic)

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
        async with AsyncExitStack() as stack:
            for name in ("gateway", "worker"):
                await stack.enter_async_context(sole_use(store, clock, name, alone=False))
            _, lease = await ShardLeases(store, clock, "gateway").take(2)
            assert "`threadwright gateway` (gateway) works" in await refused("three", alone=True)
            await store.release(lease)
        async with sole_use(store, clock, "three", alone=True):
            pass

    await together(clock, story())
