"""What it costs that a command which destroys is put back: the same command with and without, as the agent's tool runs it.

Both kinds take turns in one bubblewrap sandbox; the command changes one file, which is what has to be kept anew each time.

    python -m bench savepoints
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

from agentic.ports.runtime import Prepared
from agentic.sandbox.backends.bubblewrap import Bubblewrap
from agentic.sandbox.pool import Choice, Sandboxes
from agentic.tools.toolbox import StandardToolbox
from agentic.workspace.snapshots.snapshot_store import Snapshots
from agentic.workspace.workspace import RealWorld
from bench.figures import SMALL, Figure

SIZES = {500: 2} if SMALL else {500: 15, 5_000: 10, 15_000: 5}
"""Files, and how often the command runs in each way."""
COMMAND = "echo $RANDOM$RANDOM > p3/f7.py"
TARGETS = {500: 2.0}


async def figures() -> AsyncIterator[Figure]:
    """A ratio for each size, with both medians."""
    for files, rounds in SIZES.items():
        with tempfile.TemporaryDirectory(prefix="tw-savepoints-", ignore_cleanup_errors=True) as folder:
            yield await measured(Path(folder), files, rounds)


async def measured(folder: Path, files: int, rounds: int) -> Figure:
    """The figure of one workspace."""
    folder.chmod(0o755)
    workspace = folder / "workspace"
    for number in range(files):
        path = workspace / f"p{number % 50}" / f"f{number // 50}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"x = {number}\n" * 50)

    async def choose() -> Choice:
        return Choice(Bubblewrap(folder), "for a bench")

    sandboxes = Sandboxes(folder, choose)
    world = RealWorld(sandboxes, "t1", workspace)

    async def source() -> RealWorld:
        return world

    guarded = StandardToolbox(source, snapshots=Snapshots(folder / "checkpoints", home=folder))
    bare = StandardToolbox(source)
    took: dict[str, list[float]] = {"with": [], "without": []}
    try:
        for number in range(rounds + 2):
            for name, toolbox in (("with", guarded), ("without", bare)):
                prepared = toolbox.prepare("shell", {"command": COMMAND})
                assert isinstance(prepared, Prepared), prepared
                begun = time.perf_counter()
                seen = await toolbox.run("shell", f"{name}{number}", prepared, lambda _: None)
                took[name].append((time.perf_counter() - begun) * 1000)
                assert seen.outcome == "ok", seen.preview
    finally:
        await sandboxes.close()
    with_it, without = (statistics.median(took[name][2:]) for name in ("with", "without"))
    note = f"{with_it:.1f} ms with, {without:.1f} ms without, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    return Figure(f"put_back_{files}_files", with_it / without, "ratio", "<=", TARGETS.get(files), note)
