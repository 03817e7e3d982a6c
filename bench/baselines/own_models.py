"""The same loop through our own adapters, without log or rules: what the port ``LanguageModel`` adds to a library."""

from __future__ import annotations

from agentic.core.events.execution_events import CallBlock
from agentic.models.router import ModelRouter
from agentic.ports.runtime import (
    Message,
    Prompt,
    ToolAnswer,
    ToolCall,
)
from bench.baselines.bare import RESULT, SYSTEM, TOOLS, Baseline, measured, task


async def run(url: str, turns: int, stream: bool, model: str) -> Baseline:
    """``turns`` turns of one tool call each, against the endpoint at ``url``, with ``model`` by its LiteLLM name."""
    env = {
        "ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": url,
        "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{url}/v1",
        "HOSTED_VLLM_API_KEY": "none", "HOSTED_VLLM_API_BASE": f"{url}/v1",
    }  # fmt: skip
    router = ModelRouter(env)
    await router.warm_up([model])

    async def work(count: int) -> None:
        messages: tuple[Message, ...] = (Message("user", task(count)),)
        for _ in range(count):
            pieces: list[str] = []
            answer = await router.answer(
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

    try:
        return await measured(f"own adapter for {model}, {'streaming' if stream else 'whole'}", url, turns, work)
    finally:
        await router.close()
