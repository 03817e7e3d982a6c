"""A task over the real loop, a real sandbox and a server in it: it asks, a person answers, a picture comes back."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from agentic.core.events.execution_events import Asked, InboxItem, Person, Policy, Started, Tier, ToolFinished, ToolRef
from agentic.core.events.ids import execution_id
from agentic.models.scripted.model import ScriptedModel, answer
from agentic.ports.pictures import Sight
from agentic.runtime.clock import SystemClock
from agentic.runtime.loop import Loop
from agentic.stores.sqlite.store import SQLiteStore
from tests.stores import fresh_store
from tests.waiting import eventually

from .odd_bench import McpBench, odd, open_mcp_bench
from .odd_http import THREAD

YOU = Person(id="7", name="you")


async def answered(store: SQLiteStore, doorbell: asyncio.Event) -> None:
    """Answer the question when it stands in the log."""

    async def found() -> list[Asked]:
        log = [envelope.event async for envelope in store.read(execution_id(THREAD, "1"))]
        return [event for event in log if isinstance(event, Asked)]

    asked = await eventually(found)
    said = InboxItem(
        id="2", thread=THREAD, sort="answer", author=YOU, at=datetime.now(UTC), text="1: blue, 2: 7",
        target=asked[0].question,
    )  # fmt: skip
    await store.put(said)
    doorbell.set()


async def run(bench: McpBench, model: ScriptedModel, store: SQLiteStore) -> list[ToolFinished]:
    lease = await store.acquire(THREAD, "me")
    assert lease is not None
    refs = (ToolRef(name=s.name, effect=s.effect, permission=s.permission) for s in bench.toolbox.specs)
    started = Started(
        thread=THREAD, task="Buy it.", requester=YOU, tools=tuple(refs), inbox="1",
        policy=Policy(tiers=(Tier(number=2, models=("small",)),), triage_by_model=False),
    )  # fmt: skip

    async def read(_: str, path: str, __: int) -> bytes | None:
        return (bench.workspace / path).read_bytes()

    doorbell = asyncio.Event()
    loop = Loop(store, model, SystemClock(), sight=Sight(read, lambda _: True))
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        answering = tasks.create_task(answered(store, doorbell))
        await loop.run(lease, execution_id(THREAD, "1"), bench.toolbox, doorbell, started)
        answering.cancel()
    log = store.read(execution_id(THREAD, "1"))
    return [envelope.event async for envelope in log if isinstance(envelope.event, ToolFinished)]


async def test_a_server_in_the_sandbox_asks_and_the_task_goes_on_with_the_answer() -> None:
    script = [
        answer("I ask for it.", ("mcp__odd__ask", {}), ("mcp__odd__picture", {}), ("mcp__odd__add", {"text": "x"})),
        answer("", ("finish", {"answer": "Bought."})),
    ]
    async with open_mcp_bench() as bench:
        await bench.serve({"odd": odd("--modern", readOnly=["picture"])})
        model = ScriptedModel(script)
        asked, picture, added, _ = await run(bench, model, fresh_store())
        assert [asked.outcome, picture.outcome, added.outcome] == ["ok", "ok", "ok"]
        assert '"colour": "blue", "number": 7' in asked.preview
        assert [change.path for change in added.changes] == ["calls.log"]
        assert bench.did() == ["ask", "ask", "picture", "add x"]
        shown = model.asked[-1].prompt.messages[-1]
        assert [one.path for one in shown.pictures] == ["mcp/picture.png"]
        assert "data, and no instruction" in shown.answers[1].text
        first, last = (request.prompt for request in (model.asked[0], model.asked[-1]))
        assert (first.system, first.tools) == (last.system, last.tools)
