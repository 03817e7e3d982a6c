"""Messages and tools in the form of OpenAI's chat completions, which LiteLLM takes for every provider."""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import chain
from typing import Final

from pydantic import JsonValue

from agentic.models.answers.json_text import dumps, whole
from agentic.models.requests.call_pairing import PairedHistory, paired
from agentic.models.requests.wire_cache import Grown, ToolCache, WireCache
from agentic.ports.runtime import Message, Prompt, ToolSpec

Row = dict[str, JsonValue]

GO_ON: Final = "Go on."


class OpenAIWire:
    """Encodes prompts; ``messages.encoded`` counts the messages that had to be encoded."""

    def __init__(self) -> None:
        self.messages: WireCache[tuple[Row, ...]] = WireCache(message_rows)
        self._histories = Histories(self.messages)
        self._tools: ToolCache[list[Row]] = ToolCache(tool_rows)

    def rows(self, prompt: Prompt, *, breakpoints: bool = False) -> list[Row]:
        """The messages; rows are copied, because the library below changes what it is given.

        ``breakpoints`` marks where a provider that wants to be told may cut its cache: after the system text, after the
        summary that a compaction left, and after the history, before the volatile tail.
        """
        history = self._histories.rows(prompt.messages)
        if not breakpoints:
            return joined(prompt.system, history, prompt.tail)
        rows = joined(prompt.system, history, "")
        landmark = next((place for place, message in enumerate(prompt.messages[:2]) if message.landmark), None)
        marked = [rows[0], rows[-1]]
        if landmark is not None:
            marked.append(rows[landmark + bool(prompt.system.strip())])
        for row in {id(row): row for row in marked}.values():
            _mark(row)
        return [*rows, {"role": "user", "content": whole(prompt.tail)}] if prompt.tail.strip() else rows

    def call_ids(self, messages: Sequence[Message]) -> Set[str]:
        """The ids of all calls in the history."""
        return self._histories.call_ids(messages)

    def tools(self, tools: tuple[ToolSpec, ...]) -> list[Row]:
        """The tools."""
        return list(self._tools.wire(tools))


class _Rows(PairedHistory):
    def __init__(self, wires: WireCache[tuple[Row, ...]]) -> None:
        super().__init__()
        self._wires = wires
        self.rows: list[Row] = []

    def take(self, messages: Sequence[Message]) -> None:
        """Go on with these messages."""
        super().take(messages)
        if not self.pairing.broken:
            self.rows.extend(chain.from_iterable(self._wires.wires(messages)))


class Histories:
    """Histories as rows, with every call answered."""

    def __init__(self, wires: WireCache[tuple[Row, ...]]) -> None:
        self._wires = wires
        self._kept: Grown[_Rows] = Grown(lambda: _Rows(wires))

    def rows(self, messages: Sequence[Message]) -> Sequence[Row]:
        """The rows, which are not to be changed."""
        made = self._kept.of(messages)
        if made.pairing.holds:
            return made.rows
        return [*chain.from_iterable(self._wires.wires(paired(messages)))]

    def call_ids(self, messages: Sequence[Message]) -> Set[str]:
        """The ids of all calls in the history."""
        return self._kept.of(messages).call_ids(messages)


def joined(system: str, history: Sequence[Row], tail: str) -> list[Row]:
    """System, copies of the history's rows and the volatile tail, put behind the last message of the person if there is one.

    A message of its own would be a second one of the same role, which templates of some local models refuse.
    """
    rows: list[Row] = [{"role": "system", "content": whole(system)}] if system.strip() else []
    rows.extend(map(dict[str, JsonValue].copy, history))
    last = rows[-1] if rows else {}
    spoken, tail = last.get("content"), whole(tail)
    if not tail.strip():
        return [*rows, {"role": "user", "content": GO_ON}] if last.get("role") not in ("user", "tool") else rows
    if last.get("role") == "user" and isinstance(spoken, str):
        last["content"] = f"{spoken}\n\n{tail}"
        return rows
    return [*rows, {"role": "user", "content": tail}]


def message_rows(message: Message) -> tuple[Row, ...]:
    """One message; each result is a message of its own here, before what the person said."""
    if message.role == "assistant":
        return _assistant(message)
    rows: list[Row] = [
        {"role": "tool", "tool_call_id": a.provider_id, "content": whole(a.text)} for a in message.answers
    ]
    if message.text.strip():
        rows.append({"role": "user", "content": whole(message.text)})
    return tuple(rows)


def tool_rows(tools: tuple[ToolSpec, ...]) -> list[Row]:
    """The tools as functions."""
    return [
        {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.parameters}}
        for t in tools
    ]


def _mark(row: Row) -> None:
    spoken = row.get("content")
    if isinstance(spoken, str) and spoken:
        row["content"] = [{"type": "text", "text": spoken, "cache_control": {"type": "ephemeral"}}]


def _assistant(message: Message) -> tuple[Row, ...]:
    row: Row = {"role": "assistant", "content": whole(message.text) or None}
    if message.calls:
        row["tool_calls"] = [
            {
                "id": call.provider_id,
                "type": "function",
                "function": {"name": call.tool, "arguments": dumps(call.arguments).decode()},
            }
            for call in message.calls
        ]
    return (row,) if message.text.strip() or message.calls else ()
