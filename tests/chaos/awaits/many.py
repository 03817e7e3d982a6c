"""All the runs, how many there were, and where nothing ever waited.

python -m tests.chaos.awaits                    every way at every await
python -m tests.chaos.awaits kinds ended 123    one run, with its story
"""

from __future__ import annotations

import ast
import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.chaos.awaits.harness import CORE, FAILS, WAYS, Outcome, Run, runs_of, struck, walk
from tests.chaos.awaits.scene import PLAYS
from tests.chaos.awaits.trampoline import ROOT, Line
from tests.chaos.simulated.simulation import quiet

Plan = Mapping[str, tuple[Iterable[str], int]]
"""For each play its ways, and at how many of the awaits that stand in the same frames; 0 for each of them."""
EVERYTHING: Plan = {name: ((*WAYS, FAILS), 0 if name == "kinds" else 3) for name in PLAYS}
AT_ONCE = 16
"""So many are handed to a worker at a time."""


@dataclass(slots=True)
class Tally:
    """What many runs came to."""

    runs: Counter[str] = field(default_factory=Counter[str])
    """How many there were of each play and way."""
    problems: list[str] = field(default_factory=list[str])
    reached: set[Line] = field(default_factory=set[Line])
    """Every line at which a task of the bot waited in some run."""

    def add(self, outcome: Outcome) -> None:
        """One more."""
        self.runs[f"{outcome.run.play}: {outcome.run.way or 'not at all'}"] += 1
        self.problems += outcome.lines
        self.reached |= outcome.reached


def strikes(plan: Plan, jobs: int = 1, *, lines: bool = False, where: str = "", in_turn: int = 0) -> Iterator[Outcome]:
    """Every run of a plan; ``lines``: with every line at which something waited; ``where``: only where this stands.

    ``in_turn``: one await in so many is struck, and in one of its ways only, the next one in the next way.
    """
    if jobs == 1:
        for name, (ways, most) in plan.items():
            unstruck, chosen = _planned(name, tuple(ways), most, where, in_turn)
            yield unstruck
            for runs in _batched(chosen):
                yield from _struck(runs, lines=lines)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        tasks = [(name, tuple(ways), most, where, in_turn) for name, (ways, most) in plan.items()]
        planned = pool.starmap(_planned, tasks)
        yield from [unstruck for unstruck, _ in planned]
        blocks = [block for _, chosen in planned for block in _batched(chosen)]
        for outcomes in pool.imap(partial(_struck, lines=lines), blocks):
            yield from outcomes


def _batched(runs: list[Run]) -> Iterator[list[Run]]:
    return (runs[start : start + AT_ONCE] for start in range(0, len(runs), AT_ONCE))


def _planned(name: str, ways: tuple[str, ...], most: int, where: str, in_turn: int) -> tuple[Outcome, list[Run]]:
    with quiet():
        found, unstruck = walk(PLAYS[name])
        unstruck.story = ""
        found.sites = {number: site for number, site in found.sites.items() if where in str(site)}
        return unstruck, list(runs_of(PLAYS[name], found, ways, most, in_turn=in_turn))


def _struck(runs: list[Run], *, lines: bool) -> list[Outcome]:
    with quiet():
        return [struck(PLAYS[run.play], run, lines=lines) for run in runs]  # what they leave behind goes with the quiet


def struck_everywhere(plan: Plan, jobs: int, progress: Callable[[int], None]) -> Tally:
    """All of it, told line by line."""
    tally = Tally()
    for outcome in strikes(plan, jobs, lines=True):
        tally.add(outcome)
        progress(tally.runs.total())
    for what, times in tally.runs.items():
        print(f"struck {what} {times}")
    for file, lines in unreached(tally.reached).items():
        print(f"never waited in {file}: {', '.join(map(str, lines)) or 'nowhere'}")
    return tally


def unreached(lines: set[Line]) -> dict[str, list[int]]:
    """For each module of the core, the awaits at which nothing ever waited; one of several lines counts by any of them."""
    found: dict[str, list[int]] = {}
    for file in CORE:
        here = {line for name, line in lines if name == file}
        spans: list[range] = []
        for node in ast.walk(ast.parse(Path(ROOT, file).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Await):
                spans.append(range(node.lineno, (node.end_lineno or node.lineno) + 1))
            elif isinstance(node, ast.AsyncWith | ast.AsyncFor):
                spans.append(range(node.lineno, node.body[0].lineno))
        found[file] = sorted({span.start for span in spans if not here & set(span)})
    return found
