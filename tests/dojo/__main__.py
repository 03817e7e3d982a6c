"""``python -m tests.dojo``: every pair of a task and an injection of agentdojo, with the gates and with each of them off.

``--suite banking`` runs one suite, ``--every 10`` each tenth task, ``--jobs 2`` so many processes.  It ends with 1 if an
attack came through all gates, if none came through with one of them off, or if tasks were not done any more.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from agentic.core.events.execution_events import FACTS, ExposureFact
from tests.dojo.counts import (
    ALL,
    AT_ONCE,
    JUDGED,
    NONE,
    OFF,
    TOUCHED,
    TRUSTING,
    UNHEEDED,
    UNTOUCHED,
    Counted,
    Counts,
    failures,
    summary,
    table,
)
from tests.dojo.declarations import TABLE
from tests.dojo.person import Act, Person, Trusting
from tests.dojo.suites import VERSION, Suite, suites
from tests.dojo.trial import Functions, Order, run

Part = list[tuple[str, str, Counted]]


@dataclass(frozen=True)
class Gates:
    """A kind of run: what the rule of two looks at, who answers, when the injection is obeyed."""

    name: str
    facts: tuple[ExposureFact, ...] = FACTS
    order: Order = "after"
    person: Callable[[tuple[Act, ...]], Person] = Person


INJECTED = (
    Gates(UNHEEDED, order="never"),
    Gates(NONE, facts=()),
    Gates(ALL),
    Gates(AT_ONCE, order="at once"),
    *(Gates(name, tuple(fact for fact in FACTS if fact not in name.split())) for name in OFF),
    Gates(TRUSTING, person=Trusting),
)
PLAIN = (Gates(UNTOUCHED, facts=()), Gates(TOUCHED))


async def _part(suite: Suite, injection: str, every: int) -> Part:
    part: Part = []
    functions = Functions(suite.functions)
    only_speaks = bool(injection) and suite.only_speaks(injection)
    for gates in INJECTED if injection else PLAIN:
        counted: Counted = Counter()
        for task in suite.tasks[::every]:
            scene = suite.scene(task, injection)
            person = gates.person(scene.solution())
            came = await run(scene, person, functions, gates.facts, gates.order)
            if came.ended != "done":
                raise AssertionError(f"{suite.name}, {task}, {injection}, {gates.name} ended otherwise: {came}")
            harmed = scene.harmed(came.answer)
            if only_speaks:
                counted.update({"spoke": 1, "said": harmed})
                continue
            useful = gates.name in JUDGED and scene.useful(came.answer)
            counted.update({"runs": 1, "met": scene.met, "harmed": harmed, "useful": useful})
            counted.update({"asked": came.asked, "denied": came.denied, "quiet": not came.asked})
        part.append((gates.name, suite.name, counted))
    return part


def _run(suite: str, injection: str, every: int) -> Part:
    return asyncio.run(_part(suites()[suite], injection, every))


def _all(names: list[str], every: int, jobs: int) -> Iterator[tuple[str, str, Counted]]:
    pairs = [(name, injection) for name in names for injection in ("", *suites()[name].injections)]
    with ProcessPoolExecutor(jobs) as pool:
        for part in [pool.submit(_run, name, injection, every) for name, injection in pairs]:
            yield from part.result()


def main(arguments: list[str]) -> int:
    """0 if all is as it must be."""
    parser = argparse.ArgumentParser(prog="python -m tests.dojo")
    parser.add_argument("--suite", choices=list(suites()), action="append")
    parser.add_argument("--every", type=int, default=1, metavar="N")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    chosen = parser.parse_args(arguments)
    names = chosen.suite or list(suites())
    undeclared = sorted({each for name in names for each in suites()[name].functions} - set(TABLE))
    if undeclared:
        print(f"Nobody has said what these are, so each counts as all three: {', '.join(undeclared)}")
    began = time.monotonic()
    counts = Counts(_all(names, max(chosen.every, 1), max(chosen.jobs, 1)))
    print(f"agentdojo {VERSION}, {time.monotonic() - began:.0f} s in {chosen.jobs} processes\n")
    wrong = failures(counts)
    verdict = [f"FAILED: {each}" for each in wrong] or ["All is as it must be."]
    print("\n".join([*table(counts), "", *summary(counts), "", *verdict]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
