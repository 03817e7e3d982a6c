"""Each await of a whole execution in turn: one run for each, struck there in one of several ways, and judged.

A first run without a strike counts the awaits.  After a strike everything must come to rest by itself or be shown in the
thread; a further thread must get a sandbox; then the process ends in order, the next one takes up what is open, and it ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agentic.ports.errors import AgenticError
from tests.chaos.awaits.scene import ADA, Actor, Play, Stage, staged
from tests.chaos.awaits.trampoline import (
    CountedLoop,
    Line,
    Site,
    Steps,
    Strike,
    cancelled,
    cancelled_late,
    cancelled_twice,
)
from tests.chaos.awaits.verdicts import judged, late_stops
from tests.chaos.simulated.judging import Violation
from tests.chaos.simulated.processes import seeded
from tests.chaos.simulated.virtual import Stuck, context_of, now

CORE = (
    "agentic/sandbox/pool.py", "agentic/runtime/budget_ledger.py", "agentic/runtime/effects.py",
    "agentic/runtime/loop.py", "bot/sessions/session_work.py", "bot/outbound/outbox.py",
)  # fmt: skip
"""Each of their awaits is to be struck; which were never reached is said."""
AROUND = (
    "agentic/runtime/event_recorder.py", "agentic/runtime/shutdown.py", "agentic/runtime/workspace_jobs.py",
    "agentic/sandbox/sandbox.py", "bot/sessions/lease.py",
    "bot/sessions/lease.py", "bot/sessions/slots.py", "bot/sessions/recovery.py",
)  # fmt: skip
NOBODYS = ("sandbox-", "lease of ", "process-", "save session", "perceive")
"""Asyncio tasks that nobody cancels but who began them, as the last that they do with them."""
STARTS = 4
"""After further starts, with a person's word after each, nothing may be open."""
REST_SECONDS, PROBE_SECONDS = 90.0, 60.0
SHORT, LONG = 2.5, 25.0

Act = Callable[[Stage], Callable[[Steps], None]]


def _of_the_task(act: Callable[[Steps], None]) -> Act:
    return lambda stage: act


def _longer(seconds: float) -> Act:
    def act(stage: Stage) -> Callable[[Steps], None]:
        def delayed(steps: Steps) -> None:
            steps.longer = seconds
            stage.town.disturb(seconds + 1.0)

        return delayed

    return act


def _outside(*deeds: str) -> Act:
    return lambda stage: lambda steps: stage.outside(*deeds)


def _interrupted(then: Callable[[Steps], None] | None) -> Act:
    def act(stage: Stage) -> Callable[[Steps], None]:
        def struck(steps: Steps) -> None:
            stage.town.loop.call_soon(stage.interrupt, then, context=context_of(None))

        return struck

    return act


WAYS: dict[str, Act] = {
    "cancelled": _of_the_task(cancelled),
    "cancelled late": _of_the_task(cancelled_late),
    "cancelled twice": _of_the_task(cancelled_twice),
    "interrupted": _interrupted(None),
    "interrupted twice": _interrupted(cancelled),
    "stopped": _outside("people_stop"),
    "ended": _outside("processes_end"),
    "engine dies": _outside("engine_dies"),
    "engine dies, stopped": _outside("engine_dies", "people_stop"),
    "delayed": _longer(SHORT),
    "stalled": _longer(LONG),
}
"""What happens at an await."""
NO_STOPS = ("delayed", "stalled", "cancelled", "interrupted")
"""Ways in which a stop may take longer: what obeys it was made to wait, or is no more until the next start."""
FAILS = "fails"
"""And at each crossing of a port in turn: that fails there."""


@dataclass(slots=True)
class Walk:
    """What a run without a strike showed."""

    sites: dict[int, Site] = field(default_factory=dict)
    """The steps that are struck, and where each is."""
    over: int = 0
    """The step after which everything was at rest: what comes then is the end of the process."""
    crossings: tuple[str, ...] = ()
    """The ports that were crossed."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run."""

    play: str
    way: str
    at: int

    def __str__(self) -> str:
        return f"{self.play} {self.way!r} {self.at}"


