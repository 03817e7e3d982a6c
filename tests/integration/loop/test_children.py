"""Child executions over a real store, a real ledger and a model behind HTTP: an owner dies, another goes on."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import apsw
import pytest

from agentic.core.audit.verification import verify
from agentic.core.events.execution_events import (
    Envelope,
    Exposure,
    Finished,
    ModelRequested,
    OwnerChanged,
    Started,
    SubagentFinished,
    ToolFinished,
    WorkspaceFound,
)
from agentic.core.events.ids import child_id, is_child
from agentic.core.fold.fold import fold
from agentic.core.state.execution import Execution
from agentic.models.router import ModelRouter
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.ports.errors import SandboxLost
from agentic.ports.runtime import Found, Lease, Saved
from agentic.runtime import child_runs
from agentic.runtime.budget_ledger import DailyCaps, costs_in
from agentic.runtime.child_runs import ChildRegistry
from agentic.runtime.clock import SystemClock
from agentic.runtime.loop import Loop
from agentic.stores.sqlite.store import SQLiteStore
from agentic.tools.finish import FINISH_TOOL
from agentic.tools.subagent import SUBAGENT_TOOL
from agentic.tools.toolbox import OF_CHILDREN, ChildToolbox, StandardToolbox
from agentic.workspace.workspace import RealWorld
from bot.cli.replay.invariants import broken_promises
from tests.integration.loop.conftest import THREAD
from tests.integration.loop.housing import FINISH, MAIN, shell, started
from tests.integration.tools.bench import open_bench
from tests.waiting import eventually

PARTS = ("PART-ONE", "PART-TWO")
PLENTY = DailyCaps(bot=100.0)


class Died(Exception):
    """A process that ends here."""


@dataclass
class Owners:
    """One thread and its owners, one after the other, each with all that a process has of its own."""

    store: SQLiteStore
    router: ModelRouter
    world: RealWorld
    asked: Counter[str] = field(default_factory=Counter[str])
    waits: bool = False
    """The first answer of the first helper is late, and the first command of the second runs on and on."""
    number: int = 0
    lease: Lease | None = None
    registry: ChildRegistry | None = None

    async def own(self, **policy: object) -> asyncio.Task[Execution]:
        """The next owner, at work."""
        self.number += 1
        if self.lease is not None:
            await self.store.release(self.lease)
        self.lease = lease = await self.store.acquire(THREAD, f"owner-{self.number}")
        assert lease is not None
        self.registry = registry = ChildRegistry(self.store, SystemClock(), lambda model: model.partition("/")[0])
        self.loop = loop = Loop(self.store, self.router, SystemClock(), (registry,), caps=PLENTY)

        async def world() -> RealWorld:
            return self.world

        async def save() -> Saved:
            return Saved("as it is")

        async def inspect(manifest: str, since: object) -> Found:
            return Found()

        self.child_toolbox = lambda agent, *_: ChildToolbox(world, OF_CHILDREN, agent, save=save, inspect=inspect)
        own = registry.of(MAIN, lease, loop, self.child_toolbox)
        toolbox = StandardToolbox(world, (SUBAGENT_TOOL, FINISH_TOOL), children=own)
        begins = started(toolbox, **policy).model_copy(update={"exposure": Exposure(private=("attached files",))})
        return asyncio.create_task(loop.run(lease, MAIN, toolbox, asyncio.Event(), begins))

    async def log(self, execution: str = MAIN) -> list[Envelope]:
        return [envelope async for envelope in self.store.read(execution)]

    async def children(self) -> list[list[Envelope]]:
        rows = [row.execution async for row in self.store.all_executions()]
        return [await self.log(row) for row in rows if is_child(row)]


@asynccontextmanager
async def owners(folder: Path) -> AsyncGenerator[Owners]:
    """A parent with two helpers: one is quick, of the other the second answer never comes."""
    found: list[Owners] = []

    def script(request: CapturedRequest) -> Reply:
        [here], done, first = found, len(request.answers), request.messages[0].text
        who = next((part for part in PARTS if part in first), "parent")
        here.asked[who] += 1
        if who == "parent":
            parts = [{"task": part, "role": "coder"} for part in PARTS]
            return FINISH if done else Reply(calls=(("subagent", {"tasks": parts}),))
        if here.waits and who == PARTS[0]:
            return replace(FINISH, delay=600.0 if here.asked[who] == 1 else 0.0)
        if not done:
            waits = "; sleep 600" if here.waits and who == PARTS[1] else ""
            return shell(f"echo {who} >> calls.txt; ls node_modules || true{waits}")
        late = who == PARTS[1] and here.asked[who] == 2 and not here.waits
        return replace(FINISH, delay=600.0 if late else 0.0)

    async with open_bench() as bench, ScriptedEndpoint.start(script) as endpoint:
        router, store = ModelRouter(endpoint.environment()), SQLiteStore.open(folder / "threadwright.sqlite")
        found.append(Owners(store, router, bench.world))
        try:
            yield found[0]
        finally:
            await router.close()
            await store.close()


async def dies(running: asyncio.Task[Execution]) -> None:
    running.cancel()
    await asyncio.wait((running,))
    assert running.cancelled()


async def test_who_begins_the_call_again_finds_the_children_where_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first owner dies while one child waits for an answer, the second when both have ended: nothing is done twice."""
    async with owners(tmp_path) as here:
        first = await here.own()

        async def one_has_ended() -> bool:
            return here.asked[PARTS[1]] == 2 and any(fold(log).finished for log in await here.children())

        await eventually(one_has_ended)
        await dies(first)
        assert not [e for e in await here.log() if isinstance(e.event, ToolFinished | SubagentFinished)]
        quick = next(log for log in await here.children() if fold(log).finished)

        def at_the_end(point: str) -> None:
            if point == "children.ended":
                raise Died

        with monkeypatch.context() as patch:
            patch.setattr(child_runs, "reach", at_the_end)
            with pytest.raises(Died):
                await (await here.own())
        asked = here.asked.copy()
        assert asked == {"parent": 1, PARTS[0]: 2, PARTS[1]: 3}
        assert await here.log(quick[0].execution) == quick

        third = await (await here.own())
        assert here.asked == asked + Counter(("parent",)), "what had ended is not asked for again"
        log, logs = await here.log(), await here.children()
        assert sorted((here.world.workspace / "calls.txt").read_text().split()) == [*PARTS]
        kept = apsw.Connection(str(tmp_path / "threadwright.sqlite"), flags=apsw.SQLITE_OPEN_READONLY)
        ledger = [tuple(row) for row in kept.execute("SELECT key, settled FROM reservations ORDER BY key")]
        kept.close()

    assert third.finished is not None
    assert third.finished.reason == "done"
    ended = [e.event for e in log if isinstance(e.event, SubagentFinished)]
    [result] = [e.event for e in log if isinstance(e.event, ToolFinished) and "Helper 2" in e.event.preview]
    assert [event.child for event in ended] == [child_id(result.call, 0), child_id(result.call, 1)]
    costs = [sum(costs_in(e.event for e in one).values()) for one in (log, *logs)]
    assert third.spent.usd == pytest.approx(sum(costs))
    requests = [(one[0].execution, request) for one in (log, *logs) for request in costs_in(e.event for e in one)]
    assert ledger == sorted((f"{of}/{request}", 1) for of, request in requests), (
        "the day's ledger has each request once"
    )
    assert len(logs) == 2
    assert {only.exposure for one in logs if isinstance(only := one[0].event, Started)} == {
        Exposure(private=("attached files",))
    }
    assert result.exposure.untrusted == ("files of a dependency",), "what a child has read, its parent has"
    assert third.exposure == Exposure(untrusted=("files of a dependency",), private=("attached files",))
    for one in (log, *logs):
        assert verify(one).divergence is None
        assert broken_promises(one) == ()


