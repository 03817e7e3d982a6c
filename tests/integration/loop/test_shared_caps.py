"""Caps that executions share: set aside before each request, settled after it, over a real store and real requests."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from agentic.core.events import BudgetRefused, ModelAnswered, ModelFailed, ModelRequested
from agentic.core.identity import execution_id
from agentic.errors import StoreUnavailable
from agentic.loop import Loop
from agentic.models.replies import Reply
from agentic.ports import SessionRow
from agentic.purse import DailyCaps
from agentic.stores.sqlite import SQLiteStore
from tests.integration.loop.conftest import THREAD, YOU, Bench, WallClock
from tests.integration.loop.housing import FINISH, MAIN, House, HouseOf, next_owner, started

LOOK = Reply(calls=(("look", {"name": "a"}),))
RESERVED = 0.006
"""A little more than what one request to this model sets aside."""


def capped(house: House, caps: DailyCaps) -> None:
    house.loop = replace(house.loop, caps=caps)


async def taken(house: House, whose: str = f"person {YOU.id}") -> float:
    return await house.store.spent_usd(f"{whose} {WallClock().now().date().isoformat()}")


async def test_a_cap_that_holds_no_further_request_ends_the_execution_and_no_model_is_asked(house_of: HouseOf) -> None:
    house = await house_of(LOOK, FINISH)
    capped(house, DailyCaps(person=1.0, guild=RESERVED / 2))
    await house.store.save_session(SessionRow(THREAD, "1", "9"))
    ended = await house.ends(house.start(Bench()))
    assert (ended.reason, house.endpoint.requests) == ("budget", [])
    assert "of today's budget of $0.003 for this server only $0.003 is left" in ended.answer
    assert [event.whose for event in await house.events(BudgetRefused)] == ["guild"]
    assert await taken(house) == 0.0
    assert await house.events(ModelRequested) == []


async def test_what_was_spent_is_what_the_answers_cost_in_every_scope(house_of: HouseOf) -> None:
    house = await house_of(LOOK, FINISH)
    capped(house, DailyCaps(person=RESERVED, guild=RESERVED, bot=RESERVED))
    await house.store.save_session(SessionRow(THREAD, "1", "9"))
    assert (await house.ends(house.start(Bench()))).reason == "done"
    paid = sum(event.usd for event in await house.events(ModelAnswered))
    assert paid > 0
    for whose in (f"person {YOU.id}", "guild 9", "bot"):
        assert await taken(house, whose) == pytest.approx(paid, abs=2e-9)


async def test_executions_that_run_beside_each_other_do_not_set_aside_more_than_there_is(house_of: HouseOf) -> None:
    house = await house_of(FINISH)
    capped(house, DailyCaps(bot=3 * RESERVED))
    most = 0.0

    async def run(number: int) -> str:
        thread = f"thread {number}"
        lease = await house.store.acquire(thread, "me")
        assert lease is not None
        begun = started(Bench()).model_copy(update={"thread": thread})
        ended = await house.loop.run(lease, execution_id(thread, "1"), Bench(), asyncio.Event(), begun)
        assert ended.finished is not None
        return ended.finished.reason

    async def watch() -> None:
        nonlocal most
        while True:
            most = max(most, await taken(house, "bot"))
            await asyncio.sleep(0)

    watching = asyncio.create_task(watch())
    async with asyncio.timeout(30):
        reasons = await asyncio.gather(*(run(number) for number in range(8)))
    watching.cancel()
    assert set(reasons) <= {"done", "budget"}
    assert reasons.count("done") >= 3
    assert len(house.endpoint.requests) == reasons.count("done")
    assert RESERVED / 2 < most <= 3 * RESERVED
    assert await taken(house, "bot") < RESERVED


async def test_a_refused_request_is_given_back_and_a_lost_one_counts_as_it_was_reserved(house_of: HouseOf) -> None:
    house = await house_of(Reply(status=400), FINISH)
    capped(house, DailyCaps(person=1.0))
    assert (await house.ends(house.start(Bench()))).reason == "failed"
    assert [event.failure for event in await house.events(ModelFailed)] == ["bad_request"]
    assert await taken(house) == 0.0


async def test_what_a_dead_owner_had_set_aside_stays_spent(house_of: HouseOf) -> None:
    house = await house_of(Reply("slow", delay=30.0), FINISH)
    capped(house, DailyCaps(person=1.0))
    running = house.start(Bench())
    reserved = (await house.first(ModelRequested)).reserved_usd
    async with asyncio.timeout(20):
        while not house.endpoint.requests:
            await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.wait((running,))
    house.lease = await next_owner(house)
    assert await house.ends(house.start(Bench()))
    answered = [event.usd for event in await house.events(ModelAnswered, MAIN)]
    assert reserved > 0.004
    assert await taken(house) == pytest.approx(reserved + sum(answered), abs=2e-9)


class Unsettling(SQLiteStore):
    """A store whose disk fails when a request is settled."""

    async def settle_usd(self, key: str, usd: float) -> None:
        raise StoreUnavailable("the disk is full")


async def test_a_settlement_that_cannot_be_kept_costs_no_answer(house_of: HouseOf) -> None:
    house = await house_of(FINISH)
    house.store.__class__ = Unsettling
    house.loop = Loop(house.store, house.loop.model, house.loop.clock, caps=DailyCaps(person=1.0))
    assert (await house.ends(house.start(Bench()))).reason == "done"
    assert await taken(house) > 0.004