@dataclass(slots=True)
class Outcome:
    """What came of it."""

    run: Run
    where: str
    violations: list[str]
    story: str = ""
    reached: set[Line] = field(default_factory=set[Line])

    @property
    def lines(self) -> list[str]:
        """Each violation, with how to see it again."""
        again = f"again: python -m tests.chaos.awaits {self.run}" if self.run.way else f"{self.run.play}, not struck"
        return [f"{text}  [{self.run.way} at {self.where}; {again}]" for text in self.violations]


def walk(play: Play) -> tuple[Walk, Outcome]:
    """Count the awaits of a whole run, and judge it."""
    found = Walk()

    def seen(number: int, site: Site) -> None:
        if any(file in CORE or file in AROUND for file, _ in site.lines):
            found.sites[number] = site

    return found, _lived(play, Run(play.name, "", 0), found, seen)


def runs_of(play: Play, found: Walk, ways: Sequence[str], most: int = 0, *, in_turn: int = 0) -> Iterator[Run]:
    """Every way at every await; with ``most``, at so many of those that stand in the same frames, the last among them.

    ``in_turn``: one await in so many, and in one of the ways only, the next one in the next way; 0 for all in all ways.
    """
    chosen = few({number: (site.lines, site.port) for number, site in found.sites.items()}, most)
    crossed = few(dict(enumerate(found.crossings, 1)), most)
    for index, way in enumerate(ways):
        its = slice(index * in_turn, None, len(ways) * in_turn) if in_turn else slice(None)
        if way == FAILS:
            yield from (Run(play.name, way, number) for number in crossed[its])
            continue
        for number in chosen[its]:
            ends = way.startswith("cancelled")
            if not (_is_nobodys(found.sites[number]) if ends else number > found.over):
                yield Run(play.name, way, number)


def few(alike: Mapping[int, Hashable], most: int) -> list[int]:
    """Of the numbers that stand for the same, the first ``most`` - 1 and the last; all of them where ``most`` is 0."""
    groups: dict[Hashable, list[int]] = {}
    for number, what in alike.items():
        groups.setdefault(what, []).append(number)
    kept = groups.values() if not most else [each[: most - 1] + each[most - 1 :][-1:] for each in groups.values()]
    return sorted(number for numbers in kept for number in numbers)


def _is_nobodys(site: Site) -> bool:
    return any(name in site.task for name in NOBODYS)


def struck(play: Play, run: Run, *, lines: bool = False, story: bool = False) -> Outcome:
    """One run with its strike."""
    reached: set[Line] = set()
    outcome = _lived(play, run, Walk(), (lambda number, site: reached.update(site.lines)) if lines else None)
    outcome.reached = reached
    if not story:
        outcome.story = ""
    return outcome


def _lived(play: Play, run: Run, found: Walk, seen: Callable[[int, Site], None] | None) -> Outcome:
    loop = CountedLoop()
    loop.seen = seen
    with staged(loop, play) as stage:
        seeded(stage.town)
        if run.way == FAILS:
            stage.fails_at = run.at
        elif run.way:
            loop.strike = Strike(run.at, WAYS[run.way](stage))
        try:
            violations = loop.run_until_complete(_live(stage, run))
        except Stuck:
            violations = [Violation("other", "everybody waits for somebody else")]
        finally:
            loop.dispose()
        found.crossings, found.over = tuple(stage.crossed), stage.over
        where = stage.failed or str(loop.strike.struck or "nowhere")
        texts = [violation.text for violation in violations]
        if run.way and where == "nowhere":
            texts.append("it was never struck: the count is not the same as in the run without")
        return Outcome(run, where, texts, stage.town.log())


