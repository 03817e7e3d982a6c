"""See ``harness.py``."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter

from tests.chaos.awaits import harness
from tests.chaos.awaits.scene import PLAYS


def main() -> int:
    """Run what was asked for."""
    if len(sys.argv) > 1:
        play, way, at = sys.argv[1:4]
        with harness.hushed():
            outcome = harness.struck(PLAYS[play], harness.Run(play, way, int(at)))
        print(outcome.story)
        print("\n".join(outcome.lines))
        return bool(outcome.violations)
    return 0


if __name__ == "__main__":
    sys.exit(main())
