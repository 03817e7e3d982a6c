"""What people call a tool, and whose it is: the names of servers' tools are shown to nobody as models have them."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from agentic.core.text.tool_words import meant, server_words, tool_words


@pytest.mark.parametrize(
    ("tool", "words", "server"),
    [
        ("shell", "shell", ""),
        ("mcp__far__add", "add at far", "the MCP server far"),
        ("mcp__issue_tracker__create_issue", "create_issue at issue_tracker", "the MCP server issue_tracker"),
        ("mcp__far__a__b", "a__b at far", "the MCP server far"),
        ("mcp__far", "mcp__far", "the MCP server far"),
        ("mcp_prompt", "an MCP server", "an MCP server"),
    ],
)
def test_a_tool_of_a_server_is_called_by_its_own_name_and_the_servers(tool: str, words: str, server: str) -> None:
    assert (tool_words(tool), server_words(tool)) == (words, server)


@pytest.mark.parametrize(
    ("arguments", "tool", "given"),
    [
        ({"tool": "mcp__far__add", "arguments": {"text": "x"}}, "mcp__far__add", {"text": "x"}),
        ({"tool": "mcp__far__add"}, "mcp__far__add", {}),
        ({"tool": "shell", "arguments": {}}, "mcp_call", {"tool": "shell", "arguments": {}}),
        ({"tool": 5}, "mcp_call", {"tool": 5}),
        ({"tool": "mcp__far__add", "arguments": 5}, "mcp_call", {"tool": "mcp__far__add", "arguments": 5}),
    ],
)
def test_a_call_by_name_is_one_of_the_tool_that_it_names(
    arguments: dict[str, JsonValue], tool: str, given: dict[str, JsonValue]
) -> None:
    assert meant("mcp_call", arguments) == (tool, given)
    assert meant("grep", arguments) == ("grep", arguments)
