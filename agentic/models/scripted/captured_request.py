"""A request as the scripted endpoint received it, in one form for both protocols."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

import orjson
from pydantic import JsonValue

Protocol = Literal["openai", "anthropic"]


@dataclass(frozen=True, slots=True)
class SaidCall:
    """A tool call in the history that was sent; ``arguments`` is what was sent, decoded where it was JSON."""

    id: str
    tool: str
    arguments: JsonValue


@dataclass(frozen=True, slots=True)
class SaidAnswer:
    """A tool's result in the history that was sent."""

    id: str
    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """One message that was sent; OpenAI's ``tool`` messages are of role ``user`` here, as Anthropic has them."""

    role: str
    text: str = ""
    calls: tuple[SaidCall, ...] = ()
    answers: tuple[SaidAnswer, ...] = ()


@dataclass(frozen=True, slots=True)
class CapturedRequest:
    """What one request said; ``body`` is the JSON as it came, ``number`` counts from 1."""

    number: int
    protocol: Protocol
    model: str
    stream: bool
    headers: Mapping[str, str]
    body: dict[str, JsonValue]
    system: str
    messages: tuple[Said, ...]
    tools: tuple[str, ...]

    def text(self) -> str:
        """Everything the model would read, for searching: system, tools, messages, calls and results."""
        parts = [self.system, *self.tools]
        for said in self.messages:
            parts += [said.text, *(answer.text for answer in said.answers)]
            parts += [f"{call.tool} {orjson.dumps(call.arguments).decode()}" for call in said.calls]
        return "\n".join(part for part in parts if part)

    @property
    def answers(self) -> tuple[SaidAnswer, ...]:
        """Every tool result in the request, in order."""
        return tuple(answer for said in self.messages for answer in said.answers)

    @property
    def last(self) -> Said:
        """The last message."""
        return self.messages[-1]


def capture(number: int, protocol: Protocol, headers: Mapping[str, str], raw: bytes) -> CapturedRequest:
    """Read a request body of either protocol."""
    body = cast("dict[str, JsonValue]", orjson.loads(raw))
    rows = _rows(body.get("messages"))
    read = _anthropic_message if protocol == "anthropic" else _openai_message
    system = (
        _text(body.get("system"))
        if protocol == "anthropic"
        else "\n".join(_text(r.get("content")) for r in rows if r.get("role") in ("system", "developer"))
    )
    return CapturedRequest(
        number=number,
        protocol=protocol,
        model=str(body.get("model", "")),
        stream=bool(body.get("stream")),
        headers=headers,
        body=body,
        system=system,
        messages=tuple(read(row) for row in rows if row.get("role") not in ("system", "developer")),
        tools=tuple(_tool_name(row) for row in _rows(body.get("tools"))),
    )


def _rows(value: JsonValue) -> list[dict[str, JsonValue]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _text(content: JsonValue) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(row["text"]) for row in _rows(content) if "text" in row)


def _tool_name(row: dict[str, JsonValue]) -> str:
    function = row.get("function")
    return str(function.get("name", "") if isinstance(function, dict) else row.get("name", ""))


def _anthropic_message(row: dict[str, JsonValue]) -> Said:
    content = _rows(row.get("content"))
    return Said(
        role=str(row.get("role", "")),
        text=_text(row.get("content")),
        calls=tuple(
            SaidCall(str(b.get("id", "")), str(b.get("name", "")), b.get("input"))
            for b in content
            if b.get("type") == "tool_use"
        ),
        answers=tuple(
            SaidAnswer(str(b.get("tool_use_id", "")), _text(b.get("content")), bool(b.get("is_error")))
            for b in content
            if b.get("type") == "tool_result"
        ),
    )


def _openai_message(row: dict[str, JsonValue]) -> Said:
    text = _text(row.get("content"))
    if row.get("role") == "tool":
        return Said("user", answers=(SaidAnswer(str(row.get("tool_call_id", "")), text),))
    return Said(str(row.get("role", "")), text, tuple(_openai_call(call) for call in _rows(row.get("tool_calls"))))


def _openai_call(row: dict[str, JsonValue]) -> SaidCall:
    function = row.get("function")
    if not isinstance(function, dict):
        return SaidCall(str(row.get("id", "")), "", None)
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        with contextlib.suppress(orjson.JSONDecodeError):  # what is no JSON is shown as it came
            arguments = orjson.loads(arguments)
    return SaidCall(str(row.get("id", "")), str(function.get("name", "")), arguments)
