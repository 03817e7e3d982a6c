"""A hostile workspace and a hostile model beside ten threads that work: what the others feel of it, and what a stop takes.

For a minute there are, each in a thread of its own: 300,000 files; lines of 5 MB and a million newlines in output and files;
patterns in .aiignore that a backtracking engine never finishes; a model that says all that, and nests deep.  The bot is a
process of its own over real sandboxes; its watchdog's questions to the event loop are the measure: a question that waits for
long counts as all that would have been asked meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import cast

import apsw

from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.runtime.loop_watchdog import TICK
from bench.bot_process import LAGS, connected
from bench.figures import Figure, size
from bench.hostile_model import HOSTILE
from bot.config.home import DATABASE
from bot.local_discord import LocalGuild

SECONDS = size("SECONDS", 60.0, 1.5)
KINDS = tuple(filter(None, os.environ.get("BENCH_HOSTILE", "").split(","))) or tuple(HOSTILE)
WORKERS = 10
AGAIN_EVERY = 4.0
STOP_EVERY = 3.0
PATIENCE = 20.0
STACK = re.compile(r"the event loop stood still for ([\d.]+) s.*?it was here:\n(.*?)(?=\n\S|\Z)", re.DOTALL)
SHOWN = 5


@dataclass
class Scene:
    """The guild, and when what happened in it."""

    guild: LocalGuild
    home: Path
    threads: dict[str, int] = field(default_factory=dict[str, int])
    stops: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    """How long each took, and where."""

    def open_execution(self, thread: int) -> str:
        """The execution of the thread that has no end in the log, '' where there is none."""
        query = "SELECT name FROM executions WHERE thread = ? AND finished = '' ORDER BY id LIMIT 1"
        with closing(apsw.Connection(str(self.home / DATABASE), flags=apsw.SQLITE_OPEN_READONLY)) as log:
            return cast("str | None", log.execute(query, (str(thread),)).get) or ""


async def figures() -> AsyncIterator[Figure]:
    """One minute."""
    with tempfile.TemporaryDirectory(prefix="bench-hostile-", ignore_cleanup_errors=True) as folder:
        home, lost = Path(folder), Path(folder) / "lost"
        async with model(lost) as endpoint, await LocalGuild.start() as guild:
            scene = Scene(guild, home)
            settings = {"THREADWRIGHT_SANDBOX": "bubblewrap", "THREADWRIGHT_MAX_EXECUTIONS": "100"}
            async with connected("ours", guild, endpoint, folder, **settings):
                for kind in [*("worker",) * WORKERS, *KINDS]:
                    await begin(scene, kind)
                await asyncio.sleep(5.0)
                began = monotonic()
                await _minute(scene)
                ended = monotonic()
        lags = sorted(waits(home, began, ended))
        said = (home / "ours.log").read_text(encoding="utf-8", errors="replace")
        turns = lost.with_suffix(".turns").read_text(encoding="utf-8")
        gone, _, where = (lost.read_text(encoding="utf-8") if lost.exists() else "0 ").partition(" ")
        for seconds, stack in sorted(STACK.findall(said), key=lambda one: -float(one[0]))[:SHOWN]:
            print(f"# {seconds} s:\n{stack}", file=sys.stderr, flush=True)
        if kept := os.environ.get("BENCH_LOG"):
            shutil.copy(home / "ours.log", kept)
    note = f"{ended - began:.0f} s, {WORKERS} working threads beside {', '.join(KINDS)}"
    yield Figure("hostile_loop_lag_p50", lags[len(lags) // 2] * 1e3, "ms", note=note)
    yield Figure("hostile_loop_lag_p99", lags[int(len(lags) * 0.99)] * 1e3, "ms", "<=", 100, note)
    yield Figure("hostile_loop_lag_max", lags[-1] * 1e3, "ms", "<=", 500, f"{note}; stacks above")
    yield Figure("hostile_sandboxes_lost", float(gone), "sandboxes", "<=", 0, where)
    yield Figure("hostile_turns", sum(int(word) for word in turns.split()[::4]), "turns", note=turns)
    took = scene.stops
    yield Figure("hostile_stop_p50", sorted(took)[len(took) // 2][0] * 1e3, "ms", note=f"{len(took)} stops")
    yield Figure(
        "hostile_stop_max",
        max(took)[0] * 1e3,
        "ms",
        "<=",
        2_000,
        f"{len(took)} stops, to the end in the log; slowest in {max(took)[1]}",
    )


async def begin(scene: Scene, kind: str) -> str:
    """A thread of this kind; returns its name."""
    name = f"{kind} number {len(scene.threads) + 1}"
    text = f"{scene.guild.bot.mention} Fix the code, {name}"
    scene.threads[name] = (await scene.guild.post(scene.guild.channel().id, text)).id
    return name


async def _minute(scene: Scene) -> None:
    """New words in every thread now and then, and stops, until it is over."""
    async with asyncio.timeout(SECONDS + PATIENCE), asyncio.TaskGroup() as group:
        until = monotonic() + SECONDS
        for place, (name, thread) in enumerate(scene.threads.items()):
            group.create_task(_go_on(scene, name, thread, place / len(scene.threads), until))
        group.create_task(_stop_now_and_then(scene, until))


async def _go_on(scene: Scene, name: str, thread: int, after: float, until: float) -> None:
    await asyncio.sleep(after * AGAIN_EVERY)
    while monotonic() < until:
        if any(one.id == thread for one in scene.guild.threads()):
            await scene.guild.post(thread, f"Go on, {name}")
        await asyncio.sleep(AGAIN_EVERY)


async def _stop_now_and_then(scene: Scene, until: float) -> None:
    names = [*reversed(scene.threads)][: 2 * len(KINDS)]
    turn = 0
    while monotonic() < until:
        await asyncio.sleep(STOP_EVERY)
        name, turn = names[turn % len(names)], turn + 1
        with suppress(TimeoutError, ValueError):
            await stop(scene, name)


async def stop(scene: Scene, name: str) -> None:
    """🛑 under the bot's newest message, where something runs; until its end stands in the log."""
    thread = scene.threads[name]
    own = [m.id for m in scene.guild.messages(thread) if m.author_id == scene.guild.bot_user_id and m.content]
    execution = scene.open_execution(thread)
    if not execution or not own:
        return
    began = monotonic()
    await scene.guild.react(max(own), "🛑")
    while scene.open_execution(thread) == execution and monotonic() - began < PATIENCE / 2:
        await asyncio.sleep(0.01)
    scene.stops.append((monotonic() - began, name))


def waits(home: Path, began: float, ended: float) -> list[float]:
    """How long each question waited, and each that would have been asked while one waited."""
    pairs: list[tuple[float, float]] = json.loads((home / LAGS).read_text(encoding="utf-8"))
    return [
        lag - missed * TICK for at, lag in pairs if began <= at <= ended for missed in range(max(1, int(lag / TICK)))
    ]


@asynccontextmanager
async def model(lost: Path) -> AsyncGenerator[ScriptedEndpoint]:
    """The endpoint of ``bench.hostile_model``."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.hostile_model", str(lost), stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parent.parent,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        endpoint = ScriptedEndpoint([])
        endpoint.url = (await process.stdout.readline()).decode().strip()
        yield endpoint
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()
