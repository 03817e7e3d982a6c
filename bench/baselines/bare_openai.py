"""A bare loop over the openai SDK, as its documentation writes it: ``chat.completions.create`` and its stream."""

from __future__ import annotations

from openai import AsyncOpenAI

from bench.baselines import bare
from bench.baselines.bare import RESULT, SYSTEM, Baseline, measured, task

MODEL = "gpt-4o"
TOOLS = [
    {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.parameters}}
    for t in bare.TOOLS
]


async def run(url: str, turns: int, stream: bool) -> Baseline:
    """``turns`` turns of one tool call each, against the endpoint at ``url``."""
    async with AsyncOpenAI(api_key="none", base_url=f"{url}/v1", max_retries=0) as client:

        async def work(count: int) -> None:
            await converse(client, count, stream=stream)

        return await measured(f"openai SDK, {'streaming' if stream else 'whole'}", url, turns, work)


async def converse(client: AsyncOpenAI, turns: int, *, stream: bool = True) -> None:
    """One conversation of so many turns."""
    messages: list[dict] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task(turns)}]
    for _ in range(turns):
        request = {"model": MODEL, "max_tokens": 1000, "tools": TOOLS, "messages": messages}
        answer = await (_streamed if stream else _whole)(client, request)
        messages.append(answer)
        messages += [{"role": "tool", "tool_call_id": c["id"], "content": RESULT} for c in answer["tool_calls"]]


async def _whole(client: AsyncOpenAI, request: dict) -> dict:
    answer = await client.chat.completions.create(**request)
    return answer.choices[0].message.model_dump(exclude_none=True)


async def _streamed(client: AsyncOpenAI, request: dict) -> dict:
    text, calls = "", {}
    stream = await client.chat.completions.create(**request, stream=True, stream_options={"include_usage": True})
    async for chunk in stream:
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for piece in choice.delta.tool_calls or ():
                call = calls.setdefault(piece.index, {"id": piece.id, "name": "", "arguments": ""})
                call["name"] += piece.function.name or ""
                call["arguments"] += piece.function.arguments or ""
    told = [
        {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
        for c in calls.values()
    ]
    return {"role": "assistant", "content": text, "tool_calls": told}
