"""Leases: one owner a thread, and a fence that only grows."""

from __future__ import annotations

import asyncio

from agentic.ports.runtime import Store
from tests.integration.stores.samples import Seconds, take


async def test_a_thread_has_one_owner_at_a_time(store: Store) -> None:
    owners = [f"owner {number}" for number in range(20)]
    leases = await asyncio.gather(*(store.acquire("thread", owner) for owner in owners))
    assert sum(lease is not None for lease in leases) == 1
    assert await store.acquire("another thread", "owner 1") is not None


async def test_the_fence_grows_with_each_owner_and_survives_release(store: Store) -> None:
    first = await take(store)
    await store.release(first)
    second = await take(store, owner="another")
    again = await take(store, owner="another")
    assert first.fence < second.fence < again.fence


async def test_a_lease_that_ran_out_can_be_taken_and_then_not_be_renewed(store: Store, seconds: Seconds) -> None:
    lease = await store.acquire("thread", "me", seconds=20)
    assert lease is not None
    seconds.advance(19)
    assert await store.acquire("thread", "another") is None
    seconds.advance(2)
    taken = await store.acquire("thread", "another")
    assert taken is not None
    assert taken.fence > lease.fence
    assert not await store.renew(lease)


async def test_renewal_holds_it_longer_without_a_new_fence(store: Store, seconds: Seconds) -> None:
    lease = await store.acquire("thread", "me", seconds=20)
    assert lease is not None
    seconds.advance(15)
    assert await store.renew(lease, seconds=20)
    seconds.advance(15)
    assert await store.acquire("thread", "another") is None
    assert await store.renew(lease)


async def test_an_owner_that_slept_goes_on_if_nobody_took_its_thread(store: Store, seconds: Seconds) -> None:
    lease = await take(store)
    seconds.advance(3_600)
    assert await store.renew(lease)
    assert await store.acquire("thread", "another") is None


async def test_a_late_release_leaves_the_successor_alone(store: Store, seconds: Seconds) -> None:
    lease = await take(store)
    seconds.advance(60)
    successor = await take(store, owner="another")
    await store.release(lease)
    assert await store.renew(successor)
    assert await store.acquire("thread", "third") is None


async def test_a_released_lease_cannot_be_renewed(store: Store) -> None:
    lease = await take(store)
    await store.release(lease)
    await store.release(lease)
    assert not await store.renew(lease)


async def test_who_has_a_thread_is_told_while_nobody_else_can_take_it(store: Store, seconds: Seconds) -> None:
    assert await store.holder("thread") == ""
    lease = await take(store, owner="me")
    assert await store.holder("thread") == "me"
    seconds.advance(3_600)
    assert await store.holder("thread") == "", "it ran out"
    assert await store.renew(lease)
    assert await store.holder("thread") == "me"
    await store.release(lease)
    assert await store.holder("thread") == ""
