"""Ollama's own protocol, told in terms of OpenAI's.

Its imitation of OpenAI's protocol cannot be told how long a prompt may be: it keeps a few thousand tokens and silently
forgets the beginning of a longer one.  So it is asked by its own ``/api/chat``, which differs in little: arguments are
objects, limits stand in ``options``, and a stream has one JSON object a line.
"""

from __future__ import annotations

from typing import Final, cast

from pydantic import JsonValue

from agentic.models.answers import json_text
from agentic.models.openai.chat_model import ChatRequest
from agentic.models.openai.chat_request import Row
from agentic.models.openai.chat_response import Piece
from agentic.models.openai.refusals import check_event
from agentic.models.providers.catalogue import OLLAMA_WINDOW
from agentic.models.providers.prices import ModelFacts
from agentic.models.providers.provider_errors import NoAnswer

PATH: Final = "/api/chat"
NAMES: Final = ("ollama", "ollama_chat")


def body(request: ChatRequest, facts: ModelFacts | None) -> Row:
    """The request, for a window as long as the model's, within reason."""
    window = (facts.window if facts else None) or OLLAMA_WINDOW
    sent: Row = {
        "model": request.model.partition("/")[2],
        "messages": [_message(row) for row in request.rows],
        "stream": request.stream,
        "options": {"num_predict": request.max_tokens, "num_ctx": min(window, OLLAMA_WINDOW)},
    }
    if request.tools:
        sent["tools"] = list[JsonValue](request.tools)
    if request.shape is not None:
        sent["format"] = cast("Row", request.shape["json_schema"])["schema"]
    return sent


def piece(line: JsonValue, *, whole: bool = False) -> Piece:
    """One line of a stream, or a whole answer.  Raises ``NoAnswer`` and ``StreamRefused``."""
    check_event(line)
    said = line.get("message") if isinstance(line, dict) else None
    if not isinstance(line, dict) or not isinstance(said, dict):
        raise NoAnswer("no message")
    done = whole or line.get("done") is True
    count = {"prompt_tokens": line.get("prompt_eval_count"), "completion_tokens": line.get("eval_count")}
    spoken = {
        "content": said.get("content"),
        "reasoning": said.get("thinking"),
        "tool_calls": said.get("tool_calls"),
    }
    return Piece.model_validate(
        {
            "model": line.get("model"),
            "choices": [{"delta": spoken, "finish_reason": (line.get("done_reason") or "stop") if done else None}],
            "usage": count if done else None,
        }
    )


def _message(row: Row) -> Row:
    """A message with arguments as objects, and with its pictures beside the text."""
    calls = row.get("tool_calls")
    told: Row = {name: value for name, value in row.items() if name != "tool_calls" and value is not None}
    told.setdefault("content", "")
    spoken = told["content"]
    if isinstance(spoken, list):
        parts = [part for part in spoken if isinstance(part, dict)]
        told["content"] = "\n\n".join(str(part["text"]) for part in parts if part["type"] == "text")
        told["images"] = [_bytes_of(part) for part in parts if part["type"] == "image_url"]
    if isinstance(calls, list):
        told["tool_calls"] = [_call(cast("Row", call)) for call in calls]
    return told


def _bytes_of(part: Row) -> str:
    """A picture as base64, from its data address."""
    return str(cast("Row", part["image_url"])["url"]).partition(",")[2]


def _call(call: Row) -> Row:
    function = cast("Row", call["function"])
    return {"function": {"name": function["name"], "arguments": json_text.loads(str(function["arguments"]))}}
