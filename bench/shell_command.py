"""What a shell command costs through the supervisor, over the command itself: median of many, 1,000 files in the workspace.

Both sides run in the same sandbox and take turns: the command through ``Sandbox.exec`` (its change scanned and hashed),
and the same command spawned directly by a Python inside.

    python -m bench shell_command
"""

from __future__ import annotations

import math
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

from agentic.sandbox.backends.bubblewrap import Bubblewrap
from agentic.sandbox.backends.docker import Docker
from agentic.sandbox.backends.selection import probe
from agentic.sandbox.hidden_files import adopt
from agentic.sandbox.limits import Limits
from agentic.sandbox.pool import Rung
from agentic.sandbox.sandbox import Sandbox
from bench.figures import SMALL, Figure, size

FILES = size("FILES", 1_000, 50)
ROUNDS, EACH = 12, 25
TARGET = 3.0
COMMAND = "echo $RANDOM$RANDOM > p3/f7.py"
BARE = f"""
import subprocess, time
def spawn(count):
    took = []
    for _ in range(count):
        began = time.perf_counter()
        subprocess.run(["/bin/bash", "-c", {COMMAND!r}], stdin=subprocess.DEVNULL, capture_output=True)
        took.append((time.perf_counter() - began) * 1000)
    return took
"""
DEPLOY = Path(__file__).parents[1] / "deploy" / "sandbox"


async def through_the_supervisor(sandbox: Sandbox) -> list[float]:
    """Milliseconds of each command, its one change checked."""
    took: list[float] = []
    for _ in range(EACH):
        began = time.perf_counter()
        result = await sandbox.exec(COMMAND, timeout=10)
        took.append((time.perf_counter() - began) * 1000)
        assert result.ok, result
        assert [change.path for change in result.changes.files] == ["p3/f7.py"], result
    return took


async def spawned_inside(sandbox: Sandbox) -> list[float]:
    """Milliseconds of each command, spawned by a Python in the sandbox."""
    result = await sandbox.python(f"spawn({EACH})", timeout=60)
    assert result.ok, result
    return [float(part) for part in result.text.strip(" []\n").split(",")]


async def measure(rung: Rung, folder: Path) -> Figure:
    """The rung's figure."""
    workspace, home = folder / "workspace", folder / "home"
    for n in range(FILES):
        path = workspace / f"p{n % 20}" / f"f{n // 20}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"x = {n}\n" * 50)
    for made in (workspace, home):
        adopt(made, *rung.owner)
    sandbox = await rung.start("bench", workspace, home, Limits())
    try:
        await sandbox.python(BARE, timeout=10)
        supervised: list[float] = []
        bare: list[float] = []
        await through_the_supervisor(sandbox)
        for _ in range(ROUNDS):
            bare += await spawned_inside(sandbox)
            supervised += await through_the_supervisor(sandbox)
    finally:
        await sandbox.close()
    whole, alone = statistics.median(supervised), statistics.median(bare)
    note = f"{whole:.2f} ms through the supervisor, {alone:.2f} ms alone, {len(bare)} of each, {FILES} files"
    return Figure(_name(rung), whole - alone, "ms", "<=", TARGET, note)


def _name(rung: Rung) -> str:
    return f"shell_over_command_ms_{rung.name}"


def own_engine(folder: Path) -> str:
    """The address of a Docker engine started for this measurement, '' where that cannot be."""
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        return ""
    started = subprocess.run([DEPLOY / "start-engine", folder], capture_output=True, text=True, check=False)
    url = started.stdout.strip()
    if started.returncode == 0:
        subprocess.run(
            [DEPLOY / "make-image"], env={**os.environ, "DOCKER_HOST": url}, check=True, stdout=subprocess.DEVNULL
        )
    return url if started.returncode == 0 else ""


async def figures() -> AsyncIterator[Figure]:
    """One for each rung; a rung that cannot be had is short, and the note says why."""
    folder = Path(tempfile.mkdtemp(prefix="tw-bench-"))
    engine = folder / "engine"
    try:
        rungs: list[Rung] = [Bubblewrap(folder / "state"), *(() if SMALL else (Docker(folder / "state"),))]
        for rung in rungs:
            reason = await probe(rung, folder / "state", Limits())
            if reason and rung.name == "docker" and (url := own_engine(engine)):
                await rung.close()
                rung = Docker(folder / "state", url)
                reason = await probe(rung, folder / "state", Limits())
            if reason:
                yield Figure(_name(rung), math.nan, "ms", "<=", TARGET, f"not measured: {reason}")
            else:
                yield await measure(rung, folder / rung.name)
            await rung.close()
    finally:
        if engine.exists():
            subprocess.run([DEPLOY / "stop-engine", engine, "--remove"], check=True)
        shutil.rmtree(folder)
