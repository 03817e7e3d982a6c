"""Commands of ``sets/gates`` as the product meets them: the gate reads each, what passes runs, and what it did is judged.

    python -m tests.walls.gates_run [tuning|held_out|own] [destructive|ordinary] [sample=N] [show]

prints how many were asked about before they ran, and how many were put back and asked about afterwards; ``sample=N``
takes N entries, evenly spread.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from agentic.ports.runtime import Prepared
from agentic.sandbox.backends.bubblewrap import Bubblewrap
from agentic.sandbox.pool import Choice, Sandboxes
from agentic.tools.toolbox import StandardToolbox
from agentic.workspace.snapshots.snapshot_store import Snapshots
from agentic.workspace.workspace import RealWorld
from tests.waiting import BOUND
from tests.walls.sets.gates import workspace

SETS = Path(__file__).parent / "sets" / "gates"
SECONDS = 10
AT_ONCE = 2


@dataclass(frozen=True)
class Entry:
    """A command of a set, and the files that the agent wrote just before."""

    command: str
    cwd: str
    files: dict[str, str]


@dataclass(frozen=True)
class Came:
    """What became of an entry: asked before it ran, put back after it, or neither ('')."""

    entry: Entry
    asked: str = ""
    put_back: str = ""

    @property
    def held(self) -> bool:
        """A person was asked."""
        return bool(self.asked or self.put_back)


def entries(split: str, kind: str) -> list[Entry]:
    """The entries of a set that can be run."""
    lines = (SETS / split / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = (cast("dict[str, object]", json.loads(line)) for line in lines)
    return [
        Entry(str(row["command"]), str(row.get("cwd", ".")), cast("dict[str, str]", row.get("files", {})))
        for row in rows
        if not row.get("unverified")
    ]


async def came(all_of: Sequence[Entry], *, gates: bool = True) -> list[Came]:
    """What became of each, in order; without ``gates`` all of them run."""
    with tempfile.TemporaryDirectory(prefix="tw-gates-", ignore_cleanup_errors=True) as scratch:
        template = Path(scratch) / "template"
        workspace.make(template)
        places = asyncio.Semaphore(AT_ONCE)

        async def one(number: int, entry: Entry) -> Came:
            async with places, _place(Path(scratch) / str(number), template, entry) as toolbox:
                created = frozenset(entry.files)
                said = {"command": entry.command, "cwd": entry.cwd, "timeout": SECONDS}
                prepared = toolbox.prepare("shell", dict(said), created)
                assert isinstance(prepared, Prepared), prepared
                if prepared.gate and gates:
                    return Came(entry, asked=prepared.gate)
                seen = await toolbox.run("shell", "c1", prepared, lambda _: None)
                return Came(entry, put_back=seen.put_back.destroyed if seen.put_back else "")

        return await asyncio.gather(*(one(*numbered) for numbered in enumerate(all_of)))


@asynccontextmanager
async def _place(folder: Path, template: Path, entry: Entry) -> AsyncIterator[StandardToolbox]:
    """A fresh copy of the workspace, with a sandbox that is made when something runs."""
    work = folder / "workspace"
    folder.mkdir()
    await asyncio.to_thread(shutil.copytree, template, work, symlinks=True)
    for path, text in entry.files.items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(text, encoding="utf-8")
    sandboxes = Sandboxes(folder, _choose(folder))
    world = RealWorld(sandboxes, "t1", work)

    async def source() -> RealWorld:
        return world

    try:
        yield StandardToolbox(source, snapshots=Snapshots(folder / "checkpoints", home=folder))
    finally:
        async with asyncio.timeout(BOUND):
            await sandboxes.close()
        await asyncio.to_thread(_remove, folder)


def _choose(state: Path) -> Callable[[], Awaitable[Choice]]:
    async def choose() -> Choice:
        return Choice(Bubblewrap(state), "for a test")

    return choose


def _remove(folder: Path) -> None:
    for root, folders, _ in os.walk(folder):
        for below in (Path(root, name) for name in folders):
            if not below.is_symlink():
                below.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def main(arguments: Sequence[str]) -> int:
    """Print a line a set; with ``show`` also what was not as it should be, never of ``held_out``; with ``ungated`` all run."""
    splits = [split for split in ("tuning", "held_out", "own") if split in arguments] or ["tuning", "held_out"]
    kinds = [kind for kind in ("destructive", "ordinary") if kind in arguments] or ["destructive", "ordinary"]
    most = next((int(said.removeprefix("sample=")) for said in arguments if said.startswith("sample=")), sys.maxsize)
    for split in splits:
        for kind in kinds:
            every = entries(split, kind)
            results = asyncio.run(came(every[:: -(-len(every) // most)], gates="ungated" not in arguments))
            _print(split, kind, results, shown="show" in arguments and split != "held_out")
    return 0


def _print(split: str, kind: str, results: Iterable[Came], *, shown: bool) -> None:
    every = list(results)
    asked, back = sum(bool(one.asked) for one in every), sum(bool(one.put_back) for one in every)
    print(f"{split}/{kind}: {len(every)} run, asked {asked}, put back {back}, neither {len(every) - asked - back}")
    if shown:
        for one in every:
            if one.held != (kind == "destructive"):
                print(f"    {one.entry.command!r}\n        {one.asked or one.put_back}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
