"""Faults of a model, through the whole loop: real HTTP, the real client libraries, the real rules and tools."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from agentic.core.events.execution_events import (
    Policy,
    Started,
    Tier,
    ToolRef,
    ToolStarted,
)
from agentic.core.events.ids import execution_id
from agentic.core.state.execution import Execution
from agentic.models.router import ModelRouter
from agentic.models.scripted.captured_request import CapturedRequest, SaidAnswer
from agentic.models.scripted.endpoint import Script, ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.runtime.clock import SystemClock
from agentic.runtime.loop import Loop
from agentic.stores.sqlite.store import SQLiteStore
from tests.integration.loop.conftest import THREAD, YOU, Bench
from tests.stores import fresh_store

ROUTES = {"anthropic": "anthropic/claude-sonnet-4-5", "openai": "openai/gpt-4o-mini"}
FINISH = Reply(calls=(("finish", {"answer": "It is done."}),))


@dataclass
class Ran:
    """What a run left behind."""

    execution: Execution
    endpoint: ScriptedEndpoint
    toolbox: Bench
    store: SQLiteStore

    @property
    def reason(self) -> str:
        return self.execution.finished.reason if self.execution.finished else ""

    async def started(self) -> list[ToolStarted]:
        log = [envelope.event async for envelope in self.store.read(execution_id(THREAD, "1"))]
        return [event for event in log if isinstance(event, ToolStarted)]


def answers(request: CapturedRequest) -> list[SaidAnswer]:
    """The results that a request carries for the calls of the last turn."""
    last = max(index for index, said in enumerate(request.messages) if said.role == "assistant")
    return [answer for said in request.messages[last:] for answer in said.answers]


@asynccontextmanager
async def routed(script: Script, route: str, idle: float) -> AsyncGenerator[tuple[ScriptedEndpoint, ModelRouter]]:
    async with ScriptedEndpoint.start(script) as endpoint:
        router = ModelRouter(endpoint.environment(), idle_seconds=idle)
        try:
            yield endpoint, router
        finally:
            await router.close()


@pytest.fixture(params=list(ROUTES))
def route(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def run(script: Script, route: str, *, idle: float = 20.0, **policy: object) -> Ran:
    """One execution over the route, with a toolbox that records what really ran."""
    store, toolbox, clock = fresh_store(), Bench(), SystemClock()
    async with routed(script, route, idle) as (endpoint, router), asyncio.timeout(120):
        lease = await store.acquire(THREAD, "me")
        assert lease is not None
        tiers = (Tier(number=2, models=(ROUTES[route],)),)
        values = {"tiers": tiers, "retry_base_seconds": 0.05, "attended": False, **policy}
        started = Started(
            thread=THREAD,
            task="Do the work.",
            requester=YOU,
            policy=Policy.model_validate(values),
            tools=tuple(ToolRef(name=spec.name, effect=spec.effect) for spec in toolbox.specs),
            inbox="1",
        )
        name = execution_id(THREAD, "1")
        execution = await Loop(store, router, clock).run(lease, name, toolbox, asyncio.Event(), started)
        return Ran(execution, endpoint, toolbox, store)


async def test_f44_malformed_arguments_are_sent_back_to_be_repaired_and_never_run_as_empty(route: str) -> None:
    script = [Reply(calls=(("act", '{"name": "a'),)), Reply(calls=(("act", {"name": "a"}),)), FINISH]
    ran = await run(script, route)
    assert ran.reason == "done"
    assert ran.toolbox.ran == ["a"]
    (answer,) = answers(ran.endpoint.requests[1])
    assert "not a JSON object" in answer.text


async def test_f44_arguments_that_stay_malformed_never_run(route: str) -> None:
    ran = await run([*[Reply(calls=(("act", "{oops"),))] * 3, FINISH], route)
    assert ran.toolbox.ran == []
    assert [event.tool for event in await ran.started()] == ["finish"]


async def test_f45_a_call_that_was_cut_off_does_not_run_and_the_model_is_told(route: str) -> None:
    script = [Reply(calls=(("act", '{"name": "a'),), stop="length"), FINISH]
    ran = await run(script, route)
    assert ran.toolbox.ran == []
    assert "cut off at the length limit" in answers(ran.endpoint.requests[1])[0].text
    assert "cut off at the length limit" in ran.endpoint.requests[1].messages[-1].text


async def test_f46_a_call_that_was_cut_off_and_still_parses_does_not_run(route: str) -> None:
    script = [Reply(calls=(("act", "{}"),), stop="length"), FINISH]
    ran = await run(script, route)
    assert ran.toolbox.ran == []
    assert "did not run" in answers(ran.endpoint.requests[1])[0].text


async def test_f47_a_call_written_inside_a_fence_is_recovered(route: str) -> None:
    text = 'I act now.\n```json\n{"tool": "act", "arguments": {"name": "a"}}\n```'
    ran = await run([Reply(text=text), FINISH], route)
    assert ran.toolbox.ran == ["a"]


async def test_f48_an_unknown_tool_and_wrong_arguments_get_a_result_and_are_no_progress(route: str) -> None:
    script = [Reply(calls=(("fly", {}), ("act", {"wrong": 1}))), FINISH]
    ran = await run(script, route)
    first, second = answers(ran.endpoint.requests[1])
    assert "no tool 'fly'" in first.text
    assert "wrong is no argument" in second.text
    assert ran.toolbox.ran == []
    assert ran.execution.judged.turns_unchanged == 2


async def test_f49_duplicate_call_ids_are_paired_one_to_one_in_the_next_request(route: str) -> None:
    calls = (("look", {"name": "a"}), ("look", {"name": "b"}))
    ran = await run([Reply(calls=calls, ids=("same", "same")), FINISH], route)
    said = ran.endpoint.requests[1].messages
    made = [call.id for message in said for call in message.calls]
    answered = [answer.id for message in said for answer in message.answers]
    assert len(set(made)) == 2
    assert answered == made
    assert [answer.text for answer in answers(ran.endpoint.requests[1])] == ["a seen", "b seen"]


async def test_f49_a_call_without_an_id_is_paired_too(route: str) -> None:
    ran = await run([Reply(calls=(("look", {"name": "a"}),), ids=("",)), FINISH], route)
    said = ran.endpoint.requests[1].messages
    assert [call.id for message in said for call in message.calls] == [a.id for a in answers(ran.endpoint.requests[1])]


async def test_f54_a_stalled_stream_is_asked_again_and_no_tool_runs_twice(route: str) -> None:
    script = [Reply(calls=(("act", {"name": "a"}),)), Reply.stall_after(1), FINISH]
    ran = await run(script, route, idle=0.5, request_seconds=5.0)
    assert ran.reason == "done"
    assert ran.toolbox.ran == ["a"]
    assert len(ran.endpoint.requests) == 3


async def test_f54_a_provider_that_never_answers_ends_the_execution_visibly(route: str) -> None:
    ran = await run([Reply(delay=30.0)] * 2, route, model_attempts=2, request_seconds=0.5)
    assert ran.reason == "failed"
    assert ran.execution.finished is not None
    assert "didn't answer in time" in ran.execution.finished.answer


@pytest.mark.parametrize(("status", "words"), [(401, "refused the API key"), (402, "no credit left")])
async def test_f55_a_refused_key_or_an_empty_account_is_not_retried_and_says_what_to_do(
    route: str, status: int, words: str
) -> None:
    ran = await run([Reply.error(status)], route)
    assert len(ran.endpoint.requests) == 1
    assert ran.execution.finished is not None
    assert words in ran.execution.finished.answer
