"""Thousands of executions in small simulated worlds, each from its seed, each judged when it has come to rest.

A world is a guild with a few threads, a store, one or two processes of the bot, people and what goes wrong.  What is
real and what is simulated stands in ``processes.py``; how time passes in ``virtual.py``; the faults in ``town.py`` and
``mishaps.py``; what must be true afterwards in ``judging.py``.  With a safeguard switched off (``without``) the same
worlds must show violations: else the judge would see nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import logging
import multiprocessing
import multiprocessing.pool
import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from agentic.stores.factory import passing_folder
from tests.chaos.counts import Counts
from tests.chaos.simulated.judging import Judge, Violation, visibly_waiting
from tests.chaos.simulated.mishaps import Mishaps
from tests.chaos.simulated.people import People
from tests.chaos.simulated.processes import World, seeded
from tests.chaos.simulated.town import Town
from tests.chaos.simulated.virtual import Stuck, VirtualLoop, now

WITHOUT = ("intents", "nonces", "fences")
REST_SECONDS = 1_500.0
"""So long after the last fault everything may take to come to rest, in virtual time."""
COLLECT_EVERY = 8
"""What worlds leave behind is collected after so many of them."""
STEPS = 3_000_000
"""More steps than this in one world are a loop that never ends."""

AT_ONCE = 4
"""So many worlds are handed to a worker at a time."""

Progress = Callable[[int], None]
"""Is told how many executions were simulated so far."""


@dataclass(slots=True)
class Outcome:
    """What one world came to."""

    number: int
    counts: Counts
    violations: list[Violation]
    story: str
    """What happened in it, in plain words."""


def simulate(
    seed: int, executions: int, *, without: str = "", jobs: int = 1, enough: int = 0, progress: Progress | None = None
) -> Counts:
    """As many worlds as it takes for so many executions, or for ``enough`` violations.

    How many ``jobs`` share them changes no figure.
    """
    counts = Counts()
    with quiet():
        for outcome in _worlds(seed, without, jobs):
            counts += outcome.counts
            again = f"make chaos SEED={seed} ONLY={outcome.number}" + (f" WITHOUT={without}" if without else "")
            counts.problems += [f"{violation.text}  [again: {again}]" for violation in outcome.violations]
            if progress is not None:
                progress(counts.executions)
            if counts.executions >= executions or (enough and counts.violations >= enough):
                break
    return counts


def _worlds(seed: int, without: str, jobs: int) -> Iterator[Outcome]:
    """One after the other, in their order."""
    numbers = itertools.count(1)
    if jobs == 1:
        yield from (one_world(seed, number, without) for number in numbers)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        waiting: deque[multiprocessing.pool.AsyncResult[list[Outcome]]] = deque()
        while True:
            while len(waiting) < 2 * jobs:
                block = [next(numbers) for _ in range(AT_ONCE)]
                waiting.append(pool.apply_async(_block, (seed, block, without)))
            yield from waiting.popleft().get()


def _block(seed: int, numbers: list[int], without: str) -> list[Outcome]:
    with quiet():
        outcomes = [one_world(seed, number, without) for number in numbers]
    for outcome in outcomes:
        outcome.story = ""
    return outcomes


def one_world(seed: int, number: int, without: str = "") -> Outcome:
    """Live through one world and judge it; to be done in ``quiet``."""
    loop = VirtualLoop()
    town = Town(seed, number, loop, without)
    seeded(town)
    try:
        with passing_folder() as folder:
            counts, violations = loop.run_until_complete(_live(town, Path(folder)))
    except Stuck:
        counts, violations = Counts(other=1), [Violation("other", "everybody waits for somebody else")]
    finally:
        loop.dispose()
    if number % COLLECT_EVERY == 0:
        gc.collect()
    return Outcome(number, counts, violations, town.log())


async def _live(town: Town, folder: Path) -> tuple[Counts, list[Violation]]:
    world = World(town, folder)
    try:
        return await _lived(world)
    finally:
        world.truth.let_go()


async def _lived(world: World) -> tuple[Counts, list[Violation]]:
    town = world.town
    people, mishaps = People(world, town.dice("threads").randint(2, 4)), Mishaps(world)
    world.start("process-1")
    town.keeper = town.loop.outside(mishaps.keep_alive())
    await asyncio.gather(town.loop.outside(mishaps.strike()), town.loop.outside(people.live()))
    _heal(world, mishaps)
    early = await _rest(world)
    for thread in people.begun:
        if any(not row.finished for row in await world.truth.executions(thread)):
            world.guild.say(people.speaker(town.dice("last")), "stop", thread)
    await asyncio.sleep(5.0)
    late = await _rest(world)
    counts, violations = await Judge(world).judge()
    for row in early:
        violations.append(Violation("other", f"{row} neither ended nor showed what it waits for"))
        counts.other += 1
    if late:
        town.tell(f"at the end still open: {', '.join(late)}")
    return counts, violations


def _heal(world: World, mishaps: Mishaps) -> None:
    """Nothing goes wrong from now on, and one process lives."""
    town = world.town
    town.calm = True
    town.tell("nothing goes wrong any more")
    town.crash_in = 0
    for process in [one for one in town.alive if one.life.frozen or one.closing]:
        process.kill()
    for process in town.alive[:-1]:
        process.kill()
    for process in town.alive:
        process.access.down_until = process.access.slow_until = 0.0
        process.outbox.retry_now()
    world.guild.rights_gone_until = world.guild.down_until = 0.0
    world.minds.down_until = world.benches.unavailable_until = 0.0


async def _rest(world: World) -> list[str]:
    """Wait until nothing moves any more; the executions that are open and do not show why."""
    until, hidden = now() + REST_SECONDS, ["everything"]
    while hidden and now() < until:
        await asyncio.sleep(5.0)
        if world.town.loop.steps > STEPS:
            raise Stuck
        opened = await world.truth.open_executions()
        hidden = [row.execution for row in opened if not visibly_waiting(world, row)]
        hidden += [row.item.key for row in await world.truth.undelivered()]
        if not world.guild.ears:
            hidden.append("nobody listens")
        hidden += [said.id for said in world.guild.said if said.id not in world.town.handled]
        with_open = {row.thread for row in opened}
        hidden += [
            thread
            for thread in await world.truth.pending_threads()
            if any(
                item.id not in world.truth.doubtful and (item.sort == "stop" or thread not in with_open)
                for item in await world.truth.pending(thread)
            )
        ]
    return hidden


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """What the bot logs belongs to nobody here, and what the dead leave behind is no news."""
    level, hook, collecting = logging.root.manager.disable, sys.unraisablehook, gc.isenabled()
    logging.disable(logging.CRITICAL)
    sys.unraisablehook = lambda _: None
    gc.disable()
    try:
        yield
    finally:
        gc.collect()
        logging.disable(level)
        sys.unraisablehook = hook
        if collecting:
            gc.enable()
