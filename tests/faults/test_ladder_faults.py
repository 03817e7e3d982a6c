"""Faults that concern which model works: a provider that fails, an account out of order, a confidence that flaps."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from agentic.core.events.execution_events import (
    Asked,
    DeadlinePassed,
    Escalated,
    InboxItem,
    Policy,
    Started,
    Tier,
    ToolRef,
)
from agentic.core.events.ids import execution_id
from agentic.models.router import ModelRouter
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import Script, ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.runtime.clock import SystemClock
from agentic.runtime.loop import Loop
from tests.integration.loop.conftest import THREAD, YOU, Bench
from tests.stores import fresh_store
from tests.waiting import eventually

FIRST, SECOND = "openai/gpt-4o-mini", "anthropic/claude-haiku-4-5"
NAME = execution_id(THREAD, "1")
FINISH = Reply(calls=(("finish", {"answer": "It is done."}),))


class Stage:
    """One thread whose model is reached over HTTP."""

    def __init__(self, endpoint: ScriptedEndpoint, router: ModelRouter) -> None:
        self.endpoint, self.toolbox, self.store, self.doorbell = endpoint, Bench(), fresh_store(), asyncio.Event()
        self._loop = Loop(self.store, router, SystemClock())

    async def run(self, *models: str, **policy: object) -> str:
        """One execution to its end; the reason."""
        tiers = tuple(Tier(number=number, models=(model,)) for number, model in enumerate(models, start=2))
        values = {"tiers": tiers, "retry_base_seconds": 0.05, "triage_by_model": False, **policy}
        lease = await self.store.acquire(THREAD, "me")
        assert lease is not None
        started = Started(
            thread=THREAD, task="Fix the build.", requester=YOU, policy=Policy.model_validate(values), inbox="1",
            tools=tuple(ToolRef(name=spec.name, effect=spec.effect) for spec in self.toolbox.specs),
        )  # fmt: skip
        async with asyncio.timeout(120):
            ended = await self._loop.run(lease, NAME, self.toolbox, self.doorbell, started)
        return ended.finished.reason if ended.finished else ""

    async def events(self, kind: type) -> list[object]:
        return [envelope.event async for envelope in self.store.read(NAME) if isinstance(envelope.event, kind)]

    async def answer(self, text: str) -> Asked:
        """Wait for a question, and answer it."""
        question = (await eventually(lambda: self.events(Asked)))[-1]
        assert isinstance(question, Asked)
        item = InboxItem(
            id="200",
            thread=THREAD,
            sort="answer",
            author=YOU,
            at=datetime.now(UTC),
            text=text,
            target=question.question,
        )
        await self.store.put(item)
        self.doorbell.set()
        return question


async def staged(script: Script, *models: str, answer: str = "", **policy: object) -> tuple[Stage, str, Asked | None]:
    """Run it; ``answer`` is what a person says where something is asked."""
    async with ScriptedEndpoint.start(script) as endpoint:
        router = ModelRouter(endpoint.environment())
        try:
            stage = Stage(endpoint, router)
            running = asyncio.create_task(stage.run(*models, **policy))
            asked = await stage.answer(answer) if answer else None
            return stage, await running, asked
        finally:
            await router.close()


@pytest.mark.parametrize("status", [429, 503])
async def test_f53_a_failing_provider_is_backed_off_from_and_then_the_same_tiers_fallback_is_asked(status: int) -> None:
    def script(request: CapturedRequest) -> Reply:
        return Reply.error(status) if request.model == "gpt-4o-mini" else FINISH

    tiers = (Tier(number=2, models=(FIRST, SECOND)), Tier(number=3, models=("openai/gpt-4o",)))
    stage, reason, _ = await staged(script, tiers=tiers)
    assert reason == "done"
    assert [request.model for request in stage.endpoint.requests] == ["gpt-4o-mini", "claude-haiku-4-5"]
    (waited,) = await stage.events(DeadlinePassed)
    assert isinstance(waited, DeadlinePassed)
    assert waited.ref.startswith("retry:")
    assert await stage.events(Escalated) == []


@pytest.mark.parametrize(("status", "words"), [(401, "set a valid key"), (402, "add credit")])
async def test_f55_an_account_out_of_order_is_not_asked_again_but_rests_and_says_what_to_do(
    status: int, words: str
) -> None:
    def script(request: CapturedRequest) -> Reply:
        return Reply.error(status) if request.number == 1 else FINISH

    stage, reason, asked = await staged(script, FIRST, answer="Try again")
    assert asked is not None
    assert words in asked.text
    assert "Ask whoever runs the bot" in asked.text
    questions = [row.item for row in await stage.store.undelivered(THREAD) if row.item.sort == "question"]
    assert [question.notify for question in questions] == [True]
    assert reason == "done"
    assert len(stage.endpoint.requests) == 2  # one that was refused, and one after a person said so


async def test_f58_a_confidence_that_flaps_around_the_threshold_moves_no_tier_and_the_top_is_stable() -> None:
    def script(request: CapturedRequest) -> Reply:
        number = request.number
        if number > 12:
            return FINISH
        sure = 95 if number % 2 == 0 and number != 6 else 5  # low for two turns running only once
        return Reply(text=f"confidence: {sure}", calls=(("act", {"name": f"{number}"}),))

    policy: dict[str, object] = {"low_confidence": 60, "advise_first": False, "attended": False, "turns_medium": 30}
    policy |= {"stale_turns_escalate": 99, "unchanged_turns_escalate": 99}
    stage, reason, _ = await staged(script, FIRST, "openai/gpt-4o", **policy)
    changes = [event for event in await stage.events(Escalated) if isinstance(event, Escalated)]
    assert [(change.turn, change.to_tier, change.rule) for change in changes] == [(6, 3, "low_confidence")]
    assert [request.model for request in stage.endpoint.requests] == ["gpt-4o-mini"] * 6 + ["gpt-4o"] * 7
    assert (reason, await stage.events(Asked)) == ("done", [])
