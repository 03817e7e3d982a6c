"""See ``many.py``; ``make chaos`` runs all of it too."""

from __future__ import annotations

import argparse
import os
import sys
import time

from tests.chaos.awaits.harness import FAILS, WAYS, Run, struck
from tests.chaos.awaits.many import EVERYTHING, struck_everywhere
from tests.chaos.awaits.sabotage import MENDS, applied
from tests.chaos.awaits.scene import PLAYS
from tests.chaos.simulated.simulation import quiet


def main() -> int:
    """Run what was asked for; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.awaits")
    parser.add_argument("play", nargs="?", choices=[*PLAYS])
    parser.add_argument("way", nargs="?", choices=[*WAYS, FAILS])
    parser.add_argument("at", nargs="?", type=int, help="the await or, for what fails, the crossing of a port")
    parser.add_argument("--without", choices=[*MENDS], default="", help="a mend that is taken out")
    parser.add_argument("--most", type=int, default=None, help="so many of the awaits that stand in the same frames")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    with applied(asked.without):
        return _one(Run(asked.play, asked.way, asked.at)) if asked.at is not None else _many(asked)


def _one(run: Run) -> int:
    with quiet():
        outcome = struck(PLAYS[run.play], run, story=True)
    print(outcome.story)
    print("\n".join(f"VIOLATION {line}" for line in outcome.lines))
    return 1 if outcome.violations else 0


def _many(asked: argparse.Namespace) -> int:
    plan = {
        name: ((asked.way,) if asked.way else ways, most if asked.most is None else asked.most)
        for name, (ways, most) in EVERYTHING.items()
        if asked.play in (None, name)
    }
    began = time.monotonic()
    tally = struck_everywhere(plan, 1 if asked.without else asked.jobs, lambda done: None)
    for problem in tally.problems:
        print(f"VIOLATION {problem}")
    seconds = time.monotonic() - began
    print(f"struck={tally.runs.total()} violations={len(tally.problems)} in {seconds:.0f} s", flush=True)
    return 1 if tally.problems else 0


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of sets is the same in every worker
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "tests.chaos.awaits", *sys.argv[1:]])
    sys.exit(main())
