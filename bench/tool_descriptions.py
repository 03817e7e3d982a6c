"""How many tokens the descriptions of tools take in a prompt, for a role with all of our own tools and those of a server.

The server's are as long as those of the official GitHub server: a sentence or two, and five arguments with words each.

    python -m bench tool_descriptions
"""

from __future__ import annotations

from pydantic import JsonValue

from agentic.core.prompt.tools_on_demand import BUDGET_TOKENS, specs_for
from agentic.core.state.conversation import ToolSpec
from agentic.tools.approaches.approaches import APPROACHES_TOOL
from agentic.tools.commit import COMMIT_TOOL
from agentic.tools.files.codebase_search import codebase_search_tool
from agentic.tools.files.notebook_edit import NOTEBOOK_EDIT_TOOL
from agentic.tools.foreign.skill import skill_tool
from agentic.tools.memory.recall import recall_tool
from agentic.tools.memory.remember import remember_tool
from agentic.tools.network import NETWORK_TOOL
from agentic.tools.publish import COMMENT_TOOL, PUBLISH_TOOL
from agentic.tools.subagent import SUBAGENT_TOOL
from agentic.tools.toolbox import STANDARD, StandardToolbox
from agentic.tools.wake import wake_tool
from agentic.tools.web.fetch_page import fetch_tool
from agentic.tools.web.http_call import http_tool
from agentic.tools.web.web_search import web_search_tool
from agentic.workspace.workspace import RealWorld
from bench.figures import Figure, Figures

_MADE = (
    codebase_search_tool, skill_tool, recall_tool, remember_tool, wake_tool, fetch_tool, http_tool, web_search_tool,
)  # fmt: skip
"""Those that are made for a thread, with what they ask; here nothing is called."""
OWN = (
    *STANDARD, SUBAGENT_TOOL, NETWORK_TOOL, PUBLISH_TOOL, COMMENT_TOOL, COMMIT_TOOL, NOTEBOOK_EDIT_TOOL,
    APPROACHES_TOOL, *(make(None) for make in _MADE),  # type: ignore[arg-type]
)  # fmt: skip
MANY = 60


async def _no_world() -> RealWorld:
    raise AssertionError("nothing is called")


class _ServerTool:
    """One of a server: only its description counts here."""

    permission = "write"

    def __init__(self, number: int) -> None:
        self.name = f"mcp__tracker__change_part_{number}_of_an_issue"
        arguments: dict[str, JsonValue] = {
            name: {"type": "string", "description": f"The {name} of the issue, as the list of issues names it."}
            for name in ("owner", "repository", "issue", "part", "value")
        }
        self.spec = ToolSpec(
            self.name,
            f"Change part {number} of an issue in a repository. It answers the issue as it is afterwards, with its labels.",
            {"type": "object", "properties": arguments, "required": ["owner", "repository", "issue"]},
            "unkeyed",
            "write",
            untrusted=True,
            outside="always",
        )


def figures() -> Figures:
    """Our own tools alone, and with as many of a server as make sixty."""
    foreign = [_ServerTool(number) for number in range(MANY - len(OWN))]
    for name, tools in (("own tools", OWN), ("60 tools", (*OWN, *foreign))):
        toolbox = StandardToolbox(_no_world, tools)  # type: ignore[arg-type]
        shown = specs_for([spec.ref for spec in toolbox.specs], toolbox.specs)
        whole = sum(spec.tokens for spec in toolbox.specs)
        note = f"{whole:,} in all, {sum(spec.name not in ('describe_tools', 'call_tool') for spec in shown)} described"
        yield Figure(f"descriptions of {name}", sum(spec.tokens for spec in shown), "tokens", "<=", BUDGET_TOKENS, note)
