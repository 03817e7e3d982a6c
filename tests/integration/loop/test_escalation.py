"""Moving up a tier through LiteLLM: the next request goes to the stronger model, and people are told why."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import JsonValue

from agentic.core.events import Escalated, Policy, Started, Tier, ToolRef
from agentic.core.identity import execution_id
from agentic.loop import Loop
from agentic.models.captured import CapturedRequest
from agentic.models.endpoint import ScriptedEndpoint
from agentic.models.replies import Reply
from agentic.models.router import ModelRouter
from agentic.stores.memory import MemoryStore
from agentic.tools import StandardToolbox
from agentic.world import RealWorld
from tests.integration.loop.conftest import THREAD, YOU, Bench, WallClock

SMALL, LARGE = "openai/gpt-4o-mini", "openai/gpt-4o"
FINISH = Reply(calls=(("finish", {"answer": "It is done."}),))


async def _no_world() -> RealWorld:
    raise AssertionError("these tools need no world")


async def _run(script: object, toolbox: Bench | StandardToolbox) -> tuple[ScriptedEndpoint, MemoryStore]:
    store, clock = MemoryStore(), WallClock()
    async with asyncio.timeout(60), ScriptedEndpoint.start(script) as endpoint:  # pyright: ignore[reportArgumentType]
        router = ModelRouter(endpoint.environment())
        try:
            lease = await store.acquire(THREAD, "me")
            assert lease is not None
            started = Started(
                thread=THREAD,
                task="Do the work.",
                requester=YOU,
                policy=Policy(tiers=(Tier(number=2, models=(SMALL,)), Tier(number=3, models=(LARGE,)))),
                tools=tuple(ToolRef(name=spec.name, effect=spec.effect) for spec in toolbox.specs),
                inbox="1",
            )
            name = execution_id(THREAD, "1")
            await Loop(store, router, clock).run(lease, name, toolbox, asyncio.Event(), started)
        finally:
            await router.close()
    return endpoint, store


async def _escalations(store: MemoryStore) -> list[Escalated]:
    events = [envelope.event async for envelope in store.read(execution_id(THREAD, "1"))]
    return [event for event in events if isinstance(event, Escalated)]


async def test_the_same_error_three_times_hands_over_to_the_next_tier_and_says_so() -> None:
    failing: dict[str, JsonValue] = {"name": "build", "fails": True}

    def script(request: CapturedRequest) -> Reply:
        return FINISH if request.model == "gpt-4o" else Reply(calls=(("act", failing),))

    endpoint, store = await _run(script, Bench())
    assert [request.model for request in endpoint.requests] == ["gpt-4o-mini"] * 3 + ["gpt-4o"]
    assert "You take over from a weaker model" in endpoint.requests[-1].text()
    (escalated,) = await _escalations(store)
    assert (escalated.from_tier, escalated.to_tier) == (2, 3)
    notices = [row.item.text for row in await store.undelivered(THREAD) if row.item.sort == "notice"]
    assert notices == ["Handing over to a stronger model (tier 3), because the same error came 3 times."]


@pytest.mark.parametrize("status", ["stuck", "progressing"])
async def test_a_report_of_being_stuck_hands_over_and_progress_does_not(status: str) -> None:
    def script(request: CapturedRequest) -> Reply:
        if request.number == 1:
            return Reply(calls=(("report", {"status": status, "confidence": 20}),))
        return FINISH

    endpoint, store = await _run(script, StandardToolbox(_no_world))
    assert endpoint.requests[-1].model == ("gpt-4o" if status == "stuck" else "gpt-4o-mini")
    assert len(await _escalations(store)) == (status == "stuck")
