"""``python -m tests.walls``: run every test of a wall, and print area, tried, through.

``--whole`` takes all of the sets that are too long for each run.  Further arguments go to pytest.  It ends with 1 if a
test failed, or if nothing was tried in an area.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.walls.tally import AREAS, WHOLE, Walls

TESTS = Path(__file__).parents[1]


def main(arguments: list[str]) -> int:
    """0 if everything held and each area was tried."""
    walls = Walls()
    if "--whole" in arguments:
        os.environ[WHOLE] = "1"
    others = [argument for argument in arguments if argument != "--whole"]
    ended = pytest.main([str(TESTS), "-q", "-m", "wall", *others], plugins=[walls])
    untried = [area for area in AREAS if not walls.tried[area]]
    for area in untried:
        print(f"nothing was tried in {area}")
    return 1 if ended or untried else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
