"""One measured process of ``bench.engine``: ``python -m bench.engine_process WHO ROUTE STREAM URL TURNS FOLDER``.

``ours`` is the loop with what ``bot/app/app.py`` gives it (SQLite on disk, model router, feed and roster as sinks, standard
tools) over a world whose commands cost nothing, as the baselines' tool does.  ``bare`` is a baseline.  It runs a few
turns to warm up, then so many turns, and prints as JSON what those cost.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from time import process_time
from typing import cast
from urllib.request import urlopen

from bench.baselines.bare import Baseline
from bench.task import MODELS, OUTPUT, Route, started

WARM_UP_TURNS = 5

Run = Callable[[int], Awaitable[None]]
"""Runs so many turns."""


def main() -> None:
    """Measure what was asked for."""
    who, route, stream, url, turns, folder = sys.argv[1:]
    os.environ.update(
        HOSTED_VLLM_API_BASE=f"{url}/v1",
        HOSTED_VLLM_API_KEY="bench",
        OPENAI_BASE_URL=f"{url}/v1",
        OPENAI_API_KEY="bench",
        ANTHROPIC_BASE_URL=url,
        ANTHROPIC_API_KEY="bench",
    )
    if who == "bare":
        asyncio.run(bare(route, url, int(turns), stream == "stream"))
    else:
        asyncio.run(ours(cast("Route", route), url, int(turns), Path(folder), stream == "stream"))


async def bare(route: str, url: str, turns: int, stream: bool) -> None:
    """The bare loop over this route, which measures itself."""
    module = importlib.import_module(f"bench.baselines.bare_{route}")
    baseline: Baseline = await module.run(url, turns, stream)
    print(json.dumps({"cpu_ms": baseline.cpu_ms_per_turn, "gaps_ms": baseline.gaps_ms}))


async def measure(run: Run, url: str, turns: int) -> None:
    """Warm up, run, and say what it cost a request."""
    await run(WARM_UP_TURNS)
    await asyncio.to_thread(_gaps, url)
    began = process_time()
    await run(turns)
    cpu = process_time() - began
    gaps = await asyncio.to_thread(_gaps, url)
    print(json.dumps({"cpu_ms": cpu / turns * 1e3, "gaps_ms": gaps}))


async def ours(route: Route, url: str, turns: int, folder: Path, stream: bool) -> None:
    """The engine as the bot composes it."""
    from agentic.models.providers.prices import ModelFacts, Prices
    from agentic.models.router import ModelRouter
    from agentic.runtime.clock import SystemClock
    from agentic.runtime.loop import Loop
    from agentic.stores.sqlite.store import SQLiteStore
    from agentic.tools.toolbox import StandardToolbox
    from bench.world import FreeWorld, Silent
    from bot.progress.feed import Feed
    from bot.threads.registry import Roster

    async with AsyncExitStack() as stack:
        store = SQLiteStore.open(folder / f"{os.getpid()}.db")
        stack.push_async_callback(store.close)
        router = ModelRouter(
            os.environ, prices=Prices({MODELS["litellm"]: ModelFacts(0.0, 0.0)})
        )  # no model without a price
        stack.push_async_callback(router.close)
        await router.warm_up([MODELS[route]])
        clock = SystemClock()
        loop = Loop(store, router if stream else Silent(router), clock, (Feed(), Roster()), "0.1.0")
        world = FreeWorld(folder, OUTPUT)
        executions = 0

        async def open_world() -> FreeWorld:
            return world

        async def run(count: int) -> None:
            nonlocal executions
            executions += 1
            thread = f"120000000000000000{executions}"
            lease = await store.acquire(thread, "bench")
            assert lease is not None
            toolbox = StandardToolbox(open_world)
            beginning = started(route, count, thread)
            ended = await loop.run(lease, f"x{executions}", toolbox, asyncio.Event(), beginning)
            assert ended.finished is not None
            assert ended.finished.reason == "done", ended.finished
            assert ended.turn.number == count, f"{ended.turn.number} turns instead of {count}"

        await measure(run, url, turns)


def _gaps(url: str) -> list[float]:
    with urlopen(f"{url}/scripted/gaps", timeout=10) as answer:
        return json.load(answer)["gaps_ms"]


if __name__ == "__main__":
    main()
