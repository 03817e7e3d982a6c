"""``make chaos-aws``: gateways and workers on a local AWS, killed and frozen, while requests to it break.

    make chaos-aws                        picks a seed and prints it
    make chaos-aws SEED=7                 the same orders each time
    make chaos-aws SEED=7 WITHOUT=fence   with a safeguard switched off: violations are to be seen

Ends with 1 on any violation (and, where a safeguard is switched off, where nothing misses it).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from deploy.aws_local.emulator import CannotEmulate
from deploy.aws_local.resources import CREDENTIALS
from tests.chaos.machines.storm import Plan, storm

SHOWN = 20
WITHOUT = ("nonces", "fence", "intents")


def main() -> int:
    """Run it; returns the exit code."""
    plan = Plan()
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.machines")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 100_000))
    parser.add_argument("--without", choices=("", *WITHOUT), default="", help="a safeguard that is switched off")
    parser.add_argument("--turns", type=int, default=plan.turns)
    parser.add_argument("--kills", type=int, default=plan.kills)
    parser.add_argument("--freezes", type=int, default=plan.freezes)
    parser.add_argument("--folder", type=Path, help="where to keep what the processes said, for looking into it")
    asked = parser.parse_args()
    print(f"chaos-aws: seed {asked.seed}", flush=True)
    os.environ.update(CREDENTIALS)  # this process looks into the table too
    wanted = Plan(asked.turns, asked.kills, asked.freezes)
    try:
        with TemporaryDirectory(prefix="threadwright-machines-") as passing:
            folder = Path(asked.folder or passing) / "fleet"
            folder.mkdir(parents=True, exist_ok=True)
            outcome = asyncio.run(storm(asked.seed, wanted, folder, asked.without, _said))
    except CannotEmulate as error:
        print(error, file=sys.stderr)
        return 1
    counts = outcome.counts
    for fault, times in sorted(counts.faults.items()):
        print(f"fault {fault} {times}")
    for conflict in outcome.met[:SHOWN]:
        print(f"lease: {conflict}")
    for problem in counts.problems[:SHOWN]:
        print(f"VIOLATION {problem}")
    if len(counts.problems) > SHOWN:
        print(f"… and {len(counts.problems) - SHOWN} more")
    print(outcome.line())
    if asked.without:
        return 0 if counts.violations else 1
    return 1 if counts.violations or outcome.turns < asked.turns else 0


def _said(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
