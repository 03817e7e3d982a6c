"""Faults of a provider at the adapter, on every route; what the loop does with them stands in ``test_loop_faults``."""

from __future__ import annotations

import asyncio
import time

import pytest

from agentic.core.events.execution_events import CallBlock
from agentic.models.providers.prices import Prices, prices_from
from agentic.models.router import ModelRouter
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.ports.errors import (
    ModelError,
    ModelKeyRefused,
    ModelQuotaUsedUp,
    ModelTimedOut,
)
from agentic.ports.runtime import (
    Answer,
    Message,
    Prompt,
    ToolAnswer,
    ToolCall,
    ToolSpec,
)

SHELL = ToolSpec(
    "shell",
    "Run a command.",
    {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    "unkeyed",
    "execute",
)
HISTORY = (Message("user", "go"),)
every_route = pytest.mark.parametrize("model", ["anthropic/claude-sonnet-4-5", "openai/gpt-4o", "hosted_vllm/our-own"])
both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


class Provider:
    """A scripted provider with a router that asks it."""

    def __init__(self, *script: Reply, history: tuple[Message, ...] = HISTORY, idle_seconds: float = 60.0) -> None:
        self._script = script
        self._idle = idle_seconds
        self._history = history
        self.endpoint = ScriptedEndpoint(script)

    async def ask(self, model: str, *, stream: bool, timeout: float = 20.0) -> Answer:
        async with asyncio.timeout(120):
            await self.endpoint.open()
            env = {
                **self.endpoint.environment(),
                "HOSTED_VLLM_API_KEY": "k",
                "HOSTED_VLLM_API_BASE": f"{self.endpoint.url}/v1",
            }
            prices = Prices(prices_from("hosted_vllm/our-own=1/2"))
            router = ModelRouter(env, prices=prices, idle_seconds=self._idle)
            try:
                await router.warm_up([model])
                prompt = Prompt("You are kind.", (SHELL,), self._history)
                return await router.answer(
                    model, prompt, max_tokens=100, timeout=timeout, on_text=(lambda _: None) if stream else None
                )
            finally:
                await router.close()
                await self.endpoint.close()


def calls(answer: Answer) -> list[CallBlock]:
    return [block for block in answer.blocks if isinstance(block, CallBlock)]


@every_route
@both_ways
@pytest.mark.parametrize("raw", ['{"command": "ls"', '["ls"]', ""])
async def test_f44_malformed_arguments_are_told_apart_from_an_empty_object(model: str, stream: bool, raw: str):
    (call,) = calls(await Provider(Reply(calls=(("shell", raw),))).ask(model, stream=stream))
    assert call.problem == "malformed"
    assert call.arguments == {}


@every_route
@both_ways
async def test_f45_a_call_cut_off_by_length_is_marked_and_the_complete_one_before_it_is_not(model: str, stream: bool):
    reply = Reply(calls=(("shell", {"command": "ls"}), ("shell", '{"command": "rm -r')), stop="length")
    answer = await Provider(reply).ask(model, stream=stream)
    assert answer.stop == "length"
    assert [call.problem for call in calls(answer)] == ["", "cut_off"]


@every_route
@both_ways
async def test_f46_a_call_cut_off_that_is_still_valid_is_marked_all_the_same(model: str, stream: bool):
    reply = Reply(calls=(("shell", {"command": "rm -r /tmp/x"}),), stop="length")
    (call,) = calls(await Provider(reply).ask(model, stream=stream))
    assert call.problem == "cut_off"
    assert call.arguments == {}


CALL = '{"name": "shell", "arguments": {"command": "ls"}}'


@every_route
@both_ways
@pytest.mark.parametrize(
    "text", [f"I look.\n```json\n{CALL}\n```", f"<tool_call>{CALL}</tool_call>", CALL], ids=["fence", "tags", "bare"]
)
async def test_f47_a_call_written_into_the_text_is_recovered(model: str, stream: bool, text: str):
    answer = await Provider(Reply(text)).ask(model, stream=stream)
    assert [(call.tool, call.arguments) for call in calls(answer)] == [("shell", {"command": "ls"})]
    assert answer.stop == "tool_use"


@every_route
async def test_f47_an_ambiguous_call_stays_text_so_that_the_model_is_asked_again(model: str):
    text = f"Either\n```json\n{CALL}\n```\nor\n```json\n{CALL.replace('ls', 'pwd')}\n```"
    answer = await Provider(Reply(text)).ask(model, stream=False)
    assert calls(answer) == []
    assert answer.blocks[0].text == text


@every_route
@both_ways
async def test_f48_an_unknown_tool_reaches_the_toolbox_as_it_was_written(model: str, stream: bool):
    (call,) = calls(await Provider(Reply(calls=(("no_such_tool", {"x": 1}),))).ask(model, stream=stream))
    assert (call.tool, call.arguments, call.problem) == ("no_such_tool", {"x": 1}, "")


@every_route
@both_ways
async def test_f49_duplicate_and_missing_ids_of_an_answer_become_unique(model: str, stream: bool):
    ls = ("shell", {"command": "ls"})
    answer = await Provider(Reply(calls=(ls, ls, ls), ids=("same", "same", ""))).ask(model, stream=stream)
    assert len({call.provider_id for call in calls(answer)} - {""}) == 3


@every_route
async def test_f49_an_orphan_result_is_dropped_and_an_open_call_is_closed_before_the_next_request(model: str):
    history = (
        Message("user", "go", answers=(ToolAnswer("orphan", "shell", "from nowhere"),)),
        Message(
            "assistant", calls=(ToolCall("a", "shell", {"command": "ls"}), ToolCall("b", "shell", {"command": "pwd"}))
        ),
        Message("user", "still there?", answers=(ToolAnswer("b", "shell", "/workspace"),)),
    )
    provider = Provider(Reply("yes"), history=history)
    await provider.ask(model, stream=False)
    (request,) = provider.endpoint.requests
    assert [answer.id for answer in request.answers] == ["a", "b"]
    assert "from nowhere" not in request.text()


@every_route
async def test_f54_a_stalled_stream_ends_by_the_idle_time_out_and_is_asked_once(model: str):
    provider = Provider(Reply.stall_after(2), Reply("never asked for"), idle_seconds=0.4)
    began = time.monotonic()
    with pytest.raises(ModelTimedOut, match="stalled"):
        await provider.ask(model, stream=True, timeout=60)
    assert time.monotonic() - began < 45
    assert len(provider.endpoint.requests) == 1


@every_route
@both_ways
async def test_f54_a_provider_that_never_answers_is_a_time_out(model: str, stream: bool):
    with pytest.raises(ModelTimedOut):
        await Provider(Reply("late", delay=60)).ask(model, stream=stream, timeout=0.4)


@every_route
@both_ways
@pytest.mark.parametrize(
    ("reply", "expected", "advice"),
    [
        (Reply.error(401), ModelKeyRefused, "Set "),
        (Reply.error(402), ModelQuotaUsedUp, "Add credit"),
        (
            Reply.error(429, "You exceeded your current quota.", code="insufficient_quota"),
            ModelQuotaUsedUp,
            "Add credit",
        ),
    ],
    ids=["401", "403", "402", "quota"],
)
async def test_f55_a_refused_key_and_an_empty_account_are_not_retried_and_say_what_to_do(
    model: str, stream: bool, reply: Reply, expected: type[ModelError], advice: str
):
    provider = Provider(reply, Reply("never asked for"))
    with pytest.raises(expected, match=advice):
        await provider.ask(model, stream=stream)
    assert len(provider.endpoint.requests) == 1
