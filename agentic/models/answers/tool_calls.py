"""Reads a tool call as a provider sent it: arguments as text or as an object, perhaps broken, perhaps cut off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from pydantic import JsonValue

from agentic.core.events.execution_events import CallBlock
from agentic.models.answers.json_text import (
    dumps,
    loads,
    too_deep,
    whole,
    whole_json,
)
from agentic.ports.runtime import ToolSpec

TOO_DEEP = "(nested too deeply to be read)"


def read_call(
    provider_id: str, tool: str, arguments: JsonValue, specs: Mapping[str, ToolSpec], *, cut_off: bool = False
) -> CallBlock:
    """The call; arguments that are no JSON object make it ``malformed``, never an empty object.

    ``cut_off`` says that the answer ended by its length limit inside this call: it is never run, not even where what
    came happens to be valid.
    """
    if too_deep(arguments):
        arguments = TOO_DEEP
    raw = whole(arguments) if isinstance(arguments, str) else dumps(arguments).decode()
    if cut_off:
        return CallBlock(provider_id=provider_id, tool=tool, problem="cut_off", raw=raw)
    read = arguments_of(whole_json(arguments))
    if read is None and not raw.strip() and takes_nothing(specs.get(tool)):
        read = {}
    if read is None:
        return CallBlock(provider_id=provider_id, tool=tool, problem="malformed", raw=raw)
    return CallBlock(provider_id=provider_id, tool=tool, arguments=read)


def arguments_of(value: JsonValue) -> dict[str, JsonValue] | None:
    """A JSON object, given as one, as its text, or as the text of its text; None where it is none of these."""
    for _ in range(3):
        if isinstance(value, dict):
            return None if too_deep(value) else cast("dict[str, JsonValue]", whole_json(value))
        if not isinstance(value, str):
            return None
        try:
            value = loads(value)
        except ValueError:
            return None
    return None


def takes_nothing(spec: ToolSpec | None) -> bool:
    """Whether the tool may be called without arguments, as providers then send an empty text for ``{}``."""
    return spec is not None and not required(spec)


def required(spec: ToolSpec) -> set[str]:
    """Names of the arguments that must be there."""
    names = spec.parameters.get("required")
    return {str(name) for name in names} if isinstance(names, list) else set()


def properties(spec: ToolSpec) -> set[str]:
    """Names of the arguments that may be there."""
    known = spec.parameters.get("properties")
    return set(known) if isinstance(known, dict) else set()


def by_name(tools: Sequence[ToolSpec]) -> dict[str, ToolSpec]:
    """The tools by their names."""
    return {spec.name: spec for spec in tools}
