"""What every bare loop shares: the product's own request, the tool in the process, and what is measured.

The bare loops send what the engine sends: the same system prompt and the same tools, byte for byte, the same task, and as
many requests with as much answered to each call.
"""

from __future__ import annotations

import resource
import statistics
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import aiohttp

from agentic.core.prompt.build import system_text
from agentic.core.prompt.user_messages import first_message
from agentic.tools.toolbox import StandardToolbox
from bench.task import OUTPUT, no_world, started

RESULT = OUTPUT.decode()
"""2 KB."""
SYSTEM = system_text(started("anthropic", 1))
TOOLS = StandardToolbox(no_world).specs
WARM_UP_TURNS = 5


def task(turns: int) -> str:
    """The first message, which says how many requests it takes."""
    return first_message(started("anthropic", turns))


@dataclass(frozen=True, slots=True)
class Baseline:
    """CPU of this process a turn, and the gaps from an answer's last byte to the next request, in ms."""

    name: str
    cpu_ms_per_turn: float
    gaps_ms: tuple[float, ...]

    def gap(self, first: bool) -> float:
        """The median of the first or last five gaps."""
        return statistics.median(self.gaps_ms[:5] if first else self.gaps_ms[-5:])


async def measured(name: str, url: str, turns: int, work: Callable[[int], Awaitable[None]]) -> Baseline:
    """Run ``work`` for a few warming turns and then for ``turns``; the endpoint tells the gaps."""
    await work(WARM_UP_TURNS)
    await _gaps(url)
    began = _cpu_seconds()
    await work(turns)
    spent = _cpu_seconds() - began
    return Baseline(name, spent / turns * 1000, tuple(await _gaps(url)))


async def _gaps(url: str) -> list[float]:
    async with aiohttp.ClientSession() as session, session.get(f"{url}/scripted/gaps") as response:
        return (await response.json())["gaps_ms"]


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
