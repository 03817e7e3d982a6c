"""Models on one's own machine, through LiteLLM to a server that speaks Ollama's protocol."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import orjson
import pytest
from aiohttp import web

from agentic.core.events.execution_events import CallBlock
from agentic.models.router import ModelRouter
from agentic.ports.errors import ModelBadRequest, ModelError, ModelUnavailable

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
    refusal: tuple[int, str] | None = None
    breaks_off: str = ""
    """An error that the stream ends with, after a first piece."""
    chats: list[dict] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.chats.append(body)
        if self.refusal is not None and (body.get("tools") or "tools" not in self.refusal[1]):
            return web.json_response({"error": self.refusal[1]}, status=self.refusal[0])
        if self.breaks_off:
            lines = [
                {**HEAD, "message": {"role": "assistant", "content": "Hel"}, "done": False},
                {"error": self.breaks_off},
            ]
            return web.Response(
                body=b"".join(orjson.dumps(line) + b"\n" for line in lines), content_type="application/x-ndjson"
            )
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
            model, PROMPT, max_tokens=100, timeout=60, on_text=(lambda _: None) if stream else None
        )
        for _ in range(100):  # what the library does after an answer, it does now
            await asyncio.sleep(0)
    await router.close()
    assert [(b.tool, b.arguments) for b in answer.blocks if isinstance(b, CallBlock)] == [("shell", {"command": "ls"})]
    assert answer.usd == 0.0
    (chat,) = ollama.chats
    assert ("tools" in chat) == native
    assert ("format" in chat) != native
    assert chat["options"]["num_ctx"] >= 8192, "a longer prompt would lose its beginning without a word"
    assert ollama.others == [], "a question about the model would block the loop while it is answered"


async def asked(ollama: FakeOllama, model: str, *, stream: bool):
    router = ModelRouter({"OLLAMA_API_BASE": ollama.address})
    try:
        async with asyncio.timeout(120):
            await router.warm_up([model])
            return await router.answer(
                model, PROMPT, max_tokens=100, timeout=60, on_text=(lambda _: None) if stream else None
            )
    finally:
        await router.close()


@both_ways
@pytest.mark.parametrize(
    ("refusal", "kind", "told"),
    [
        ((404, 'model "tiny" not found, try pulling it first'), ModelBadRequest, "`ollama pull tiny`"),
        ((500, "model requires more system memory (9 GiB) than is available"), ModelBadRequest, "smaller model"),
        ((500, "llama runner process has terminated"), ModelUnavailable, "llama runner process has terminated"),
    ],
)
async def test_what_an_ollama_refuses_is_told_as_what_it_is(
    ollama: FakeOllama, stream: bool, refusal: tuple[int, str], kind: type[ModelError], told: str
):
    ollama.refusal = refusal
    with pytest.raises(kind) as raised:
        await asked(ollama, "ollama_chat/tiny", stream=stream)
    assert told in raised.value.message
    assert "could not be reached" not in raised.value.message


@both_ways
async def test_an_ollama_model_that_takes_no_tools_is_asked_in_schema_mode(ollama: FakeOllama, stream: bool):
    ollama.refusal = (400, "registry/library/llama3.1 does not support tools")
    answer = await asked(ollama, "ollama_chat/llama3.1", stream=stream)
    assert [(b.tool, b.arguments) for b in answer.blocks if isinstance(b, CallBlock)] == [("shell", {"command": "ls"})]
    assert ["tools" in chat for chat in ollama.chats] == [True, False]


async def test_an_error_in_the_middle_of_an_ollamas_answer_is_told_in_its_words(ollama: FakeOllama):
    ollama.breaks_off = "an error was encountered while running the model: CUDA error"
    with pytest.raises(ModelUnavailable) as raised:
        await asked(ollama, "ollama_chat/llama3.1", stream=True)
    assert "Ollama could not run llama3.1" in raised.value.message
    assert "CUDA error" in raised.value.message
