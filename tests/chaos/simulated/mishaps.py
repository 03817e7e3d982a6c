"""Faults that are planned for a world: what breaks, when, and how it comes back."""

from __future__ import annotations

import asyncio
from math import inf
from random import Random

from bot.access.permissions import Speaker
from tests.chaos.simulated.minds import ODD
from tests.chaos.simulated.processes import Process, World
from tests.chaos.simulated.town import SEAMS
from tests.chaos.simulated.virtual import now

KINDS = (
    "crash", "crash_at_a_seam", "frozen_owner", "second_process", "terminated", "clock_ahead", "clock_back",
    "store_down", "store_slow", "gateway_gap", "rights_lost", "discord_down", "thread_archived", "message_deleted",
    "sandbox_lost", "sandbox_unavailable", "provider_down", "long_outage",
)  # fmt: skip
WEIGHTS = (8, 22, 9, 9, 7, 8, 7, 9, 9, 8, 11, 11, 9, 9, 7, 7, 8, 10)
WHERE = (
    *("", ""), *("after shell ran",) * 4, "after the request to post", "append", "put", "delivered",
)  # fmt: skip
"""Where a process dies, '' for anywhere."""
FAULTS = (*KINDS, *SEAMS, *(f"model_{kind}" for kind in ODD))
"""Every class of fault there is."""


