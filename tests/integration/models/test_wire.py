"""What a request costs to build, and where the cache breakpoints stand."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from pydantic import JsonValue

from agentic.models.anthropic.request import AnthropicWire
from agentic.models.openai.chat_request import ChatWire
from agentic.models.requests.wire_cache import WireCache
from agentic.models.router import ModelRouter
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.ports.runtime import (
    Message,
    Prompt,
    ToolAnswer,
    ToolCall,
)

from .conftest import CLAUDE, FINISH, GPT, SHELL, both_routes

TOOLS = (SHELL, FINISH)


def turn(number: int, calls: int = 1) -> tuple[Message, Message]:
    ids = [f"t{number}_{i}" for i in range(calls)]
    return (
        Message("assistant", f"turn {number}", calls=tuple(ToolCall(i, "shell", {"command": "ls"}) for i in ids)),
        Message("user", answers=tuple(ToolAnswer(i, "shell", "x" * 100) for i in ids)),
    )


def marked(body: dict[str, JsonValue]) -> Iterator[str]:
    """Where the breakpoints stand, in words."""
    for place, tool in enumerate(body.get("tools", [])):
        if "cache_control" in tool:
            yield f"tool {place}"
    for place, block in enumerate(body.get("system", [])):
        if "cache_control" in block:
            yield f"system {place}"
    for number, message in enumerate(body["messages"]):
        for place, block in enumerate(message["content"]):
            if "cache_control" in block:
                yield f"message {number}, block {place} of {len(message['content'])}"


def without_marks(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: without_marks(inner) for key, inner in value.items() if key != "cache_control"}
    return [without_marks(inner) for inner in value] if isinstance(value, list) else value


async def captured(asker, model: str, prompts: list[Prompt]) -> list[CapturedRequest]:
    async with ScriptedEndpoint.start([Reply("ok")] * len(prompts)) as endpoint:
        ask = await asker(endpoint, (model,))
        for prompt in prompts:
            await ask(model, prompt)
        return endpoint.requests


async def test_breakpoints_stand_on_tools_system_and_the_last_two_messages_of_the_person(asker):
    history = (Message("user", "go"), *turn(1, 2), *turn(2, 3))
    (request,) = await captured(asker, CLAUDE, [Prompt("be kind", TOOLS, history, tail="it is noon")])
    assert list(marked(request.body)) == ["tool 1", "system 0", "message 2, block 1 of 2", "message 4, block 2 of 4"]
    last = request.body["messages"][-1]["content"]
    assert last[-1] == {"type": "text", "text": "it is noon"}, "the volatile tail comes after the last breakpoint"


@pytest.mark.parametrize(
    "prompt",
    [Prompt("", (), ()), Prompt("s", (), (Message("user", "x"),)), Prompt("", TOOLS, (Message("assistant", "x"),))],
)
async def test_there_are_never_more_than_four_breakpoints_and_the_person_speaks_last(asker, prompt: Prompt):
    (request,) = await captured(asker, CLAUDE, [prompt])
    assert len(list(marked(request.body))) <= 4
    assert request.body["messages"][-1]["role"] == "user"


@both_routes
async def test_each_request_begins_with_the_one_before_so_that_caches_hold(asker, model: str):
    history: tuple[Message, ...] = (Message("user", "go"),)
    prompts = []
    for number in range(4):
        prompts.append(Prompt("be kind", TOOLS, history, tail=f"it is {number}"))
        history += turn(number)
    requests = await captured(asker, model, prompts)
    for before, after in itertools.pairwise(requests):
        assert without_marks(after.body["tools"]) == without_marks(before.body["tools"])
        assert after.system == before.system
        old, new = said_before_the_tail(before), said_before_the_tail(after)
        assert len(old) >= 1
        assert new[: len(old)] == old


def said_before_the_tail(request: CapturedRequest) -> list[JsonValue]:
    """Every content block of the messages, up to the volatile tail and without the marks."""
    said: list[JsonValue] = []
    for message in without_marks(request.body["messages"]):
        content = message["content"]
        for block in content if isinstance(content, list) else [message]:
            text = str(block.get("text") or block.get("content") or "")
            if "it is " in text:
                kept = text.partition("it is ")[0].rstrip()
                return [*said, {**block, "content": kept}] if kept else said
            said.append(block)
    return said


@pytest.mark.parametrize("wire", [AnthropicWire(), ChatWire()], ids=["anthropic", "openai"])
def test_a_request_encodes_only_the_messages_that_are_new(wire: AnthropicWire | ChatWire):
    history: tuple[Message, ...] = (Message("user", "go"),)
    encoded = []
    for number in range(100):
        prompt = Prompt("be kind", TOOLS, history, tail=f"it is {number}")
        before = wire.messages.encoded
        if isinstance(wire, AnthropicWire):
            wire.request("claude", prompt, max_tokens=10, stream=False)
        else:
            wire.rows(prompt)
        encoded.append(wire.messages.encoded - before)
        history += turn(number)
    assert encoded == [1, *[2] * 99]


def test_the_cache_of_encoded_messages_is_bounded_and_forgets_the_oldest():
    cache: WireCache[str] = WireCache(lambda message: message.text, capacity=10_000)
    messages = [Message("user", "x" * 1000) for _ in range(50)]
    for message in messages:
        assert cache.wires([message]) == [message.text]
    assert len(cache) < 10
    before = cache.encoded
    cache.wires(messages[-1:])
    assert cache.encoded == before
    cache.wires(messages[:1])
    assert cache.encoded == before + 1


async def test_neighbours_of_one_role_become_one_message(asker):
    history = (Message("user", "one"), Message("user", "two"), Message("assistant", "a"), Message("assistant", "b"))
    (request,) = await captured(asker, CLAUDE, [Prompt("s", (), history)])
    assert [(said.role, said.text) for said in request.messages] == [
        ("user", "one\ntwo"),
        ("assistant", "a\nb"),
        ("user", "Go on."),
    ]


async def test_ids_of_another_provider_are_changed_alike_in_call_and_result(asker):
    history = (
        Message("user", "go"),
        Message("assistant", calls=(ToolCall("call.1:x", "shell", {}), ToolCall("call_1_x", "shell", {}))),
        Message("user", answers=(ToolAnswer("call.1:x", "shell", "1"), ToolAnswer("call_1_x", "shell", "2"))),
    )
    (request,) = await captured(asker, CLAUDE, [Prompt("s", TOOLS, history)])
    calls = [call.id for said in request.messages for call in said.calls]
    assert calls == [answer.id for answer in request.answers]
    assert len(set(calls)) == 2
    assert all(letter.isalnum() or letter in "_-" for call in calls for letter in call)


@both_routes
async def test_a_history_with_faults_is_repaired_on_its_way_out(asker, model: str):
    history = (
        Message("user", "go", answers=(ToolAnswer("orphan", "shell", "nobody asked"),)),
        Message("assistant", calls=(ToolCall("a", "shell", {}),)),
        Message("user", "are you there?"),
    )
    (request,) = await captured(asker, model, [Prompt("s", TOOLS, history)])
    assert "nobody asked" not in request.text()
    assert [answer.id for answer in request.answers] == ["a"]
    assert "unknown" in request.answers[0].text
    assert "are you there?" in request.text()


async def test_the_address_and_the_key_are_those_of_the_environment(asker):
    async with ScriptedEndpoint.start([Reply("ok")] * 2) as endpoint:
        ask = await asker(endpoint)
        await ask(CLAUDE)
        await ask(GPT)
    headers = [{name.lower(): value for name, value in request.headers.items()} for request in endpoint.requests]
    assert [row["authorization"] for row in headers] == ["Bearer scripted", "Bearer scripted"]


async def test_claude_through_another_provider_gets_breakpoints_too():
    model = "openrouter/anthropic/claude-sonnet-4.6"
    async with ScriptedEndpoint.start([Reply("ok")]) as endpoint:
        router = ModelRouter({"OPENROUTER_API_KEY": "k", "OPENROUTER_API_BASE": f"{endpoint.url}/v1"})
        history = (Message("user", "go"), *turn(1))
        await router.answer(model, Prompt("be kind", TOOLS, history, "it is noon"), max_tokens=9, timeout=30)
        await router.close()
    rows = endpoint.requests[0].body["messages"]
    assert ["cache_control" in str(row) for row in rows] == [True, False, False, True, False]
    assert rows[-1] == {"role": "user", "content": "it is noon"}
