"""Agents that share a workspace, as their models read it: who changed what, and whose write counts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from agentic.core.audit.verification import verify
from agentic.core.events.execution_events import Envelope, Perceived, StaleFile, ToolFinished
from agentic.core.events.ids import is_child
from agentic.models.router import ModelRouter
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.ports.runtime import Found, Saved
from agentic.runtime.child_runs import ChildRegistry
from agentic.runtime.clock import SystemClock
from agentic.runtime.loop import Loop
from agentic.stores.sqlite.store import SQLiteStore
from agentic.tools.files.edit import EDIT_TOOL
from agentic.tools.files.read import READ_TOOL
from agentic.tools.finish import FINISH_TOOL
from agentic.tools.subagent import SUBAGENT_TOOL
from agentic.tools.toolbox import OF_CHILDREN, ChildToolbox, StandardToolbox
from agentic.workspace.workspace import RealWorld
from bot.progress.model import Progress
from bot.progress.text import progress_text
from tests.integration.loop.conftest import THREAD
from tests.integration.loop.housing import FINISH, MAIN, SECONDS, shell, started
from tests.integration.tools.bench import open_bench

ONE, TWO = "PART-ONE", "PART-TWO"
CART = "rate = 1\nname = 'cart'\ntotal = 2\n"


@dataclass
class Scene:
    """A parent and two helpers, which have both read a file before either of them writes to it."""

    read_by: set[str] = field(default_factory=set[str])
    both: asyncio.Event = field(default_factory=asyncio.Event)
    requests: dict[str, list[CapturedRequest]] = field(default_factory=dict[str, list[CapturedRequest]])

    async def script(self, request: CapturedRequest) -> Reply:
        who = next((part for part in (ONE, TWO) if part in request.messages[0].text), "parent")
        self.requests.setdefault(who, []).append(request)
        turn = len(self.requests[who])
        return self.parent(turn) if who == "parent" else await self.helper(who, turn, request)

    def parent(self, turn: int) -> Reply:
        if turn == 1:
            return Reply(calls=(("read", {"path": "cart.py"}), ("read", {"path": "notes.txt"})))
        if turn == 2:
            return Reply(calls=(("subagent", {"tasks": [{"task": part, "role": "coder"} for part in (ONE, TWO)]}),))
        return _edit("name = 'cart'", "name = 'basket'") if turn == 3 else FINISH

    async def helper(self, who: str, turn: int, request: CapturedRequest) -> Reply:
        if turn == 1:
            return Reply(calls=(("read", {"path": "cart.py"}),))
        if turn == 2:
            self.read_by.add(who)
            if len(self.read_by) == 2:
                self.both.set()
            async with asyncio.timeout(SECONDS):
                await self.both.wait()
            return _own_edit(who)
        if "nothing was written" in request.answers[-1].text:
            return _own_edit(who)
        return FINISH if "notes.txt" in request.text() else shell(f"echo {who} > notes.txt")


def _edit(old: str, new: str) -> Reply:
    return Reply(calls=(("edit", {"path": "cart.py", "old": old, "new": new}),))


def _own_edit(who: str) -> Reply:
    return _edit("rate = 1", "rate = 10") if who == ONE else _edit("total = 2", "total = 20")


async def _ran(scene: Scene, folder: Path, world: RealWorld) -> dict[str, list[Envelope]]:
    """The logs of the parent and its helpers, by the id of each."""
    async with ScriptedEndpoint.start(scene.script) as endpoint:
        router, store = ModelRouter(endpoint.environment()), SQLiteStore.open(folder / "threadwright.sqlite")
        try:
            lease = await store.acquire(THREAD, "me")
            assert lease is not None
            registry = ChildRegistry(store, SystemClock(), lambda model: model)
            loop = Loop(store, router, SystemClock(), (registry,))

            async def source() -> RealWorld:
                return world

            async def save() -> Saved:
                return Saved("as it is")

            async def inspect(manifest: str, since: object) -> Found:
                return Found()

            own = registry.of(
                MAIN, lease, loop, lambda name, _: ChildToolbox(source, OF_CHILDREN, name, save=save, inspect=inspect)
            )
            tools = (READ_TOOL, EDIT_TOOL, SUBAGENT_TOOL, FINISH_TOOL)
            toolbox = StandardToolbox(source, tools, save=save, inspect=inspect, children=own)
            async with asyncio.timeout(SECONDS):
                await loop.run(lease, MAIN, toolbox, asyncio.Event(), started(toolbox))
            rows = [row.execution async for row in store.all_executions()]
            return {row: [each async for each in store.read(row)] for row in rows}
        finally:
            await router.close()
            await store.close()


def _results(log: list[Envelope]) -> list[ToolFinished]:
    return [each.event for each in log if isinstance(each.event, ToolFinished)]


async def test_of_two_writes_at_once_one_wins_and_the_other_is_shown_what_changed_and_by_whom(tmp_path: Path) -> None:
    scene = Scene()
    async with open_bench() as bench:
        cart = bench.put("cart.py", CART)
        bench.put("notes.txt", "nothing\n")
        logs = await _ran(scene, tmp_path, bench.world)
        assert cart.read_text() == CART.replace("rate = 1", "rate = 10").replace("total = 2", "total = 20")

    refused = [each for log in logs.values() if is_child(log[0].execution) for each in _results(log) if each.conflicts]
    assert len(refused) == 1, "one write wins"
    [lost] = refused
    assert lost.outcome == "refused"
    winner = lost.conflicts[0].by.removeprefix("by ")
    assert lost.conflicts == (StaleFile(path="cart.py", by=f"by {winner}"),)
    assert winner in ("helper 1", "helper 2")
    written = "rate = 10" if winner == "helper 1" else "total = 20"
    assert lost.preview.startswith(
        f"cart.py changed since you read it, by {winner}; nothing was written. Keep what is new"
    )
    assert f"+{written}" in lost.preview

    told = scene.requests["parent"][2].messages[-1].text
    assert "cart.py changed since you read it, by helper" in told
    assert "-rate = 1\n" in told
    assert "+total = 20" in told
    assert "notes.txt changed since you read it, by helper" in told
    assert "with `echo PART-" in told, "a command is named"
    assert "Recent changes by others:" in told
    answer = scene.requests["parent"][2].answers[-1].text
    assert f"Others changed files under its hands: cart.py by {winner}." in answer

    late = scene.requests["parent"][3].answers[-1].text
    assert late.startswith("cart.py changed since you read it, by helper"), (
        "what was told is no licence to write unread"
    )
    log = logs[MAIN]
    assert next(each.conflicts for each in _results(log) if each.conflicts) == lost.conflicts
    progress = Progress(MAIN)
    for envelope in log:
        progress.take(envelope)
        if isinstance(envelope.event, ToolFinished) and envelope.event.conflicts:
            assert f"-# ⇄ changed meanwhile by {winner}, not overwritten: `cart.py`" in progress_text(progress)
            break
    else:
        raise AssertionError("no conflict is shown")
    for each in logs.values():
        assert verify(each).divergence is None
    [seen, *_] = [each.event for each in log if isinstance(each.event, Perceived) and each.event.stale]
    assert {file.path for file in seen.stale} == {"cart.py", "notes.txt"}, "the prompt is made of the log alone"
