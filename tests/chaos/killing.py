"""Real processes, killed for real at random moments while they work on many threads, again and again.

People give tasks, guidance, stops, votes and answers all the while, also while the bot is down.  Half of the deaths come
from outside, at a random time; half at whatever failpoint the process reaches by then.  Nothing is looked at before the
end: then everything must come to rest, and what is there to see must be what was promised.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from agentic.mcp_client.server_file import FILE as MCP_FILE
from tests.chaos.counts import Counts
from tests.chaos.house import House, NotAtRest, house
from tests.chaos.line_server import FILE as SERVERS
from tests.chaos.matrix import all_points, matrix
from tests.chaos.mind import Mind
from tests.chaos.nursery import Child, Nursery
from tests.chaos.outside import judged
from tests.chaos.people import People
from tests.waiting import eventually

HOUSES = 2
"""Bots that live and die beside each other, each at a guild of its own."""
WHOLE_MATRIX = 200
"""From so many kills on, each failpoint is one of them; with fewer, the rest of the work is."""
LIFE_SECONDS = (1.0, 5.0)
SHARE = 0.004
"""How likely a life that is to die at a failpoint dies at the next one it reaches."""
REST_SECONDS = 180.0


async def kills(seed: int, count: int, sabotage: str = "") -> Counts:
    """``count`` real SIGKILLs, and what was broken by them; the same seed gives the same orders."""
    counts = Counts()
    async with Nursery.open(sabotage) as nursery:
        with tempfile.TemporaryDirectory(prefix="threadwright-kills-") as folder:
            orders = list(all_points()) if count >= WHOLE_MATRIX else []
            if orders:
                counts += await matrix(orders, Path(folder) / "matrix", nursery, seed)
            left = count - len(orders)
            shares = [left // HOUSES + (number < left % HOUSES) for number in range(HOUSES)]
            towns = [
                _Town(random.Random(f"{seed}/{number}"), Path(folder) / f"town-{number}", nursery, seed * 10 + number)
                for number in range(HOUSES)
            ]
            for more in await asyncio.gather(*(town.lived(lives) for town, lives in zip(towns, shares, strict=True))):
                counts += more
    return counts


@dataclass
class _Town:
    """One house, the people around it, and its deaths."""

    luck: random.Random
    folder: Path
    nursery: Nursery
    seed: int
    people: People = field(init=False)
    faults: Counter[str] = field(default_factory=Counter[str])

    def __post_init__(self) -> None:
        self.people = People(self.luck)

    async def lived(self, lives: int) -> Counts:
        mind = Mind(delay=lambda kind: self.luck.uniform(0.0, 0.3), pace=0.01)
        async with house(self.folder, self.nursery, mind) as place:
            (place.home / MCP_FILE).write_text(SERVERS)
            first = await place.live()
            await place.guild.wait_for(lambda guild: guild.online, timeout=60.0)
            await place.read_through(await self.people.give(place))
            await self._killed(place, first)
            for _ in range(lives - 1):
                await self._life(place)
            problems = await self._rested(place)
            counts = await judged(place, self.seed)
        counts.kills = lives
        counts.faults += self.faults
        counts.problems += problems
        counts.lost += len(problems)
        return counts

    async def _life(self, place: House) -> None:
        """One more, from its start to its death."""
        if self.luck.random() < 0.5:
            await self.people.do(place)  # while nobody listens
        failpoint = f"*:p{SHARE}:{self.luck.random()}" if self.luck.random() < 0.5 else ""
        child = await place.live(failpoint)
        seconds = self.luck.uniform(*LIFE_SECONDS)
        people = asyncio.create_task(self.people.go_on(place), name="people")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await child.ended.wait()
        people.cancel()
        await asyncio.gather(people, return_exceptions=True)
        await self._killed(place, child)

    async def _killed(self, place: House, child: Child) -> None:
        moment = _moment(place)
        if not child.ended.is_set():
            await child.kill()
        at = child.killed_at
        if not child.was_killed:
            self.faults["ended by itself"] += 1
        self.faults[f"killed {_sort(at) if at else moment}"] += 1
        await place.guild.wait_for(lambda guild: not guild.online, timeout=60.0)

    # --- the end ----------------------------------------------------------------------------------------------

    async def _rested(self, place: House) -> list[str]:
        """The last life, which is left in peace; what does not come to rest in it."""
        await place.live()

        async def rests() -> bool:
            await self.people.look_after(place)
            return place.waits() == (0, 0, 0)

        try:
            await eventually(rests, seconds=REST_SECONDS)
            await place.rest()
        except (AssertionError, NotAtRest):
            return [f"seed {self.seed}: at the end there wait {place.waits()}; {place.lives[-1].said[-2000:]}"]
        finally:
            await place.lives[-1].end()
        return []


def _moment(place: House) -> str:
    """What the bot is in the middle of, as far as it can be seen from outside."""
    if place.mind.streaming:
        return "while a model answers"
    opened, inbox, undelivered = place.waits()
    if undelivered:
        return "while something is to be delivered"
    return "between two steps" if opened or inbox else "while idle"


def _sort(point: str) -> str:
    return f"at {point.partition('.')[0]}"
