"""Measures the house and fails where a figure grew: ``python -m tests.house``; ``--lower`` writes down what fell.

A figure that has to grow is raised by hand in ``figures.json``, in a commit that says what was bought with it.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.house import figures
from tests.house.mention_path import trace_mention

ROOT = Path(__file__).parents[2]


def main(*arguments: str) -> int:
    """Print one line a figure; 1 if one grew."""
    now, written = figures.measured(ROOT, asyncio.run(trace_mention())), figures.read()
    verdicts = figures.judged(now, written)
    print("\n".join(map(str, verdicts)))
    if "--lower" in arguments:
        figures.write(figures.lower(now, written))
    elif any(verdict.holds and verdict.now < (verdict.allowed or 0) for verdict in verdicts):
        print("house: figures fell; write them down with `python -m tests.house --lower`")
    grew = [verdict.name for verdict in verdicts if not verdict.holds]
    if grew:
        print(
            f"house: {', '.join(grew)} grew. Take something out, or raise the figure in tests/house/figures.json "
            "in a commit that says what was bought with it."
        )
    return int(bool(grew))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
