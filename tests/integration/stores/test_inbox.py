"""The inbox: kept once, until taken in, in the order people acted."""

from __future__ import annotations

import asyncio

from agentic.ports.runtime import Store
from tests.integration.stores.samples import begin, envelopes, inbox_item, notes


async def test_items_wait_until_they_are_taken_in(store: Store) -> None:
    lease = await begin(store)
    items = [inbox_item(id) for id in ("1", "2", "3")]
    for item in items:
        assert await store.put(item)
    assert await store.pending("thread") == items
    await store.append("x1", 1, lease, envelopes("x1", lease, 1, notes(1)), inbox_acks=["1", "3", "never put"])
    assert await store.pending("thread") == [items[1]]


async def test_an_item_comes_once_even_after_it_was_taken_in(store: Store) -> None:
    assert await store.put(inbox_item("1"))
    assert not await store.put(inbox_item("1"))
    await store.discard(["1"])
    assert not await store.put(inbox_item("1"))
    assert await store.pending("thread") == []


async def test_of_many_puts_of_one_item_one_is_kept(store: Store) -> None:
    kept = await asyncio.gather(*(store.put(inbox_item("1")) for _ in range(20)))
    assert sum(kept) == 1


async def test_items_come_in_the_order_people_acted(store: Store) -> None:
    for id, minute in (("9", 9), ("3", 3), ("5a", 5), ("5b", 5)):
        await store.put(inbox_item(id, minute=minute))
    assert [item.id for item in await store.pending("thread")] == ["3", "5a", "5b", "9"]


async def test_threads_for_which_something_waits_are_known(store: Store) -> None:
    assert await store.pending_threads() == []
    for id, thread, minute in (("1", "b", 2), ("2", "a", 1), ("3", "b", 0), ("4", "c", 5)):
        await store.put(inbox_item(id, thread=thread, minute=minute))
    assert await store.pending_threads() == ["b", "a", "c"]
    await store.discard(["1", "3", "4"])
    assert await store.pending_threads() == ["a"]
