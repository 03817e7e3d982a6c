"""Messages and tools in the form of chat completions, which LiteLLM takes for every provider too."""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import partial
from itertools import chain
from typing import Final

from pydantic import JsonValue

from agentic.models.answers.json_text import dumps, whole
from agentic.models.requests.call_pairing import PairedHistory, paired
from agentic.models.requests.wire_cache import Grown, ToolCache, WireCache
from agentic.ports.pictures import Image, images_of
from agentic.ports.runtime import Message, Prompt, ToolSpec

Row = dict[str, JsonValue]

GO_ON: Final = "Go on."


class ChatWire:
    """Encodes prompts; ``messages.encoded`` counts the messages that had to be encoded.

    ``reasoning`` names the field in which this provider wants its own reasoning back; '' where it wants none.  With
    ``in_each`` the field stands in every message of a model, blank in those that this provider did not write.
    """

    def __init__(self, provider: str = "", reasoning: str = "", *, in_each: bool = False) -> None:
        encode = partial(message_rows, provider=provider, reasoning=reasoning, blank=" " if in_each else "")
        self.messages: WireCache[tuple[Row, ...]] = WireCache(encode)
        self._histories = Histories(self.messages)
        self._tools: ToolCache[list[Row]] = ToolCache(tool_rows)

    def rows(self, prompt: Prompt, *, breakpoints: bool = False) -> list[Row]:
        """The messages; those of the history are kept, and not to be changed.

        ``breakpoints`` marks where a provider that wants to be told may cut its cache: after the system text, after the
        summary that a compaction left, and after the history, before the volatile tail.
        """
        history = self._histories.rows(prompt.messages)
        if not breakpoints:
            return joined(prompt.system, history, prompt.tail)
        rows = joined(prompt.system, history, "")
        landmark = next((place for place, message in enumerate(prompt.messages[:2]) if message.landmark), None)
        marked = {0, len(rows) - 1}
        if landmark is not None:
            marked.add(landmark + bool(prompt.system.strip()))
        for place in marked:
            rows[place] = _marked(rows[place])
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
    """System, the history's rows and the volatile tail, put behind the last message of the person if there is one.

    A message of its own would be a second one of the same role, which templates of some local models refuse.
    """
    rows: list[Row] = [{"role": "system", "content": whole(system)}] if system.strip() else []
    rows.extend(history)
    last = rows[-1] if rows else {}
    spoken, tail = last.get("content"), whole(tail)
    if not tail.strip():
        return [*rows, {"role": "user", "content": GO_ON}] if last.get("role") not in ("user", "tool") else rows
    if last.get("role") == "user" and isinstance(spoken, str):
        return [*rows[:-1], {**last, "content": f"{spoken}\n\n{tail}"}]
    if last.get("role") == "user" and isinstance(spoken, list):
        return [*rows[:-1], {**last, "content": [*spoken, {"type": "text", "text": tail}]}]
    return [*rows, {"role": "user", "content": tail}]


def message_rows(message: Message, provider: str = "", reasoning: str = "", blank: str = "") -> tuple[Row, ...]:
    """One message; each result is a message of its own here, before what the person said.

    A model's message holds the reasoning of this provider in the field ``reasoning``, or ``blank`` where it has none.
    """
    if message.role == "assistant":
        thought = "".join(text for by, text, _ in message.reasoning if by == provider) or blank
        return _assistant(message, {reasoning: whole(thought)} if reasoning and thought else {})
    rows: list[Row] = [
        {"role": "tool", "tool_call_id": a.provider_id, "content": whole(a.text)} for a in message.answers
    ]
    if message.text.strip():
        rows.append({"role": "user", "content": spoken_with(message.text, message)})
    return tuple(rows)


def spoken_with(text: str, message: Message) -> JsonValue:
    """What a person said: text, or parts where pictures go with it."""
    images = images_of(message)
    if not images:
        return whole(text)
    return [*map(_image, images), {"type": "text", "text": whole(text)}]


def _image(image: Image) -> Row:
    return {"type": "image_url", "image_url": {"url": f"data:{image.media};base64,{image.data}"}}


def tool_rows(tools: tuple[ToolSpec, ...]) -> list[Row]:
    """The tools as functions."""
    return [
        {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.parameters}}
        for t in tools
    ]


def _marked(row: Row) -> Row:
    """The same message as one after which a cache may be cut."""
    spoken = row.get("content")
    if isinstance(spoken, list) and isinstance(spoken[-1], dict):
        return {**row, "content": [*spoken[:-1], {**spoken[-1], "cache_control": {"type": "ephemeral"}}]}
    if not isinstance(spoken, str) or not spoken:
        return row
    return {**row, "content": [{"type": "text", "text": spoken, "cache_control": {"type": "ephemeral"}}]}


def _assistant(message: Message, reasoning: Row) -> tuple[Row, ...]:
    row: Row = {"role": "assistant", "content": whole(message.text) or None, **reasoning}
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