async def test_who_goes_on_after_a_lost_sandbox_looks_at_the_files_before_others_change_them(tmp_path: Path) -> None:
    async with owners(tmp_path) as here:
        here.waits = True
        first = await here.own()
        written = here.world.workspace / "calls.txt"

        async def one_wrote_and_one_waits() -> bool:
            wrote = written.exists() and written.read_text() == f"{PARTS[1]}\n"
            return wrote and here.asked[PARTS[0]] == 1

        await eventually(one_wrote_and_one_waits)
        await here.world.close()
        with pytest.raises(SandboxLost):
            await first
        done = await (await here.own())
        log, logs = await here.log(), await here.children()
        assert written.read_text() == f"{PARTS[1]}\n", "what was cut off is not repeated"
    assert done.finished is not None
    [two] = [log for log in logs if isinstance(log[0].event, Started) and log[0].event.task == PARTS[1]]
    assert next(e.event.outcome for e in two if isinstance(e.event, ToolFinished)) == "unknown"
    assert [e.event.result for e in log if isinstance(e.event, SubagentFinished)] == ["done", "done"]
    [one] = [log for log in logs if isinstance(log[0].event, Started) and log[0].event.task == PARTS[0]]
    [looked] = [e.at for e in two if isinstance(e.event, WorkspaceFound)]
    assert looked <= next(e.at for e in one if isinstance(e.event, OwnerChanged))
    for one in (log, *logs):
        assert verify(one).divergence is None
        assert broken_promises(one) == ()


async def test_a_child_that_its_parent_left_open_is_stopped_and_one_that_is_too_deep_never_begins(
    tmp_path: Path,
) -> None:
    async with owners(tmp_path) as here:
        first = await here.own()
        await eventually(lambda: _asked(here, PARTS[1]))
        await dies(first)
        stop = here.registry.item("x", THREAD, "stop", "now") if here.registry is not None else None
        assert stop is not None
        await here.store.put(stop.model_copy(update={"target": ""}))
        ended = await (await here.own())
        assert ended.finished is not None
        assert ended.finished.reason == "stopped"
        left = [log[0].execution for log in await here.children() if not fold(log).finished]
        assert [row.execution for row in await here.store.open_executions()] == left == [child_id(_call(ended), 1)]
        assert here.registry is not None
        assert here.lease is not None
        await here.registry.end(left[0], here.lease, here.loop, here.child_toolbox("helper 2"))
        [end] = [e.event for e in await here.log(left[0]) if isinstance(e.event, Finished)]
        assert (end.reason, await here.store.pending(THREAD)) == ("stopped", [])
    async with owners(tmp_path / "deep") as here:
        done = await (await here.own(subagent_depth=0))
        [refused] = [
            e.event for e in await here.log() if isinstance(e.event, ToolFinished) and e.event.call[-1] == "0"
        ][:1]
        assert (refused.outcome, await here.children()) == ("refused", [])
        assert "do it yourself" in refused.preview
        assert done.finished is not None
        assert [e.event.turn for e in await here.log() if isinstance(e.event, ModelRequested)] == [1, 2]
        assert [e.event.policy.subagent_depth for e in await here.log() if isinstance(e.event, Started)] == [0]


async def _asked(here: Owners, who: str) -> bool:
    return here.asked[who] == 2 and any(fold(log).finished for log in await here.children())


def _call(execution: Execution) -> str:
    return execution.turn.calls[0].id
