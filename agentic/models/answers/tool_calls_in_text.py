"""Finds tool calls that a model wrote into its text instead of calling.  Pure.

Three forms are taken: ``<tool_call>`` tags, a text that is JSON and nothing else, and a JSON block (fenced, or at the
start of a line) that ends the text.  Only known tools count.  A call taken from prose must be unambiguous: exactly one
block, at the end, whose arguments are the tool's own; otherwise the text stays text, and the agent asks again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, cast

import orjson
from pydantic import JsonValue

from agentic.core.events.execution_events import Block, CallBlock, TextBlock
from agentic.models.answers.tool_calls import (
    arguments_of,
    properties,
    read_call,
    required,
)
from agentic.ports.runtime import ToolSpec

TAG: Final = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
FENCE_OPENS: Final = re.compile(r"^[ \t]*+```[ \t]*+(?:json|tool_call|tool|tool_code)?[ \t]*+\n", re.MULTILINE)
FENCE_CLOSES: Final = re.compile(r"```[ \t]*+$", re.MULTILINE)
MAX_STARTS: Final = 50
"""Lines that may begin the one call of a text: each is read to the end."""
LINE_START: Final = re.compile(r"^[\[{]", re.MULTILINE)
NAME: Final = re.compile(r'"(?:name|tool)"\s*:\s*"([\w.-]+)"')
NAMES: Final = ("name", "tool", "tool_name")
ARGUMENTS: Final = ("arguments", "parameters", "args", "input")
BESIDE: Final = frozenset({*NAMES, *ARGUMENTS, "id", "type", "reasoning", "thought"})


@dataclass(frozen=True, slots=True)
class Written:
    """A call as it was written: the tool, its arguments, whether they were complete."""

    tool: str
    arguments: JsonValue
    cut_off: bool = False


@dataclass(frozen=True, slots=True)
class Recovered:
    """The text without the calls, and the calls."""

    text: str
    calls: tuple[Written, ...]


def recovered_blocks(blocks: tuple[Block, ...], specs: Mapping[str, ToolSpec], *, length: bool) -> tuple[Block, ...]:
    """The blocks of an answer, with calls found in its text where it has no native one; ids are left empty."""
    if not specs or any(isinstance(block, CallBlock) for block in blocks):
        return blocks
    found: list[Block] = []
    for block in blocks:
        recovered = recover(block.text, specs, length=length) if isinstance(block, TextBlock) else None
        if recovered is None:
            found.append(block)
            continue
        if recovered.text:
            found.append(TextBlock(text=recovered.text))
        found += [read_call("", call.tool, call.arguments, specs, cut_off=call.cut_off) for call in recovered.calls]
    return tuple(found)


def recover(text: str, specs: Mapping[str, ToolSpec], *, length: bool = False) -> Recovered | None:
    """The calls written into ``text``, or None; ``length`` says that the text was cut off by its limit."""
    if "{" not in text:
        return None
    return _from_tags(text, specs, length=length) or _from_whole(text, specs) or _from_prose(text, specs)


def _from_tags(text: str, specs: Mapping[str, ToolSpec], *, length: bool) -> Recovered | None:
    calls: list[Written] = []
    for found in TAG.finditer(text):
        call = _tagged(found[1].strip(), specs, unclosed=length and not found[0].endswith("</tool_call>"))
        if call is None:
            return None
        calls.append(call)
    return Recovered(TAG.sub("", text).strip(), tuple(calls)) if calls else None


def _tagged(inside: str, specs: Mapping[str, ToolSpec], *, unclosed: bool) -> Written | None:
    """A tag says that it is a call: one that cannot be read is a call with a problem, if its tool is known."""
    calls = _read(_json(inside), specs)
    if calls and len(calls) == 1 and not unclosed:
        return calls[0]
    named = NAME.search(inside)
    if named is None or named[1] not in specs:
        return None
    return Written(named[1], inside, cut_off=unclosed)


def _from_whole(text: str, specs: Mapping[str, ToolSpec]) -> Recovered | None:
    stripped = text.strip()
    opens = FENCE_OPENS.match(stripped)
    fenced = opens is not None and opens.end() <= len(stripped) - 3 and stripped.endswith("```")
    calls = _read(_json(stripped[opens.end() : -3] if opens and fenced else stripped), specs)
    return Recovered("", calls) if calls else None


def _from_prose(text: str, specs: Mapping[str, ToolSpec]) -> Recovered | None:
    """One block that ends the text; an example in the middle of an explanation is none."""
    text = text.rstrip()
    fences = list(_fences(text))
    if fences:
        candidates = [(start, end, calls) for start, inside, end in fences if (calls := _read(_json(inside), specs))]
        if len(candidates) != 1 or candidates[0][1] != len(text):
            return None
        start, _, calls = candidates[0]
        return _sure(text[:start], calls, specs)
    starts = [found.start() for found in LINE_START.finditer(text)]
    if len(starts) > MAX_STARTS:
        return None
    readings = [(start, calls) for start in starts if (calls := _read(_json(text[start:]), specs))]
    return _sure(text[: readings[0][0]], readings[0][1], specs) if len(readings) == 1 else None


def _fences(text: str) -> Iterator[tuple[int, str, int]]:
    """Each block between fences: where it begins, what stands in it, where it ends."""
    at = 0
    while (opens := FENCE_OPENS.search(text, at)) and (closes := FENCE_CLOSES.search(text, opens.end())):
        yield opens.start(), text[opens.end() : closes.start()], closes.end()
        at = closes.end()


def _sure(before: str, calls: tuple[Written, ...], specs: Mapping[str, ToolSpec]) -> Recovered | None:
    if len(calls) != 1:
        return None
    spec = specs[calls[0].tool]
    given = set(arguments_of(calls[0].arguments) or {})
    fits = required(spec) <= given <= properties(spec)
    return Recovered(before.strip(), calls) if fits else None


def _json(text: str) -> JsonValue:
    try:
        return cast("JsonValue", orjson.loads(text))
    except orjson.JSONDecodeError:
        return None


def _read(value: JsonValue, specs: Mapping[str, ToolSpec]) -> tuple[Written, ...]:
    """Calls of known tools in decoded JSON: one object or a list of nothing else."""
    rows = value if isinstance(value, list) else [value]
    calls = [_one(row, specs) for row in rows if isinstance(row, dict)]
    complete = bool(rows) and len(calls) == len(rows) and all(calls)
    return tuple(call for call in calls if call) if complete else ()


def _one(row: dict[str, JsonValue], specs: Mapping[str, ToolSpec]) -> Written | None:
    function = row.get("function")
    if isinstance(function, dict):
        row = function
    if not set(row) <= BESIDE:
        return None
    tool = next((row[key] for key in NAMES if key in row), None)
    given = [key for key in ARGUMENTS if key in row]
    if not isinstance(tool, str) or tool not in specs or len(given) != 1:
        return None
    arguments = arguments_of(row[given[0]])
    return None if arguments is None else Written(tool, arguments)
