"""CPU a turn of the whole engine, durable on disk, beside bare loops over the same libraries and beside mini-swe-agent.

Each measurement is a process of its own against an endpoint in this one; the same number of requests, the same route, and
streaming on both sides or on neither.  They take turns, and medians are given.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median

from agentic.models.scripted.endpoint import ScriptedEndpoint
from bench.figures import SMALL, Figure, size
from bench.task import MODELS, Route, reply

TURNS = size("TURNS", 100, 12)
ROUNDS = size("ROUNDS", 3, 1)
SECONDS = 300
BARE: tuple[Route, ...] = ("litellm", "anthropic")
"""Routes for which there is a bare loop."""
ONCE = {"litellm": "whole", "anthropic": "stream"}
"""All that is measured of each in a small run."""

AT_MOST_OF_MINI = 0.45

Command = tuple[str, ...]

MINI = Path(tempfile.gettempdir()) / "threadwright-bench-mini-swe-agent"
MINI_SCRIPT = Path(__file__).with_name("mini_swe_agent.py")


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU a request, and the gaps between an answer and the next request, those of the first and of the last five turns."""

    cpu_ms: float
    first_gaps_ms: tuple[float, ...]
    last_gaps_ms: tuple[float, ...]


async def figures() -> AsyncIterator[Figure]:
    """Both routes, whole and streaming; then mini-swe-agent without streaming."""
    with tempfile.TemporaryDirectory(prefix="bench-engine-", dir=Path.cwd()) as folder:
        async with ScriptedEndpoint.start(reply, capture_requests=False) as endpoint:
            for route in BARE:
                for stream in (ONCE[route],) if SMALL else ("whole", "stream"):
                    ours, bare = await in_turn(
                        engine(endpoint.url, route, stream, Path(folder)), bare_loop(endpoint.url, route, stream)
                    )
                    for figure in compared(route, stream, ours, bare):
                        yield figure
            if not SMALL:  # it is installed from the registry
                async for figure in beside_mini(endpoint.url, Path(folder)):
                    yield figure


def compared(route: Route, stream: str, ours: Cost, bare: Cost) -> Sequence[Figure]:
    """The figures of one route."""
    name = f"{route}_{stream}"
    note = (
        f"{MODELS[route]}, {stream}, {TURNS} requests, medians of {ROUNDS}; both with the same system prompt and tools"
    )
    first, last = median(ours.first_gaps_ms), median(ours.last_gaps_ms)
    return (
        Figure(f"engine_cpu_{name}", ours.cpu_ms, "ms/turn", note=note),
        Figure(f"bare_cpu_{name}", bare.cpu_ms, "ms/turn", note=note),
        Figure(f"engine_cpu_over_bare_ms_{name}", ours.cpu_ms - bare.cpu_ms, "ms/turn", "<=", 1.0, note),
        Figure(f"engine_cpu_over_bare_ratio_{name}", ours.cpu_ms / bare.cpu_ms, "x", note=note),
        Figure(
            f"gap_last5_over_first5_{name}",
            last / first,
            "x",
            "<=",
            1.6,
            f"medians of {ROUNDS} x 5: {first:.2f} -> {last:.2f} ms over {TURNS} turns, compaction off",
        ),
    )


def engine(url: str, route: Route, stream: str, folder: Path) -> Command:
    """The engine, with its state on disk."""
    return _process("ours", route, stream, url, str(TURNS), str(folder))


def bare_loop(url: str, route: Route, stream: str) -> Command:
    """The library alone."""
    return _process("bare", route, stream, url, str(TURNS), "")


def _process(*arguments: str) -> Command:
    return (sys.executable, "-m", "bench.engine_process", *arguments)


async def in_turn(one: Command, other: Command) -> tuple[Cost, Cost]:
    """Medians of both, measured alternately so that a busy machine meets both."""
    pairs = [(await measured(one), await measured(other)) for _ in range(ROUNDS)]
    return _median([first for first, _ in pairs]), _median([second for _, second in pairs])


async def beside_mini(url: str, folder: Path) -> AsyncIterator[Figure]:
    """mini-swe-agent, which stores nothing, over LiteLLM without streaming, with the same LiteLLM as ours.

    It keeps its own short prompt and its one tool.  The target holds for LiteLLM's plain route of a provider, which is what
    it takes unless told otherwise; the other routes are told as they are.
    """
    there = await installed()
    for route, model in MODELS.items():
        name = f"engine_cpu_over_mini_swe_agent_{route}"
        if not there:
            yield Figure(name, float("nan"), "x", note="mini-swe-agent could not be installed from the registry")
            continue
        mini = (str(MINI / "bin" / "python"), str(MINI_SCRIPT), url, str(TURNS), model)
        ours, theirs = await in_turn(engine(url, route, "whole", folder), mini)
        ratio = ours.cpu_ms / theirs.cpu_ms
        note = (
            f"{ours.cpu_ms:.2f} against {theirs.cpu_ms:.2f} ms/turn, {model}, whole, {TURNS} requests, its own prompt"
        )
        yield Figure(name, ratio, "x", "<=", AT_MOST_OF_MINI, note)


async def installed() -> bool:
    """Whether mini-swe-agent stands in an environment of its own; it is made once and kept."""
    python = MINI / "bin" / "python"
    probe = [str(python), "-c", "import minisweagent"]
    if python.exists() and await _succeeds(probe):
        return True
    litellm = f"litellm=={version('litellm')}"
    install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "mini-swe-agent", litellm]
    return await _succeeds([sys.executable, "-m", "venv", str(MINI)]) and await _succeeds(install)


async def measured(command: Sequence[str]) -> Cost:
    """What the last line of the process says."""
    async with asyncio.timeout(SECONDS):
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        out, _ = await process.communicate()
    if process.returncode != 0:
        message = f"{' '.join(command)} ended with {process.returncode}"
        raise RuntimeError(message)
    said = json.loads(out.decode().splitlines()[-1])
    gaps = said["gaps_ms"]
    return Cost(said["cpu_ms"], tuple(gaps[:5]), tuple(gaps[-5:]))


async def _succeeds(command: Sequence[str]) -> bool:
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    return await process.wait() == 0


def _median(costs: Sequence[Cost]) -> Cost:
    """The median of the CPU, and the gaps of all."""
    return Cost(
        median(cost.cpu_ms for cost in costs),
        tuple(gap for cost in costs for gap in cost.first_gaps_ms),
        tuple(gap for cost in costs for gap in cost.last_gaps_ms),
    )
