"""A thread over a real store, with a model behind HTTP, for tests of what people do to an execution."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from pydantic import JsonValue

from agentic.core.events.execution_events import (
    Finished,
    InboxItem,
    Person,
    Policy,
    Sort,
    Started,
    Tier,
    ToolRef,
)
from agentic.core.events.ids import execution_id
from agentic.core.state.execution import Execution
from agentic.models.router import ModelRouter
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.ports.runtime import Lease, Toolbox
from agentic.runtime.clock import SystemClock
from agentic.runtime.loop import Loop
from agentic.stores.sqlite.store import SQLiteStore
from tests.integration.loop.conftest import THREAD, YOU
from tests.integration.tools.bench import open_bench
from tests.waiting import eventually

BOSS = Person(id="8", name="boss", level="operator")
FINISH = Reply(calls=(("finish", {"answer": "It is done."}),))
MAIN = execution_id(THREAD, "1")
SIDE = execution_id(THREAD, "2")
E = TypeVar("E")
SECONDS = 120.0
"""How long something may take here: the first request of a process loads the model library."""


@dataclass
class House:
    """One thread over a real store and a real connection to a scripted model."""

    store: SQLiteStore
    loop: Loop
    endpoint: ScriptedEndpoint
    lease: Lease
    doorbell: asyncio.Event = field(default_factory=asyncio.Event)
    said: int = 100

    def start(self, toolbox: Toolbox, **policy: object) -> asyncio.Task[Execution]:
        return asyncio.create_task(self.loop.run(self.lease, MAIN, toolbox, self.doorbell, started(toolbox, **policy)))

    async def say(self, sort: Sort, text: str = "", target: str = "", by: Person = YOU, message: str = "") -> None:
        self.said += 1
        await self.store.put(
            InboxItem(
                id=str(self.said),
                thread=THREAD,
                sort=sort,
                author=by,
                at=datetime.now(UTC),
                text=text,
                target=target,
                message=message,
            )
        )
        self.doorbell.set()

    async def events(self, shape: type[E], execution: str = MAIN) -> list[E]:
        found = [envelope.event async for envelope in self.store.read(execution)]
        return [event for event in found if isinstance(event, shape)]

    async def first(self, shape: type[E], count: int = 1) -> E:
        """The event of this shape, the ``count``-th, as soon as it is durable."""

        async def found() -> list[E]:
            return (await self.events(shape))[count - 1 :]

        return (await eventually(found, f"{shape.__name__}, number {count}", seconds=SECONDS))[0]

    async def ends(self, running: asyncio.Task[Execution]) -> Finished:
        async with asyncio.timeout(SECONDS):
            ended = await running
        assert ended.finished is not None
        return ended.finished


def started(toolbox: Toolbox, side: bool = False, /, **policy: object) -> Started:
    return Started(
        thread=THREAD,
        task="What are you doing?" if side else "Do the work.",
        requester=YOU,
        policy=Policy.model_validate({"tiers": (Tier(number=2, models=("openai/gpt-4o-mini",)),), **policy}),
        tools=tuple(
            ToolRef(name=s.name, effect=s.effect, permission=s.permission, cognitive=s.cognitive) for s in toolbox.specs
        ),
        inbox="2" if side else "1",
        side=side,
        parent=MAIN if side else "",
    )


HouseOf = Callable[..., Awaitable[House]]


@asynccontextmanager
async def houses(folder: Path) -> AsyncGenerator[HouseOf]:
    """Makes houses, and ends all that belongs to them."""
    ends: list[Callable[[], Awaitable[None]]] = []

    async def made(*replies: Reply) -> House:
        def script(request: CapturedRequest) -> Reply:
            if "side question" in request.text() or "on the side" in request.text():
                return Reply(text="I run the tests.")
            return replies[min(request.number, len(replies)) - 1]

        context = ScriptedEndpoint.start(script)
        endpoint = await context.__aenter__()
        router = ModelRouter(endpoint.environment())
        store = SQLiteStore.open(folder / "threadwright.sqlite")

        async def end() -> None:
            await router.close()
            await store.close()
            await context.__aexit__(None, None, None)

        ends.append(end)
        lease = await store.acquire(THREAD, "me")
        assert lease is not None
        return House(store, Loop(store, router, SystemClock()), endpoint, lease)

    yield made
    for end in ends:
        await end()


@asynccontextmanager
async def workspace() -> AsyncGenerator[tuple[Toolbox, Path]]:
    async with open_bench() as bench:
        kept = bench.put("src/app.py", "x = 1\n")
        yield bench.toolbox, kept


def shell(command: str, **more: JsonValue) -> Reply:
    return Reply(calls=(("shell", {"command": command, **more}),))


async def next_owner(house: House) -> Lease:
    await house.store.release(house.lease)
    lease = await house.store.acquire(THREAD, "another")
    assert lease is not None
    return lease
