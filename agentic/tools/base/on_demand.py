"""``describe_tools`` and ``call_tool``: the way to tools whose descriptions do not fit into a prompt."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pydantic import Field, JsonValue

from agentic.core.events.execution_events import CALL_TOOL, Exposure
from agentic.core.prompt.tools_on_demand import DESCRIBE_TOOLS
from agentic.core.text.foreign_text import one_line
from agentic.ports.runtime import Observation, ToolSpec
from agentic.tools.base.observation import refused
from agentic.tools.base.terminal_text import visible
from agentic.tools.base.tool import AnyTool, Arguments, CallContext, Tool

MOST_DESCRIBED = 12
MOST_LISTED = 200
MOST_CHARACTERS = 24_000
FOREIGN = "descriptions of tools that others wrote"


class DescribeArguments(Arguments):
    """Which tools."""

    names: tuple[str, ...] = Field(
        default=(), max_length=MOST_DESCRIBED, description=f"Names from the list of {CALL_TOOL}."
    )
    query: str = Field(
        default="", max_length=200, description="Words that the name or description has to hold, instead."
    )


class CallArguments(Arguments):
    """Which tool, with which arguments."""

    tool: str = Field(min_length=1, max_length=100, description="Its name from the list.")
    arguments: dict[str, JsonValue] = Field(default_factory=dict, description=f"As {DESCRIBE_TOOLS} shows them.")


def doors_to(specs: Sequence[ToolSpec]) -> tuple[AnyTool, AnyTool]:
    """The two tools through which these are looked at and called."""
    known = {spec.name: spec for spec in specs}

    async def describe(arguments: DescribeArguments, _: CallContext) -> Observation:
        unknown = [name for name in arguments.names if name not in known]
        if unknown:
            return refused(f"There is no tool {one_line(unknown[0], 80)!r}. Find it with query.")
        found = [known[name] for name in arguments.names] or _matching(known, arguments.query)
        if not found:
            return Observation("ok", "No tool matches.")
        parts = [_described(spec) for spec in found[:MOST_DESCRIBED]]
        if len(found) > MOST_DESCRIBED:
            parts.append("More match: " + ", ".join(spec.name for spec in found[MOST_DESCRIBED:MOST_LISTED]))
        foreign = any(spec.untrusted for spec in found)
        return Observation(
            "ok", "\n\n".join(parts)[:MOST_CHARACTERS], exposure=Exposure(untrusted=(FOREIGN,) if foreign else ())
        )

    async def call(arguments: CallArguments, _: CallContext) -> Observation:
        return refused(f"{CALL_TOOL} was not run: name another tool than this one, and its arguments as an object.")

    return (
        Tool(
            name=DESCRIBE_TOOLS,
            description=f"Show what tools do and which arguments they take, before you call them with {CALL_TOOL}.",
            example=DescribeArguments(query="issue"),
            act=describe,
            effect="read",
            permission="read",
            cognitive=True,
        ),
        Tool(
            name=CALL_TOOL,
            description=f"Call a tool that is not described here. Look at what it takes with {DESCRIBE_TOOLS} first.",
            example=CallArguments(tool="name", arguments={}),
            act=call,
            effect="read",
            permission="read",
            cognitive=True,
        ),
    )


def _described(spec: ToolSpec) -> str:
    return f"{spec.name}: {visible(spec.description)}\nArguments: {json.dumps(spec.parameters, ensure_ascii=False)}"


def _matching(known: Mapping[str, ToolSpec], query: str) -> list[ToolSpec]:
    words = query.casefold().split()
    return [
        spec for spec in known.values() if all(word in f"{spec.name} {spec.description}".casefold() for word in words)
    ]
