"""Moving up a tier through LiteLLM: advice and takeover on the wire, and what people are told."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import JsonValue

from agentic.core.events.execution_events import (
    Escalated,
    Intervened,
    ModelRequested,
    Policy,
    Started,
    Tier,
    ToolRef,
)
from agentic.core.events.ids import execution_id
from agentic.models.router import ModelRouter
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.runtime.clock import SystemClock
from agentic.runtime.loop import Loop
from agentic.stores.sqlite.store import SQLiteStore
from agentic.tools.toolbox import StandardToolbox
from agentic.workspace.workspace import RealWorld
from tests.integration.loop.conftest import THREAD, YOU, Bench
from tests.stores import fresh_store

SMALL, LARGE = "openai/gpt-4o-mini", "openai/gpt-4o"
FINISH = Reply(calls=(("finish", {"answer": "It is done."}),))
FAILING: dict[str, JsonValue] = {"name": "build", "fails": True}
ADVICE = "The lock is taken twice; look at src/lock.py line 12."


async def _no_world() -> RealWorld:
    raise AssertionError("these tools need no world")


async def _run(
    script: object, toolbox: Bench | StandardToolbox, **policy: object
) -> tuple[ScriptedEndpoint, SQLiteStore]:
    store, clock = fresh_store(), SystemClock()
    tiers = (Tier(number=2, models=(SMALL,)), Tier(number=3, models=(LARGE,)))
    async with asyncio.timeout(120), ScriptedEndpoint.start(script) as endpoint:  # pyright: ignore[reportArgumentType]
        router = ModelRouter(endpoint.environment())
        try:
            lease = await store.acquire(THREAD, "me")
            assert lease is not None
            started = Started(
                thread=THREAD,
                task="Fix the build.",
                requester=YOU,
                policy=Policy.model_validate({"tiers": tiers, "triage_by_model": False, **policy}),
                tools=tuple(ToolRef(name=spec.name, effect=spec.effect) for spec in toolbox.specs),
                inbox="1",
            )
            name = execution_id(THREAD, "1")
            await Loop(store, router, clock).run(lease, name, toolbox, asyncio.Event(), started)
        finally:
            await router.close()
    return endpoint, store


async def _log(store: SQLiteStore, kind: type) -> list[object]:
    events = [envelope.event async for envelope in store.read(execution_id(THREAD, "1"))]
    return [event for event in events if isinstance(event, kind)]


async def _notices(store: SQLiteStore) -> list[str]:
    return [row.item.text for row in await store.undelivered(THREAD) if row.item.sort == "notice"]


async def test_the_same_error_three_times_hands_over_to_the_next_tier_and_says_so() -> None:
    def script(request: CapturedRequest) -> Reply:
        return FINISH if request.model == "gpt-4o" else Reply(calls=(("act", FAILING),))

    prices = {SMALL: (0.15, 0.6), LARGE: (2.5, 10.0)}
    endpoint, store = await _run(script, Bench(), advise_first=False, prices=prices)
    assert [request.model for request in endpoint.requests] == ["gpt-4o-mini"] * 3 + ["gpt-4o"]
    assert "You take over from a weaker model" in endpoint.requests[-1].text()
    (escalated,) = await _log(store, Escalated)
    assert isinstance(escalated, Escalated)
    assert (escalated.from_tier, escalated.to_tier, escalated.rule) == (2, 3, "same_error")
    assert (escalated.from_model, escalated.to_model, escalated.counted["same_error"]) == (SMALL, LARGE, 3)
    assert escalated.usd > 0
    assert await _notices(store) == [
        "⬆ Handed over from gpt-4o-mini (tier 2) to gpt-4o (tier 3): same error 3 times. "
        "A turn of gpt-4o costs about 17 times as much as one of gpt-4o-mini."
    ]


async def test_advice_stands_in_the_next_request_of_the_same_model_and_the_next_trigger_takes_over() -> None:
    def script(request: CapturedRequest) -> Reply:
        if "What do you advise?" in request.text():
            return Reply(text=ADVICE)
        return FINISH if request.model == "gpt-4o" else Reply(calls=(("act", FAILING),))

    endpoint, store = await _run(script, Bench(), advise_first=True)
    models = [request.model for request in endpoint.requests]
    assert models == ["gpt-4o-mini"] * 3 + ["gpt-4o"] + ["gpt-4o-mini"] * 3 + ["gpt-4o"]
    asked, told = endpoint.requests[3], endpoint.requests[4]
    assert not asked.tools
    assert "Fix the build." in asked.text()
    assert "build failed" in asked.text()
    assert ADVICE in told.text()
    assert [request.purpose for request in await _log(store, ModelRequested) if isinstance(request, ModelRequested)] == [
        "turn", "turn", "turn", "advice", "turn", "turn", "turn", "turn",
    ]  # fmt: skip
    assert "advice" in [each.rule for each in await _log(store, Intervened) if isinstance(each, Intervened)]
    notices = await _notices(store)
    assert notices[0].startswith("💡 I asked a stronger model, gpt-4o, for advice (same error 3 times)")
    assert notices[1].startswith("⬆ Handed over from gpt-4o-mini (tier 2) to gpt-4o (tier 3)")


async def test_where_no_advice_comes_the_stronger_model_takes_over_at_once() -> None:
    def script(request: CapturedRequest) -> Reply:
        if "What do you advise?" in request.text():
            return Reply.error(500)
        return FINISH if request.model == "gpt-4o" else Reply(calls=(("act", FAILING),))

    endpoint, store = await _run(script, Bench(), advise_first=True)
    assert [request.model for request in endpoint.requests] == ["gpt-4o-mini"] * 3 + ["gpt-4o"] * 2
    assert len(await _log(store, Escalated)) == 1


@pytest.mark.parametrize("status", ["stuck", "progressing"])
async def test_a_report_of_being_stuck_hands_over_and_progress_does_not(status: str) -> None:
    def script(request: CapturedRequest) -> Reply:
        if request.number == 1:
            return Reply(calls=(("report", {"status": status, "confidence": 20}),))
        return FINISH

    endpoint, store = await _run(script, StandardToolbox(_no_world), advise_first=False)
    assert endpoint.requests[-1].model == ("gpt-4o" if status == "stuck" else "gpt-4o-mini")
    assert len(await _log(store, Escalated)) == (status == "stuck")
