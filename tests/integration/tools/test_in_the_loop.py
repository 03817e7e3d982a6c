"""The standard toolbox under the real loop: a bug is fixed with evidence, and a stop is a stop."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from uuid import uuid4

from agentic.core.events.execution_events import (
    InboxItem,
    Person,
    Policy,
    Started,
    Tier,
    ToolFinished,
    ToolRef,
)
from agentic.core.events.ids import execution_id
from agentic.core.state.execution import Execution
from agentic.models.scripted.model import Script, ScriptedModel, answer
from agentic.runtime.clock import SystemClock
from agentic.runtime.loop import Loop
from agentic.stores.sqlite.store import SQLiteStore
from tests.scripts import Gate, running
from tests.stores import fresh_store
from tests.waiting import BOUND, promised

from .bench import Bench

THREAD = "100"
YOU = Person(id="7", name="you")
CHECK = "python3 -c 'import cart; assert cart.total([1, 2]) == 3'"


async def run(bench: Bench, script: Script, store: SQLiteStore, doorbell: asyncio.Event) -> Execution:
    lease = await store.acquire(THREAD, "me")
    assert lease is not None
    started = Started(
        thread=THREAD,
        task="Fix cart.py.",
        requester=YOU,
        policy=Policy(tiers=(Tier(number=2, models=("small",)),)),
        tools=tuple(ToolRef(name=spec.name, effect=spec.effect) for spec in bench.toolbox.specs),
        inbox="1",
    )
    loop = Loop(store, ScriptedModel(script), SystemClock())
    async with asyncio.timeout(BOUND):
        return await loop.run(lease, execution_id(THREAD, "1"), bench.toolbox, doorbell, started)


async def results(store: SQLiteStore) -> list[ToolFinished]:
    log = store.read(execution_id(THREAD, "1"))
    return [envelope.event async for envelope in log if isinstance(envelope.event, ToolFinished)]


async def test_a_bug_is_fixed_and_the_answer_is_proven_by_what_ran(bench: Bench) -> None:
    bench.put("cart.py", "def total(x):\n    return 0\n")
    store = fresh_store()
    script = [
        answer("I look.", ("shell", {"command": CHECK}), ("read", {"path": "cart.py"}), ("grep", {"pattern": "def"})),
        answer("I fix it.", ("edit", {"path": "cart.py", "old": "return 0", "new": "return sum(x)"})),
        answer("I check.", ("shell", {"command": CHECK, "expectation": "no error"})),
        answer("", ("finish", {"answer": "Fixed.", "claims": [{"text": "it adds", "command": CHECK}]})),
    ]
    execution = await run(bench, script, store, asyncio.Event())
    assert execution.finished is not None
    assert execution.finished.reason == "done"
    assert [claim.verdict for claim in execution.finished.claims] == ["proven"]
    assert [event.outcome for event in await results(store)] == ["failed", "ok", "ok", "ok", "ok", "ok"]
    assert "sum(x)" in (bench.workspace / "cart.py").read_text()


async def test_a_stop_during_a_command_ends_it_within_two_seconds(bench: Bench) -> None:
    store, doorbell = fresh_store(), asyncio.Event()
    token, gate = uuid4().hex, Gate(bench.workspace)
    endless = f"setsid sh -c 'trap \"\" TERM; cat gate; while sleep 600; do true; done' {token} & wait"
    script = [answer("", ("shell", {"command": endless}), ("write", {"path": "after.txt", "content": "x"}))]
    working = asyncio.create_task(run(bench, script, store, doorbell))
    await gate.open()
    await store.put(InboxItem(id="2", thread=THREAD, sort="stop", author=YOU, at=datetime.now(UTC)))
    doorbell.set()
    async with promised(2, "a stop"):
        execution = await working
    assert execution.finished is not None
    assert execution.finished.reason == "stopped"
    assert [event.outcome for event in await results(store)] == ["cancelled", "cancelled"]
    assert running(token) == []
    assert not (bench.workspace / "after.txt").exists()