async def _live(stage: Stage, run: Run) -> list[Violation]:
    town = stage.town
    stage.start("process-1")
    people = town.loop.outside(stage.people())
    for seconds, deed in stage.play.deeds:
        town.loop.call_later(seconds, stage.outside, deed)
    await _rest(stage)
    town.calm, stage.over = True, town.loop.counted
    found = await _probed(stage)
    for number in range(STARTS):
        if town.alive and not await stage.truth.open_executions() and not await _owed(stage):
            break
        await (_replaced(stage) if number % 2 == 0 or not town.alive else _told_to_go_on(stage))
        await _rest(stage)
        found += await _probed(stage)
    for row in await stage.truth.open_executions():
        found.append(
            Violation(
                "other", f"{row.execution} did not come to its end, also not after further starts and a person's word"
            )
        )
    people.cancel()
    await asyncio.sleep(1)  # what they did last is answered
    for process in list(town.alive):
        await process.terminate()
    found += await judged(stage)
    if not run.way.startswith(NO_STOPS):
        found += [Violation("other", text) for text in late_stops(stage)]
    return found


async def _told_to_go_on(stage: Stage) -> None:
    """What shows that it is left alone goes on at a word."""
    for row in await stage.truth.open_executions():
        stage.guild.say(ADA, "please go on", row.thread)


async def _replaced(stage: Stage) -> None:
    """The process ends in order, and another one goes on."""
    for process in list(stage.town.alive):
        await process.terminate()
    stage.start(f"process-{len(stage.town.processes) + 1}")


async def _rest(stage: Stage) -> None:
    """Until nothing is open, or what is open has shown why, or for so long."""
    until, still = now() + REST_SECONDS, 0
    least = max((seconds for seconds, _ in stage.play.deeds), default=0.0) + 0.1
    while now() < until and still < 3:
        await asyncio.sleep(0.5)
        if not stage.town.alive:
            stage.start(f"process-{len(stage.town.processes) + 1}")
        rows = await stage.truth.newest_executions(1_000)
        over = len(rows) >= stage.play.tasks and all(row.finished for row in rows)
        owed = await _owed(stage)
        still = still + 1 if over and not owed and not any(one.closing for one in stage.town.alive) else 0
        if now() < least:
            still = 0
        elif not over and not owed and _broken_off(stage):
            return


def _broken_off(stage: Stage) -> bool:
    """Nothing is open any more that is being worked on."""
    processes = stage.town.alive
    if any(process.closing or not process.hearing.read.is_set() for process in processes):
        return False
    return all(session.task is None for process in processes for session in process.threads._sessions.values())


async def _owed(stage: Stage) -> bool:
    """Something is to be posted or to be taken up yet."""
    said = any(said.id not in stage.town.handled for said in stage.guild.said)
    return bool(said or await stage.truth.undelivered() or await stage.truth.pending_threads())


async def _probed(stage: Stage) -> list[Violation]:
    """As many further threads as may have one at once get a sandbox."""
    found: list[Violation] = []
    for process in [one for one in stage.town.alive if isinstance(one, Actor) and not one.closing]:
        used = asyncio.Barrier(stage.play.sandboxes)
        numbers = range(stage.play.sandboxes)
        probes = [process.begin(_use(stage, process, f"probe {number}", used), "probe") for number in numbers]
        _, late = await asyncio.wait(probes, timeout=PROBE_SECONDS)
        if late:
            found.append(Violation("other", f"a further thread of {process.name} never got a sandbox"))
            for probe in late:
                probe.cancel()
            await asyncio.wait(late, timeout=5.0)
        troubles = [probe.exception() for probe in probes if probe.done() and not probe.cancelled()]
        words = [f"a further thread of {process.name} got no sandbox: {trouble}" for trouble in troubles if trouble]
        found += [Violation("other", text) for text in words]
    return found


async def _use(stage: Stage, process: Actor, thread: str, used: asyncio.Barrier) -> None:
    for left in (2, 1, 0):  # the first may find that its engine is still down
        try:
            async with process.pool.use(thread, stage.workspace(thread)) as sandbox:
                await sandbox.stat(".")
                await used.wait()
        except AgenticError:
            if not left:
                raise
            await asyncio.sleep(8.0)
        else:
            await process.pool.end(thread)
            return
