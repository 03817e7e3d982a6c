"""Prints the sizes of the product and the way of one mention through it: ``python -m tests.house``."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.house.mention_path import trace_mention
from tests.house.sizes import Sizes, sizes

BEFORE = Sizes(modules=595, packages=20, largest=148, lines=82_013)
MENTION_BEFORE = (134, 43)
"""The same figures, by the same code, before the modules were moved into rooms."""


def main() -> None:
    """Print one line a figure, with what it was before."""
    now = sizes(Path(__file__).parents[2])
    path = asyncio.run(trace_mention())
    rows = [
        ("modules", now.modules, BEFORE.modules),
        ("packages", now.packages, BEFORE.packages),
        ("modules in the largest package", now.largest, BEFORE.largest),
        ("lines of the product", now.lines, BEFORE.lines),
        ("modules that a mention passes", len(path.modules), MENTION_BEFORE[0]),
        ("changes of package on its way", path.changes, MENTION_BEFORE[1]),
    ]
    for name, value, before in rows:
        print(f"house {name:32} {value:7,}   before {before:7,}")


if __name__ == "__main__":
    main()
