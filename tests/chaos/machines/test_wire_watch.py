"""What the storm of `make chaos-aws` counts, and what it takes away, each by two processes that want one thread."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from agentic.aws.aws_place import AwsPlace
from agentic.aws.clients import Clients
from agentic.ports.errors import LeaseLost
from agentic.stores.aws.store import AwsStore
from agentic.stores.aws.subjects import events as events_module
from bot.sessions import lease as lease_module
from tests.aws.wire_faults import WireFaults
from tests.chaos.machines.wire_watch import WireWatch
from tests.chaos.sabotage import apply
from tests.integration.stores.samples import envelopes, notes, started

THREAD = "7"
Two = tuple[AwsStore, AwsStore, WireFaults, WireWatch, list[float]]


@pytest.fixture
async def two(aws_place: AwsPlace) -> AsyncIterator[Two]:
    """Two stores of processes on other machines, what they pass, and the clock that they share."""
    watch, now = WireWatch(), [1_000.0]
    async with WireFaults(aws_place.endpoint, heard=watch.heard) as wire:
        place = replace(aws_place, endpoint=wire.address)
        one, other = (
            AwsStore.over(Clients(place), lambda: now[0], process=f"{name}/1/1/1") for name in ("here", "there")
        )
        yield one, other, wire, watch, now
        await one.close()
        await other.close()


async def test_who_wants_a_thread_that_another_has_and_who_writes_too_late_is_counted(two: Two) -> None:
    one, other, wire, watch, now = two
    wire.break_next("dynamodb.UpdateItem", "lost", "doubled")
    lease = await one.acquire(THREAD, "one")
    assert lease is not None
    assert await one.renew(lease)
    assert watch.conflicts == 0, "what was sent twice met itself"
    assert await other.acquire(THREAD, "other") is None
    assert await other.acquire("delivery: 7", "other") is not None
    assert await one.acquire("delivery: 7", "one") is None
    assert (watch.conflicts, watch.fenced) == (1, 0)
    await one.append("x1", 0, lease, envelopes("x1", lease, 0, [started(THREAD)]))
    now[0] += 21
    later = await other.acquire(THREAD, "other")
    assert later is not None
    with pytest.raises(LeaseLost):
        await one.append("x1", 1, lease, envelopes("x1", lease, 1, notes(1)))
    assert (watch.conflicts, watch.fenced) == (1, 1)


async def test_without_fences_a_late_writer_gets_in(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events_module.Events, "_log", events_module.Events._log)
    monkeypatch.setattr(lease_module, "_keep", lease_module._keep)
    apply("fence")
    one, other, _, watch, now = two
    lease = await one.acquire(THREAD, "one")
    assert lease is not None
    await one.append("x1", 0, lease, envelopes("x1", lease, 0, [started(THREAD)]))
    now[0] += 21
    later = await other.acquire(THREAD, "other")
    assert later is not None
    await other.append("x1", 1, later, envelopes("x1", later, 1, notes(1)))
    await one.append("x1", 1, lease, envelopes("x1", lease, 1, notes(2)))
    assert watch.fenced == 0
    assert [envelope.fence async for envelope in other.read("x1")] != [1, 2], "the log is not what its owner wrote"