class Mishaps:
    """What goes wrong in one world."""

    def __init__(self, world: World) -> None:
        self.world, self.town = world, world.town
        self.dice: Random = self.town.dice("mishaps")
        self._names = 1

    async def strike(self) -> None:
        """All of them, one after the other and over each other."""
        count = self.dice.choice((0, 2, 2, 3, 3, 3, 4, 5))
        plan = sorted((self.dice.uniform(3.0, 200.0), self.dice.choices(KINDS, WEIGHTS)[0]) for _ in range(count))
        async with asyncio.TaskGroup() as group:
            for at, kind in plan:
                await asyncio.sleep(max(0.0, at - now()))
                group.create_task(self._one(kind))

    async def keep_alive(self) -> None:
        """Whoever starts the bot again after it died."""
        while True:
            await asyncio.sleep(0.5)
            if not self.town.alive:
                await asyncio.sleep(self._downtime())
                if not self.town.alive:
                    self.start()

    def start(self) -> Process:
        """A new process."""
        self._names += 1
        return self.world.start(f"process-{self._names}")

    def _downtime(self) -> float:
        dice = self.town.dice("downtime")
        return dice.choice((0.5, 1.0, 2.0, 5.0, 10.0, 40.0)) if not self.town.calm else 1.0

    def _living(self) -> Process | None:
        able = [process for process in self.town.alive if not process.life.frozen and not process.closing]
        return able[-1] if able else None

    async def _one(self, kind: str) -> None:
        process = self._living()
        if process is None:
            return
        match kind:
            case "crash":
                self.town.happened(kind, process.name)
                process.kill()
            case "crash_at_a_seam":
                self.town.crash_where = self.dice.choice(WHERE)
                self.town.crash_in = self.dice.randint(1, 60 if not self.town.crash_where else 2)
            case "frozen_owner":
                await self._freeze(process)
            case "second_process":
                await self._second(process)
            case "terminated":
                await self._until_one_waits()
                if process.life.dead or process.closing:
                    return
                self.town.happened(kind, process.name)
                self.town.disturb(9.0)
                self.town.loop.outside(self._speak_while_it_ends(process))
                await process.terminate()
            case "long_outage":
                await self._long_outage(process)
            case _:
                await self._around(kind, process)

    async def _until_one_waits(self) -> None:
        """For a person, while another works: the one is left at once, the other when it can be.  Not waited for for ever."""
        for _ in range(60):
            opened = [one for one, (_, until) in self.world.truth.open.items() if until == inf]
            asking = [one for one in opened if self.world.truth.is_asking(one)]
            if 0 < len(asking) < len(opened):
                return
            await asyncio.sleep(0.5)

    async def _speak_while_it_ends(self, process: Process) -> None:
        """Some threads are left already while others still end: what is said there belongs to what was left."""
        dice, own = self.town.dice(f"while {process.name} ends"), process.name.replace("process-", "e")
        for number, thread in enumerate(sorted(self.world.guild.threads)):
            if dice.random() < 0.8:
                await asyncio.sleep(dice.uniform(0.0, 0.15))
                words = dice.choice((f"what you think is best (plan {own}{number})",) * 3 + ("stop",))
                self.world.guild.say(Speaker("5000", "Ada", "operator"), words, thread)

    async def _freeze(self, process: Process) -> None:
        """It sleeps for a minute, another takes over, and it goes on for a while with what it believes."""
        seconds = self.dice.uniform(25.0, 70.0)
        self.town.happened("frozen_owner", f"{process.name} for {seconds:.0f} s")
        process.freeze()
        await asyncio.sleep(self.dice.uniform(5.0, 20.0))
        self.start()
        await asyncio.sleep(seconds)
        if process.life.dead:
            return
        self.town.tell(f"{process.name} goes on")
        process.thaw()
        await asyncio.sleep(self.dice.uniform(2.0, 40.0))
        if not process.life.dead:
            process.kill()
        await self._one_again()

    async def _second(self, process: Process) -> None:
        """Two at once on one store, both connected, until the first one is ended."""
        self.town.happened("second_process", f"beside {process.name}")
        self.start()
        await asyncio.sleep(self.dice.uniform(5.0, 60.0))
        if not process.life.dead:
            self.town.disturb(9.0)
            await process.terminate()
        await self._one_again()

    async def _one_again(self) -> None:
        """``threadwright run`` refuses a second process, so who had two starts anew: nothing looks for what one left
        behind while the other lived."""
        left = self._living()
        if left is not None:
            self.town.disturb(9.0)
            await left.terminate()

    async def _long_outage(self, process: Process) -> None:
        """Longer than Discord remembers a nonce."""
        seconds = self.dice.uniform(320.0, 600.0)
        self.town.happened("long_outage", f"{process.name} dies, and nothing starts for {seconds:.0f} s")
        keeper, self.town.keeper = self.town.keeper, None
        if keeper is not None:
            keeper.cancel()
        for one in self.town.alive:
            one.kill()
        await asyncio.sleep(seconds)
        self.start()
        self.town.keeper = self.town.loop.outside(self.keep_alive())

    async def _around(self, kind: str, process: Process) -> None:
        """What breaks around the process."""
        seconds = self.dice.uniform(2.0, 25.0)
        until = now() + seconds
        self.town.happened(kind, f"for {seconds:.0f} s" if kind != "message_deleted" else "the newest of the bot's")
        match kind:
            case "clock_ahead" | "clock_back":
                self.town.machine.skew += 3600.0 if kind == "clock_ahead" else -3600.0
            case "store_down" | "store_slow":
                self.town.disturb(seconds + 3.0)
                for one in self.town.alive:
                    setattr(one.access, "down_until" if kind == "store_down" else "slow_until", until)
            case "gateway_gap":
                process.hearing.lose_gateway(seconds)
            case "sandbox_lost":
                for bench in list(self.world.benches.running.values()):
                    self.world.benches.lose(bench, "out of memory")
            case "sandbox_unavailable":
                self.world.benches.unavailable_until = until
            case "provider_down":
                self.world.minds.down_until = until
            case _:
                self._in_discord(kind, until)

    def _in_discord(self, kind: str, until: float) -> None:
        guild, threads = self.world.guild, sorted(self.world.guild.threads)
        if kind == "rights_lost":
            guild.rights_gone_until = until
        elif kind == "discord_down":
            guild.down_until = until
        elif kind == "thread_archived" and threads:
            guild.archived.add(self.dice.choice(threads))
        elif kind == "message_deleted" and threads:
            mine = guild.of_bot(self.dice.choice(threads))
            if mine:
                guild.delete(self.dice.choice(mine[-3:]).id)
