"""``python -m bench [name …]``: measure, each figure on a line of its own beside its target.

Each bench is a module here with a function ``figures``; it runs in a process of its own, so that none warms another up
or weighs on its memory.  A figure that is short is said, not an error; a bench that breaks is.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import os
import pkgutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import bench
from agentic.extras import missing
from bench.figures import Figure, Figures

HERE = Path(bench.__file__).parent
ON_AWS = ("aws_bot", "aws_task", "gateway", "noisy_guild")
AWS_STORE = HERE.parent / ".venv-aws-store/bin/python"
"""What those run in: `make aws-store`."""


def main() -> int:
    """Run the benches that were named, or all."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", help="benches to run; all without")
    parser.add_argument("--here", action="store_true", help="in this process")
    parser.add_argument("--small", action="store_true", help="in seconds: only to see that they run")
    chosen = parser.parse_args()
    known = list(benches())
    names = chosen.names or known
    unknown = sorted(set(names) - set(known))
    if unknown:
        parser.error(f"there is no bench {', '.join(unknown)}; there are: {', '.join(known)}")
    if chosen.small:
        os.environ["BENCH_SMALL"] = "1"
    if chosen.here:
        for name in names:
            asyncio.run(measure(name))
        return 0
    return run_all(names)


def benches() -> Iterator[str]:
    """Modules of this folder that define ``figures``."""
    for module in sorted(pkgutil.iter_modules([str(HERE)]), key=lambda module: module.name):
        path = HERE / f"{module.name}.py"
        if not module.name.startswith("_") and path.exists() and "def figures(" in path.read_text(encoding="utf-8"):
            yield module.name


async def measure(name: str) -> None:
    """Print the figures of one bench as they come."""
    made: Figures = importlib.import_module(f"bench.{name}").figures()
    async for figure in _asynchronous(made):
        print(figure.line(), flush=True)


def run_all(names: list[str]) -> int:
    """Each in its process; say at the end how many figures were reached."""
    verdicts: list[str] = []
    broken: list[str] = []
    for name in names:
        elsewhere = name in ON_AWS and missing("aws") is not None
        if elsewhere and not AWS_STORE.exists():
            print(f"bench {name} needs an environment of its own: make aws-store")
            broken.append(name)
            continue
        python = AWS_STORE if elsewhere else sys.executable
        run = subprocess.Popen([python, "-m", "bench", "--here", name], stdout=subprocess.PIPE, text=True)
        assert run.stdout is not None
        for line in run.stdout:
            print(line, end="", flush=True)
            if line.startswith("figure "):
                verdicts.append(line.split("  # ")[0].split()[-1])
        if run.wait() != 0:
            broken.append(name)
    for name in broken:
        print(f"bench {name} broke")
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in ("ok", "short", "reported"))
    print(f"figures: {len(verdicts)}: {counts}; benches broken: {len(broken)}")
    return 1 if broken else 0


async def _asynchronous(figures: Figures) -> AsyncIterator[Figure]:
    if isinstance(figures, AsyncIterator):
        async for figure in figures:
            yield figure
        return
    for figure in figures:
        yield figure


if __name__ == "__main__":
    sys.exit(main())
