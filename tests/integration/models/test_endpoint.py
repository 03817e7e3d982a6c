"""The scripted endpoint, read by a client that is none of ours: plain aiohttp."""

from __future__ import annotations

import asyncio

import aiohttp
import orjson
import pytest

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from tests.waiting import BOUND

OPENAI = "/v1/chat/completions"


async def ask(
    endpoint: ScriptedEndpoint, path: str, *, stream: bool = False, **more: object
) -> tuple[int, bytes, dict[str, str]]:
    body = {"model": "m", "stream": stream, "messages": [{"role": "user", "content": "hello there"}], **more}
    async with asyncio.timeout(BOUND), aiohttp.ClientSession() as session:
        async with session.post(endpoint.url + path, data=orjson.dumps(body)) as response:
            return response.status, await response.read(), dict(response.headers)


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
