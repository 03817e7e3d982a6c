"""Schema mode: for models that cannot call tools."""

from __future__ import annotations

import orjson
import pytest
from pydantic import JsonValue

from agentic.core.events.execution_events import CallBlock, TextBlock
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.ports.runtime import (
    Message,
    Prompt,
    ToolAnswer,
    ToolCall,
)
from agentic.prompts.identity import TITLE, TITLE_TURNS

from .conftest import FINISH, GPT, PROMPT, SHELL, both_ways

SMALL = "openai/tiny-local"
OPTIONS = {"schema_models": ("openai/tiny-*",)}


def step(**fields: JsonValue) -> str:
    return orjson.dumps(
        {"reasoning": "because", "confidence": 60, "status": "progressing", "actions": [], "answer": "", **fields}
    ).decode()


async def one(asker, text: str, prompt: Prompt = PROMPT, *, stream: bool = False, **reply):
    async with ScriptedEndpoint.start([Reply(text, **reply)]) as endpoint:
        ask = await asker(endpoint, (SMALL,), **OPTIONS)
        return await ask(SMALL, prompt, stream=stream), endpoint.requests[0], ask.pieces


@both_ways
async def test_actions_become_calls_and_the_report_becomes_lines_of_text(asker, stream: bool):
    text = step(actions=[{"tool": "shell", "arguments": {"command": "ls"}}])
    answer, request, pieces = await one(asker, text, stream=stream)
    assert answer.blocks[0] == TextBlock(text="because\nconfidence: 60\nstatus: progressing")
    assert (answer.blocks[1].tool, answer.blocks[1].arguments) == ("shell", {"command": "ls"})
    assert answer.blocks[1].provider_id
    assert answer.stop == "tool_use"
    assert "tools" not in request.body
    shape = request.body["response_format"]["json_schema"]["schema"]
    (action,) = shape["properties"]["actions"]["items"]["anyOf"]
    assert action["properties"]["tool"]["enum"] == ["shell"]
    assert action["properties"]["arguments"]["required"] == ["command"], "a small model needs to be held to them"
    assert "Run a command." in request.system
    assert pieces == ([answer.blocks[0].text] if stream else []), "nobody is shown the JSON"


@pytest.mark.parametrize(
    ("system", "earlier", "line"), [(TITLE, 0, True), (TITLE, TITLE_TURNS, False), ("s", 0, False)]
)
async def test_a_title_is_the_first_line_where_one_is_asked_for(asker, system: str, earlier: int, line: bool):
    history = (*PROMPT.messages, *(Message("assistant", "I look."), Message("user", "Go on.")) * earlier)
    answer, _, _ = await one(asker, step(title="Fix the login test", answer="Done."), Prompt(system, (SHELL,), history))
    said = "because\nconfidence: 60\nstatus: progressing\nDone."
    assert answer.blocks == (TextBlock(text=f"title: Fix the login test\n{said}" if line else said),)


async def test_no_action_is_a_legal_answer(asker):
    answer, _, _ = await one(asker, step(answer="I would rather ask: which file?"))
    assert not any(isinstance(block, CallBlock) for block in answer.blocks)
    assert answer.blocks[0].text.endswith("I would rather ask: which file?")
    assert answer.stop == "end"


async def test_done_with_an_answer_is_the_finish_tool_where_there_is_one(asker):
    answer, _, _ = await one(
        asker, step(status="done", answer="All files are there."), Prompt("s", (SHELL, FINISH), PROMPT.messages)
    )
    assert (answer.blocks[-1].tool, answer.blocks[-1].arguments) == ("finish", {"answer": "All files are there."})


async def test_without_tools_a_model_is_asked_for_plain_text(asker):
    answer, request, _ = await one(asker, "just words", Prompt("s", (), PROMPT.messages))
    assert answer.blocks == (TextBlock(text="just words"),)
    assert "response_format" not in request.body


