"""The scripted endpoint, read by a client that is none of ours: plain aiohttp."""

from __future__ import annotations

import asyncio

import aiohttp
import orjson
import pytest

from agentic.core.events.execution_events import Usage
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from tests.waiting import BOUND

OPENAI = "/v1/chat/completions"
ANTHROPIC = "/v1/messages"


async def ask(
    endpoint: ScriptedEndpoint, path: str, *, stream: bool = False, **more: object
) -> tuple[int, bytes, dict[str, str]]:
    body = {"model": "m", "stream": stream, "messages": [{"role": "user", "content": "hello there"}], **more}
    async with asyncio.timeout(BOUND), aiohttp.ClientSession() as session:
        async with session.post(endpoint.url + path, data=orjson.dumps(body)) as response:
            return response.status, await response.read(), dict(response.headers)


def events(raw: bytes) -> list[dict]:
    lines = [line[6:] for line in raw.splitlines() if line.startswith(b"data: ") and line != b"data: [DONE]"]
    return [orjson.loads(line) for line in lines]


async def test_a_whole_answer_has_text_calls_and_usage_in_openai_s_form():
    async with ScriptedEndpoint.start(
        [Reply("hi", calls=(("shell", {"command": "ls"}),), usage=Usage(input=5, output=7, cache_read=3))]
    ) as endpoint:
        status, raw, _ = await ask(endpoint, OPENAI)
    body = orjson.loads(raw)
    assert status == 200
    choice = body["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] == "hi"
    assert orjson.loads(choice["message"]["tool_calls"][0]["function"]["arguments"]) == {"command": "ls"}
    assert body["usage"]["prompt_tokens"] == 8
    assert body["usage"]["prompt_tokens_details"]["cached_tokens"] == 3


async def test_a_streamed_answer_carries_the_same_in_both_protocols():
    reply = Reply("a text longer than one piece of it", calls=(("shell", {"command": "ls"}),), piece=5)
    async with ScriptedEndpoint.start([reply, reply]) as endpoint:
        _, openai, _ = await ask(endpoint, OPENAI, stream=True)
        _, anthropic, _ = await ask(endpoint, ANTHROPIC, stream=True)
    deltas = [chunk["choices"][0]["delta"] for chunk in events(openai) if chunk["choices"]]
    assert "".join(d.get("content") or "" for d in deltas) == reply.text
    arguments = "".join(c["function"]["arguments"] for d in deltas for c in d.get("tool_calls", []))
    assert orjson.loads(arguments) == {"command": "ls"}
    parts = [e["delta"] for e in events(anthropic) if e["type"] == "content_block_delta"]
    assert "".join(p.get("text", "") for p in parts) == reply.text
    assert orjson.loads("".join(p.get("partial_json", "") for p in parts)) == {"command": "ls"}
    assert events(anthropic)[-1]["type"] == "message_stop"


@pytest.mark.parametrize("path", [OPENAI, ANTHROPIC])
async def test_a_refusal_has_the_status_headers_and_body_of_the_protocol(path: str):
    async with ScriptedEndpoint.start([Reply.error(429, retry_after=7)]) as endpoint:
        status, raw, headers = await ask(endpoint, path)
    assert status == 429
    assert headers["Retry-After"] == "7"
    error = orjson.loads(raw)["error"]
    assert "rate limit" in error["message"].lower()


async def test_requests_are_captured_in_one_form():
    async with ScriptedEndpoint.start([Reply("a"), Reply("b")]) as endpoint:
        await ask(
            endpoint,
            ANTHROPIC,
            system=[{"type": "text", "text": "be kind"}],
            tools=[{"name": "shell", "input_schema": {}}],
        )
        await ask(endpoint, OPENAI, tools=[{"type": "function", "function": {"name": "shell"}}])
    first, second = endpoint.requests
    assert (first.protocol, second.protocol) == ("anthropic", "openai")
    assert first.system == "be kind"
    assert first.tools == second.tools == ("shell",)
    assert "hello there" in first.text()
    assert "hello there" in second.text()


async def test_a_script_may_be_a_function_and_its_failure_fails_the_test():
    def script(request: CapturedRequest) -> Reply:
        assert request.text().count("absent"), "not found"
        return Reply("never")

    async def fails() -> None:
        async with ScriptedEndpoint.start(script) as endpoint:
            status, _, _ = await ask(endpoint, OPENAI)
            assert status == 400

    with pytest.raises(AssertionError, match="not found"):
        await fails()


async def test_a_script_that_is_used_up_answers_with_an_error():
    async with ScriptedEndpoint.start() as endpoint:
        status, raw, _ = await ask(endpoint, OPENAI)
    assert status == 400
    assert b"no reply left" in raw


@pytest.mark.parametrize("path", [OPENAI, ANTHROPIC])
async def test_a_reset_drops_the_connection_mid_stream(path: str):
    async with ScriptedEndpoint.start([Reply.reset_after(2)]) as endpoint:
        with pytest.raises(aiohttp.ClientError):
            await ask(endpoint, path, stream=True)


async def test_a_client_that_leaves_a_stalled_stream_is_noticed():
    async with ScriptedEndpoint.start([Reply.stall_after(1)]) as endpoint:
        body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hello there"}]}
        async with asyncio.timeout(BOUND):
            async with aiohttp.ClientSession() as session:
                async with session.post(endpoint.url + ANTHROPIC, data=orjson.dumps(body)) as response:
                    await response.content.readany()
            await endpoint.left.wait()
    assert list(endpoint.left_at) == [1]
