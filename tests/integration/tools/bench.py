"""A real sandbox over a workspace of its own, and an agent's toolbox in it."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from agentic.ports.runtime import Observation, Prepared
from agentic.sandbox.backends.bubblewrap import Bubblewrap
from agentic.sandbox.limits import Limits
from agentic.sandbox.pool import Choice, Sandboxes
from agentic.tools.toolbox import StandardToolbox
from agentic.workspace.workspace import RealWorld
from tests.waiting import BOUND

PATIENT = Limits(heartbeat=BOUND)
"""A machine that is busy for some seconds ends no sandbox."""


@dataclass(slots=True)
class Bench:
    """An agent at work: calls go through ``prepare`` and ``run`` as the loop makes them."""

    workspace: Path
    world: RealWorld
    sandboxes: Sandboxes
    toolbox: StandardToolbox
    streamed: list[str] = field(default_factory=list[str])
    calls: int = 0

    async def call(self, tool: str, **arguments: JsonValue) -> Observation:
        """One call, as the model would write it."""
        prepared = self.toolbox.prepare(tool, arguments)
        assert isinstance(prepared, Prepared), prepared
        self.calls += 1
        async with asyncio.timeout(BOUND):
            return await self.toolbox.run(tool, f"c{self.calls}", prepared, self.streamed.append)

    def put(self, name: str, text: str) -> Path:
        """A file that someone else wrote."""
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o666)
        path.parent.chmod(0o777)
        return path

    def another_agent(self, name: str) -> Bench:
        """A further agent over the same world, with its own knowledge."""
        toolbox = StandardToolbox(_given(self.world), agent=name)
        return Bench(self.workspace, self.world, self.sandboxes, toolbox)


def _given(world: RealWorld) -> Callable[[], Awaitable[RealWorld]]:
    async def source() -> RealWorld:
        return world

    return source


@asynccontextmanager
async def open_bench() -> AsyncIterator[Bench]:
    """A workspace, a sandbox that is made at its first use, and a toolbox; all ended afterwards."""
    with tempfile.TemporaryDirectory(prefix="tw-tools-", ignore_cleanup_errors=True) as folder:
        state = Path(folder)
        state.chmod(0o755)
        workspace = state / "workspace"
        workspace.mkdir()
        sandboxes = Sandboxes(state, _choose(state), PATIENT)
        world = RealWorld(sandboxes, "t1", workspace)
        try:
            yield Bench(workspace, world, sandboxes, StandardToolbox(_given(world)))
        finally:
            async with asyncio.timeout(BOUND):
                await sandboxes.close()


def _choose(state: Path) -> Callable[[], Awaitable[Choice]]:
    async def choose() -> Choice:
        return Choice(Bubblewrap(state), "for a test")

    return choose
