"""Gateways and workers, each on a machine of its own: a home that nobody else sees, and a name that proves no death to others.

They share the table, the bucket and the queue of a local AWS, to which every request passes a proxy that breaks some.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from agentic.aws.aws_place import AwsPlace
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.stores.aws.store import AwsStore
from bot.local_discord.local_discord import LocalGuild
from deploy.aws_local.emulator import mini_stack
from deploy.aws_local.resources import environment, make_resources
from tests.aws.wire_faults import WireFaults
from tests.chaos.house import Ground
from tests.chaos.machines.wire_watch import WireWatch
from tests.chaos.mind import CALLS, Mind
from tests.chaos.nursery import Child, Nursery

Command = Literal["gateway", "worker"]
AWAY_SECONDS = (0.0, 3.0)
"""From a death to the next start in its place."""
HALF_DONE = ("discord.post.after", "tool.effect.after", "outbox.delivered.before")
"""Where workers die by themselves, one after the other: there alone a missing nonce or intent can be seen."""
PASSED = (2, 9)
"""Which passage of such a point is the last one."""
_APPENDED = re.compile(rf"echo (\S+) >> {re.escape(CALLS)}")


class LedgerMind(Mind):
    """Has each command leave its line in the home of its sandbox too, which no snapshot brings back or takes away."""

    def __call__(self, request: CapturedRequest) -> Reply:
        reply = super().__call__(request)
        calls = tuple(
            (tool, {**arguments, "command": _APPENDED.sub(rf"echo \1 | tee -a ~/{CALLS} >> {CALLS}", str(command))})
            if isinstance(arguments, dict) and (command := arguments.get("command"))
            else (tool, arguments)
            for tool, arguments in reply.calls
        )
        return replace(reply, calls=calls)


@dataclass
class Seat:
    """A place of the fleet in which one process lives after the other."""

    name: str
    command: Command
    machine: str
    child: Child
    frozen: bool = False
    lives: int = 1


@dataclass
class Fleet(Ground):
    """All of it; ``keep_up`` gives each seat a new process when the last one has died."""

    made: AwsPlace = field(kw_only=True)
    store: AwsStore = field(kw_only=True)
    """Looks into the table past what breaks requests."""
    wire: WireFaults = field(kw_only=True)
    watch: WireWatch = field(kw_only=True)
    seats: list[Seat] = field(default_factory=list[Seat])
    jobs: dict[int, str] = field(default_factory=dict[int, str])
    faults: Counter[str] = field(default_factory=Counter[str])
    kills: int = 0
    doomed: int = 0
    """So many workers that are born from now on die by themselves."""
    troubles: list[str] = field(default_factory=list[str])
    """The last words of processes that ended by themselves."""
    _machines: int = 0
    _fates: int = 0
    _keepers: list[asyncio.Task[None]] = field(default_factory=list["asyncio.Task[None]"])

    async def add(self, command: Command, luck: random.Random) -> None:
        """One more seat, with a process in it."""
        machine, name = self._new_machine(), f"{command}-{len(self.seats)}"
        seat = Seat(name, command, machine, await self._born(command, machine, f"{name}-0", luck))
        self.seats.append(seat)
        self._keepers.append(asyncio.create_task(self._keep_up(seat, luck), name=f"keeper of {name}"))

    def _new_machine(self) -> str:
        self._machines += 1
        return f"machine{self._machines}"

    async def _born(self, command: Command, machine: str, life: str, luck: random.Random) -> Child:
        home, failpoint = self.home / machine, ""
        home.mkdir(mode=0o700, exist_ok=True)
        if self.doomed and command == "worker":
            failpoint = f"{HALF_DONE[self._fates % len(HALF_DONE)]}:{luck.randint(*PASSED)}"
            self._fates += 1
            self.doomed -= 1
        env = self.environment(home, failpoint)
        return await self.nursery.start(env, home, self.home / f"{life}.log", command, machine)

    async def _keep_up(self, seat: Seat, luck: random.Random) -> None:
        while True:
            await seat.child.ended.wait()
            self._noted(seat)
            await asyncio.sleep(luck.uniform(*AWAY_SECONDS))
            if luck.random() < 0.5:  # as a service is replaced: with nothing of the old one's disk
                seat.machine = self._new_machine()
            seat.child = await self._born(seat.command, seat.machine, f"{seat.name}-{seat.lives}", luck)
            seat.lives += 1
            seat.frozen = False

    def _noted(self, seat: Seat) -> None:
        child = seat.child
        if child.was_killed:
            self.kills += 1
            at = child.killed_at.partition(".")[0]
            self.faults[f"{seat.command} killed {f'at {at}' if at else 'from outside'}"] += 1
        else:
            self.faults[f"{seat.command} ended by itself"] += 1
            self.troubles.append(f"{child.log.name}: {child.said[-600:]}")

    async def end(self) -> list[str]:
        """As an operator ends all of it; what did not end well."""
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        children = [seat.child for seat in self.seats]
        codes = await asyncio.gather(*(child.end() for child in children), return_exceptions=True)
        return [
            f"{child.log.name} ended with {code!r}" for child, code in zip(children, codes, strict=True) if code != 0
        ]

    async def waits(self) -> tuple[int, int, int]:
        """Open executions, threads with inbox items, and undelivered messages in the table."""
        store = self.store
        return (
            len(await store.open_executions()), len(await store.pending_threads()), len(await store.undelivered()),
        )  # fmt: skip

    def lines(self, thread: int) -> list[str]:
        """What the unkeyed calls of a thread left behind, on whichever machine."""
        job = self.jobs.get(thread, "")
        return [line for line in self.ledger() if line.partition(".")[0].partition("x")[0] == job]

    def ledger(self) -> list[str]:
        """What all calls left behind, on all machines."""
        files = sorted(self.home.glob(f"machine*/sandboxes/homes/*/{CALLS}"))
        return [line for file in files for line in file.read_text().splitlines()]


@asynccontextmanager
async def _closed(store: AwsStore) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        await store.close()


@asynccontextmanager
async def fleet(home: Path, nursery: Nursery, mind: Mind, **settings: str) -> AsyncGenerator[Fleet]:
    """A fleet without anybody in it, on a local AWS of its own; every process is over at its end."""
    with mini_stack() as endpoint:
        made = make_resources(endpoint)
        store, watch = AwsStore.open(made), WireWatch()
        async with (
            _closed(store),
            WireFaults(endpoint, heard=watch.heard) as wire,
            ScriptedEndpoint.start(mind, capture_requests=False) as models,
            await LocalGuild.start() as guild,
        ):
            there = environment(replace(made, endpoint=wire.address))
            place = Fleet(
                home,
                guild,
                models,
                mind,
                nursery,
                {**there, **settings},
                made=made,
                store=store,
                wire=wire,
                watch=watch,
            )
            try:
                yield place
            finally:
                await place.end()
