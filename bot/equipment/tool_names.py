"""Which tools there are, for whoever names some in a file: those that this version has, and any of an MCP server."""

from __future__ import annotations

import difflib

FOREIGN = "mcp_"


def misnamed(tool: str) -> str:
    """What is odd about a tool's name, '' where nothing is."""
    known = _names()
    plain = tool.removesuffix("*")
    if tool.startswith(FOREIGN) or tool in known or (plain != tool and any(name.startswith(plain) for name in known)):
        return ""
    alike = difflib.get_close_matches(plain, sorted(known), n=1)
    hint = f"Did you mean `{alike[0]}`?" if alike else "`/role show` in a thread lists the tools."
    return f"no tool is called {tool!r}. {hint}"


def _names() -> frozenset[str]:
    from agentic.tools.commit import COMMIT_TOOL  # with the first file that names a tool
    from agentic.tools.network import NETWORK_TOOL
    from agentic.tools.publish import COMMENT_TOOL, PUBLISH_TOOL
    from agentic.tools.subagent import SUBAGENT_TOOL
    from agentic.tools.toolbox import STANDARD

    others = (COMMIT_TOOL, NETWORK_TOOL, COMMENT_TOOL, PUBLISH_TOOL, SUBAGENT_TOOL)
    return frozenset((*(tool.name for tool in (*STANDARD, *others)), "codebase_search", "wake_me"))
