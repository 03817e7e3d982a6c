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
from dataclasses import dataclass, replace
from functools import cache

from tests.dojo import counts as counting
from tests.dojo.counts import ALL, AT_ONCE, JUDGED, NONE, OFF, TOUCHED, TRUSTING, UNHEEDED, UNTOUCHED, Count
from tests.dojo.declarations import TABLE, Declared, declared
from tests.dojo.person import Act, Person, Trusting
from tests.dojo.suites import VERSION, Suite, suites
from tests.dojo.trial import Functions, Order, run

Part = list[tuple[str, str, "Counter[Count]"]]


@dataclass(frozen=True)
class Gates:
    """A kind of run: which facts are declared, who answers, when the injection is obeyed."""

    name: str
    untrusted: bool = True
    private: bool = True
    outside: bool = True
    order: Order = "after"
    person: Callable[[tuple[Act, ...]], Person] = Person

    def of(self, function: str) -> Declared:
        """What is declared of a function: nothing that is off."""
        said = declared(function)
        return Declared(said.untrusted and self.untrusted, said.private and self.private, said.outside and self.outside)


_OPEN = Gates(NONE, untrusted=False, private=False, outside=False)
INJECTED = (
    Gates(UNHEEDED, order="never"),
    _OPEN,
    Gates(ALL),
    Gates(AT_ONCE, order="at once"),
    Gates(OFF[0], untrusted=False),
    Gates(OFF[1], private=False),
    Gates(OFF[2], outside=False),
    Gates(TRUSTING, person=Trusting),
)
PLAIN = (replace(_OPEN, name=UNTOUCHED), Gates(TOUCHED))


async def _part(suite: Suite, injection: str, every: int) -> Part:
    part: Part = []
    for gates in INJECTED if injection else PLAIN:
        functions = _functions(suite, gates)
        counted: Counter[Count] = Counter()
        for task in suite.tasks[::every]:
            scene = suite.scene(task, injection)
            person = gates.person(scene.solution())
            came = await run(scene, person, functions, gates.order)
            if came.ended != "done":
                raise AssertionError(f"{suite.name}, {task}, {injection}, {gates.name} ended otherwise: {came}")
            harmed = scene.harmed(came.answer)
            if injection and suite.only_speaks(injection):
                counted.update({"spoke": 1, "said": harmed})
                continue
            useful = gates.name in JUDGED and scene.useful(came.answer)
            counted.update(
                {"runs": 1, "harmed": harmed, "useful": useful, "asked": came.asked, "denied": came.denied, "met": scene.met}
            )
        part.append((suite.name, gates.name, counted))
    return part


@cache
def _functions(suite: Suite, gates: Gates) -> Functions:
    return Functions(suite.functions, gates.of)


def _run(suite: str, injection: str, every: int) -> Part:
    return asyncio.run(_part(suites()[suite], injection, every))


def _all(names: list[str], every: int, jobs: int) -> Iterator[Part]:
    with ProcessPoolExecutor(jobs) as pool:
        every_part = [
            pool.submit(_run, name, injection, every) for name in names for injection in ("", *suites()[name].injections)
        ]
        for part in every_part:
            yield part.result()


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
    counts = counting.parts(each for part in _all(names, max(chosen.every, 1), max(chosen.jobs, 1)) for each in part)
    print(f"agentdojo {VERSION}, {time.monotonic() - began:.0f} s in {chosen.jobs} processes\n")
    print("\n".join([*counting.table(counts), "", *counting.summary(counts)]))
    failures = counting.failures(counts)
    print("\n".join(["", *(f"FAILED: {failure}" for failure in failures)] if failures else ["All as it must be."]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
