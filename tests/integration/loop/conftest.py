"""A loop with real parts: store, scripted model, and tools that run in this process."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import JsonValue

from agentic.core.events.execution_events import (
    FileChange,
    InboxItem,
    Person,
    Policy,
    Sort,
    Started,
    Tier,
    ToolRef,
    ToolStarted,
)
from agentic.core.events.ids import execution_id
from agentic.core.state.conversation import ToolSpec
from agentic.core.state.execution import Execution
from agentic.models.scripted.model import Script, ScriptedModel
from agentic.ports.runtime import (
    FinishTool,
    Found,
    Lease,
    Observation,
    Perception,
    Prepared,
    Preview,
    Question,
    Refused,
    Saved,
)
from agentic.runtime.clock import SystemClock
from agentic.runtime.loop import Loop
from agentic.stores.sqlite.store import SQLiteStore
from tests.stores import fresh_store
from tests.waiting import BOUND

YOU = Person(id="7", name="you")
THREAD = "100"


NAMED: dict[str, JsonValue] = {"type": "object", "properties": {"name": {"type": "string"}}}


@dataclass
class Bench:
    """A small toolbox that records what really ran, and when.

    A look or act with ``until`` ends once the gate of that name is open: ``bench.gates[name].set()``.
    """

    ran: list[str] = field(default_factory=list)
    running: int = 0
    most_at_once: int = 0
    settled: int = 0
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    """The first look or act has begun."""
    gates: defaultdict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))
    perception: Perception = field(default_factory=Perception)

    specs: tuple[ToolSpec, ...] = (
        ToolSpec("look", "Look at something.", NAMED, "read", "read"),
        ToolSpec("act", "Act on something.", NAMED, "unkeyed", "execute"),
        ToolSpec("ask_user", "Ask.", {"type": "object"}, "unkeyed", "read", cognitive=True),
        ToolSpec("finish", "Finish.", {"type": "object"}, "unkeyed", "read", cognitive=True),
    )

    def prepare(
        self, tool: str, arguments: dict[str, JsonValue], created: frozenset[str] = frozenset()
    ) -> Prepared | Refused:
        if "wrong" in arguments:
            return Refused("wrong is no argument of this tool")
        effect = next(spec.effect for spec in self.specs if spec.name == tool)
        return Prepared(arguments, args_sha="sha", effect=effect)

    async def under_way(self) -> None:
        """Wait until the first look or act has begun."""
        await asyncio.wait_for(self.begun.wait(), BOUND)

    async def run(self, tool: str, call: str, prepared: Prepared, on_output: Callable[[str], None]) -> Observation:
        if tool == "ask_user":
            return Observation("ok", "", question=Question("Which one?", ("A", "B")))
        if tool == "finish":
            return Observation("ok", "Finished.", completion=FinishTool("done"))
        self.running += 1
        self.begun.set()
        self.most_at_once = max(self.most_at_once, self.running)
        try:
            await asyncio.sleep(0)
            if gate := prepared.arguments.get("until"):
                await self.gates[str(gate)].wait()
        finally:
            self.running -= 1
        name = str(prepared.arguments.get("name", ""))
        self.ran.append(name)
        if prepared.arguments.get("fails"):
            return Observation("failed", f"{name} failed", exit_code=1, error="it broke")
        return Observation("ok", f"{name} seen")

    diary: str = ""

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
        return self.perception

    restoring: int | None = None

    async def settle(self) -> None:
        self.settled += 1


@dataclass
class Stage:
    """One thread, ready to run."""

    store: SQLiteStore
    model: ScriptedModel
    toolbox: Bench
    doorbell: asyncio.Event
    lease: Lease
    loop: Loop
    said: int = 0

    async def run(self, task: str = "Do the work.", **policy: object) -> Execution:
        started = Started(
            thread=THREAD,
            task=task,
            requester=YOU,
            policy=Policy.model_validate({"tiers": (Tier(number=2, models=("small",)),), **policy}),
            tools=tuple(
                ToolRef(name=s.name, effect=s.effect, permission=s.permission, cognitive=s.cognitive)
                for s in self.toolbox.specs
            ),
            inbox="1",
        )
        async with asyncio.timeout(BOUND):
            return await self.loop.run(self.lease, execution_id(THREAD, "1"), self.toolbox, self.doorbell, started)

    def item(self, sort: Sort, text: str = "", target: str = "") -> InboxItem:
        self.said += 1
        at = datetime.now(UTC)
        return InboxItem(id=f"10{self.said}", thread=THREAD, sort=sort, author=YOU, at=at, text=text, target=target)

    async def say(self, sort: Sort, text: str = "", target: str = "") -> None:
        await self.store.put(self.item(sort, text, target))
        self.doorbell.set()

    async def events(self, kind: str) -> list[object]:
        name = execution_id(THREAD, "1")
        return [envelope.event async for envelope in self.store.read(name) if envelope.event.kind == kind]


@pytest.fixture
def stage_of() -> Callable[[Script], Stage]:
    def made(script: Script) -> Stage:
        store = fresh_store()
        model = ScriptedModel(script)
        clock = SystemClock()
        return Stage(store, model, Bench(), asyncio.Event(), Lease(THREAD, "me", 0), Loop(store, model, clock))

    return made


@pytest.fixture
async def house_of(tmp_path: Path) -> AsyncIterator[object]:
    from tests.integration.loop.housing import houses

    async with houses(tmp_path) as made:
        yield made
