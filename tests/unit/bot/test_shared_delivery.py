"""Several processes deliver: what an execution says by who runs it, one process at a time in each thread."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import OutboxItem
from bot.outbound import shared_delivery
from bot.outbound.shared_delivery import SharedDelivery
from tests.stores import fresh_store


async def test_who_runs_an_execution_delivers_what_it_says_and_anybody_a_receipt() -> None:
    store = fresh_store()
    gateway, one, two = (SharedDelivery(store, name, works=name != "gateway") for name in ("gateway", "one", "two"))
    answer = OutboxItem(key="x.9.0", thread="t", execution="x", sort="answer", text="done")
    receipt = OutboxItem(key="told.7", thread="t", execution="", sort="receipt", text="Nothing runs here.")
    assert [await each.may(receipt) for each in (gateway, one, two)] == [True, True, True]
    assert [await each.may(answer) for each in (gateway, one, two)] == [False, True, True], "nobody runs it"
    lease = await store.acquire("t", "one")
    assert lease is not None
    assert [await each.may(answer) for each in (gateway, one, two)] == [False, True, False]
    async with one.turn("t") as ours, two.turn("t") as theirs, two.turn("u") as elsewhere:
        assert (ours, theirs, elsewhere) == (True, False, True)
    async with two.turn("t") as theirs:
        assert theirs, "the turn was given back"


async def test_a_turn_that_was_granted_too_late_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    store = fresh_store()
    monkeypatch.setattr(shared_delivery, "RENEW_SECONDS", -1.0)
    async with SharedDelivery(store, "one", works=True).turn("t") as ours:
        assert not ours
    assert await store.holder("delivery: t") == ""
