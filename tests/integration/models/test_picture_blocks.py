"""How a picture is sent on each route, what stands around it, and that it is encoded once."""

from __future__ import annotations

import asyncio

import pytest

from agentic.models.anthropic.request import AnthropicWire
from agentic.models.providers.prices import Prices
from agentic.models.requests.wire_cache import size
from agentic.models.router import ModelRouter
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.ports.pictures import Image, PicturedMessage
from agentic.ports.runtime import Message, Prompt, ToolAnswer, ToolCall

from .conftest import CLAUDE, GPT, SHELL
from .test_ollama_route import ollama  # noqa: F401 - a fixture

DOT = Image("image/png", "aGVsbG8=")
SEEN = PicturedMessage("user", "what is this?", images=(DOT,))
PROMPT = Prompt("You are kind.", (SHELL,), (SEEN,), tail="now: noon")
CALLED = (
    Message("user", "go"),
    Message("assistant", "", calls=(ToolCall("c1", "shell", {"command": "ls"}),)),
    PicturedMessage("user", "and this?", answers=(ToolAnswer("c1", "shell", "a.py"),), images=(DOT, DOT)),
)
ADDRESS = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}}
SOURCE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}


async def sent(asker, model: str, prompt: Prompt = PROMPT, **options: object) -> list[dict]:
    async with ScriptedEndpoint.start([Reply('{"answer": "ok"}')]) as endpoint:
        ask = await asker(endpoint, (model,), **options)
        await ask(model, prompt)
        return endpoint.requests[0].body["messages"]


async def test_anthropic_gets_blocks_after_results_and_before_the_text(asker):
    (message,) = await sent(asker, CLAUDE)
    assert [block["type"] for block in message["content"]] == ["image", "text", "text"]
    assert message["content"][0] == SOURCE
    last = (await sent(asker, CLAUDE, Prompt("", (SHELL,), CALLED)))[-1]["content"]
    assert [block["type"] for block in last] == ["tool_result", "image", "image", "text"]
    assert "cache_control" in last[-1]


async def test_openai_gets_parts_and_the_tail_is_one_more(asker):
    _, message = await sent(asker, GPT)
    said = [ADDRESS, {"type": "text", "text": "what is this?"}, {"type": "text", "text": "now: noon"}]
    assert message == {"role": "user", "content": said}
    assert [row["role"] for row in await sent(asker, GPT, Prompt("", (SHELL,), CALLED))] == [
        "user", "assistant", "tool", "user",
    ]  # fmt: skip


async def test_claude_at_another_provider_may_cut_its_cache_after_a_picture(asker):
    rows = await sent(asker, "openai/my-claude", prices=Prices({"openai/my-claude": Prices().facts(GPT)}))
    text = {"type": "text", "text": "what is this?", "cache_control": {"type": "ephemeral"}}
    assert rows[1]["content"] == [ADDRESS, text]


async def test_schema_mode_sends_pictures_too(asker):
    rows = await sent(asker, GPT, Prompt("", (SHELL,), CALLED), schema_models=("*",))
    assert rows[-1]["content"] == [ADDRESS, ADDRESS, {"type": "text", "text": "[result of shell]\na.py\n\nand this?"}]


async def test_ollama_gets_them_beside_the_text(ollama):  # noqa: F811
    router = ModelRouter({"OLLAMA_API_BASE": ollama.address})
    async with asyncio.timeout(60):
        await router.answer("ollama_chat/llava", PROMPT, max_tokens=99, timeout=50)
        await router.close()
    message = ollama.chats[0]["messages"][-1]
    assert (message["content"], message["images"]) == ("what is this?\n\nnow: noon", ["aGVsbG8="])


def test_a_picture_is_encoded_once_and_counts_in_what_is_kept():
    wire = AnthropicWire()
    for _ in range(3):
        wire.request("m", PROMPT, max_tokens=9, stream=False)
    assert wire.messages.encoded == 1
    assert size(SEEN) == size(Message("user", SEEN.text)) + len(DOT.data)


@pytest.mark.parametrize(
    ("model", "sees"), [(CLAUDE, True), (GPT, True), ("openai/gpt-3.5-turbo", False), ("nobody/knows-this", False)]
)
def test_which_models_can_see_is_known_from_the_map(model: str, sees: bool):
    assert ModelRouter({}).sees(model) is sees
