"""Caps that executions share: set aside before each request, settled after it, over a real store and real requests."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import pytest

from agentic.core.audit.verification import verify
from agentic.core.events.execution_events import (
    Asked,
    BlobRef,
    BudgetRefused,
    CancelRequested,
    Envelope,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    OutboxItem,
    PolicyChanged,
    Tier,
    ToolFinished,
    ToolStarted,
)
from agentic.core.events.ids import execution_id
from agentic.models.scripted.model import Asked as Question
from agentic.models.scripted.model import ScriptedModel, answer
from agentic.models.scripted.replies import Reply
from agentic.ports.errors import StoreUnavailable
from agentic.ports.runtime import (
    Answer,
    Lease,
    Scope,
    SessionRow,
)
from agentic.runtime.budget_ledger import DailyCaps
from agentic.runtime.clock import SystemClock
from agentic.runtime.loop import Loop
from agentic.runtime.shutdown import Leaving
from agentic.stores.sqlite.store import SQLiteStore
from bot.cli.replay.invariants import broken_promises
from bot.sessions.recovery import settle_leftovers
from tests.integration.loop.conftest import THREAD, YOU, Bench
from tests.integration.loop.housing import BOSS, FINISH, MAIN, SECONDS, House, HouseOf, next_owner, started
from tests.waiting import eventually

LOOK = Reply(calls=(("look", {"name": "a"}),))
RESERVED = 0.006
"""A little more than what one request to this model sets aside."""


def capped(house: House, caps: DailyCaps) -> None:
    house.loop = replace(house.loop, caps=caps)


async def taken(house: House, whose: str = f"person {YOU.id}") -> float:
    return await house.store.spent_usd(f"{whose} {SystemClock().now().date().isoformat()}")


async def test_a_cap_that_holds_no_further_request_ends_the_execution_and_no_model_is_asked(house_of: HouseOf) -> None:
    house = await house_of(LOOK, FINISH)
    capped(house, DailyCaps(person=1.0, guild=RESERVED / 2))
    await house.store.save_session(SessionRow(THREAD, "1", "9"))
    ended = await house.ends(house.start(Bench(), attended=False))
    assert (ended.reason, house.endpoint.requests) == ("budget", [])
    assert "only $0.003 of today's budget of $0.003 for this server is left" in ended.answer
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
        begun = started(Bench(), attended=False).model_copy(update={"thread": thread})
        ended = await house.loop.run(lease, execution_id(thread, "1"), Bench(), asyncio.Event(), begun)
        assert ended.finished is not None
        return ended.finished.reason

    async def watch() -> None:
        nonlocal most
        while True:
            most = max(most, await taken(house, "bot"))
            await asyncio.sleep(0)

    watching = asyncio.create_task(watch())
    async with asyncio.timeout(SECONDS):
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
    house = await house_of(Reply("slow", delay=600.0), FINISH)
    capped(house, DailyCaps(person=1.0))
    running = house.start(Bench())
    reserved = (await house.first(ModelRequested)).reserved_usd
    await eventually(lambda: house.endpoint.requests)
    running.cancel()
    await asyncio.wait((running,))
    house.lease = await next_owner(house)
    assert await house.ends(house.start(Bench()))
    answered = [event.usd for event in await house.events(ModelAnswered, MAIN)]
    assert reserved > 0.004
    assert await taken(house) == pytest.approx(reserved + sum(answered), abs=2e-9)


async def test_a_cap_of_the_day_that_an_operator_raises_is_higher_for_everybody_at_once(house_of: HouseOf) -> None:
    house = await house_of(LOOK, FINISH)
    capped(house, DailyCaps(guild=RESERVED / 2))
    await house.store.save_session(SessionRow(THREAD, "1", "9"))
    running = house.start(Bench())
    asked = await house.first(Asked)
    assert (asked.what, asked.who_may) == ("day", "operator")
    await house.say("answer", "1", asked.question)
    await house.say("answer", "$0.5", asked.question, BOSS)
    assert (await house.ends(running)).reason == "done"
    change = await house.first(PolicyChanged)
    assert (change.by, change.whose, change.add_day_usd) == (BOSS.id, "guild", 0.5)
    day = SystemClock().now().date().isoformat()
    assert await house.store.raised_usd(f"guild 9 {day}") == 0.5
    await house.store.save_session(SessionRow("another", "1", "9"))
    lease = await house.store.acquire("another", "me")
    assert lease is not None
    begun = started(Bench()).model_copy(update={"thread": "another"})
    other = await house.loop.run(lease, execution_id("another", "1"), Bench(), asyncio.Event(), begun)
    assert other.finished is not None
    assert other.finished.reason == "done"


async def test_what_an_owner_set_aside_and_did_not_come_to_ask_for_is_given_back(house_of: HouseOf) -> None:
    """It died between the reservation and the request, or before it could settle; a raise it had not made is made."""
    house = await house_of(Reply("slow", delay=600.0), LOOK, FINISH)
    capped(house, DailyCaps(person=0.55))
    running = house.start(Bench())
    requested = await house.first(ModelRequested)
    await eventually(lambda: house.endpoint.requests)
    running.cancel()
    await asyncio.wait((running,))
    scope = Scope(f"person {YOU.id} {SystemClock().now().date().isoformat()}", 1.0)
    assert await house.store.reserve_usd(f"{MAIN}/never", (scope,), 0.5) is None
    assert await house.store.reserve_usd("somebody else/x", (scope,), 0.01) is None
    house.lease = await next_owner(house)
    assert (await house.ends(house.start(Bench()))).reason == "done"
    answered = [event.usd for event in await house.events(ModelAnswered)]
    assert await taken(house) == pytest.approx(0.01 + requested.reserved_usd + sum(answered), abs=2e-9)
    assert await house.store.unsettled_usd("") == ["somebody else/x"]


async def test_what_ended_executions_left_set_aside_is_settled_at_the_start(house_of: HouseOf) -> None:
    house = await house_of(FINISH)
    caps = DailyCaps(person=1.0)
    capped(house, caps)
    assert (await house.ends(house.start(Bench()))).reason == "done"
    paid = await taken(house)
    scope = Scope(f"person {YOU.id} {SystemClock().now().date().isoformat()}", 1.0)
    for key in (f"{MAIN}/never", f"{MAIN}.outcome/never", "gone/never", "an old key"):
        assert await house.store.reserve_usd(key, (scope,), 0.1) is None
    await settle_leftovers(house.store, caps)
    assert await house.store.unsettled_usd("") == ["an old key", "gone/never"]
    assert await taken(house) == pytest.approx(paid + 0.2, abs=2e-9)


async def test_at_the_cap_on_time_a_command_is_ended_and_a_person_gives_more(house_of: HouseOf) -> None:
    house = await house_of(Reply(calls=(("act", {"name": "long", "until": "never"}),)), FINISH)
    passed = 0.0
    house.loop = replace(house.loop, steady=lambda: house.loop.clock.monotonic() + passed)
    bench = Bench()
    running = house.start(bench, max_minutes=10.0)
    await house.first(ToolStarted)
    await bench.under_way()
    passed = 600.0
    house.doorbell.set()
    asked = await house.first(Asked)
    assert (asked.what, asked.who_may) == ("minutes", "executor")
    result = await house.first(ToolFinished)
    assert result.outcome == "cancelled"
    await house.say("answer", "20 minutes", asked.question)
    assert (await house.ends(running)).reason == "done"
    assert [event.add_minutes for event in await house.events(PolicyChanged)] == [20.0]


async def test_a_stop_ends_it_while_it_asks_for_money(house_of: HouseOf) -> None:
    house = await house_of(LOOK, LOOK, LOOK, FINISH)
    running = house.start(Bench(), max_usd=0.000001)
    asked = await house.first(Asked)
    assert (asked.what, len(house.endpoint.requests)) == ("usd", 1)
    await house.say("answer", "another 3 dollars")
    await house.say("stop")
    ended = await house.ends(running)
    assert ended.reason == "stopped"
    assert await house.events(PolicyChanged) == []


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


class Settling(SQLiteStore):
    """A store in which a stop is written only once a request is being settled, which hangs until it is ended."""

    settling: asyncio.Event
    stopping: asyncio.Event

    async def append(
        self,
        execution: str,
        expected_seq: int,
        lease: Lease,
        events: Sequence[Envelope],
        outbox: Sequence[OutboxItem] = (),
        inbox_acks: Sequence[str] = (),
        blobs: Sequence[tuple[BlobRef, bytes]] = (),
    ) -> None:
        if any(isinstance(envelope.event, CancelRequested) for envelope in events):
            self.stopping.set()
            await self.settling.wait()
        await super().append(execution, expected_seq, lease, events, outbox, inbox_acks, blobs)

    async def settle_usd(self, key: str, usd: float) -> None:
        if not self.settling.is_set():
            self.settling.set()
            await asyncio.Event().wait()
        await super().settle_usd(key, usd)


async def test_a_stop_in_the_middle_of_an_answer_costs_what_the_provider_had_said_until_then(house_of: HouseOf) -> None:
    house = await house_of(Reply.stall_after(2), FINISH)
    came = asyncio.Event()
    house.loop = replace(house.loop, caps=DailyCaps(person=1.0), sinks=(Listening(came),))
    tier = Tier(number=2, models=("anthropic/claude-haiku-4-5",))
    running = house.start(Bench(), tiers=(tier,))
    await asyncio.wait_for(came.wait(), SECONDS)
    await house.say("stop")
    assert (await house.ends(running)).reason == "stopped"
    failed, asked = await house.first(ModelFailed), await house.first(ModelRequested)
    assert (failed.failure, failed.begun) == ("cancelled", True)
    assert failed.usd is not None
    assert 0 < failed.usd < asked.reserved_usd / 10
    assert failed.usage.input > 0
    assert await taken(house) == pytest.approx(failed.usd, abs=2e-9)
    assert await house.store.unsettled_usd("") == []


async def test_a_request_that_an_orderly_end_cuts_off_costs_what_had_come(house_of: HouseOf) -> None:
    house = await house_of(Reply.stall_after(2), FINISH)
    came = asyncio.Event()
    house.loop = replace(house.loop, caps=DailyCaps(person=1.0), sinks=(Listening(came),), leaving=Leaving())
    running = house.start(Bench())
    await asyncio.wait_for(came.wait(), SECONDS)
    house.loop.leaving.until = SystemClock().monotonic()
    await house.say("guidance")
    assert (await running).finished is None
    failed, asked = await house.first(ModelFailed), await house.first(ModelRequested)
    assert (failed.failure, failed.begun) == ("lost", True)
    assert failed.usd is not None
    assert 0 < failed.usd < asked.reserved_usd / 10
    assert await taken(house) == pytest.approx(failed.usd, abs=2e-9)
    house.loop.leaving.until, house.lease = None, await next_owner(house)
    assert (await house.ends(house.start(Bench()))).reason == "done"
    assert verify([envelope async for envelope in house.store.read(MAIN)]).divergence is None


async def test_a_stream_that_breaks_before_the_provider_counted_costs_what_is_counted_here(house_of: HouseOf) -> None:
    house = await house_of(Reply.reset_after(2), FINISH)
    house.loop = replace(house.loop, caps=DailyCaps(person=1.0), sinks=(Listening(asyncio.Event()),))
    assert (await house.ends(house.start(Bench()))).reason == "done"
    failed, asked = await house.first(ModelFailed), await house.first(ModelRequested)
    assert (failed.failure, failed.begun) == ("unavailable", True)
    assert failed.usd is not None
    assert 0 < failed.usd < asked.reserved_usd / 10
    paid = sum(event.usd for event in await house.events(ModelAnswered))
    assert await taken(house) == pytest.approx(failed.usd + paid, abs=2e-9)


@dataclass
class Listening:
    """A sink that says when the first text has come."""

    came: asyncio.Event

    def saw(self, envelope: Envelope) -> None:
        pass

    def streamed(self, execution: str, text: str) -> None:
        self.came.set()


class Ending(Bench):
    """A toolbox that takes a moment to end what is left of it: what was cancelled has ended before."""

    async def settle(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)


async def test_a_stop_that_meets_a_settlement_loses_no_money_and_gives_no_second_result(house_of: HouseOf) -> None:
    house = await house_of()
    house.store.__class__ = Settling
    store = cast("Settling", house.store)
    store.settling, store.stopping = asyncio.Event(), asyncio.Event()

    async def script(asked: Question) -> Answer:
        await store.stopping.wait()
        return answer("hello", usd=0.0001)

    model = ScriptedModel(script, prices={"openai/gpt-4o-mini": (0.0, 60.0)})
    house.loop = Loop(store, model, house.loop.clock, caps=DailyCaps(person=1.0))
    running = house.start(Ending())
    assert (await house.first(ModelRequested)).reserved_usd == pytest.approx(0.49, abs=0.01)
    await house.say("stop")
    assert (await house.ends(running)).reason == "stopped"
    log = [envelope async for envelope in store.read(MAIN)]
    assert [type(each.event) for each in log if isinstance(each.event, ToolFinished | ModelFailed)] == []
    assert broken_promises(log) == ()
    assert await taken(house) == pytest.approx(0.0001, abs=2e-9)
    assert await store.unsettled_usd("") == []
