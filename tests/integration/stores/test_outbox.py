"""The outbox: in order, once a key, until there is a receipt."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import Option, OutboxItem
from agentic.ports.errors import StoreError
from agentic.ports.runtime import Store
from tests.integration.stores.samples import outbox_item


async def test_threads_for_which_something_waits_are_told_the_longest_waiting_first(store: Store) -> None:
    await store.put_outbox([outbox_item("a", thread="2"), outbox_item("b", thread="1"), outbox_item("c", thread="2")])
    await store.put_outbox([outbox_item("d", thread="0")])
    await store.delivered("b", ["100"])
    assert await store.undelivered_threads() == ["2", "0"]
    await store.delivered("a", [])
    assert await store.undelivered_threads() == ["2", "0"]
    await store.put_outbox([outbox_item("e", thread="1")])
    assert await store.undelivered_threads() == ["2", "0", "1"]
    await store.delivered("c", ["101"])
    assert await store.undelivered_threads() == ["0", "1"]


async def test_a_receipt_is_kept_and_leads_back_to_its_item(store: Store) -> None:
    await store.put_outbox([outbox_item("a"), outbox_item("b")])
    await store.delivered("a", ["100", "101"])
    row = await store.outbox_row("a")
    assert row is not None
    assert (row.delivered, row.done) == (("100", "101"), True)
    assert await store.by_message("101") == row
    waiting = await store.outbox_row("b")
    assert waiting is not None
    assert (waiting.delivered, waiting.done) == ((), False)
    assert await store.by_message("unknown") is None
    assert await store.outbox_row("unknown") is None


async def test_a_later_receipt_takes_the_place_of_an_earlier_one(store: Store) -> None:
    await store.put_outbox([outbox_item("a")])
    await store.delivered("a", ["100"])
    await store.delivered("a", ["200"])
    row = await store.by_message("200")
    assert row is not None
    assert row.delivered == ("200",)
    assert await store.by_message("100") == row


async def test_what_could_not_be_posted_is_done_without_messages(store: Store) -> None:
    await store.put_outbox([outbox_item("a")])
    await store.delivered("a", [])
    row = await store.outbox_row("a")
    assert row is not None
    assert (row.done, row.delivered) == (True, ())
    assert await store.undelivered() == []


async def test_a_receipt_for_nothing_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="no outbox item"):
        await store.delivered("unknown", ["1"])


async def test_an_item_comes_back_whole(store: Store) -> None:
    item = OutboxItem(
        key="k",
        thread="thread",
        execution="x1",
        sort="question",
        text="which?",
        files=("a.txt",),
        options=(Option(id="1", label="one"),),
        question="q1",
        target="55",
        generation=2,
        notify=True,
    )
    await store.put_outbox([item])
    assert [row.item for row in await store.undelivered()] == [item]
