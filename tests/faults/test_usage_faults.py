"""Fault 59: what a provider says of a request's tokens is missing or cannot be true, on both routes, over real HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from agentic.core.events.execution_events import ModelAnswered, Tier, Usage
from agentic.models.router import ModelRouter
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.ports.runtime import Message, Prompt
from agentic.runtime.budget_ledger import DailyCaps
from agentic.runtime.clock import SystemClock
from tests.integration.loop.conftest import YOU, Bench
from tests.integration.loop.housing import HouseOf, houses

ROUTES = ("openai/gpt-4o-mini", "anthropic/claude-haiku-4-5")
PROMPT = Prompt("You are kind. " * 2_000, (), (Message("user", "go"),))
"""7,000 tokens by our own count."""
CASES = {
    "none": None,
    "zero": Usage(),
    "negative": Usage(input=-5, output=-3),
    "a trillion": Usage(input=10**12, output=10**12),
    "an answer of two million": Usage(input=9_000, output=2_000_000),
    "a prompt of ten million": Usage(input=10**7, output=30),
    "more cached than there was": Usage(input=-90, output=30, cache_read=100),
    "next to nothing": Usage(input=1, output=1),
}
every_case = pytest.mark.parametrize("said", list(CASES.values()), ids=list(CASES))


@pytest.fixture
async def house_of(tmp_path: Path) -> AsyncIterator[HouseOf]:
    async with houses(tmp_path) as made:
        yield made


@pytest.mark.parametrize("model", ROUTES)
async def test_f59_usage_that_cannot_be_true_is_counted_here_and_said_to_be(model: str) -> None:
    told = [Reply("12345678" * 10, usage=said, without_usage=said is None) for said in CASES.values()]
    true = Usage(input=6_000, output=30, cache_read=500)
    async with ScriptedEndpoint.start(
        [one for one in told for _ in range(2)] + [Reply("well", usage=true)]
    ) as endpoint:
        router = ModelRouter(endpoint.environment())
        for case in CASES:
            for stream in (False, True):
                answer = await router.answer(
                    model, PROMPT, max_tokens=100, timeout=20, on_text=(lambda _: None) if stream else None
                )
                assert 6_000 < answer.usage.total < 9_000, case
                assert answer.usd == pytest.approx(router.prices.usd(model, answer.usage)), case
                assert answer.served_by.endswith("(usage estimated)"), case
        believed = await router.answer(model, PROMPT, max_tokens=100, timeout=20)
        assert believed.usage == true
        await router.close()


@every_case
async def test_f59_the_budget_still_stops_the_run(house_of: HouseOf, said: Usage | None) -> None:
    """After a few requests, by what they really were; and what is counted for the day is the same."""
    looks = [Reply(calls=(("look", {"name": "a" * n}),), usage=said, without_usage=said is None) for n in range(1, 80)]
    house = await house_of(*looks)
    house.loop = replace(house.loop, caps=DailyCaps(person=1.0))
    policy = {
        "tiers": (Tier(number=2, models=(ROUTES[0],)),),
        "max_usd": 0.0001,
        "turns_medium": 500,
        "attended": False,
    }
    ended = await house.ends(house.start(Bench(), **policy))
    assert ended.reason == "budget", ended.answer
    prices = [event.usd for event in await house.events(ModelAnswered)]
    assert 1 <= len(prices) <= 12
    assert all(price > 0 for price in prices)
    assert 0.0001 <= sum(prices) <= 0.0001 + max(prices)
    day = SystemClock().now().date().isoformat()
    assert await house.store.spent_usd(f"person {YOU.id} {day}") == pytest.approx(sum(prices), abs=1e-7)
