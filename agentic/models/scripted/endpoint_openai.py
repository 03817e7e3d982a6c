"""OpenAI's chat completions as the scripted endpoint speaks them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import orjson
from pydantic import JsonValue

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.replies import Failure, Reply

FINISH: Final = {
    "end": "stop",
    "tool_use": "tool_calls",
    "length": "length",
    "filtered": "content_filter",
    "other": "stop",
}
WORDS: Final[dict[int, Failure]] = {
    400: Failure("Invalid value for 'messages'.", "invalid_request_error"),
    401: Failure(
        "Incorrect API key provided: sk-x. You can find your API key in your account.",
        "invalid_request_error",
        "invalid_api_key",
    ),
    402: Failure("Insufficient Balance", "unknown_error", "invalid_request_error"),
    403: Failure("You are not allowed to use this model.", "invalid_request_error", "permission_denied"),
    404: Failure(
        "The model `no-such-model` does not exist or you do not have access to it.",
        "invalid_request_error",
        "model_not_found",
    ),
    413: Failure("Request too large.", "invalid_request_error"),
    429: Failure("Rate limit reached for requests. Please try again later.", "requests", "rate_limit_exceeded"),
    500: Failure("The server had an error while processing your request. Sorry about that!", "server_error"),
    503: Failure("The engine is currently overloaded, please try again later", "server_error"),
}


def error_body(status: int, failure: Failure | None) -> bytes:
    """A refusal in OpenAI's words."""
    usual = WORDS.get(status, WORDS[500])
    said = failure or usual
    error = {
        "message": said.message or usual.message,
        "type": said.type or usual.type,
        "param": None,
        "code": said.code if said.code is not None or said.message else usual.code,
    }
    return orjson.dumps({"error": error})


def body(reply: Reply, request: CapturedRequest, created: int) -> bytes:
    """A whole answer."""
    message: dict[str, JsonValue] = {"role": "assistant", "content": reply.text or None}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.calls:
        message["tool_calls"] = list(_calls(reply, request))
    whole: dict[str, JsonValue] = {
        "id": f"chatcmpl-{request.number}",
        "object": "chat.completion",
        "created": created,
        "model": request.model,
        "service_tier": "default",
        "system_fingerprint": "fp_scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": FINISH[reply.stop_reason], "logprobs": None}],
    }
    if not reply.without_usage:
        whole["usage"] = usage(reply, request)
    return orjson.dumps(whole)


def pieces(reply: Reply, request: CapturedRequest, created: int) -> Iterator[bytes]:
    """The same as server-sent events; the first one only opens the message."""

    def chunk(delta: JsonValue, finish: str | None = None) -> bytes:
        choices: JsonValue = [{"index": 0, "delta": delta, "finish_reason": finish}]
        return _event({**head, "choices": choices})

    head: dict[str, JsonValue] = {
        "id": f"chatcmpl-{request.number}",
        "object": "chat.completion.chunk",
        "created": created,
        "model": request.model,
    }
    yield chunk({"role": "assistant", "content": ""})
    for start in range(0, len(reply.reasoning), reply.piece):
        yield chunk({"reasoning_content": reply.reasoning[start : start + reply.piece]})
    for start in range(0, len(reply.text), reply.piece):
        yield chunk({"content": reply.text[start : start + reply.piece]})
    for index, call in enumerate(_calls(reply, request)):
        yield from (chunk({"tool_calls": [part]}) for part in _call_parts(index, call, reply.piece))
    yield chunk({}, FINISH[reply.stop_reason])
    if not reply.without_usage:
        yield _event({**head, "choices": [], "usage": usage(reply, request)})
    yield b"data: [DONE]\n\n"


def broken_event(failure: Failure | None) -> bytes:
    """The event by which a stream says that it failed."""
    return b"data: " + error_body(500, failure) + b"\n\n"


def usage(reply: Reply, request: CapturedRequest) -> JsonValue:
    """OpenAI counts what came from its cache among the prompt's tokens."""
    said = reply.usage
    prompt = said.input + said.cache_read + said.cache_write if said else len(request.text()) // 4 + 1
    completion = said.output if said else len(reply.text) // 4 + 8 * len(reply.calls) + 1
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": said.cache_read if said else 0},
        "completion_tokens_details": {"reasoning_tokens": said.reasoning if said else 0},
    }


def _calls(reply: Reply, request: CapturedRequest) -> Iterator[dict[str, JsonValue]]:
    for index, (tool, arguments) in enumerate(reply.calls):
        text = arguments if isinstance(arguments, str) else orjson.dumps(dict(arguments)).decode()
        call: dict[str, JsonValue] = {"type": "function", "function": {"name": tool, "arguments": text}}
        call_id = reply.ids[index] if reply.ids is not None else f"call_{request.number}_{index}"
        yield {"id": call_id, **call} if call_id else call


def _call_parts(index: int, call: dict[str, JsonValue], piece: int) -> Iterator[JsonValue]:
    function = call["function"]
    assert isinstance(function, dict)
    arguments = str(function["arguments"])
    opening: dict[str, JsonValue] = {"name": function["name"], "arguments": ""}
    yield {**call, "index": index, "function": opening}
    for start in range(0, len(arguments), piece):
        yield {"index": index, "function": {"arguments": arguments[start : start + piece]}}


def _event(data: JsonValue) -> bytes:
    return b"data: " + orjson.dumps(data) + b"\n\n"
