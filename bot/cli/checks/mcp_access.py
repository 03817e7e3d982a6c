"""Look at the MCP servers of the owner's file: which can be reached, which of their tools changed; and agreeing to those."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from agentic.egress.doors import HostDoors
from agentic.egress.host_list import HostList, private_places, read
from agentic.egress.proxy import Proxy
from agentic.sandbox.pool import Sandboxes
from bot.app.adapters import chooser, mcp_servers
from bot.cli.console import fail, say
from bot.config.settings import Settings
from bot.rendering.unicode_safety import revealed

if TYPE_CHECKING:
    from agentic.mcp_client.agreed_tools import Waiting
    from agentic.mcp_client.servers import McpServers, Seen

SHOWN = 400


@asynccontextmanager
async def servers_of(settings: Settings) -> AsyncGenerator[McpServers | None]:
    """The servers, with a sandbox of their own for those that run in one."""
    with tempfile.TemporaryDirectory(prefix="threadwright-mcp-", ignore_cleanup_errors=True) as folder:
        state = Path(folder)
        await asyncio.to_thread(state.chmod, 0o755)

        async def usual(_: str) -> HostList:
            return read(["packages"])

        doors = HostDoors(state / "doors", Proxy(private_places(settings.network_private)), usual)
        sandboxes = Sandboxes(
            state, chooser(settings, state), count=1, doors=doors if settings.sandbox != "host" else None
        )
        servers = mcp_servers(settings, os.environ, sandboxes, state)
        try:
            yield servers
        finally:
            if servers is not None:
                await servers.close()
            await sandboxes.close()
            await doors.close_all()


def waiting_text(one: Waiting) -> str:
    """One tool that waits for a yes, with what it says now."""
    what = "is new" if one.before is None else "has changed"
    said = revealed(" ".join(one.now.description.split()))[:SHOWN]
    before = "" if one.before is None else f"\n    before: {revealed(' '.join(one.before.description.split()))[:SHOWN]}"
    arguments = (
        "" if one.before is None or one.before.parameters == one.now.parameters else "\n    its arguments changed"
    )
    return f"  {one.server}/{revealed(one.now.name)} {what}\n    now:    {said}{before}{arguments}"


async def mcp(settings: Settings, agree: str) -> int:
    """Show each server with its tools; or agree to a tool that is new or has changed."""
    async with servers_of(settings) as servers:
        if servers is None:
            say(f"No MCP servers: {settings.home}/mcp.json names none. The guide shows one.")
            return 0
        seen = await servers.look()
        if agree:
            return _agreed(servers, agree)
        return _shown(servers, seen)


def _agreed(servers: McpServers, named: str) -> int:
    waiting = servers.catalogue.waiting(server.name for server in servers.servers)
    for one in waiting:
        if f"{one.server}/{one.now.name}" == named:
            done = servers.catalogue.agree(one.server, one.now.name, one.now.sha)
            say(f"Agreed to {named}." if done else f"{named} changed again just now. Look at it, and say so again.")
            return 0 if done else 1
    return fail(f"{named} does not wait for a yes. `threadwright mcp` shows what does.")


def _shown(servers: McpServers, seen: tuple[Seen, ...]) -> int:
    for problem in servers.problems:
        say(f"✘ {problem}")
    for each in seen:
        if each.problem:
            say(f"✘ {each.server}: {revealed(each.problem)[:SHOWN]}")
            continue
        offered = [tool.name for server, tool in servers.offered() if server.name == each.server]
        say(f"✔ {each.server}: {len(offered)} of {each.tools} tools may be used (protocol {each.protocol})")
        say("    " + ", ".join(map(revealed, offered[:60])) + (" …" if len(offered) > 60 else ""))
    waiting = servers.catalogue.waiting(server.name for server in servers.servers)
    if waiting:
        say("Not used until you agree, with `threadwright mcp --agree SERVER/TOOL`:")
        for one in waiting:
            say(waiting_text(one))
    bad = servers.problems or any(each.problem for each in seen)
    return 1 if bad else 0
