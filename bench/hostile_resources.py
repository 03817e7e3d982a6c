"""Each attack on what all threads share, one after another beside ten threads that work: what these feel of it.

``BENCH_HOSTILE`` names the attacks, ``BENCH_RUNGS`` the kinds of sandbox; all without, in less than five minutes.  While
an attack goes on, each neighbour is stopped once; a stop is done when the execution's end stands in the log.  The event
loop's lag is the watchdog's, as in ``bench.hostile``.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from bench.bot_process import connected
from bench.figures import SMALL, Figure
from bench.hostile import PATIENCE, Scene, begin, model, stop, waits
from bench.hostile_attacks import ATTACKS
from bot.local_discord import LocalGuild

CHOSEN = tuple(filter(None, os.environ.get("BENCH_HOSTILE", "").split(","))) or tuple(ATTACKS)[: 1 if SMALL else None]
RUNGS = tuple(os.environ.get("BENCH_RUNGS", "bubblewrap" if SMALL else "bubblewrap,docker").split(","))
NEIGHBOURS = 10
UNDER_WAY, APART, BEGUN_WITHIN = 1.5, 0.2, 10.0
STOP_SECONDS, LAG_MS = 2.0, 100.0


@dataclass(frozen=True, slots=True)
class Window:
    """What was measured while one attack went on."""

    attack: str
    began: float
    ended: float
    stops: tuple[float, ...]
    own: float
    load: float


async def figures() -> AsyncIterator[Figure]:
    """Every attack in every kind of sandbox."""
    for rung in RUNGS:
        home = Path(tempfile.mkdtemp(prefix="bench-hostile-"))
        try:
            for window in await _measured(rung, home):
                for figure in _of(window, rung, home):
                    yield figure
        finally:
            await _removed(home)


async def _measured(rung: str, home: Path) -> list[Window]:
    settings = {"THREADWRIGHT_SANDBOX": rung, "THREADWRIGHT_MAX_EXECUTIONS": "100"}
    if engine := os.environ.get("DOCKER_HOST"):
        settings["DOCKER_HOST"] = engine
    async with model(home / "lost") as endpoint, await LocalGuild.start() as guild:
        scene = Scene(guild, home)
        async with connected("ours", guild, endpoint, str(home), **settings):
            names = [await begin(scene, "neighbour") for _ in range(NEIGHBOURS)]
            for name in names:
                await _open(scene, name)
            return [await _under(attack, scene, names) for attack in CHOSEN]


async def _under(attack: str, scene: Scene, neighbours: list[str]) -> Window:
    """One attack, from its beginning to its stop."""
    began, before = monotonic(), len(scene.stops)
    attacker = await begin(scene, attack)
    await _open(scene, attacker)
    await asyncio.sleep(UNDER_WAY)
    async with asyncio.timeout(3 * PATIENCE), asyncio.TaskGroup() as group:
        for place, name in enumerate(neighbours):
            group.create_task(_stopped(scene, name, place * APART))
    stops = tuple(seconds for seconds, _ in scene.stops[before:])
    ended = monotonic()
    await stop(scene, attacker)
    own = scene.stops[-1][0] if len(scene.stops) > before + len(stops) else 0.0
    await _removed(scene.home / "workspaces" / str(scene.threads[attacker]))
    return Window(attack, began, ended, stops, own, os.getloadavg()[0])


async def _stopped(scene: Scene, name: str, after: float) -> None:
    """Stop a neighbour in the middle of its work, and let it go on for the next attack."""
    await asyncio.sleep(after)
    await _open(scene, name)
    await stop(scene, name)
    await scene.guild.post(scene.threads[name], f"Go on, {name}")


async def _open(scene: Scene, name: str) -> None:
    """Wait until the thread works."""
    until = monotonic() + BEGUN_WITHIN
    while not scene.open_execution(scene.threads[name]) and monotonic() < until:
        await asyncio.sleep(0.05)


async def _removed(folder: Path) -> None:
    """However deep it is; what an attack wrote does not stay for the next."""
    process = await asyncio.create_subprocess_exec("rm", "-rf", str(folder))
    async with asyncio.timeout(60):
        await process.wait()


def _of(window: Window, rung: str, home: Path) -> list[Figure]:
    name = f"hostile.{rung}.{window.attack}"
    note = f"{len(window.stops)} stops in {window.ended - window.began:.1f} s; load {window.load:.1f}"
    lags = sorted(waits(home, window.began, window.ended)) or [float("inf")]
    return [
        Figure(f"{name}.stop_s", max(window.stops, default=float("inf")), "s", "<=", STOP_SECONDS, note),
        Figure(f"{name}.own_stop_s", window.own, "s", "<=", STOP_SECONDS, "the attacker's; 0 where it had ended"),
        Figure(f"{name}.lag_p50_ms", lags[len(lags) // 2] * 1e3, "ms"),
        Figure(f"{name}.lag_p99_ms", lags[int(len(lags) * 0.99)] * 1e3, "ms", "<=", LAG_MS, f"{len(lags)} questions"),
        Figure(f"{name}.lag_max_ms", lags[-1] * 1e3, "ms"),
    ]
