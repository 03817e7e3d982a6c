"""A thread with a sandbox, the servers of a file, and an agent's toolbox over both."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import JsonValue

from agentic.core.events.execution_events import CallBlock
from agentic.core.state.execution import CallReply
from agentic.mcp_client.agreed_tools import Catalogue
from agentic.mcp_client.oauth.kept_tokens import KeptTokens
from agentic.mcp_client.server_file import ServerFile, load
from agentic.mcp_client.servers import McpServers
from agentic.ports.runtime import Observation, Prepared, Refused
from agentic.tools.foreign.server_offer import server_tools
from agentic.tools.toolbox import STANDARD, StandardToolbox
from agentic.workspace.workspace import RealWorld
from tests.integration.tools.bench import open_bench
from tests.waiting import BOUND

ODD = Path(__file__).parent / "odd_server.py"


@dataclass(slots=True)
class McpBench:
    """A thread at work; ``servers`` are made anew by ``serve``."""

    folder: Path
    workspace: Path
    world: RealWorld
    servers: McpServers
    toolbox: StandardToolbox
    calls: int = 0
    _made: list[McpServers] = field(default_factory=list[McpServers])

    async def serve(self, servers: Mapping[str, JsonValue], *, look: bool = True) -> None:
        """The file names these servers from now on; they are looked at, and agreed to if they are new."""
        path = self.folder / "mcp.json"
        path.write_text(json.dumps({"mcpServers": servers}))
        file = load(path, {"ODD_TOKEN": "very-secret-token", "ODD_SECRET": "our-secret"})
        assert not file.problems, file.problems
        await self.use(file)
        if look:
            await self.servers.look()
            self.again()

    async def use(self, file: ServerFile) -> None:
        """Have these servers from now on."""
        tokens = KeptTokens(self.folder / "mcp-tokens")
        self.servers = McpServers(file, Catalogue(self.folder / "mcp-tools.json"), self.world, tokens)
        self._made.append(self.servers)
        self.again()

    def again(self) -> None:
        """A new agent, with the tools as they are agreed to now."""

        async def world() -> RealWorld:
            return self.world

        self.toolbox = StandardToolbox(world, (*STANDARD, *server_tools(self.servers, "t1")))

    async def call(
        self, tool: str, replies: tuple[CallReply, ...] = (), /, *, attended: bool = True, **arguments: JsonValue
    ) -> Observation:
        """One call, as the loop makes it."""
        block = CallBlock(provider_id="p", tool=tool, arguments=arguments).meant
        tool, arguments = block.tool, block.arguments
        prepared = self.toolbox.prepare(tool, arguments)
        assert isinstance(prepared, Prepared), prepared
        self.calls += 1
        prepared = replace(prepared, replies=replies, attended=attended)
        async with asyncio.timeout(BOUND):
            return await self.toolbox.run(tool, f"c{self.calls}", prepared, lambda _: None)

    def refused(self, tool: str, /, **arguments: JsonValue) -> str:
        """Why a call may not run."""
        block = CallBlock(provider_id="p", tool=tool, arguments=arguments).meant
        prepared = self.toolbox.prepare(block.tool, block.arguments)
        assert isinstance(prepared, Refused), prepared
        return prepared.text

    def did(self) -> list[str]:
        """What the odd server did."""
        log = self.workspace / "calls.log"
        return log.read_text().splitlines() if log.exists() else []

    async def close(self) -> None:
        """End the servers."""
        for each in self._made:
            await each.close()


@asynccontextmanager
async def open_mcp_bench() -> AsyncIterator[McpBench]:
    """All of it, ended afterwards."""
    async with open_bench() as bench:
        folder = bench.workspace.parent
        none = McpServers(ServerFile(), Catalogue(folder / "mcp-tools.json"))
        opened = McpBench(folder, bench.workspace, bench.world, none, bench.toolbox)
        shutil.copy(ODD, bench.workspace / "odd_server.py")
        try:
            yield opened
        finally:
            async with asyncio.timeout(BOUND):
                await opened.close()


def odd(*flags: str, **more: JsonValue) -> dict[str, JsonValue]:
    """The odd server as the file names it; everything that it says of itself is believed."""
    return {
        "command": "python3",
        "args": ["odd_server.py", *flags],
        "readOnly": ["*"],
        "idempotent": ["*"],
        "timeout": 60,
        **more,
    }
