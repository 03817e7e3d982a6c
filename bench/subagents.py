"""Eight helpers beside each other against one: how long a call of ``subagent`` takes, from its intent to its result.

The loop, the store, the sandbox and HTTP are real; the model takes half a second for each answer.  Each helper looks into
the workspace, and finishes; once more with a command that changes a file of its own, of which one runs at a time.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median

from agentic.core.events.execution_events import Person, Policy, Started, Tier, ToolFinished, ToolStarted
from agentic.models.router import ModelRouter
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.runtime.child_runs import ChildRegistry
from agentic.runtime.clock import SystemClock
from agentic.runtime.loop import Loop
from agentic.sandbox.backends.bubblewrap import Bubblewrap
from agentic.sandbox.pool import Choice, Sandboxes
from agentic.stores.sqlite.store import SQLiteStore
from agentic.tools.finish import FINISH_TOOL
from agentic.tools.subagent import SUBAGENT_TOOL
from agentic.tools.toolbox import OF_CHILDREN, ChildToolbox, StandardToolbox
from agentic.workspace.workspace import RealWorld
from bench.figures import Figure, size

LATENCY = 0.5
ROUNDS = size("SUBAGENTS", 7, 1)
MANY = 8
TARGET = 1.4


async def figures() -> AsyncIterator[Figure]:
    """Both times, and how many times as long the many take."""
    note = f"median of {ROUNDS}, a model with {LATENCY * 1e3:.0f} ms, two answers a helper"
    one, many = await measured("list")
    yield Figure("subagent_one", one * 1e3, "ms", note=note)
    yield Figure(f"subagent_{MANY}", many * 1e3, "ms", note=note)
    yield Figure(f"subagent_{MANY}_against_one", many / one, "times", "<=", TARGET, note)
    one, many = await measured("shell")
    yield Figure(f"subagent_{MANY}_commands_against_one", many / one, "times", note=f"{note}, each runs a command")


async def measured(tool: str) -> tuple[float, float]:
    """Seconds with one helper and with many, in turn; the first of each warms up."""

    def script(request: CapturedRequest) -> Reply:
        first, done = request.messages[0].text, len(request.answers)
        number = first.rpartition("part ")[2].split()[0]
        if "begin" in first:
            parts = [{"task": f"Do part {index}"} for index in range(int(number))]
            return Reply(calls=(("finish", {"answer": "Done."}) if done else ("subagent", {"tasks": parts}),))
        acts = {"list": {"path": "."}, "shell": {"command": f"echo {number} > {number}.txt"}}
        return Reply(calls=(("finish", {"answer": "Done."}) if done else (tool, acts[tool]),), delay=LATENCY)

    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tw-bench-", ignore_cleanup_errors=True)))
        folder.chmod(0o755)
        (workspace := folder / "workspace").mkdir()
        endpoint = await stack.enter_async_context(ScriptedEndpoint.start(script))

        async def choose() -> Choice:
            return Choice(Bubblewrap(folder), "for a bench")

        sandboxes = Sandboxes(folder, choose)
        stack.push_async_callback(sandboxes.close)
        router, store = ModelRouter(endpoint.environment()), SQLiteStore.open(folder / "threadwright.sqlite")
        stack.push_async_callback(router.close)
        stack.push_async_callback(store.close)
        real = RealWorld(sandboxes, "1", workspace)
        took: dict[int, list[float]] = {1: [], MANY: []}
        for number in range(ROUNDS + 1):
            for helpers, seconds in took.items():
                seconds.append(await _call(store, router, real, f"x{number}.{helpers}", helpers))
    return median(took[1][1:]), median(took[MANY][1:])


async def _call(store: SQLiteStore, router: ModelRouter, real: RealWorld, name: str, helpers: int) -> float:
    async def world() -> RealWorld:
        return real

    clock = SystemClock()
    registry = ChildRegistry(store, clock, lambda model: model)
    loop = Loop(store, router, clock, (registry,))
    lease = await store.acquire("1", "bench")
    assert lease is not None
    children = registry.of(name, lease, loop, lambda agent, _: ChildToolbox(world, OF_CHILDREN, agent))
    toolbox = StandardToolbox(world, (SUBAGENT_TOOL, FINISH_TOOL), children=children)
    started = Started(
        thread="1", task=f"begin part {helpers}", requester=Person(id="1", name="bench"),
        policy=Policy(tiers=(Tier(number=2, models=("openai/gpt-4o-mini",)),), triage_by_model=False),
        tools=tuple(spec.ref for spec in toolbox.specs), complexity="complex",
    )  # fmt: skip
    await loop.run(lease, name, toolbox, asyncio.Event(), started)
    registry.over(name)
    log = [envelope async for envelope in store.read(name)]
    begun = next(e.at for e in log if isinstance(e.event, ToolStarted) and e.event.tool == "subagent")
    ended = next(e for e in log if isinstance(e.event, ToolFinished))
    assert isinstance(ended.event, ToolFinished)
    assert ended.event.preview.count("done, in 2 turns") == helpers, ended.event.preview
    return (ended.at - begun).total_seconds()
