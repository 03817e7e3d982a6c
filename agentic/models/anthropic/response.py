"""Reads Anthropic's answers, whole or as events, into blocks and usage; validated where it matters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from pydantic import JsonValue

from agentic.core.events.execution_events import (
    Block,
    ReasoningBlock,
    StopReason,
    TextBlock,
)
from agentic.models.answers.answer_limit import NAME, Allowance
from agentic.models.answers.json_text import dumps, whole
from agentic.models.answers.token_usage import RawUsage
from agentic.models.answers.tool_calls import read_call
from agentic.models.anthropic.request import PROVIDER, REDACTED
from agentic.models.providers.provider_errors import NoAnswer, Refusal
from agentic.ports.runtime import ToolSpec

STOPS: Final[dict[str, StopReason]] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_use",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "filtered",
}
STATUS: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}

Row = dict[str, JsonValue]


class SaidError(Exception):
    """A stream that says, in its own event, that it failed."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.text)
        self.refusal = refusal


@dataclass(slots=True)
class Reading:
    """An answer as it comes in, event by event, as much of it as is allowed; ``take_whole`` takes one that came at once."""

    allowance: Allowance
    on_text: Callable[[str], None] | None = None
    model: str = ""
    stop: StopReason = "other"
    ended: bool = False
    usage: Row = field(default_factory=dict[str, JsonValue])
    open_blocks: dict[int, Row] = field(default_factory=dict[int, Row])
    pieces: dict[int, list[str]] = field(default_factory=dict[int, list[str]])

    def take_whole(self, message: JsonValue) -> None:
        """A whole message object."""
        if not isinstance(message, dict) or not isinstance(message.get("content"), list):
            raise NoAnswer("no message with content")
        self._head(message)
        self._stop(message.get("stop_reason"))
        for index, block in enumerate(cast("list[JsonValue]", message["content"])):
            if isinstance(block, dict):
                self._open(index, block)
        self._check()
        self.ended = True

    def take(self, event: JsonValue) -> None:
        """One server-sent event; kinds that are not known yet are passed over, as the protocol asks."""
        if not isinstance(event, dict):
            raise NoAnswer("an event that is no object")
        match event.get("type"):
            case "message_start":
                self._head(_row(event.get("message")))
            case "content_block_start":
                self._open(_index(event), _row(event.get("content_block")))
            case "content_block_delta":
                self._delta(_index(event), _row(event.get("delta")))
            case "message_delta":
                self._stop(_row(event.get("delta")).get("stop_reason"))
                self.usage |= {name: count for name, count in _row(event.get("usage")).items() if count is not None}
            case "message_stop":
                self.ended = True
            case "error":
                raise SaidError(refusal_of(event, 500, {}))
            case _:
                pass
        self._check()

    def blocks(self, specs: Mapping[str, ToolSpec]) -> tuple[Block, ...]:
        """The blocks in order; a call that the length limit ended is not complete, whatever it looks like."""
        order = sorted(self.open_blocks)
        read: list[Block] = []
        for index in order:
            block = self.open_blocks[index]
            cut_off = self.stop == "length" and index == order[-1]
            if found := _block(block, self.pieces.get(index), specs, cut_off=cut_off):
                read.append(found)
        return tuple(read)

    @property
    def written(self) -> int:
        """Characters that have come in pieces."""
        return sum(len(piece) for pieces in self.pieces.values() for piece in pieces)

    def raw_usage(self) -> RawUsage:
        """The provider's own count."""
        usage = self.usage
        return RawUsage(
            input=_count(usage.get("input_tokens")),
            output=_count(usage.get("output_tokens")),
            cache_read=_count(usage.get("cache_read_input_tokens")) or 0,
            cache_write=_count(usage.get("cache_creation_input_tokens")) or 0,
        )

    def _head(self, message: Row) -> None:
        self.model = str(message.get("model") or "")[:NAME]
        self.usage |= _row(message.get("usage"))

    def _stop(self, reason: JsonValue) -> None:
        if isinstance(reason, str):
            self.stop = STOPS.get(reason, "other")

    def _check(self) -> None:
        """More than is allowed: what came counts as cut off by its length."""
        if self.allowance.over:
            self.stop, self.ended = "length", True

    def _open(self, index: int, block: Row) -> None:
        """A block with what it brings along; what is sealed is there as a whole or not at all."""
        if not self.allowance.opens():
            return
        kept: Row = {"type": block.get("type")}
        for name in ("text", "thinking"):
            kept |= {name: self.allowance.take(str(block[name]))} if block.get(name) else {}
        for name in ("id", "name"):
            kept |= {name: str(block[name])[:NAME]} if block.get(name) else {}
        if "input" in block:
            raw = self.allowance.take(dumps(block["input"]).decode())
            kept["input"] = raw if self.allowance.over else block["input"]
        for name in ("signature", "data"):
            kept |= {name: sealed} if (sealed := self._sealed(block.get(name))) else {}
        if kept["type"] != "redacted_thinking" or kept.get("data"):
            self.open_blocks[index] = kept

    def _sealed(self, value: JsonValue) -> str:
        text = str(value or "")
        return text if self.allowance.take(text) == text else ""

    def _delta(self, index: int, delta: Row) -> None:
        block = self.open_blocks.get(index)
        if block is None:
            if self.allowance.over:
                return
            raise NoAnswer("a piece of a block that was not opened")
        match delta.get("type"):
            case "text_delta":
                text = self._piece(index, delta.get("text"))
                if self.on_text and text:
                    self.on_text(whole(text))
            case "input_json_delta":
                self._piece(index, delta.get("partial_json"))
            case "thinking_delta":
                self._piece(index, delta.get("thinking"))
            case "signature_delta":
                block["signature"] = self._sealed(delta.get("signature"))
            case _:
                pass

    def _piece(self, index: int, value: JsonValue) -> str:
        """A piece of a block, as much of it as is allowed."""
        text = self.allowance.take(str(value or ""))
        pieces = self.pieces.setdefault(index, [])
        if text or not pieces:
            pieces.append(text)
        return text


