"""``python -m bench.baselines.one LOOP URL TURNS whole|streaming``: one loop in a process of its own, as a line of JSON.

A process of its own, because a library is imported once, with the settings of whoever came first.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import asdict

import orjson

from bench.baselines.bare import Baseline

BARE = ("bare-anthropic", "bare-openai", "bare-litellm")


async def run(loop: str, url: str, turns: int, stream: bool) -> Baseline:
    """``loop`` is one of the bare ones, or a model's name for our own adapter."""
    if loop == "bare-anthropic":
        from bench.baselines import bare_anthropic

        return await bare_anthropic.run(url, turns, stream)
    if loop == "bare-openai":
        from bench.baselines import bare_openai

        return await bare_openai.run(url, turns, stream)
    if loop == "bare-litellm":
        from bench.baselines import bare_litellm

        return await bare_litellm.run(url, turns, stream)
    from bench.baselines import own_models

    return await own_models.run(url, turns, stream, loop)


def main() -> None:
    """Print the figures."""
    loop, url, turns, way = sys.argv[1:]
    row = asyncio.run(run(loop, url, int(turns), way == "streaming"))
    print(orjson.dumps(asdict(row)).decode())


if __name__ == "__main__":
    main()
