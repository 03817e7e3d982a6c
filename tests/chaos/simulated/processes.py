"""A simulated process: the real bot from what people do down to what is posted, on ports that can fail.

Real are the loop with its rules, sessions, threads, tenure, recovery, intake, translation, watermarks, outbox, board,
desk and the send scheduler; the guild, the store's disk, the models and the sandboxes are the simulation's.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from typing import Any, Literal

from agentic.core.events.execution_events import (
    Envelope,
    Evaluated,
    FeedbackGiven,
    FileRef,
    InboxItem,
    OutboxItem,
    Person,
    Policy,
    Started,
    Tier,
    Watcher,
)
from agentic.core.state.execution import Execution
from agentic.ports.children import Children
from agentic.ports.errors import AgenticError
from agentic.ports.runtime import Lease, SessionRow, Toolbox
from agentic.runtime.budget_ledger import NO_CAPS
from agentic.runtime.child_runs import ChildRegistry
from agentic.runtime.clock import SystemClock
from agentic.runtime.loop import Loop
from agentic.runtime.shutdown import Leaving
from bot.inbound.intake import Intake
from bot.outbound.compose import Composer
from bot.outbound.discord_api import DiscordApi
from bot.outbound.live.progress_messages import ProgressMessages
from bot.outbound.live.question_messages import QuestionMessages
from bot.outbound.live.thread_titles import ThreadTitles
from bot.outbound.outbox import Outbox
from bot.outbound.request_queue import Sender
from bot.progress.feed import Feed
from bot.rendering.secrets import Discretion
from bot.sessions.dependencies import Ground
from bot.sessions.slots import Courtesy, Slots
from bot.sessions.start import Beginning
from bot.threads.registry import Roster, Threads
from reflexion.evaluation.outcome_stream import owes_nothing
from reflexion.retrieval.selection import Choice
from tests.chaos.simulated.benches import Benches, ChildTools, Tools
from tests.chaos.simulated.client import Client
from tests.chaos.simulated.hearing import Hearing
from tests.chaos.simulated.keeping import Access, Truth
from tests.chaos.simulated.minds import Minds
from tests.chaos.simulated.place import Guild
from tests.chaos.simulated.town import CANARY, Town
from tests.chaos.simulated.virtual import Life, context_of, for_ever

POLICY = Policy(
    tiers=(Tier(number=2, models=("a/fast", "b/fast")), Tier(number=3, models=("a/big",))), max_usd=0.25, max_minutes=60
)
WATCHERS = (
    Watcher(name="drift", every=2),
    Watcher(name="acts", when="before action", may="veto", tools=("shell", "write")),
)


class World:
    """What outlives every process of a town."""

    def __init__(self, town: Town, folder: Path) -> None:
        self.town = town
        self.truth, self.guild = Truth(town, folder), Guild(town)
        self.benches, self.minds = Benches(town, self.truth.owner), Minds(town)
        self.recorded: dict[str, Execution] = {}
        """The state in which the loop left each execution."""

    def start(self, name: str) -> Process:
        """Another process on the same store."""
        process = Process(self, name)
        self.town.processes.append(process)
        return process


class Process:
    """One, from its start to its death."""

    policy, caps = POLICY, NO_CAPS

    def __init__(self, world: World, name: str) -> None:
        self.world, self.town, self.name = world, world.town, name
        self.life = Life()
        self.closing = False
        self.context = context_of(self.life)
        self.town.tell(f"{name} starts")
        self.access = self.way_to_store()
        for other in self.town.alive:
            self.access.down_until = max(self.access.down_until, other.access.down_until)
        self.context.run(self._build)
        self.begin(self._run(), "main")

    def begin(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """An asyncio task of this process."""
        return self.town.loop.create_task(work, name=f"{self.name} {name}", context=self.context.copy())

    async def cross(self, seam: str) -> None:
        """Cross from the process to the outside, or back; it may die just there."""
        if self.life.dead:
            await for_ever()
        if self.town.crash_in and self.town.crash_where in seam and not self.town.calm:
            self.town.crash_in -= 1
            if not self.town.crash_in:
                self.town.happened("crash_at_a_seam", f"{self.name} {seam}")
                self.kill()
                await for_ever()

    def kill(self) -> None:
        """As by SIGKILL."""
        self.town.tell(f"{self.name} is dead")
        self.life.dead = True
        self.life.held.clear()
        self.world.guild.ears.pop(self.name, None)
        self.world.truth.dead.add(self.name)
        within = self.town.dice("heartbeats").choice((0.02, 0.05, 0.2))
        self.town.disturb(within + 0.1)
        self.world.benches.owner_is_silent(self, within)

    def freeze(self) -> None:
        """As by SIGSTOP."""
        self.life.frozen = True
        self.town.disturb(3.2)
        self.world.benches.owner_is_silent(self, 3.0)

    def thaw(self) -> None:
        """As by SIGCONT; Discord has long ended its connection."""
        self.world.guild.ears.pop(self.name, None)
        self.town.loop.thaw(self.life)
        self.begin(self.hearing.connect(self.town.dice("gateway").uniform(2.0, 8.0)), "connection")

    async def terminate(self) -> None:
        """As by SIGTERM: end what runs, then go; what is said meanwhile is still heard, and kept for the next start."""
        self.closing = True
        end = self.begin(self.threads.close(), "end")
        while not end.done() and not self.life.dead:  # it may die while it ends, and then it ends no more
            await asyncio.wait((end,), timeout=0.5)
        if not self.life.dead:
            self.kill()

    # --- what it is made of -------------------------------------------------------------------------------------

    def _build(self) -> None:
        world, store = self.world, self.access
        clock = SystemClock(self.town.machine.wall, self.town.loop.time, self.town.loop.time)
        self.feed, roster = Feed(), Roster()
        self.feed.discretion = Discretion((CANARY,))

        async def tell(item: OutboxItem) -> None:
            await store.put_outbox([item])
            self.feed.outbox.set()

        learning = _Learning(store, clock)
        leaving = Leaving()
        children = ChildRegistry(store, clock, lambda model: model.partition("/")[0])
        loop = Loop(store, world.minds, clock, (self.feed, roster, children), "simulated", self.caps, leaving)
        ground = Ground(
            store=store, clock=clock, runner=_Watched(loop, world), workshop=self, learning=learning,
            slots=Slots(6), children=children, owner=self.name, tell=tell, courtesy=Courtesy(), missed=self._heard,
            leaving=leaving,
            begin=Beginning(store, _NoLessons(), self.policy, _no_files, tell, watchers=_looking_on),
        )  # fmt: skip
        self.threads = Threads(ground, roster, learning, _no_files)
        self.sender = Sender()
        self.desk = DiscordApi(self.way_to_discord(), self.sender, self.feed.discretion)
        self.intake = Intake(self.threads, self.desk, store, self.feed)
        self.board = ProgressMessages(store, self.desk, self.feed, now=clock.now)
        self.outbox = Outbox(
            store, self.desk, self.feed, self.board, Composer(store, self.feed, _no_file), ThreadTitles(store, self.desk)
        )  # fmt: skip
        self.hearing = Hearing(self)

    async def _heard(self, thread: str) -> None:
        await self.hearing.missed(thread)

    def way_to_store(self) -> Access:
        """Its way to what is kept."""
        return Access(self.world.truth, self.cross)

    def way_to_discord(self) -> Client:
        """Its way to the guild."""
        return Client(self.world.guild, self.cross)

    def toolbox(self, thread: str, children: Children | None = None) -> Toolbox:
        """The tools of a new agent."""
        return Tools(self, self.world.benches, thread, children)

    def child_toolbox(self, thread: str, name: str, reader: bool = False, place: str = "") -> Toolbox:
        """The tools of a child: the same sandbox."""
        return ChildTools(self, self.world.benches, thread)

    def copies(self, thread: str) -> None:
        """There are none here."""

    async def _run(self) -> None:
        await asyncio.sleep(self.town.dice("starts").uniform(0.2, 1.0))
        try:
            await self.threads.recover()
        except AgenticError as error:
            self.town.tell(f"{self.name} can't start: {error}")
            self.kill()
            return
        closing = QuestionMessages(self.access, self.desk, self.feed, partial(asyncio.sleep, 1.0))
        for part in (self.outbox, self.board, self.hearing.marks, closing):
            self.begin(part.run(), type(part).__name__)
        await self.hearing.connect(0.5)


class _Watched:
    """The loop, whose last state is kept for the judge."""

    def __init__(self, loop: Loop, world: World) -> None:
        self._loop, self._world = loop, world

    async def run(
        self, lease: Lease, execution: str, toolbox: Toolbox, doorbell: asyncio.Event, started: Started | None = None
    ) -> Execution:
        """Run it."""
        ended = await self._loop.run(lease, execution, toolbox, doorbell, started)
        self._world.recorded[execution] = ended
        return ended


class _Learning:
    """Scores everything alike; what is learned is not what is looked at here."""

    def __init__(self, store: Access, clock: SystemClock) -> None:
        self._store, self._clock = store, clock

    async def after(self, execution: str) -> Evaluated:
        """A score."""
        evaluated = Evaluated(score=50, parts={})
        await self._store.append_outcome(execution, [self._envelope(execution, evaluated)])
        await owes_nothing(self._store, execution, [each.event for each in await self._store.read_outcome(execution)])
        return evaluated

    async def known(self, thread: str) -> None:
        """Nothing is waited for."""

    async def feedback(
        self, execution: str, person: Person, vote: Literal["up", "down", "none"], target: str = "", why: str = ""
    ) -> Evaluated:
        """A vote."""
        given = FeedbackGiven(by=person, vote=vote, target=target)
        await self._store.append_outcome(execution, [self._envelope(execution, given)])
        return Evaluated(score=50, parts={})

    def _envelope(self, execution: str, event: Any) -> Envelope:
        return Envelope(execution=execution, seq=1, at=self._clock.now(), fence=0, event=event)


class _NoLessons:
    async def lessons_for(self, thread: str, guild: str, task: str, *, execution: str = "", model: str = "") -> Choice:
        """None."""
        return Choice()


async def _looking_on(row: SessionRow) -> tuple[Watcher, ...]:
    """In every second thread somebody looks on."""
    return WATCHERS if hashlib.sha256(row.thread.encode()).digest()[0] % 2 else ()


async def _no_files(item: InboxItem) -> tuple[FileRef, ...]:
    return ()


async def _no_file(thread: str, path: str) -> bytes | None:
    return None


def seeded(town: Town) -> None:
    """The product's own jitter follows the seed too."""
    random.seed(f"{town.seed}/{town.number}")
