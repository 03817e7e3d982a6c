"""A bare loop over the anthropic SDK, as its documentation writes it: ``messages.create`` and its stream."""

from __future__ import annotations

from anthropic import AsyncAnthropic

from bench.baselines import bare
from bench.baselines.bare import RESULT, SYSTEM, Baseline, measured, task

MODEL = "claude-sonnet-4-5"
TOOLS = [{"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in bare.TOOLS]
MAX_TOKENS = 8192


async def run(url: str, turns: int, stream: bool) -> Baseline:
    """``turns`` turns of one tool call each, against the endpoint at ``url``."""
    async with AsyncAnthropic(api_key="none", base_url=url, max_retries=0) as client:

        async def work(count: int) -> None:
            messages: list[dict] = [{"role": "user", "content": task(count)}]
            for _ in range(count):
                answer = await _answer(client, messages, stream)
                messages.append({"role": "assistant", "content": [block.model_dump() for block in answer.content]})
                calls = [block for block in answer.content if block.type == "tool_use"]
                results = [{"type": "tool_result", "tool_use_id": call.id, "content": RESULT} for call in calls]
                messages.append({"role": "user", "content": results})

        return await measured(f"anthropic SDK, {'streaming' if stream else 'whole'}", url, turns, work)


async def _answer(client: AsyncAnthropic, messages: list[dict], stream: bool):
    request = {"model": MODEL, "max_tokens": MAX_TOKENS, "system": SYSTEM, "tools": TOOLS, "messages": messages}
    if not stream:
        return await client.messages.create(**request)
    async with client.messages.stream(**request) as events:
        return await events.get_final_message()
