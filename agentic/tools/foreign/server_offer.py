"""Which tools of MCP servers an agent sees, and how: each as a tool while that is short, else by name with the rest on demand.

Tools are taken from what was agreed to, so the list is known without any server, has one order, and stays the same for as long
as an execution lasts.  Where the descriptions would take more than their share, two constant tools stand for all of them: one
that shows a description, and one that calls.  So the beginning of a prompt is the same whatever a task looks up.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import Field, JsonValue

from agentic.core.events.execution_events import Permission
from agentic.core.text.foreign_text import one_line
from agentic.core.text.tool_words import BY_NAME
from agentic.mcp_client.server_answers import of_prompt, of_resource
from agentic.mcp_client.server_connection import ServerTrouble
from agentic.mcp_client.server_file import McpServer
from agentic.mcp_client.servers import McpServers
from agentic.ports.runtime import Observation, Prepared, Preview, Refused, ToolSpec
from agentic.tools.base.observation import failed, listed, refused
from agentic.tools.base.terminal_text import clean, visible
from agentic.tools.base.tool import AnyTool, Arguments, CallContext, Recall, Recalled, Tool
from agentic.tools.foreign.server_tool import ServerTool, ThreadServers, called, name_for, shown

BUDGET_TOKENS = 6_000
"""Of all descriptions of tools in a prompt."""
LEAST_TOKENS = 1_200
"""For those of servers, however long our own are."""
LINE_CHARACTERS = 90
MOST_DESCRIBED = 12
MOST_LISTED = 200


def tokens_of(specs: Iterable[ToolSpec]) -> int:
    """About how many tokens the descriptions take."""
    return sum(len(spec.name) + len(spec.description) + len(json.dumps(spec.parameters)) for spec in specs) // 4


def server_tools(servers: McpServers, thread: str, own: Sequence[AnyTool]) -> tuple[AnyTool, ...]:
    """The tools of servers for an agent of the thread, beside its ``own``."""
    here = ThreadServers(servers, thread)
    tools: dict[str, ServerTool] = {}
    for server, tool in servers.offered():
        name = name_for(server.name, tool.name, tools)
        tools[name] = ServerTool(name, server, tool, here)
    prompts = tuple(server for server in servers.servers if servers.catalogue.offers(server.name)[0])
    resources = tuple(server for server in servers.servers if servers.catalogue.offers(server.name)[1])
    more: tuple[AnyTool, ...] = (_prompt_tool(here, prompts),) if prompts else ()
    more += (_resource_tool(here, resources),) if resources else ()
    room = max(BUDGET_TOKENS - tokens_of(tool.spec for tool in (*own, *more)), LEAST_TOKENS)
    fits = tokens_of(tool.spec for tool in tools.values()) <= room
    return (*(tuple(tools.values()) if fits else _on_demand(tools, room)), *more)


# --- by name ---


class DescribeArguments(Arguments):
    """Which tools."""

    names: tuple[str, ...] = Field(
        default=(), max_length=MOST_DESCRIBED, description="Names from the list of mcp_call."
    )
    query: str = Field(
        default="", max_length=200, description="Words that the name or description has to hold, instead."
    )


def _describe_tool(tools: Mapping[str, ServerTool]) -> Tool[DescribeArguments]:
    async def act(arguments: DescribeArguments, call: CallContext) -> Observation:
        unknown = [name for name in arguments.names if name not in tools]
        if unknown:
            return refused(f"There is no tool {one_line(unknown[0], 80)!r}. Find it with query.")
        found = [tools[name] for name in arguments.names] or _matching(tools, arguments.query)
        if not found:
            return Observation("ok", "No tool matches.")
        parts = [_described(one) for one in found[:MOST_DESCRIBED]]
        if len(found) > MOST_DESCRIBED:
            parts.append("More match: " + ", ".join(one.name for one in found[MOST_DESCRIBED:MOST_LISTED]))
        return listed("\n\n".join(parts), (await call.world()).outputs)

    return Tool(
        name="mcp_describe",
        description="Show what tools of MCP servers do and which arguments they take, before you call them with mcp_call.",
        example=DescribeArguments(names=(next(iter(tools)),)),
        act=act,
        effect="read",
        permission="read",
        untrusted=True,
    )


def _described(one: ServerTool) -> str:
    spec = one.spec
    return f"{spec.name}: {spec.description}\nArguments: {json.dumps(spec.parameters, ensure_ascii=False)}"


def _matching(tools: Mapping[str, ServerTool], query: str) -> list[ServerTool]:
    words = query.casefold().split()
    return [
        one for one in tools.values() if all(word in f"{one.name} {one.tool.description}".casefold() for word in words)
    ]


class CallArguments(Arguments):
    """Which tool, with which arguments."""

    tool: str = Field(min_length=1, max_length=100, description="Its name from the list.")
    arguments: dict[str, JsonValue] = Field(default_factory=dict, description="As mcp_describe shows them.")


@dataclass(frozen=True, slots=True, eq=False)
class CallTool:
    """Calls one of many tools; what a call may do is what that tool may do.  Implements ``AnyTool``."""

    base: Tool[CallArguments]
    tools: Mapping[str, ServerTool]

    @property
    def name(self) -> str:
        """How the model calls it."""
        return self.base.name

    @property
    def spec(self) -> ToolSpec:
        """What the model and the rules see."""
        return self.base.spec

    @property
    def permission(self) -> Permission:
        """The most that one of them may do."""
        return self.base.permission

    def prepare(self, arguments: Mapping[str, JsonValue], created: frozenset[str] = frozenset()) -> Prepared | Refused:
        """As the tool would be prepared that it names."""
        written = self.base.prepare(arguments, created)
        if isinstance(written, Refused):
            return written
        named = CallArguments.model_validate(written.arguments)
        one = self.tools.get(named.tool)
        if one is None:
            return Refused(
                f"mcp_call was not run: there is no tool {one_line(named.tool, 80)!r}. Find it with mcp_describe."
            )
        prepared = one.prepare(named.arguments, created)
        if isinstance(prepared, Refused):
            return prepared
        return replace(prepared, arguments={"tool": one.name, "arguments": prepared.arguments})

    def look(self, arguments: Mapping[str, JsonValue]) -> str:
        """Nothing to look at."""
        return ""

    async def run(self, prepared: Prepared, call: CallContext) -> Observation:
        """Call the tool that is named."""
        named = CallArguments.model_validate(prepared.arguments)
        return await called(self.tools[named.tool], named.arguments, prepared, call)

    async def preview(self, prepared: Prepared, call: CallContext) -> Preview:
        """Its arguments are all that is known before."""
        return Preview()

    async def recall(self, arguments: Mapping[str, JsonValue], call: CallContext, recall: Recall) -> Recalled:
        """Nobody wrote down what became of it."""
        return None


def _on_demand(tools: Mapping[str, ServerTool], room: int) -> tuple[AnyTool, ...]:
    describe = _describe_tool(tools)
    lead = "Call a tool of an MCP server. Look at what it takes with mcp_describe first. The tools are:"
    example = CallArguments(tool=next(iter(tools)), arguments={})
    permission: Permission = "execute" if any(one.permission == "execute" for one in tools.values()) else "write"

    async def never(_: CallArguments, __: CallContext) -> Observation:
        raise AssertionError("the named tool is called")

    base = Tool(
        name=BY_NAME,
        description=lead,
        example=example,
        act=never,
        effect="unkeyed",
        permission=permission,
        untrusted=True,
        private=any(one.server.shows_private for one in tools.values()),
        outside="always" if any(one.outside == "always" for one in tools.values()) else "network",
    )
    left = 4 * (room - tokens_of((describe.spec, base.spec)))
    lines: list[str] = []
    for one in tools.values():
        line = f"{one.name}: {one_line(visible(one.tool.description), LINE_CHARACTERS)}"
        if len(line) + 60 > left:
            break
        lines.append(line)
        left -= len(line) + 1
    if len(lines) < len(tools):
        lines.append(f"… and {len(tools) - len(lines)} more: find them with mcp_describe and a query.")
    return describe, CallTool(replace(base, description="\n".join((lead, *lines))), tools)


# --- prompts and resources ---


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
