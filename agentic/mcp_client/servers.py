"""The servers of the file, for all threads of a process: one connection for a thread and a server, while it is used.

What runs in a sandbox lives and dies with it, and is started anew at the next call.  Before a tool is called, what the server
says of it now is held against what was agreed to.  A request whose answer was lost is repeated, once, only where that is
known to do no harm.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

import mcp_types as types
from pydantic import JsonValue

from agentic.mcp_client.agreed_tools import FILE, Catalogue, Pinned, Waiting
from agentic.mcp_client.elicitation import GoesOn
from agentic.mcp_client.http_server import HttpServer
from agentic.mcp_client.oauth.authorization_server import AuthorizationHttp
from agentic.mcp_client.oauth.kept_tokens import KeptTokens, TokenTrouble
from agentic.mcp_client.oauth.sign_in import SignIn, begun
from agentic.mcp_client.oauth.token_access import TokenAccess
from agentic.mcp_client.sandbox_transport import SandboxServer
from agentic.mcp_client.server_connection import InputWanted, McpConnection, ServerTrouble
from agentic.mcp_client.server_file import Endpoint, Launch, McpServer, ServerFile
from agentic.ports.errors import AgenticError
from agentic.sandbox.protocol.results import Changes
from agentic.sandbox.sandbox import Sandbox
from agentic.stores.shared_files import SharedHome, changed
from agentic.workspace.workspace import RealWorld

IDLE_SECONDS = 300.0
AGAIN_SECONDS = 120.0
"""After so long a server that could not be looked at is looked at again."""
LATER_SECONDS = 10.0
"""A thread that starts waits so long for the first look at servers."""

log = logging.getLogger(__name__)

T = TypeVar("T")


class InUse(Protocol):
    """The world of an agent, and who the agent is."""

    @property
    def real(self) -> RealWorld:
        """The thread's."""
        ...

    @property
    def agent(self) -> str:
        """As other agents of the thread are told of its changes."""
        ...


Worlds = Callable[[], Awaitable[InUse]]
"""Opens the world when it is first asked for."""


class ToolChanged(Exception):
    """A tool is not as it was agreed to, so it is not called; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look at a server came to; ``problem`` says why nothing was seen."""

    server: str
    protocol: str = ""
    tools: int = 0
    problem: str = ""


@dataclass(slots=True)
class _Held:
    connection: McpConnection
    sandbox: Sandbox | None
    tools: dict[str, Pinned] = field(default_factory=dict[str, Pinned])
    users: int = 0
    used_at: float = field(default_factory=time.monotonic)


@dataclass(frozen=True, slots=True)
class ForeignCall:
    """A call of a tool as it is to be made."""

    tool: str
    arguments: dict[str, JsonValue]
    seconds: float
    goes_on: GoesOn = field(default_factory=GoesOn)
    again: bool = False
    """Calling it twice does no harm."""


