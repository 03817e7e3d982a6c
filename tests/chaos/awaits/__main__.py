"""See ``harness.py``; ``make chaos`` runs all of it too."""

from __future__ import annotations

import argparse
import os
import sys
import time

from tests.chaos.awaits.harness import FAILS, WAYS, Run, Tally, strikes, struck, unreached
from tests.chaos.awaits.sabotage import MENDS, applied
from tests.chaos.awaits.scene import PLAYS
from tests.chaos.simulated.simulation import quiet

EVERYTHING = {name: (*WAYS, FAILS) for name in PLAYS}


def main() -> int:
    """Run what was asked for; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.awaits")
    parser.add_argument("play", nargs="?", choices=[*PLAYS])
    parser.add_argument("way", nargs="?", choices=[*WAYS, FAILS])
    parser.add_argument("at", nargs="?", type=int, help="the await or, for what fails, the crossing of a port")
    parser.add_argument("--without", choices=[*MENDS], default="", help="a mend that is taken out")
    parser.add_argument("--most", type=int, default=0, help="so many of the awaits that stand in the same frames")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    with applied(asked.without):
        if asked.at is not None:
            return _one(Run(asked.play, asked.way, asked.at))
        plays = {asked.play: (asked.way,) if asked.way else EVERYTHING[asked.play]} if asked.play else EVERYTHING
        tally = told(plays, asked.most, 1 if asked.without else asked.jobs)
    return 1 if tally.problems else 0


def _one(run: Run) -> int:
    with quiet():
        outcome = struck(PLAYS[run.play], run, story=True)
    print(outcome.story)
    print("\n".join(f"VIOLATION {line}" for line in outcome.lines))
    return 1 if outcome.violations else 0


def told(plays: dict[str, tuple[str, ...]], most: int, jobs: int) -> Tally:
    """All of them, with what they came to, and where nothing ever waited."""
    began, tally = time.monotonic(), Tally()
    for outcome in strikes(plays, most, jobs, lines=True):
        tally.add(outcome)
    for what, times in tally.runs.items():
        print(f"await {what} {times}")
    for file, lines in unreached(tally.reached).items():
        print(f"never waited in {file}: {', '.join(map(str, lines)) or 'nowhere'}")
    for problem in tally.problems:
        print(f"VIOLATION {problem}")
    seconds = time.monotonic() - began
    print(f"awaits: runs={tally.runs.total()} violations={len(tally.problems)} in {seconds:.0f} s", flush=True)
    return tally


if __name__ == "__main__":
    sys.exit(main())
