"""When something outside is missing or refuses, the thread says what happened and what to do."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentic.core.events.execution_events import Finished, ModelFailed
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from tests.e2e.living import living
from tests.e2e.processes import environment, task

ROUTES = ("anthropic/claude-haiku-4-5", "openai/gpt-4o-mini")


@pytest.mark.parametrize("model", ROUTES)
async def test_f55_a_refused_key_rests_visibly_without_another_try(model: str, tmp_path: Path) -> None:
    refusal = Reply.error(401)
    async with asyncio.timeout(90), ScriptedEndpoint.start([refusal, refusal, refusal]) as endpoint:
        async with living(tmp_path, endpoint, THREADWRIGHT_TIER_2=model) as bot:
            thread = await bot.person.mention("do something")
            await bot.person.sees(thread, r"(?s)Paused: .*refused the API key.*set a valid key")
            assert await bot.running.end() == 0
        assert len(endpoint.requests) == 1


@pytest.mark.parametrize("model", ROUTES)
async def test_f55_a_used_up_quota_ends_visibly_and_the_command_fails(model: str, tmp_path: Path) -> None:
    refusal = Reply.error(429, type="insufficient_quota", code="insufficient_quota", message="You exceeded your quota")
    if model.startswith("anthropic/"):
        refusal = Reply.error(400, "Your credit balance is too low to access the API", type="invalid_request_error")
    async with asyncio.timeout(90), ScriptedEndpoint.start([refusal] * 3) as endpoint:
        env = environment(tmp_path / "home", endpoint.environment(), THREADWRIGHT_TIER_2=model)
        code, events, running = await task("do something", env=env, cwd=tmp_path)
    assert code == 1, running.output
    last = events[-1]
    assert isinstance(last, Finished)
    assert last.reason == "failed"
    assert "no credit" in last.answer
    assert [e.failure for e in events if isinstance(e, ModelFailed)] == ["quota_used_up"]


async def test_f71_without_a_docker_engine_the_thread_is_told_what_to_do_and_can_go_on(tmp_path: Path) -> None:
    script = [Reply(calls=(("shell", {"command": "true"}),)), Reply(calls=(("finish", {"answer": "It is done."}),))]
    nowhere = f"unix://{tmp_path}/no-engine.sock"
    async with asyncio.timeout(90), ScriptedEndpoint.start(script) as endpoint:
        async with living(tmp_path, endpoint, THREADWRIGHT_SANDBOX="docker", DOCKER_HOST=nowhere) as bot:
            thread = await bot.person.mention("do something")
            told = await bot.person.sees(thread, r"I have no sandbox to work in")
            assert "doctor" in told.text
            assert "Docker" in told.text
            assert await bot.running.end() == 0
        async with living(tmp_path, endpoint) as bot:
            await bot.person.sees(thread, r"It is done\.")
            assert await bot.running.end() == 0


async def test_f71_a_task_without_a_sandbox_fails_and_says_why(tmp_path: Path) -> None:
    script = [Reply(calls=(("shell", {"command": "true"}),))]
    async with asyncio.timeout(90), ScriptedEndpoint.start(script) as endpoint:
        env = environment(
            tmp_path / "home", endpoint.environment(), THREADWRIGHT_TIER_2=ROUTES[0], THREADWRIGHT_SANDBOX="docker",
            DOCKER_HOST=f"unix://{tmp_path}/no-engine.sock",
        )  # fmt: skip
        code, _, running = await task("do something", env=env, cwd=tmp_path)
    assert code == 1, running.output
    assert "no sandbox" in running.output.lower()
