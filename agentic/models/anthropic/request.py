"""Builds the bytes of a request to Anthropic's messages, encoding only what was not encoded before.

The body is joined from cached pieces: a request costs what is new in it, plus one copy of the bytes.  A message is kept
as its content blocks without the last closing brace, because a cache breakpoint stands inside the last block:
``{..., "cache_control": ...}``.  Neighbours of one role become one message, as the protocol wants turns to alternate.

Breakpoints (four at most): the last tool, the system text, the last message of the history, and one before it: where a
turn has more blocks than the provider looks back by itself, the message of the person at which the previous request
ended; else the summary that a compaction left, so that a request whose end came out differently is still served from there.
The volatile tail comes after the last breakpoint and is never part of what is kept.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence, Set
from typing import Final

import orjson
from pydantic import JsonValue

from agentic.models.answers.json_text import dumps
from agentic.models.requests.call_pairing import PairedHistory, paired
from agentic.models.requests.wire_cache import Grown, ToolCache, WireCache
from agentic.ports.pictures import Image, images_of
from agentic.ports.runtime import (
    Message,
    Prompt,
    ToolAnswer,
    ToolCall,
    ToolSpec,
)

PROVIDER: Final = "anthropic"
REDACTED: Final = "redacted:"
"""Marks, in ``opaque``, reasoning that came encrypted and without text."""
BREAKPOINT: Final = b',"cache_control":{"type":"ephemeral"}'
GO_ON: Final = "Go on."
LOOKED_BACK: Final = 18
"""Blocks before a breakpoint at which what was kept earlier is surely found (the provider says about twenty)."""
FOREIGN_ID: Final = re.compile(r"[^a-zA-Z0-9_-]")


class AnthropicWire:
    """Encodes prompts; ``messages.encoded`` counts the messages that had to be encoded."""

    def __init__(self) -> None:
        self.messages: WireCache[bytes] = WireCache(message_blocks)
        self._histories: Grown[_Turns] = Grown(lambda: _Turns(self.messages))
        self._tools: ToolCache[bytes] = ToolCache(_tool_list)

    def request(self, model: str, prompt: Prompt, *, max_tokens: int, stream: bool) -> bytes:
        """The whole body."""
        options: dict[str, JsonValue] = {"model": model, "max_tokens": max_tokens, "stream": stream}
        parts = [orjson.dumps(options)[:-1], self._tools.wire(prompt.tools), _system(prompt.system), b',"messages":[']
        parts += self._turns(prompt.messages).parts(prompt.tail)
        parts.append(b"]}")
        return b"".join(parts)

    def call_ids(self, messages: Sequence[Message]) -> Set[str]:
        """The ids of all calls in the history."""
        return self._histories.of(messages).call_ids(messages)

    def _turns(self, messages: Sequence[Message]) -> _Turns:
        turns = self._histories.of(messages)
        if turns.pairing.holds:
            return turns
        repaired = _Turns(self.messages)
        repaired.take(paired(messages))
        return repaired


class _Turns(PairedHistory):
    """A history as the pieces of a body: an opening or a comma, the blocks, the closing brace of the last block."""

    def __init__(self, wires: WireCache[bytes]) -> None:
        super().__init__()
        self._wires = wires
        self._roles: list[str] = []
        self._blocks: list[int] = []
        """How many blocks each message has."""
        self._landmark: int | None = None
        self._parts: list[bytes] = []

    def take(self, messages: Sequence[Message]) -> None:
        """Go on with these messages."""
        super().take(messages)
        if self.pairing.broken:
            return
        for message, blocks in zip(messages, self._wires.wires(messages), strict=True):
            if blocks:
                speaker = self._roles[-1] if self._roles else ""
                self._parts += (b"," if message.role == speaker else _opening(message.role, speaker), blocks, b"}")
                if message.landmark:
                    self._landmark = len(self._roles)
                self._roles.append(message.role)
                count = len(message.answers) + len(images_of(message)) + len(message.calls) + len(message.reasoning) + 1
                self._blocks.append(count)

    def parts(self, tail: str) -> list[bytes]:
        """All of it with its breakpoints, and the tail."""
        parts = self._parts.copy()
        for place in _marked(self._roles, self._blocks, self._landmark):
            parts[3 * place + 2] = BREAKPOINT + b"}"
        speaker = self._roles[-1] if self._roles else ""
        last = tail if tail.strip() else "" if speaker == "user" else GO_ON
        if last:
            parts += (
                b"," if speaker == "user" else _opening("user", speaker),
                dumps({"type": "text", "text": last}),
            )
        parts.append(b"]}")
        return parts


def message_blocks(message: Message) -> bytes:
    """The content blocks of a message, joined, without the last closing brace; empty where there is no content.

    Results come first, in call order, then pictures, then text.  Reasoning is sent back only where this provider signed it,
    and never ends a message: a breakpoint may not stand in it.
    """
    blocks: list[dict[str, JsonValue]] = [_result(answer) for answer in message.answers]
    blocks += [_image(image) for image in images_of(message)]
    said: list[dict[str, JsonValue]] = [{"type": "text", "text": message.text}] if message.text.strip() else []
    calls = [_call(call) for call in message.calls]
    if said or calls:
        blocks += [
            _reasoning(text, opaque) for provider, text, opaque in message.reasoning if provider == PROVIDER and opaque
        ]
    blocks += [*said, *calls]
    return dumps(list[JsonValue](blocks))[1:-2]


def _marked(roles: list[str], blocks: list[int], landmark: int | None) -> set[int]:
    """Places of the breakpoints: the last message, and the one before it that helps most."""
    last = len(roles) - 1
    earlier = next((place for place in range(last - 1, -1, -1) if roles[place] == "user"), None)
    if last < 0 or earlier is None:
        return {last} if last >= 0 else set()
    near = landmark is not None and sum(blocks[earlier + 1 :]) <= LOOKED_BACK
    return {last, landmark if near and landmark is not None else earlier}


def _opening(role: str, speaker: str) -> bytes:
    return (b"]}," if speaker else b"") + b'{"role":"' + role.encode() + b'","content":['


def _system(text: str) -> bytes:
    if not text.strip():
        return b""
    return b',"system":[' + dumps({"type": "text", "text": text})[:-1] + BREAKPOINT + b"}]"


def _tool_list(tools: tuple[ToolSpec, ...]) -> bytes:
    if not tools:
        return b""
    rows: JsonValue = [{"name": t.name, "description": t.description, "input_schema": t.parameters} for t in tools]
    return b',"tools":' + dumps(rows)[:-2] + BREAKPOINT + b"}]"


def _image(image: Image) -> dict[str, JsonValue]:
    return {"type": "image", "source": {"type": "base64", "media_type": image.media, "data": image.data}}


def _result(answer: ToolAnswer) -> dict[str, JsonValue]:
    row: dict[str, JsonValue] = {
        "type": "tool_result",
        "tool_use_id": wire_id(answer.provider_id),
        "content": answer.text,
    }
    return {**row, "is_error": True} if answer.failed else row


def _call(call: ToolCall) -> dict[str, JsonValue]:
    return {"type": "tool_use", "id": wire_id(call.provider_id), "name": call.tool, "input": call.arguments}


def _reasoning(text: str, opaque: str) -> dict[str, JsonValue]:
    if opaque.startswith(REDACTED):
        return {"type": "redacted_thinking", "data": opaque.removeprefix(REDACTED)}
    return {"type": "thinking", "thinking": text, "signature": opaque}


def wire_id(provider_id: str) -> str:
    """The id in this provider's alphabet; another provider's id is changed the same way in call and result."""
    if not FOREIGN_ID.search(provider_id):
        return provider_id
    mark = hashlib.sha256(provider_id.encode()).hexdigest()[:8]
    return f"{FOREIGN_ID.sub('_', provider_id)}_{mark}"
