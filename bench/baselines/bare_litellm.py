"""A bare loop over LiteLLM's ``hosted_vllm/`` route, whose cost does not grow with the history."""

from __future__ import annotations

import os

from bench.baselines import bare
from bench.baselines.bare import RESULT, SYSTEM, Baseline, measured, task

MODEL = "hosted_vllm/bench"
TOOLS = [
    {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
    }
    for tool in bare.TOOLS
]


async def run(url: str, turns: int, stream: bool) -> Baseline:
    """``turns`` turns of one tool call each, against the endpoint at ``url``."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    litellm.suppress_debug_info = True

    async def work(count: int) -> None:
        messages: list[dict] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task(count)}]
        for _ in range(count):
            message = await _answer(litellm, url, messages, stream)
            messages.append(message.model_dump(exclude_none=True))
            calls = message.tool_calls or []
            messages += [{"role": "tool", "tool_call_id": call.id, "content": RESULT} for call in calls]

    try:
        return await measured(f"LiteLLM hosted_vllm/, {'streaming' if stream else 'whole'}", url, turns, work)
    finally:
        await litellm.close_litellm_async_clients()


async def _answer(litellm, url: str, messages: list[dict], stream: bool):
    request = {
        "model": MODEL,
        "api_base": f"{url}/v1",
        "api_key": "none",
        "max_tokens": 1000,
        "tools": TOOLS,
        "messages": messages,
    }
    if not stream:
        return (await litellm.acompletion(**request)).choices[0].message
    pieces = [piece async for piece in await litellm.acompletion(**request, stream=True)]
    return litellm.stream_chunk_builder(pieces).choices[0].message
