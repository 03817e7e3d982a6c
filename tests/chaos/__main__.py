"""``make chaos``: thousands of simulated executions with faults, and real processes that are killed.

    make chaos                        picks a seed and prints it
    make chaos SEED=7                 the same figures each time
    make chaos SEED=7 ONLY=238        one world of that run, with the story of what happened in it
    make chaos SEED=7 ONLY=238 WITHOUT=nonces

After the run the worlds are lived through again with one safeguard switched off at a time, a fifth of them: each must
show violations, or the check would see nothing.  Then a scripted execution is struck at each of its awaits in turn
(``tests/chaos/awaits``), and again with one mend taken out at a time.  Ends with 1 on any violation, where a class of fault
did not come about often enough, and where something that was switched off or taken out was not missed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
import time

from tests.chaos.awaits.many import EVERYTHING, struck_everywhere
from tests.chaos.awaits.sabotage import MENDS, missed
from tests.chaos.counts import Counts
from tests.chaos.simulated.mishaps import FAULTS
from tests.chaos.simulated.simulation import WITHOUT, one_world, quiet, simulate

EXECUTIONS, KILLS = 10_000, 300
OFTEN = 100
"""Each class of fault comes about at least so often in a run of ``EXECUTIONS``."""
FEWER = 5
"""A fifth of the executions is simulated again without each safeguard."""
LEAST = 10
"""So many violations a switched-off safeguard must show."""
SHOWN = 20


def main() -> int:
    """Run what was asked for; returns the exit code."""
    asked = _arguments()
    if asked.only:
        return _one(asked)
    print(f"chaos: seed {asked.seed}", flush=True)
    counts = Counts()
    good = _simulated(asked, counts) if asked.executions else True
    good = (_struck(asked, counts) if asked.awaits else True) and good
    good = (_killed(asked, counts) if asked.kills else True) and good
    for problem in counts.problems[:SHOWN]:
        print(f"VIOLATION {problem}")
    if len(counts.problems) > SHOWN:
        print(f"… and {len(counts.problems) - SHOWN} more")
    print(counts.line())
    return 0 if good and counts.holds else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 100_000))
    parser.add_argument("--only", type=int, default=0, help="one world, with its story")
    parser.add_argument("--without", choices=("", *WITHOUT), default="", help="a safeguard that is switched off")
    parser.add_argument("--executions", type=int, default=EXECUTIONS)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--awaits", type=int, default=1, help="0: no execution is struck at its awaits")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


def _one(asked: argparse.Namespace) -> int:
    with quiet():
        outcome = one_world(asked.seed, asked.only, asked.without)
    print(outcome.story)
    for violation in outcome.violations:
        print(f"VIOLATION {violation.text}")
    print(outcome.counts.line())
    return 1 if outcome.violations else 0


def _simulated(asked: argparse.Namespace, counts: Counts) -> bool:
    simulated = simulate(
        asked.seed, asked.executions, jobs=asked.jobs, progress=_Progress("executions", asked.executions)
    )
    counts += simulated
    often = OFTEN * asked.executions // EXECUTIONS
    good = True
    for fault in sorted(FAULTS):
        times = simulated.faults[fault]
        seldom = " (too seldom)" if times < often else ""
        good = good and not seldom
        print(f"fault {fault} {times}{seldom}")
    for without in WITHOUT:
        few = max(asked.executions // FEWER, 100)
        found = simulate(asked.seed, few, without=without, jobs=asked.jobs).violations
        blind = f" (at least {LEAST} were to be seen)" if found < LEAST else ""
        good = good and not blind
        print(f"without {without}: {found} violations in {few} executions{blind}", flush=True)
    return good


def _struck(asked: argparse.Namespace, counts: Counts) -> bool:
    tally = struck_everywhere(EVERYTHING, asked.jobs, _Progress("runs struck at an await", 0))
    counts.struck += tally.runs.total()
    counts.other += len(tally.problems)
    counts.problems += tally.problems
    good = True
    for name in MENDS:
        seen = missed(name)
        good = good and bool(seen)
        print(f"without {name}: {seen or 'nothing is seen, and something was to be'}", flush=True)
    return good


def _killed(asked: argparse.Namespace, counts: Counts) -> bool:
    from tests.chaos.killing import kills

    killed = asyncio.run(kills(asked.seed, asked.kills))
    counts += killed
    return True


class _Progress:
    """A line every few seconds: so many of so many, and the time that is left."""

    def __init__(self, what: str, whole: int) -> None:
        self._what, self._whole = what, whole
        self._began = self._said = time.monotonic()

    def __call__(self, done: int) -> None:
        now = time.monotonic()
        if now - self._said < 10.0 or not done:
            return
        self._said = now
        if not self._whole:
            print(f"{done:,} {self._what}", flush=True)
            return
        left = (now - self._began) * max(self._whole - done, 0) / done
        print(f"{done:,} of {self._whole:,} {self._what}, about {left:.0f} s left", flush=True)


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order in which sets of words are gone through is part of the seed
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "tests.chaos", *sys.argv[1:]])
    sys.exit(main())