class McpServers:
    """Owns the connections; ``scratch`` is the world in which servers are looked at when no thread uses them."""

    def __init__(
        self,
        file: ServerFile,
        catalogue: Catalogue,
        scratch: RealWorld | None = None,
        tokens: KeptTokens | None = None,
        shared: SharedHome | None = None,
    ) -> None:
        self._shared = shared
        self.problems = file.problems
        self.catalogue = catalogue
        self._tokens: dict[str, TokenAccess] = {}
        for server in file.servers:
            if isinstance(server.reached, Endpoint) and server.reached.oauth is not None:
                assert tokens is not None
                http = AuthorizationHttp(server.reached)
                self._tokens[server.name] = TokenAccess(server.name, server.reached, tokens, http)
        self._sign_ins: dict[str, SignIn] = {}
        self._servers = {server.name: server for server in file.servers}
        self._scratch = scratch
        self._held: dict[tuple[str, str], _Held] = {}
        self._locks: dict[tuple[str, str], asyncio.Lock] = {}
        self._looking: asyncio.Task[tuple[Seen, ...]] | None = None
        self._looked_at = 0.0

    @property
    def servers(self) -> tuple[McpServer, ...]:
        """Those of the file, by name."""
        return tuple(self._servers.values())

    def server(self, name: str) -> McpServer | None:
        """One of them."""
        return self._servers.get(name)

    def offered(self) -> tuple[tuple[McpServer, Pinned], ...]:
        """The tools that may be used, as they were agreed to, by server and name."""
        return tuple(
            (server, tool)
            for server in self._servers.values()
            for tool in self.catalogue.tools(server.name)
            if server.allows(tool.name)
        )

    async def agree(self, one: Waiting) -> bool:
        """Say yes to a tool as it read when somebody saw it; False where it reads otherwise by now.  Raises ``OSError``."""
        return await changed(self._shared, FILE, partial(self.catalogue.agree, one.server, one.now.name, one.now.sha))

    # --- signing in ---

    async def sign_in(self, name: str, agreed: str = "") -> SignIn:
        """Begin to sign in to a server, in place of what was begun before.  Raises ``TokenTrouble``."""
        begins = await begun(self._access(name), agreed)
        before, self._sign_ins[name] = self._sign_ins.get(name), begins
        if before is not None:
            await before.close()  # first: it may wait at the same port
        await begins.open()
        return begins

    async def sign_out(self, name: str) -> bool:
        """Forget the tokens for a server; False where there are none.  Raises ``TokenTrouble``."""
        return await self._access(name).sign_out()

    def signed_out(self, name: str) -> str:
        """Why somebody has to sign in to a server, '' where nobody has to."""
        return self._tokens[name].signed_out() if name in self._tokens else ""

    def _access(self, name: str) -> TokenAccess:
        if name not in self._servers:
            raise TokenTrouble(f"there is no MCP server {name!r}. There are: {', '.join(self._servers) or 'none'}")
        if name not in self._tokens:
            raise TokenTrouble(f'nobody signs in to {name}: mcp.json has no "oauth": true for it')
        return self._tokens[name]

    # --- a look at servers, when no thread uses them ---

    async def ready(self) -> None:
        """Wait, not for long, until each server was looked at once."""
        unknown = [name for name in self._servers if not self.catalogue.known(name)]
        if not unknown:
            return
        if self._looking is None or (self._looking.done() and time.monotonic() - self._looked_at > AGAIN_SECONDS):
            self._looking = asyncio.create_task(self.look(unknown), name="mcp look")
        await asyncio.wait((self._looking,), timeout=LATER_SECONDS)

    async def look(self, names: list[str] | None = None) -> tuple[Seen, ...]:
        """Look at servers, one after the other, and take note of their tools."""
        try:
            return tuple([await self._look(self._servers[name]) for name in (names or list(self._servers))])
        finally:
            self._looked_at = time.monotonic()
            if self._scratch is not None:
                await self._scratch.close()

    async def _look(self, server: McpServer) -> Seen:
        async def seen(sandbox: Sandbox | None) -> Seen:
            connection = self._new(server, sandbox)
            try:
                await connection.open()
                tools = await self._listed(server, connection)
                return Seen(server.name, connection.protocol, len(tools))
            except ServerTrouble as trouble:
                return Seen(server.name, problem=str(trouble))
            finally:
                await connection.close()

        if not server.in_sandbox:
            return await seen(None)
        if self._scratch is None:
            return Seen(server.name, problem="there is no sandbox to run it in")
        try:
            return (await self._scratch.around(seen, scan=False))[0]
        except (AgenticError, OSError) as error:
            return Seen(server.name, problem=f"it runs in a sandbox, and there is none: {error}")

    # --- what threads ask ---

    async def call(
        self, world: Worlds, thread: str, server: McpServer, call: ForeignCall
    ) -> tuple[types.CallToolResult | InputWanted, Changes]:
        """Call a tool.  Raises ``ServerTrouble``, ``ToolChanged`` and what a sandbox raises."""

        async def act(held: _Held) -> types.CallToolResult | InputWanted:
            self._check(server, held, call.tool)
            on = call.goes_on
            return await held.connection.call(
                call.tool, call.arguments, call.seconds, state=on.state, responses=on.responses, given=on.given
            )

        return await self._asked(world, thread, server, act, again=call.again, scan=not call.again)

    async def prompts(self, world: Worlds, thread: str, server: McpServer) -> tuple[types.Prompt, ...]:
        """A server's prompts."""
        return (await self._asked(world, thread, server, lambda held: held.connection.prompts(), again=True))[0]

    async def prompt(
        self,
        world: Worlds,
        thread: str,
        server: McpServer,
        name: str,
        arguments: dict[str, str],
    ) -> types.GetPromptResult:
        """One of them, with its arguments filled in."""
        seconds = server.seconds

        async def act(held: _Held) -> types.GetPromptResult:
            return await held.connection.prompt(name, arguments, seconds)

        return (await self._asked(world, thread, server, act, again=True))[0]

    async def resources(self, world: Worlds, thread: str, server: McpServer) -> tuple[types.Resource, ...]:
        """A server's resources."""
        return (await self._asked(world, thread, server, lambda held: held.connection.resources(), again=True))[0]

    async def resource(self, world: Worlds, thread: str, server: McpServer, uri: str) -> types.ReadResourceResult:
        """What stands at one."""
        seconds = server.seconds
        return (
            await self._asked(world, thread, server, lambda held: held.connection.resource(uri, seconds), again=True)
        )[0]

    async def _asked(
        self,
        world: Worlds,
        thread: str,
        server: McpServer,
        act: Callable[[_Held], Awaitable[T]],
        *,
        again: bool,
        scan: bool = False,
    ) -> tuple[T, Changes]:
        async def once(sandbox: Sandbox | None) -> T:
            return await self._once(thread, server, sandbox, act)

        async def whole() -> tuple[T, Changes]:
            if not server.in_sandbox:
                return await once(None), Changes()
            used = await world()
            return await used.real.around(once, by=used.agent, scan=scan)

        try:
            return await whole()
        except ServerTrouble as trouble:
            if not (trouble.over or (again and trouble.sent and not trouble.answered)):
                raise
            log.info("a call of the MCP server %s is made again: %s", server.name, trouble)
            return await whole()

    async def _once(
        self, thread: str, server: McpServer, sandbox: Sandbox | None, act: Callable[[_Held], Awaitable[T]]
    ) -> T:
        held = await self._connected(thread, server, sandbox)
        held.users += 1
        try:
            return await act(held)
        except ServerTrouble as trouble:
            if trouble.over:
                await held.connection.close()
            raise
        finally:
            held.users -= 1
            held.used_at = time.monotonic()

    def _check(self, server: McpServer, held: _Held, tool: str) -> None:
        now, agreed = held.tools.get(tool), self.catalogue.tool(server.name, tool)
        if now is None:
            raise ToolChanged(f"the MCP server {server.name} no longer has a tool {tool!r}")
        if agreed is None or agreed.sha != now.sha:
            raise ToolChanged(
                f"the MCP server {server.name} has changed what it says of its tool {tool!r} since an owner agreed to it. "
                "An owner of the server has to look at it and agree, with /mcp; until then it is not called"
            )

    # --- connections ---

    async def _connected(self, thread: str, server: McpServer, sandbox: Sandbox | None) -> _Held:
        key = (thread, server.name)
        async with self._locks.setdefault(key, asyncio.Lock()):
            held = self._held.get(key)
            if held is not None and (not held.connection.lives or held.sandbox is not sandbox):
                del self._held[key]
                await held.connection.close()
                held = None
            if held is None:
                held = _Held(self._new(server, sandbox), sandbox)
                await held.connection.open()
                self._held[key] = held
            if held.connection.stale:
                held.tools = await self._listed(server, held.connection)
            return held

    def _new(self, server: McpServer, sandbox: Sandbox | None) -> McpConnection:
        match server.reached:
            case Launch(argv=argv, environment=environment, cwd=cwd):
                assert sandbox is not None
                reached = SandboxServer(sandbox, argv, dict(environment), cwd)
            case Endpoint() as endpoint:
                reached = HttpServer(endpoint, server.seconds, self._tokens.get(server.name))
        return McpConnection(server.name, reached, server.seconds)

    async def _listed(self, server: McpServer, connection: McpConnection) -> dict[str, Pinned]:
        tools = await connection.tools()
        prompts, resources = connection.has()
        await asyncio.to_thread(self.catalogue.saw, server.name, tools, prompts=prompts, resources=resources)
        return {tool.name: tool for tool in tools}

    async def evict_idle(self) -> int:
        """End the connections that nobody used for a while; returns how many."""
        now = time.monotonic()
        idle = [key for key, held in self._held.items() if not held.users and now - held.used_at > IDLE_SECONDS]
        await self._end(idle)
        return len(idle)

    async def end(self, thread: str) -> None:
        """End the connections of a thread."""
        await self._end([key for key in self._held if key[0] == thread])

    async def close(self) -> None:
        """End them all."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait((self._looking,))
        await self._end(list(self._held))
        for ends in (*self._sign_ins.values(), *self._tokens.values()):
            await ends.close()

    async def _end(self, keys: list[tuple[str, str]]) -> None:
        ending = [self._held.pop(key).connection for key in keys if key in self._held]
        for key in keys:
            self._locks.pop(key, None)
        await asyncio.gather(*(connection.close() for connection in ending))
