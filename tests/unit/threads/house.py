"""A whole house without Discord and without a sandbox: real threads, loop, stores and judgement, a scripted model."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue

from agentic.core.events.execution_events import (
    Envelope,
    FileChange,
    FileRef,
    InboxItem,
    OutboxItem,
    Person,
    Policy,
    Sort,
    Tier,
    ToolStarted,
)
from agentic.doorbells.doorbell import Doorbell
from agentic.models.scripted.model import Script, ScriptedModel
from agentic.ports.runtime import (
    Clock,
    FinishTool,
    Found,
    Observation,
    Perception,
    Prepared,
    Preview,
    Question,
    Refused,
    Saved,
    Store,
    ToolSpec,
)
from agentic.runtime.clock import SystemClock
from agentic.runtime.loop import Loop
from agentic.runtime.shutdown import Leaving
from bot.sessions.dependencies import Acts, Ground
from bot.sessions.slots import Slots
from bot.sessions.start import Beginning, Receive
from bot.threads.registry import Roster, Threads
from reflexion.service import Reflexion
from tests.stores import passing_lessons, passing_store
from tests.waiting import BOUND, eventually

NUMBERS = itertools.count(1)
"""Ids that no two messages share, whichever house they were said in."""
ANN = Person(id="7", name="Ann")
POLICY = Policy(tiers=(Tier(number=2, models=("scripted/one",)),), retry_base_seconds=0.01)


class Bench:
    """A toolbox of three tools: ``work`` runs what the test gave it, ``ask`` asks a person, ``finish`` is done."""

    def __init__(self, work: Callable[[], object] | None = None) -> None:
        self.work = work
        self.began = asyncio.Event()
        self.ended = asyncio.Event()
        self.hold: asyncio.Event | None = None
        self.settled = 0

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        schema: dict[str, JsonValue] = {"type": "object"}
        return tuple(
            ToolSpec(name, name, schema, effect="unkeyed", permission="execute") for name in ("work", "ask", "finish")
        )

    def prepare(
        self, tool: str, arguments: dict[str, JsonValue], created: frozenset[str] = frozenset()
    ) -> Prepared | Refused:
        return Prepared(arguments, "sha", "unkeyed")

    async def run(self, tool: str, call: str, prepared: Prepared, on_output: Callable[[str], None]) -> Observation:
        if tool == "ask":
            return Observation("ok", "", question=Question("which one?", ("this", "that")))
        if tool == "finish":
            return Observation("ok", "finished", completion=FinishTool(str(prepared.arguments.get("answer", "done"))))
        self.began.set()
        try:
            if self.work is not None:
                self.work()
            if self.hold is not None:
                await self.hold.wait()
        finally:
            self.ended.set()
        return Observation("ok", "worked", exit_code=0)

    @property
    def diary(self) -> str:
        return ""

    async def recall(self, intent: ToolStarted, created: frozenset[str] = frozenset()) -> None:
        return None

    async def preview(self, tool: str, prepared: Prepared) -> Preview | Refused:
        return Preview()

    async def state_of(self, tool: str, arguments: dict[str, JsonValue]) -> str:
        return ""

    async def checkpoint(self) -> Saved:
        return Saved("before")

    async def inspect(self, manifest: str, since: tuple[FileChange, ...]) -> Found:
        return Found()

    async def perceive(self) -> Perception:
        return Perception()

    restoring: int | None = None

    async def settle(self) -> None:
        self.settled += 1


@dataclass
class House:
    """What a test drives and looks at."""

    store: Store
    model: ScriptedModel
    bench: Bench
    threads: Threads
    slots: Slots
    roster: Roster

    async def say(
        self, text: str, thread: str = "100", sort: Sort = "task", target: str = "", *, unspoken: bool = False
    ) -> InboxItem:
        number = next(NUMBERS)
        item = InboxItem(
            id=f"{thread}{number:05}",
            thread=thread,
            sort=sort,
            author=ANN,
            at=SystemClock().now(),
            text=text,
            target=target,
            unspoken=unspoken,
        )
        await self.threads.deliver(item, guild="1")
        return item

    async def crash(self, thread: str) -> None:
        """What runs there ends as if the process had died: without a word in its log."""
        task = self.roster.sessions[thread].task
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))

    async def log(self, thread: str = "100", which: int = -1) -> list[Envelope]:
        rows = await self.store.executions(thread)
        return [envelope async for envelope in self.store.read(rows[which].execution)]

    async def reasons(self, thread: str = "100") -> list[str]:
        return [row.finished for row in await self.store.executions(thread)]

    async def texts(self, thread: str = "100") -> list[str]:
        return [row.item.text for row in await self.store.undelivered(thread)]

    async def told(self, words: str, thread: str = "100") -> str:
        """Wait for a text with these words; the text."""

        async def found() -> str:
            return next((text for text in await self.texts(thread) if words in text), "")

        return await eventually(found, f"“{words}” is said")

    async def becomes(self, *reasons: str, thread: str = "100") -> None:
        """Wait until the executions have these ends; '' is one that has not ended."""

        async def are() -> bool:
            return await self.reasons(thread) == [*reasons]

        await eventually(are, f"the executions become {reasons}")

    async def outcome(self, execution: str, kind: str) -> None:
        """Wait until an event of a kind stands in what came of an execution."""

        async def stands() -> bool:
            return kind in [e.event.kind for e in await self.store.read_outcome(execution)]

        await eventually(stands, f"{kind} stands in the outcome")

    async def emptied(self, thread: str = "100") -> None:
        """Wait until nothing lies in the inbox."""

        async def empty() -> bool:
            return not await self.store.pending(thread)

        await eventually(empty, "the inbox is empty")


@asynccontextmanager
async def house(
    script: Script,
    *,
    store: Store | None = None,
    bench: Bench | None = None,
    limit: int = 4,
    policy: Policy = POLICY,
    toolbox: Callable[[str], Bench] | None = None,
    receive: Receive | None = None,
    acts: Acts | None = None,
    clock: Clock | None = None,
    owner: str = "this",
    works: bool = True,
    doorbell: Doorbell | None = None,
    lease_lost: Callable[[], None] = lambda: None,
    discord_now: Callable[[], datetime | None] = lambda: None,
) -> AsyncGenerator[House]:
    """Everything that stands behind ``Conversation``; closed in order at the end, and given up after a minute."""
    stack = AsyncExitStack()
    kept = store or await stack.enter_async_context(passing_store())
    model, tools, clock, slots = ScriptedModel(script), bench or Bench(), clock or SystemClock(), Slots(limit)
    reflexion = Reflexion(kept, await stack.enter_async_context(passing_lessons()), model, clock)

    class OneBench:
        def toolbox(self, thread: str) -> Bench:
            return toolbox(thread) if toolbox else tools

    async def tell(item: OutboxItem) -> None:
        await kept.put_outbox([item])

    async def as_they_are(item: InboxItem) -> tuple[FileRef, ...]:
        return item.files

    receive = receive or as_they_are

    roster, leaving = Roster(), Leaving()
    ground = Ground(
        store=kept,
        clock=clock,
        runner=Loop(kept, model, clock, (roster,), leaving=leaving),
        leaving=leaving,
        workshop=OneBench(),
        learning=reflexion,
        slots=slots,
        owner=owner,
        begin=Beginning(kept, reflexion, policy, receive, tell),
        tell=tell,
        acts=acts,
        works=works,
        doorbell=doorbell,
        lease_lost=lease_lost,
    )
    threads = Threads(ground, roster, reflexion, receive, discord_now)
    built = House(kept, model, tools, threads, slots, roster)
    try:
        async with asyncio.timeout(BOUND):
            yield built
    finally:
        await threads.close()
        await stack.aclose()
