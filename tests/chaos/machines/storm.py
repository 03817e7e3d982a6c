"""A fleet at work while its processes are killed and frozen, and requests to AWS break; and what is there to see afterwards.

A frozen process wakes up after its leases have run out and goes on with what it believed: a zombie. Several may be frozen at
once, but never all workers. People give tasks, guidance, stops, votes and answers all the while.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bot.sessions.lease import LEASE_SECONDS
from tests.aws.wire_faults import Fault, FaultPlan
from tests.chaos.counts import Counts
from tests.chaos.machines.fleet import Fleet, LedgerMind, Seat, fleet
from tests.chaos.machines.table_contents import contents, turns
from tests.chaos.nursery import Nursery
from tests.chaos.outside import judgement
from tests.chaos.people import People
from tests.waiting import eventually

GATEWAYS, WORKERS = 2, 3
RATES: Mapping[Fault, float] = {
    "conflict": 0.01, "throttled": 0.01, "broken": 0.005, "cut": 0.005, "silent": 0.0005, "lost": 0.01, "half": 0.005,
    "doubled": 0.01,
}  # fmt: skip
"""Of all requests, those that break so."""
KINDS = ("few",) * 5 + ("work",) * 3 + ("asks", "fails", "helpers")
BUSY_AT_MOST = 10
BETWEEN_BLOWS = (2.0, 6.0)
FROZEN_SECONDS = (LEASE_SECONDS + 6.0, LEASE_SECONDS + 14.0)
"""By then somebody else has what the frozen one had: they look for it every five seconds."""
AT_WORK = 0.6
"""So many kills meet the worker that has the most to do, the others any process; a freeze meets that worker alone."""
AGAIN = 1.15
"""Requests of a model for each turn in the end: after a death some are made again."""
TOLD_SECONDS = 20.0
REST_SECONDS, WHOLE_SECONDS = 240.0, 1_500.0
WORK_SECONDS = 1_100.0
"""After this nothing more is given, and what there is by then is judged: on a slow machine that is less than the plan."""


@dataclass(frozen=True)
class Plan:
    """How much of everything."""

    turns: int = 600
    kills: int = 18
    freezes: int = 12

    def blows(self, luck: random.Random) -> list[str]:
        """All of them in some order."""
        blows = ["kill"] * self.kills + ["freeze"] * self.freezes
        luck.shuffle(blows)
        return blows


@dataclass
class Outcome:
    """What it came to."""

    counts: Counts = field(default_factory=Counts)
    turns: int = 0
    kills: int = 0
    freezes: int = 0
    broken: int = 0
    """Requests to AWS that were broken."""
    requests: int = 0
    conflicts: int = 0
    met: list[str] = field(default_factory=list[str])
    """Each conflict in words."""
    fenced: int = 0
    seconds: float = 0.0

    @property
    def conflict_share(self) -> float:
        """Lease conflicts as a share of turns."""
        return self.conflicts / self.turns if self.turns else 0.0

    def line(self) -> str:
        """The last line of `make chaos-aws`."""
        counts = self.counts
        unknown = 100 * counts.unknown / counts.unkeyed if counts.unkeyed else 0.0
        return (
            f"chaos-aws: turns={self.turns} kills={self.kills} freezes={self.freezes} faults={self.broken} "
            f"doubled={counts.doubled} lost={counts.lost} unkeyed_twice={counts.unkeyed_twice} other={counts.other} "
            f"unknown={counts.unknown} ({unknown:.1f} % of {counts.unkeyed} unkeyed calls) "
            f"lease_conflicts={self.conflicts} ({100 * self.conflict_share:.2f} % of turns) fenced={self.fenced} "
            f"requests={self.requests} executions={counts.executions} seconds={self.seconds:.0f}"
        )


async def storm(
    seed: int, plan: Plan, folder: Path, sabotage: str = "", say: Callable[[str], None] = lambda _: None
) -> Outcome:
    """Live through all of it in a folder; the same seed gives the same orders and breaks the same requests.

    ``say`` is told now and then how far it is.
    """
    luck = random.Random(seed)
    mind = LedgerMind(delay=lambda kind: luck.uniform(0.0, 0.3), pace=0.01)
    settings = {
        "THREADWRIGHT_DRAIN_SECONDS": "0.2", "THREADWRIGHT_EMBEDDINGS": "off", "THREADWRIGHT_LOG_LEVEL": "info",
    }  # fmt: skip
    async with (
        asyncio.timeout(WHOLE_SECONDS),
        Nursery.open(sabotage) as nursery,
        fleet(folder, nursery, mind, **settings) as place,
    ):
        return await _Storm(seed, luck, plan, place, say).lived()


class _Storm:
    def __init__(self, seed: int, luck: random.Random, plan: Plan, place: Fleet, say: Callable[[str], None]) -> None:
        self._seed, self._luck, self._plan, self._place = seed, luck, plan, place
        self._people = People(luck, KINDS, "few", BUSY_AT_MOST)
        place.jobs = self._people.jobs
        self._say, self._freezes, self._began = say, 0, time.monotonic()

    async def lived(self) -> Outcome:
        place = self._place
        place.doomed = min(self._plan.kills, WORKERS)
        for number in range(GATEWAYS + WORKERS):
            await place.add("gateway" if number < GATEWAYS else "worker", self._luck)
        await place.guild.wait_for(lambda guild: guild.online, timeout=60.0)
        first = await self._people.give(place)
        await self._read_through(first)
        place.wire.plan = FaultPlan(self._seed, RATES)
        people = asyncio.create_task(self._people.go_on(place), name="people")
        telling = asyncio.create_task(self._tell(), name="progress")
        try:
            await self._blows(people)
            await self._come_to(1.0, people)
        finally:
            people.cancel()
            telling.cancel()
            await asyncio.gather(people, telling, return_exceptions=True)
        place.doomed, place.wire.plan = 0, None
        problems = [*await self._rested(), *await place.end()]
        return await self._judged(problems, time.monotonic() - self._began)

    async def _read_through(self, message: int) -> None:
        """Wait until it is written that the channel of tasks was read so far: without a mark nothing old is answered."""
        place = self._place

        async def read() -> bool:
            return int(await place.store.fact(f"read: {place.general}") or 0) >= message

        await eventually(read)

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(TOLD_SECONDS)
            asked, whole = self._asked(), AGAIN * self._plan.turns
            self._say(f"{asked} of {whole:.0f} requests of models, {self._place.kills} kills, {self._freezes} freezes")

    # --- what goes wrong --------------------------------------------------------------------------------------

    async def _come_to(self, share: float, people: asyncio.Task[None]) -> None:
        """Wait until so much of the work is done, or there is no more time for it; what broke among people breaks this."""
        while self._asked() < share * AGAIN * self._plan.turns and time.monotonic() < self._began + WORK_SECONDS:
            if people.done():
                people.result()
            await asyncio.sleep(0.2)

    def _asked(self) -> int:
        return sum(self._place.mind.asked.values())

    async def _blows(self, people: asyncio.Task[None]) -> None:
        """One after the other, all along the work."""
        blows = self._plan.blows(self._luck)
        async with asyncio.TaskGroup() as frozen:
            for number, blow in enumerate(blows):
                await self._come_to(number / len(blows), people)
                await asyncio.sleep(self._luck.uniform(*BETWEEN_BLOWS))
                seat = await self._chosen(blow)
                if blow == "kill":
                    seat.child.strike()
                    self._place.doomed += 1
                else:
                    frozen.create_task(self._frozen(seat))
                    self._freezes += 1

    async def _chosen(self, blow: str) -> Seat:
        """A process that runs, beside which another worker runs; waited for."""
        while True:
            running = [seat for seat in self._place.seats if not seat.frozen and seat.child.status is None]
            workers = [seat for seat in running if seat.command == "worker"]
            found = [seat for seat in running if seat.command == "gateway" or len(workers) > 1]
            if found:
                at_work = blow == "freeze" or self._luck.random() < AT_WORK
                busy = await self._busiest(found) if at_work else None
                if busy is not None or blow != "freeze" or time.monotonic() > self._began + WORK_SECONDS:
                    return busy or self._luck.choice(found)
            await asyncio.sleep(0.1)

    async def _busiest(self, found: list[Seat]) -> Seat | None:
        """That of these which has the most threads: what is struck in idleness shows little."""
        store, had = self._place.store, Counter[str]()
        for row in await store.open_executions():
            had[(await store.holder(row.thread)).split("/")[0]] += 1
        seats = [seat for seat in found if had[seat.machine]]
        return max(seats, key=lambda seat: had[seat.machine], default=None)

    async def _frozen(self, seat: Seat) -> None:
        child, seat.frozen = seat.child, True
        child.freeze()
        await asyncio.sleep(self._luck.uniform(*FROZEN_SECONDS))
        child.thaw()
        if seat.child is child:
            seat.frozen = False

    # --- the end ----------------------------------------------------------------------------------------------

    async def _rested(self) -> list[str]:
        """What does not come to rest, now that nothing goes wrong any more."""
        place = self._place

        async def rests() -> bool:
            await self._people.look_after(place)
            return await place.waits() == (0, 0, 0)

        try:
            await eventually(rests, seconds=REST_SECONDS)
        except AssertionError:
            rows = await place.store.open_executions()
            left = "; ".join(f"{row.execution} at {row.head}: {self._last(row.thread)}" for row in rows)
            return [f"at the end there wait {await place.waits()}: {left}"]
        return []

    def _last(self, thread: str) -> str:
        said = self._place.said(int(thread)) if thread.isdecimal() else []
        return said[-1].content[:200] if said else "nothing was said"

    async def _judged(self, problems: list[str], seconds: float) -> Outcome:
        place = self._place
        kept, damaged = await contents(place.store, place.made)
        counts = judgement(place, kept, self._seed)
        counts.lost += len(problems)
        counts.other += len(damaged)
        counts.problems += [f"seed {self._seed}: {one}" for one in (*problems, *damaged)]
        counts.faults += place.faults
        counts.faults.update(f"wire: {fault}" for fault in place.wire.counted().elements())
        return Outcome(
            counts, turns(kept), place.kills, self._freezes, len(place.wire.broken), place.wire.seen.total(),
            place.watch.conflicts, place.watch.told, place.watch.fenced, seconds,
        )  # fmt: skip
