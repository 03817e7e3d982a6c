"""The same loop through our own adapters, without log or rules: what the port ``LanguageModel`` adds to a library."""

from __future__ import annotations

import asyncio

from agentic.core.events.execution_events import CallBlock
from agentic.models.openai.chat_model import ChatModel
from agentic.models.providers.prices import Prices, prices_from
from agentic.models.router import ModelRouter
from agentic.ports.runtime import LanguageModel, Message, Prompt, ToolAnswer, ToolCall
from bench.baselines.bare import RESULT, SYSTEM, TOOLS, Baseline, measured, task


def environment(url: str) -> dict[str, str]:
    """The variables by which every provider is asked at ``url``."""
    return {
        "ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": url,
        "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{url}/v1",
        "HOSTED_VLLM_API_KEY": "none", "HOSTED_VLLM_API_BASE": f"{url}/v1",
    }  # fmt: skip


def router_at(url: str) -> ModelRouter:
    """Our adapters, asking at ``url``."""
    return ModelRouter(environment(url), prices=Prices(prices_from("hosted_vllm/bench=0/0")))


async def through_litellm(url: str) -> ChatModel:
    """LiteLLM asked for a provider that has a route of its own: what that route saves."""
    from agentic.models.litellm.library import load
    from agentic.models.litellm.litellm_transport import LiteLLMTransport

    return ChatModel(LiteLLMTransport(environment(url), await asyncio.to_thread(load)), Prices())


async def run(url: str, turns: int, stream: bool, model: str) -> Baseline:
    """``turns`` turns of one tool call each, against the endpoint at ``url``, with ``model`` by its LiteLLM name."""
    if model == "litellm-openai":
        adapter, model = await through_litellm(url), "openai/gpt-4o"
    else:
        adapter = router_at(url)
        await adapter.warm_up([model])

    async def work(count: int) -> None:
        await converse(adapter, model, count, stream=stream)

    try:
        return await measured(f"own adapter for {model}, {'streaming' if stream else 'whole'}", url, turns, work)
    finally:
        await adapter.close()


async def converse(adapter: LanguageModel, model: str, turns: int, *, stream: bool = True) -> None:
    """One conversation of so many turns."""
    messages: tuple[Message, ...] = (Message("user", task(turns)),)
    for _ in range(turns):
        pieces: list[str] = []
        answer = await adapter.answer(
            model,
            Prompt(SYSTEM, TOOLS, messages, "now"),
            max_tokens=1000,
            timeout=60,
            on_text=pieces.append if stream else None,
        )
        calls = [block for block in answer.blocks if isinstance(block, CallBlock)]
        messages = (
            *messages,
            Message("assistant", calls=tuple(ToolCall(c.provider_id, c.tool, c.arguments) for c in calls)),
            Message("user", answers=tuple(ToolAnswer(c.provider_id, c.tool, RESULT) for c in calls)),
        )
