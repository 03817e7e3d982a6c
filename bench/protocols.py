"""A streamed turn by OpenAI's protocol: our adapter beside the bare openai SDK and beside the route through LiteLLM.

Answers have 600 characters.  Each loop runs in a process of its own, which measures its own processor time; then a hundred
conversations at once meet an endpoint that waits 200 ms before each answer.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from time import perf_counter

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bench.baselines.bare import Baseline
from bench.figures import Figure, size

TURNS = size("TURNS", 30, 2)
CONVERSATIONS = size("CONVERSATIONS", 100, 2)
LATENCY = 0.2
SECONDS = 600.0
TEXT = "words " * 100
OURS = "openai/gpt-4o"


async def figures() -> AsyncIterator[Figure]:
    """Processor time a turn, then the wall time of many conversations."""

    def answered(request: CapturedRequest) -> Reply:
        return Reply(TEXT, calls=(("shell", {"command": f"step {request.number}"}),), delay=latency)

    latency = 0.0
    async with ScriptedEndpoint.start(answered, capture_requests=False) as endpoint:
        bare, ours, through = [await _cpu_ms(loop, endpoint.url) for loop in ("bare-openai", OURS, "litellm-openai")]
        note = f"600 characters streamed, {TURNS} turns; bare SDK {bare:.2f} ms, through LiteLLM {through:.2f} ms"
        yield Figure("protocols_cpu_openai", ours, "ms/turn", note=note)
        yield Figure("protocols_cpu_over_bare_sdk", ours / bare, "x", "<=", 1.5, note)
        yield Figure("protocols_cpu_over_litellm", ours / through, "x", "<=", 0.3, note)
        latency = LATENCY
        plain, own = [await _wall(who, endpoint.url) for who in ("bare", "ours")]
        note = f"{CONVERSATIONS} conversations of {TURNS} turns at {LATENCY:g} s: {own:.1f} s against {plain:.1f} s"
        yield Figure("protocols_wall_over_bare_sdk", own / plain, "x", "<=", 1.25, note)


async def _cpu_ms(loop: str, url: str) -> float:
    said = await _said("bench.baselines.one", loop, url, str(TURNS), "streaming")
    return Baseline(**json.loads(said)).cpu_ms_per_turn


async def _wall(who: str, url: str) -> float:
    return float(await _said("bench.protocols", who, url))


async def _said(module: str, *arguments: str) -> str:
    """The last line of a process of its own."""
    async with asyncio.timeout(SECONDS):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", module, *arguments, stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[1]
        )
        out, _ = await process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"{module} {' '.join(arguments)} ended with {process.returncode}")
    return out.decode().splitlines()[-1]


async def _conversations(who: str, url: str) -> float:
    """Seconds that the conversations take."""
    from bench.baselines import bare_openai, own_models

    if who == "bare":
        async with bare_openai.AsyncOpenAI(api_key="none", base_url=f"{url}/v1", max_retries=0) as client:
            began = perf_counter()
            await asyncio.gather(*(bare_openai.converse(client, TURNS) for _ in range(CONVERSATIONS)))
            return perf_counter() - began
    router = own_models.router_at(url)
    await router.warm_up([OURS])
    began = perf_counter()
    await asyncio.gather(*(own_models.converse(router, OURS, TURNS) for _ in range(CONVERSATIONS)))
    took = perf_counter() - began
    await router.close()
    return took


if __name__ == "__main__":
    print(asyncio.run(_conversations(*sys.argv[1:])))
