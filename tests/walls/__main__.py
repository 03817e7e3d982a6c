"""``python -m tests.walls``: run every test of a wall, and print area, tried, through.

Further arguments go to pytest.  It ends with 1 if a test failed, or if nothing was tried in an area.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.walls.tally import AREAS, Walls

TESTS = Path(__file__).parents[1]


def main(arguments: list[str]) -> int:
    """0 if everything held and each area was tried."""
    walls = Walls()
    ended = pytest.main([str(TESTS), "-q", "-m", "wall", *arguments], plugins=[walls])
    untried = [area for area in AREAS if not walls.tried[area]]
    for area in untried:
        print(f"nothing was tried in {area}")
    return 1 if ended or untried else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
