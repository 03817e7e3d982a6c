"""Which tools a prompt describes, and which are there on demand: all descriptions together have a budget.

What does not fit is called through ``call_tool``, which names as many as there is room for, after a look at it with
``describe_tools``.  Both stay the same all through an execution, so nothing that is looked up ends a provider's cached prefix;
and a call through it is, to every rule, the call of the tool that it names (``CallBlock.meant``).  The choice follows from
what was recorded of the tools, so it is the same whenever it is made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentic.core.events.execution_events import CALL_TOOL, ToolRef
from agentic.core.state.conversation import ToolSpec
from agentic.core.text.foreign_text import one_line

BUDGET_TOKENS = 6_000
"""Of all descriptions in a prompt."""
NAMED_TOKENS = 1_200
"""Kept free for the names of those that are not described."""
DESCRIBE_TOOLS = "describe_tools"
DOORS = (DESCRIBE_TOOLS, CALL_TOOL)
LINE_CHARACTERS = 90
_SPARE = 80
"""Characters for what is said of those that are not even named."""


def described(tools: Sequence[ToolRef]) -> tuple[ToolRef, ...]:
    """The tools that a prompt describes: all while they fit, else the thinking ones and the first others that do, in order."""
    doors = tuple(tool for tool in tools if tool.name in DOORS)
    others = [tool for tool in tools if tool.name not in DOORS]
    if not doors or sum(tool.tokens for tool in others) <= BUDGET_TOKENS:
        return tuple(others)
    room = (
        BUDGET_TOKENS
        - NAMED_TOKENS
        - sum(tool.tokens for tool in (*doors, *others) if tool.name in DOORS or tool.cognitive)
    )
    kept = {tool.name for tool in others if tool.cognitive}
    for tool in others:
        if tool.name not in kept and tool.tokens <= room:
            kept.add(tool.name)
            room -= tool.tokens
    return (*(tool for tool in others if tool.name in kept), *doors)


def specs_for(tools: Sequence[ToolRef], specs: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
    """The descriptions of these tools, the door to those that are not described with their names; the same tuple where these
    are all.
    """
    shown = {tool.name for tool in described(tools)}
    kept = tuple(spec for spec in specs if spec.name in shown)
    if CALL_TOOL not in shown:
        return specs if len(kept) == len(specs) else kept
    has = {tool.name for tool in tools}
    rest = [spec for spec in specs if spec.name in has - shown]
    room = 4 * (BUDGET_TOKENS - sum(spec.tokens for spec in kept)) - _SPARE
    return tuple(_naming(spec, rest, room) if spec.name == CALL_TOOL else spec for spec in kept)


def _naming(door: ToolSpec, rest: Sequence[ToolSpec], room: int) -> ToolSpec:
    lines: list[str] = []
    for spec in rest:
        line = f"{spec.name}: {one_line(spec.description, LINE_CHARACTERS)}"
        room -= len(line) + 1
        if room < 0:
            lines.append(f"… and {len(rest) - len(lines)} more: find them with {DESCRIBE_TOOLS} and a query.")
            break
        lines.append(line)
    return replace(door, description="\n".join((door.description, "The tools are:", *lines)))
