"""Models on one's own machine, through LiteLLM to a server that speaks Ollama's protocol."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import orjson
import pytest
from aiohttp import web

from agentic.core.events import CallBlock
from agentic.models.router import ModelRouter

from .conftest import PROMPT, both_ways

STEP = {
    "reasoning": "r",
    "confidence": 50,
    "status": "progressing",
    "actions": [{"tool": "shell", "arguments": {"command": "ls"}}],
    "answer": "",
}
HEAD = {"model": "m", "created_at": "2026-01-01T00:00:00Z"}


@dataclass
class FakeOllama:
    """Answers every chat with one call; remembers the bodies of chats and what else it was asked."""

    address: str = ""
    chats: list[dict] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.chats.append(body)
        call = {"function": {"name": "shell", "arguments": {"command": "ls"}}}
        message = (
            {"role": "assistant", "content": "", "tool_calls": [call]}
            if body.get("tools")
            else {"role": "assistant", "content": orjson.dumps(STEP).decode()}
        )
        last = {**HEAD, "done": True, "done_reason": "stop", "prompt_eval_count": 26, "eval_count": 8}
        if not body["stream"]:
            return web.json_response({**last, "message": message})
        lines = [{**HEAD, "message": message, "done": False}, {**last, "message": {"role": "assistant", "content": ""}}]
        return web.Response(
            body=b"".join(orjson.dumps(line) + b"\n" for line in lines), content_type="application/x-ndjson"
        )

    async def other(self, request: web.Request) -> web.Response:
        self.others.append(request.path)
        return web.json_response({})


@pytest.fixture
async def ollama() -> AsyncIterator[FakeOllama]:
    fake = FakeOllama()
    app = web.Application()
    app.router.add_post("/api/chat", fake.chat)
    app.router.add_route("*", "/{rest:.*}", fake.other)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    fake.address = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield fake
    await runner.cleanup()


@both_ways
@pytest.mark.parametrize(("model", "native"), [("ollama/llama3.1", True), ("ollama_chat/made-at-home:1b", False)])
async def test_a_model_known_to_call_tools_calls_them_and_another_is_asked_in_schema_mode(
    ollama: FakeOllama, stream: bool, model: str, native: bool
):
    router = ModelRouter({"OLLAMA_API_BASE": ollama.address})
    async with asyncio.timeout(120):
        await router.warm_up([model])
        answer = await router.answer(
            model, PROMPT, max_tokens=100, timeout=20, on_text=(lambda _: None) if stream else None
        )
        await asyncio.sleep(0.2)  # what the library does after an answer, it does now
    await router.close()
    assert [(b.tool, b.arguments) for b in answer.blocks if isinstance(b, CallBlock)] == [("shell", {"command": "ls"})]
    assert answer.usd == 0.0
    (chat,) = ollama.chats
    assert ("tools" in chat) == native
    assert ("format" in chat) != native
    assert chat["options"]["num_ctx"] >= 8192, "a longer prompt would lose its beginning without a word"
    assert ollama.others == [], "a question about the model would block the loop while it is answered"
