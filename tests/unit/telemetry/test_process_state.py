"""What a process looks like from outside: how long messages wait, what threads do, leases of others."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from agentic.core.events.execution_events import OutboxItem
from agentic.models.scripted.model import answer
from agentic.ports.errors import StoreUnavailable
from agentic.ports.runtime import Lease, OutboxRow
from agentic.stores.sqlite.store import SQLiteStore
from bot.telemetry import names
from bot.telemetry.process_state import ProcessState
from tests.stores import fresh_store
from tests.unit.threads.house import Bench, house


class Hands:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


class Failing(SQLiteStore):
    fails = False

    async def undelivered(self, thread: str | None = None) -> list[OutboxRow]:
        if self.fails:
            raise StoreUnavailable("it is away")
        return await super().undelivered(thread)


async def test_a_thread_that_another_owner_took_is_counted_and_gone_on_with() -> None:
    store, bench, lost = fresh_store(), Bench(), list[str]()
    bench.hold = asyncio.Event()
    script = [answer("", ("work", {})), *[answer("", ("finish", {}))] * 3]
    async with house(script, store=store, bench=bench, lease_lost=lambda: lost.append("lost")) as home:
        await home.say("work")
        await bench.began.wait()
        [first, *_] = await home.log()
        await store.release(Lease("100", "this", first.fence))
        other = await store.acquire("100", "another")
        assert other is not None
        await store.release(other)
        bench.hold.set()
        await home.threads.idle("100")
        assert await home.reasons() == ["done"]
        assert {envelope.fence for envelope in await home.log()} == {first.fence, other.fence + 1}
    assert lost == ["lost"]


def item(key: str) -> OutboxItem:
    return OutboxItem(key=key, thread="1", execution="", sort="notice", text="hello")


async def test_the_oldest_message_ages_until_it_is_delivered_and_a_store_that_fails_changes_nothing() -> None:
    store, clock = fresh_store(Failing), Hands()
    state = ProcessState(store, clock, lambda within: within / 100, lambda: {"working": 2, "asking": 1})

    def seen() -> dict[str, list[float]]:
        return {metric.name: [value for value, _ in read()] for metric, read in state.observed().items()}

    await state.sample()
    assert seen() == {
        names.LOOP_LAG.name: [0.6], names.OUTBOX_AGE.name: [0.0], names.OUTBOX_ITEMS.name: [0],
        names.LEASE_CONFLICTS.name: [0], names.SESSIONS.name: [2, 1],
    }  # fmt: skip
    await store.put_outbox([item("a")])
    await state.sample()
    clock.seconds += 15
    await store.put_outbox([item("b")])
    await state.sample()
    assert (seen()[names.OUTBOX_AGE.name], seen()[names.OUTBOX_ITEMS.name]) == ([15.0], [2])
    store.fails = True
    await state.sample()
    assert (seen()[names.OUTBOX_AGE.name], seen()[names.OUTBOX_ITEMS.name]) == ([15.0], [2])
    store.fails = False
    await store.delivered("a", ["m"])
    clock.seconds += 5
    await state.sample()
    assert (seen()[names.OUTBOX_AGE.name], seen()[names.OUTBOX_ITEMS.name]) == ([5.0], [1])
    state.lease_lost()
    assert seen()[names.LEASE_CONFLICTS.name] == [1]