def refusal_of(body: JsonValue, status: int, headers: Mapping[str, str]) -> Refusal:
    """A refusal from an error body; within a stream the status is derived from the error's type."""
    error = _row(_row(body).get("error"))
    kind = str(error.get("type", ""))
    derived = STATUS.get(kind, status) if status in (200, 500) else status
    code = f"{kind} {_row(error.get('details')).get('error_code') or ''}".strip()
    return Refusal(derived, str(error.get("message") or body or "no words"), code, headers)


def _block(block: Row, pieces: list[str] | None, specs: Mapping[str, ToolSpec], *, cut_off: bool) -> Block | None:
    joined = None if pieces is None else whole("".join(pieces))
    match block.get("type"):
        case "text":
            text = whole(str(block.get("text", ""))) + (joined or "")
            return TextBlock(text=text) if text else None
        case "thinking":
            text = str(block.get("thinking", "")) + (joined or "")
            return ReasoningBlock(text=text, opaque=str(block.get("signature") or ""), provider=PROVIDER)
        case "redacted_thinking":
            return ReasoningBlock(opaque=REDACTED + str(block.get("data", "")), provider=PROVIDER)
        case "tool_use":
            arguments = block.get("input") if joined is None else joined
            if joined == "" and not cut_off:
                arguments = block.get("input") or ""
            return read_call(str(block.get("id") or ""), str(block.get("name", "")), arguments, specs, cut_off=cut_off)
        case _:
            return None


def _row(value: JsonValue) -> Row:
    return value if isinstance(value, dict) else {}


def _index(event: Row) -> int:
    index = event.get("index")
    if not isinstance(index, int):
        raise NoAnswer("a block without its place")
    return index


def _count(value: JsonValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
