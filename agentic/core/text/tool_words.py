"""What people call a tool: one of an MCP server by its own name and the server's, without what tells it from ours."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

OF_SERVERS = "mcp__"
"""How the names of those begin that stand for themselves; the server follows, then two more underscores, then the tool."""
BY_NAME = "mcp_call"
"""Calls one that its argument ``tool`` names; in old logs alone: a call through ``call_tool`` is kept as the call it means."""
OF_SEVERAL = frozenset((BY_NAME, "mcp_describe", "mcp_prompt", "mcp_resource"))
"""Those that stand for servers together."""


def meant(tool: str, arguments: Mapping[str, JsonValue]) -> tuple[str, Mapping[str, JsonValue]]:
    """The tool that a call is of, and what it is called with."""
    named, given = arguments.get("tool"), arguments.get("arguments", {})
    if tool == BY_NAME and isinstance(named, str) and named.startswith(OF_SERVERS) and isinstance(given, dict):
        return named, given
    return tool, arguments


def tool_words(tool: str) -> str:
    """Such as “add at far”, or as it is called where it is ours."""
    server, _, own = tool.removeprefix(OF_SERVERS).partition("__")
    if tool in OF_SEVERAL:
        return "an MCP server"
    return f"{own} at {server}" if tool.startswith(OF_SERVERS) and own else tool


def server_words(tool: str) -> str:
    """Whose tool it is, such as “the MCP server far”; '' where it is ours."""
    if tool in OF_SEVERAL:
        return "an MCP server"
    return f"the MCP server {tool.removeprefix(OF_SERVERS).partition('__')[0]}" if tool.startswith(OF_SERVERS) else ""
