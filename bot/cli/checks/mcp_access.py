"""Look at the MCP servers of the owner's file: which can be reached, which of their tools changed; agree to those; sign in."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from agentic.egress.doors import HostDoors
from agentic.egress.host_list import HostList, private_places, read
from agentic.egress.proxy import Proxy
from agentic.sandbox.pool import Sandboxes
from agentic.stores.shared_files import NotShared
from bot.app.adapters import chooser, home_in_step, mcp_servers
from bot.cli.console import InputLines, fail, note, say
from bot.config.home import ACCOUNTS
from bot.config.settings import Settings
from bot.rendering.unicode_safety import revealed

if TYPE_CHECKING:
    from agentic.mcp_client.agreed_tools import Waiting
    from agentic.mcp_client.oauth.sign_in import SignIn
    from agentic.mcp_client.servers import McpServers, Seen

SHOWN = 400
NONE = "No MCP servers: {home}/mcp.json names none. The guide shows one."
LEFT = "If Threadwright is still listed in your account there, you can remove it there."
NOT_THIS = "That address is not from this sign-in. Paste the whole address that your browser shows at the end."


@asynccontextmanager
async def servers_of(settings: Settings) -> AsyncGenerator[McpServers | None]:
    """The servers, with a sandbox of their own for those that run in one."""
    async with AsyncExitStack() as stack:
        shared = await stack.enter_async_context(home_in_step(settings, without=(ACCOUNTS,)))
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="threadwright-mcp-", ignore_cleanup_errors=True)
        )
        state = Path(folder)
        await asyncio.to_thread(state.chmod, 0o755)

        async def usual(_: str) -> HostList:
            return read(["packages"])

        doors = HostDoors(state / "doors", Proxy(private_places(settings.network_private)), usual)
        sandboxes = Sandboxes(
            state, chooser(settings, state), count=1, doors=doors if settings.sandbox != "host" else None
        )
        servers = mcp_servers(settings, os.environ, sandboxes, state, shared)
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
            say(NONE.format(home=settings.home))
            return 0
        seen = await servers.look()
        if agree:
            return await _agreed(servers, agree)
        return _shown(servers, seen)


async def login(settings: Settings, name: str, issuer: str) -> int:
    """Sign in to a server: print the address to open, and wait for the browser or for the address that it ended at."""
    async with servers_of(settings) as servers:
        if servers is None:
            return fail(NONE.format(home=settings.home))
        from agentic.mcp_client.oauth.kept_tokens import TokenTrouble  # with the SDK, which only they need
        from agentic.mcp_client.oauth.sign_in import OtherIssuer

        try:
            begun = await servers.sign_in(name, issuer)
            say(f"Sign in to {name} at {begun.host}. Open this address:\n\n{begun.address}\n")
            note("If your browser ends at a page that does not open, paste its address here and press Enter.")
            pasting = asyncio.create_task(_pasted(begun), name="pasted address")
            try:
                await begun.finished()
            finally:
                pasting.cancel()
        except OtherIssuer as other:
            return fail(f"{revealed(str(other))}: threadwright mcp login {name} --issuer {revealed(other.now)}")
        except TokenTrouble as trouble:
            return fail(f"Not signed in to {revealed(name)}: {revealed(str(trouble))}.")
        say(f"✔ Signed in to {name}.")
        return _shown(servers, await servers.look([name]))


async def _pasted(begun: SignIn) -> None:
    lines = InputLines()
    while line := await lines.next():
        if line.strip():
            note("Thank you." if begun.take(line) else NOT_THIS)


async def logout(settings: Settings, name: str) -> int:
    """Sign out of a server."""
    async with servers_of(settings) as servers:
        if servers is None:
            return fail(NONE.format(home=settings.home))
        from agentic.mcp_client.oauth.kept_tokens import TokenTrouble

        try:
            known = await servers.sign_out(name)
        except TokenTrouble as trouble:
            return fail(f"Not signed out: {revealed(str(trouble))}.")
        say(
            f"Signed out of {name}; its tokens are deleted here. " + LEFT
            if known
            else f"Nobody was signed in to {name}."
        )
        return 0


async def _agreed(servers: McpServers, named: str) -> int:
    waiting = servers.catalogue.waiting(server.name for server in servers.servers)
    for one in waiting:
        if f"{one.server}/{one.now.name}" == named:
            try:
                done = await servers.agree(one)
            except NotShared as error:
                return fail(f"Not agreed to {named}: {error}.")
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
