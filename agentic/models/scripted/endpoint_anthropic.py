"""Anthropic's messages as the scripted endpoint speaks them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import orjson
from pydantic import JsonValue

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.replies import Failure, Reply

STOP: Final = {
    "end": "end_turn",
    "tool_use": "tool_use",
    "length": "max_tokens",
    "filtered": "refusal",
    "other": "pause_turn",
}
WORDS: Final[dict[int, Failure]] = {
    400: Failure("messages: at least one message is required", "invalid_request_error"),
    401: Failure("invalid x-api-key", "authentication_error"),
    402: Failure("Your credit balance is too low to access the Anthropic API.", "billing_error"),
    403: Failure("Your API key does not have permission to use the specified resource.", "permission_error"),
    404: Failure("model: no-such-model", "not_found_error"),
    413: Failure("Request exceeds the maximum size", "request_too_large"),
    429: Failure("This request would exceed your organization's rate limit.", "rate_limit_error"),
    500: Failure("Internal server error", "api_error"),
    529: Failure("Overloaded", "overloaded_error"),
}


def error_body(status: int, failure: Failure | None) -> bytes:
    """A refusal in Anthropic's words."""
    usual = WORDS.get(status, WORDS[500])
    message = failure.message if failure and failure.message else usual.message
    kind = failure.type if failure and failure.type else usual.type
    error: dict[str, JsonValue] = {"type": kind, "message": message}
    if failure is not None and failure.code is not None:
        error["details"] = {"error_code": failure.code}
    return orjson.dumps({"type": "error", "error": error, "request_id": "req_scripted"})


def body(reply: Reply, request: CapturedRequest, created: int) -> bytes:
    """A whole answer."""
    content: list[JsonValue] = []
    if reply.reasoning:
        content.append({"type": "thinking", "thinking": reply.reasoning, "signature": reply.signature})
    if reply.text:
        content.append({"type": "text", "text": reply.text})
    content.extend(_calls(reply, request))
    return orjson.dumps(
        {
            **_head(request),
            "content": content,
            "stop_reason": STOP[reply.stop_reason],
            "usage": None if reply.without_usage else usage(reply, request),
        }
    )


def pieces(reply: Reply, request: CapturedRequest, created: int) -> Iterator[bytes]:
    """The same as server-sent events; the first one only opens the message."""
    counted: dict[str, JsonValue] = {} if reply.without_usage else {"usage": usage(reply, request)}
    yield _event(
        {"type": "message_start", "message": {**_head(request), "content": [], "stop_reason": None, **counted}}
    )
    index = 0
    if reply.reasoning:
        start: JsonValue = {"type": "thinking", "thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": p} for p in _cut(reply.reasoning, reply.piece)]
        yield from _block(index, start, [*deltas, {"type": "signature_delta", "signature": reply.signature}])
        index += 1
    if reply.text:
        deltas = [{"type": "text_delta", "text": p} for p in _cut(reply.text, reply.piece)]
        yield from _block(index, {"type": "text", "text": ""}, deltas)
        index += 1
    for call, (_, arguments) in zip(_calls(reply, request), reply.calls, strict=True):
        text = arguments if isinstance(arguments, str) else orjson.dumps(dict(arguments)).decode()
        parts = [{"type": "input_json_delta", "partial_json": p} for p in ["", *_cut(text, reply.piece)]]
        yield from _block(index, {**call, "input": {}}, parts)
        index += 1
    output: dict[str, JsonValue] = {} if reply.without_usage else {"usage": {"output_tokens": _output_tokens(reply)}}
    yield _event(
        {"type": "message_delta", "delta": {"stop_reason": STOP[reply.stop_reason], "stop_sequence": None}, **output}
    )
    yield _event({"type": "message_stop"})


def broken_event(failure: Failure | None) -> bytes:
    """The event by which a stream says that it failed."""
    return b"event: error\ndata: " + error_body(529, failure) + b"\n\n"


def usage(reply: Reply, request: CapturedRequest) -> JsonValue:
    """Anthropic counts what came from its cache apart."""
    said = reply.usage
    return {
        "input_tokens": said.input if said else len(request.text()) // 4 + 1,
        "cache_read_input_tokens": said.cache_read if said else 0,
        "cache_creation_input_tokens": said.cache_write if said else 0,
        "output_tokens": _output_tokens(reply),
    }


def _output_tokens(reply: Reply) -> int:
    return reply.usage.output if reply.usage else len(reply.text) // 4 + 8 * len(reply.calls) + 1


def _head(request: CapturedRequest) -> dict[str, JsonValue]:
    return {
        "id": f"msg_{request.number}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "stop_sequence": None,
    }


def _calls(reply: Reply, request: CapturedRequest) -> Iterator[dict[str, JsonValue]]:
    for index, (tool, arguments) in enumerate(reply.calls):
        call_id = reply.ids[index] if reply.ids is not None else f"toolu_{request.number}_{index}"
        written: JsonValue = arguments if isinstance(arguments, str) else dict(arguments)
        call: dict[str, JsonValue] = {"type": "tool_use", "name": tool, "input": written}
        yield {"id": call_id, **call} if call_id else call


def _cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _block(index: int, start: JsonValue, deltas: list[dict[str, str]]) -> Iterator[bytes]:
    yield _event({"type": "content_block_start", "index": index, "content_block": start})
    for delta in deltas:
        yield _event({"type": "content_block_delta", "index": index, "delta": dict(delta)})
    yield _event({"type": "content_block_stop", "index": index})


def _event(data: dict[str, JsonValue]) -> bytes:
    return b"event: " + str(data["type"]).encode() + b"\ndata: " + orjson.dumps(data) + b"\n\n"
