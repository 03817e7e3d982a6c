"""Answers of both routes, through the real libraries over HTTP."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import (
    CallBlock,
    ReasoningBlock,
    TextBlock,
    Usage,
)
from agentic.models.answers.answer import ESTIMATED
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.ports.runtime import (
    Message,
    Prompt,
    ToolAnswer,
    ToolCall,
)

from .conftest import CLAUDE, GPT, PROMPT, SHELL, both_routes, both_ways

USAGE = Usage(input=100, output=50, cache_read=1000)
LS = ("shell", {"command": "ls"})


@both_routes
@both_ways
async def test_an_answer_becomes_blocks_usage_and_price(asker, model: str, stream: bool):
    async with ScriptedEndpoint.start([Reply("let me look", calls=(LS,), usage=USAGE)]) as endpoint:
        answer = await (await asker(endpoint))(model, stream=stream)
    prefix = "toolu" if model == CLAUDE else "call"
    assert answer.blocks == (
        TextBlock(text="let me look"),
        CallBlock(provider_id=f"{prefix}_1_0", tool="shell", arguments={"command": "ls"}),
    )
    assert answer.stop == "tool_use"
    assert answer.usage == USAGE
    dollars = 100 * 3 + 50 * 15 + 1000 * 0.3 if model == CLAUDE else 100 * 2.5 + 50 * 10 + 1000 * 1.25
    assert answer.usd == pytest.approx(dollars / 1e6)
    assert answer.served_by == model.partition("/")[2]


@both_routes
async def test_text_is_passed_on_in_pieces_as_it_comes(asker, model: str):
    text = "A sentence that is longer than a piece, so that it comes in several of them."
    async with ScriptedEndpoint.start([Reply(text, piece=10, pace=0.02)]) as endpoint:
        ask = await asker(endpoint)
        answer = await ask(model, stream=True)
    assert len(ask.pieces) > 3
    assert "".join(ask.pieces) == text
    assert answer.blocks == (TextBlock(text=text),)


@both_ways
async def test_reasoning_is_sent_back_only_to_the_provider_that_signed_it(asker, stream: bool):
    async with ScriptedEndpoint.start(
        [Reply("a", reasoning="hm", signature="sig"), Reply("b"), Reply("c")]
    ) as endpoint:
        ask = await asker(endpoint)
        answer = await ask(CLAUDE, stream=stream)
        block = answer.blocks[0]
        assert block == ReasoningBlock(text="hm", opaque="sig", provider="anthropic")
        said = Message(
            "assistant", "a", reasoning=((block.provider, block.text, block.opaque), ("openai", "psst", "zz"))
        )
        history = Prompt("s", (), (Message("user", "x"), said, Message("user", "y")))
        await ask(CLAUDE, history)
        await ask(GPT, history)
    content = endpoint.requests[1].body["messages"][1]["content"]
    assert content == [{"type": "thinking", "thinking": "hm", "signature": "sig"}, {"type": "text", "text": "a"}]
    assert "psst" not in str(endpoint.requests[1].body)
    assert "sig" not in str(endpoint.requests[2].body["messages"])


@both_routes
async def test_the_request_holds_system_tools_history_and_tail(asker, model: str):
    history = (
        Message("user", "count the files"),
        Message(
            "assistant",
            "I look.",
            calls=(ToolCall("a1", "shell", {"command": "ls"}), ToolCall("a2", "shell", {"command": "pwd"})),
        ),
        Message(
            "user",
            "and hurry",
            answers=(ToolAnswer("a1", "shell", "one two"), ToolAnswer("a2", "shell", "no!", failed=True)),
        ),
    )
    async with ScriptedEndpoint.start([Reply("two")]) as endpoint:
        await (await asker(endpoint))(model, Prompt("You are kind.", (SHELL,), history, tail="now: noon"))
    request = endpoint.requests[0]
    assert request.system == "You are kind."
    assert request.tools == ("shell",)
    assert [(call.id, call.arguments) for said in request.messages for call in said.calls] == [
        ("a1", {"command": "ls"}),
        ("a2", {"command": "pwd"}),
    ]
    assert [(a.id, a.text) for a in request.answers] == [("a1", "one two"), ("a2", "no!")]
    spoken = [said.text for said in request.messages if said.role == "user" and said.text]
    assert spoken[0] == "count the files"
    assert spoken[-1].split() == ["and", "hurry", "now:", "noon"]


@both_routes
@both_ways
async def test_malformed_arguments_are_told_as_such_and_never_become_an_empty_object(asker, model: str, stream: bool):
    reply = Reply(calls=(("shell", '{"command": ls}'), ("shell", '["ls"]')))
    async with ScriptedEndpoint.start([reply]) as endpoint:
        answer = await (await asker(endpoint))(model, stream=stream)
    assert [(b.problem, b.raw) for b in answer.blocks] == [("malformed", '{"command": ls}'), ("malformed", '["ls"]')]


@both_routes
@both_ways
@pytest.mark.parametrize("arguments", ['{"command": "rm', '{"command": "rm"}', ""], ids=["broken", "valid", "empty"])
async def test_a_call_cut_off_by_length_is_told_as_such(asker, model: str, stream: bool, arguments: str):
    reply = Reply(calls=(LS, ("shell", arguments)), stop="length")
    async with ScriptedEndpoint.start([reply]) as endpoint:
        answer = await (await asker(endpoint))(model, stream=stream)
    assert answer.stop == "length"
    assert [b.problem for b in answer.blocks] == ["", "cut_off"]
    assert answer.blocks[1].arguments == {}


@both_routes
@both_ways
async def test_missing_and_repeated_call_ids_become_unique(asker, model: str, stream: bool):
    history = (
        Message("user", "go"),
        Message("assistant", calls=(ToolCall("x", "shell", {"command": "ls"}),)),
        Message("user", answers=(ToolAnswer("x", "shell", "ok"),)),
    )
    async with ScriptedEndpoint.start([Reply(calls=(LS, LS, LS), ids=("x", "y", "y"))]) as endpoint:
        answer = await (await asker(endpoint))(model, Prompt("s", (SHELL,), history), stream=stream)
    ids = [b.provider_id for b in answer.blocks]
    assert ids[1] == "y"
    assert len({*ids, "x"}) == 4


@both_routes
@both_ways
async def test_a_call_written_into_the_text_is_recovered(asker, model: str, stream: bool):
    text = 'I look.\n<tool_call>\n{"name": "shell", "arguments": {"command": "ls"}}\n</tool_call>'
    async with ScriptedEndpoint.start([Reply(text)]) as endpoint:
        answer = await (await asker(endpoint))(model, stream=stream)
    assert answer.stop == "tool_use"
    assert answer.blocks[0] == TextBlock(text="I look.")
    assert (answer.blocks[1].tool, answer.blocks[1].arguments) == ("shell", {"command": "ls"})
    assert answer.blocks[1].provider_id


@both_routes
@both_ways
@pytest.mark.parametrize("usage", [None, Usage(input=0, output=0), Usage(input=2**40, output=5)])
async def test_missing_and_absurd_usage_is_counted_and_flagged(asker, model: str, stream: bool, usage: Usage | None):
    reply = Reply("12345678" * 10, usage=usage, without_usage=usage is None)
    async with ScriptedEndpoint.start([reply]) as endpoint:
        answer = await (await asker(endpoint))(model, stream=stream)
    assert answer.served_by.endswith(ESTIMATED)
    assert answer.usage.output == 21
    assert 10 < answer.usage.input < 100
    assert answer.usd > 0


@both_routes
@both_ways
async def test_an_empty_answer_is_an_answer(asker, model: str, stream: bool):
    async with ScriptedEndpoint.start([Reply()]) as endpoint:
        answer = await (await asker(endpoint))(model, PROMPT, stream=stream)
    assert answer.blocks == ()
    assert answer.stop == "end"


@both_routes
async def test_a_model_is_asked_for_no_more_than_it_can_write(asker, model: str):
    async with ScriptedEndpoint.start([Reply("a"), Reply("b")]) as endpoint:
        ask = await asker(endpoint)
        await ask(model, max_tokens=1_000_000)
        await ask(model, max_tokens=123)
    assert endpoint.requests[0].body["max_tokens"] == (64_000 if model == CLAUDE else 16_384)
    assert endpoint.requests[1].body["max_tokens"] == 123