@pytest.mark.parametrize("wrapped", ["```json\n{}\n```", "Here you are: {} I hope it helps.", "{}"])
async def test_a_step_with_words_around_it_is_read(asker, wrapped: str):
    text = wrapped.replace("{}", step(actions=[{"tool": "shell", "arguments": {"command": "ls"}}]))
    answer, _, _ = await one(asker, text)
    assert [block.tool for block in answer.blocks if isinstance(block, CallBlock)] == ["shell"]


async def test_a_text_that_is_no_step_stays_text(asker):
    answer, _, _ = await one(asker, "I have no idea what JSON is.")
    assert answer.blocks == (TextBlock(text="I have no idea what JSON is."),)


async def test_arguments_that_are_no_object_are_malformed(asker):
    answer, _, _ = await one(asker, step(actions=[{"tool": "shell", "arguments": "ls -l"}]))
    assert [b.problem for b in answer.blocks if isinstance(b, CallBlock)] == ["malformed"]


async def test_actions_of_an_answer_cut_off_by_length_are_not_run(asker):
    answer, _, _ = await one(asker, step(actions=[{"tool": "shell", "arguments": {"command": "rm"}}]), stop="length")
    assert [b.problem for b in answer.blocks if isinstance(b, CallBlock)] == ["cut_off"]


async def test_the_history_is_told_without_native_calls(asker):
    history = (
        Message("user", "go"),
        Message("assistant", "I look.", calls=(ToolCall("a", "shell", {"command": "ls"}),)),
        Message("user", "quick", answers=(ToolAnswer("a", "shell", "one two", failed=True),)),
    )
    _, request, _ = await one(asker, step(), Prompt("s", (SHELL,), history))
    assert all("tool_calls" not in row and row["role"] != "tool" for row in request.body["messages"])
    assert (
        request.messages[1].text == '{"reasoning":"I look.","actions":[{"tool":"shell","arguments":{"command":"ls"}}]}'
    )
    assert request.messages[2].text == "[result of shell: FAILED]\none two\n\nquick"


@both_ways
async def test_a_model_that_takes_no_tools_is_asked_again_in_schema_mode_and_remembered(asker, stream: bool):
    def script(request: CapturedRequest) -> Reply:
        if "tools" in request.body:
            return Reply.error(400, "registry/tiny does not support tools")
        return Reply(step(actions=[{"tool": "shell", "arguments": {"command": "ls"}}]))

    async with ScriptedEndpoint.start(script) as endpoint:
        ask = await asker(endpoint, (GPT,))
        first = await ask(GPT, stream=stream)
        second = await ask(GPT, stream=stream)
    assert [b.tool for a in (first, second) for b in a.blocks if isinstance(b, CallBlock)] == ["shell", "shell"]
    assert ["tools" in request.body for request in endpoint.requests] == [True, False, False]


async def test_an_endpoint_that_takes_no_schema_is_asked_without_it(asker):
    def script(request: CapturedRequest) -> Reply:
        if "response_format" in request.body:
            return Reply.error(400, "'response_format' of type 'json_schema' is not supported with this model")
        return Reply(step(answer="fine"))

    async with ScriptedEndpoint.start(script) as endpoint:
        ask = await asker(endpoint, (SMALL,), **OPTIONS)
        answer = await ask(SMALL)
        again = await ask(SMALL)
    assert [one.blocks[0].text.endswith("fine") for one in (answer, again)] == [True, True]
    assert ["response_format" in request.body for request in endpoint.requests] == [True, True, False, False]


async def test_an_endpoint_that_takes_no_alternatives_is_given_open_arguments(asker):
    def script(request: CapturedRequest) -> Reply:
        actions = request.body["response_format"]["json_schema"]["schema"]["properties"]["actions"]
        if "anyOf" in actions["items"]:
            return Reply.error(400, "failed to parse grammar")
        return Reply(step(actions=[{"tool": "shell", "arguments": {"command": "ls"}}]))

    async with ScriptedEndpoint.start(script) as endpoint:
        ask = await asker(endpoint, (SMALL,), **OPTIONS)
        answers = [await ask(SMALL), await ask(SMALL)]
    assert [b.tool for a in answers for b in a.blocks if isinstance(b, CallBlock)] == ["shell", "shell"]
    assert len(endpoint.requests) == 3, "what was learned is kept"
