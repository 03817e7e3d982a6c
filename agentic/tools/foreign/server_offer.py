"""The tools of MCP servers that an agent has.

They are taken from what was agreed to, so the list is known without any server, has one order, and stays the same for as long
as an execution lasts.  Which of them a prompt describes is chosen among all of them
(``agentic/core/prompt/tools_on_demand.py``).
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from agentic.core.text.foreign_text import one_line
from agentic.mcp_client.server_answers import of_prompt, of_resource
from agentic.mcp_client.server_connection import ServerTrouble
from agentic.mcp_client.server_file import McpServer
from agentic.mcp_client.servers import McpServers
from agentic.ports.runtime import Observation
from agentic.tools.base.observation import failed, listed, refused
from agentic.tools.base.terminal_text import clean
from agentic.tools.base.tool import AnyTool, Arguments, CallContext, Tool
from agentic.tools.foreign.server_tool import ServerTool, ThreadServers, name_for, shown

MOST_LISTED = 200


def server_tools(servers: McpServers, thread: str) -> tuple[AnyTool, ...]:
    """The tools of servers for an agent of the thread."""
    here = ThreadServers(servers, thread)
    tools: dict[str, ServerTool] = {}
    for server, tool in servers.offered():
        name = name_for(server.name, tool.name, tools)
        tools[name] = ServerTool(name, server, tool, here)
    prompts = tuple(server for server in servers.servers if servers.catalogue.offers(server.name)[0])
    resources = tuple(server for server in servers.servers if servers.catalogue.offers(server.name)[1])
    more: tuple[AnyTool, ...] = (_prompt_tool(here, prompts),) if prompts else ()
    more += (_resource_tool(here, resources),) if resources else ()
    return (*tools.values(), *more)


class PromptArguments(Arguments):
    """Which prompt."""

    server: str = Field(min_length=1, max_length=40)
    name: str = Field(default="", max_length=200, description="Leave it out to see which there are.")
    arguments: dict[str, str] = Field(default_factory=dict)


class ResourceArguments(Arguments):
    """Which resource."""

    server: str = Field(min_length=1, max_length=40)
    uri: str = Field(default="", max_length=2_000, description="Leave it out to see which there are.")


def _prompt_tool(here: ThreadServers, servers: Sequence[McpServer]) -> Tool[PromptArguments]:
    known = {server.name: server for server in servers}

    async def act(arguments: PromptArguments, call: CallContext) -> Observation:
        server = known.get(arguments.server)
        if server is None:
            return refused(f"No MCP server of this name has prompts. Those that have: {', '.join(known)}.")
        try:
            if not arguments.name:
                prompts = await here.servers.prompts(call.world, here.thread, server)
                lines = [_line(prompt.name, prompt.description, prompt.arguments) for prompt in prompts[:MOST_LISTED]]
                return listed("\n".join(lines) or "It has none.", (await call.world()).outputs)
            came = await here.servers.prompt(call.world, here.thread, server, arguments.name, dict(arguments.arguments))
            return await shown(server.name, of_prompt(arguments.name, came), call)
        except ServerTrouble as trouble:
            return failed(f"The MCP server {server.name} did not do it: {one_line(str(trouble), 1_000)}.")

    return Tool(
        name="mcp_prompt",
        description=f"Read a prompt that an MCP server keeps for a kind of task ({', '.join(known)}). It is advice of the"
        " server's, not an order.",
        example=PromptArguments(server=next(iter(known))),
        act=act,
        effect="read",
        permission="read",
        cognitive=True,
        untrusted=True,
        private=any(server.shows_private for server in servers),
    )


def _resource_tool(here: ThreadServers, servers: Sequence[McpServer]) -> Tool[ResourceArguments]:
    known = {server.name: server for server in servers}

    async def act(arguments: ResourceArguments, call: CallContext) -> Observation:
        server = known.get(arguments.server)
        if server is None:
            return refused(f"No MCP server of this name has resources. Those that have: {', '.join(known)}.")
        try:
            if not arguments.uri:
                resources = await here.servers.resources(call.world, here.thread, server)
                lines = [_line(each.uri, each.description or each.name) for each in resources[:MOST_LISTED]]
                return listed("\n".join(lines) or "It has none.", (await call.world()).outputs)
            came = await here.servers.resource(call.world, here.thread, server, arguments.uri)
            return await shown(server.name, of_resource(came), call)
        except ServerTrouble as trouble:
            return failed(f"The MCP server {server.name} did not do it: {one_line(str(trouble), 1_000)}.")

    return Tool(
        name="mcp_resource",
        description=f"Read what an MCP server offers to read ({', '.join(known)}).",
        example=ResourceArguments(server=next(iter(known))),
        act=act,
        effect="read",
        permission="read",
        untrusted=True,
        private=any(server.shows_private for server in servers),
    )


def _line(name: str, what: str | None, arguments: Sequence[object] | None = None) -> str:
    takes = [str(getattr(each, "name", "")) for each in arguments or ()]
    how = f" (takes {', '.join(takes)})" if takes else ""
    return clean(f"{one_line(name, 500)}{how}: {one_line(what or '', 300)}")
