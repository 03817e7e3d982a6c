"""Reads what LiteLLM returns, whole or in pieces, into blocks and usage; and what it raises into a refusal."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson
from pydantic import JsonValue

from agentic.core.events.execution_events import (
    Block,
    ReasoningBlock,
    StopReason,
    TextBlock,
)
from agentic.models.answers.answer_limit import NAME, Allowance
from agentic.models.answers.json_text import whole
from agentic.models.answers.token_usage import RawUsage
from agentic.models.answers.tool_calls import read_call
from agentic.models.litellm.facade import (
    Called,
    Piece,
    Spoken,
    TokenCount,
    Whole,
)
from agentic.models.providers import provider_errors
from agentic.models.providers.provider_errors import Refusal
from agentic.ports.errors import ModelError
from agentic.ports.runtime import ToolSpec

STOPS: Final[dict[str, StopReason]] = {
    "stop": "end",
    "eos": "end",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "filtered",
    "content_filtered": "filtered",
}
OWN_WORDS: Final = re.compile(r"^(?:litellm\.\w+: |\w+Error: |\w+Exception - |\w+: )+")
IN_STREAM: Final = re.compile(r"unexpected response from Ollama: \{'error': ['\"]([^\n]{1,500}?)['\"]\}")
"""An error in the middle of a stream, as the library quotes it."""
CHAIN: Final = 6
"""So far back the library's own error is looked for behind the one it raised."""
NO_PROVIDER: Final = "LLM Provider NOT provided"


@dataclass(slots=True)
class CallPieces:
    """A call that comes in pieces."""

    id: str
    tool: str = ""
    arguments: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class Reading:
    """An answer as it comes in, as much of it as is allowed."""

    allowance: Allowance
    on_text: Callable[[str], None] | None = None
    model: str = ""
    stop: StopReason = "other"
    ended: bool = False
    text: list[str] = field(default_factory=list[str])
    reasoning: list[str] = field(default_factory=list[str])
    calls: list[CallPieces] = field(default_factory=list[CallPieces])
    by_index: dict[int, CallPieces] = field(default_factory=dict[int, CallPieces])
    tokens: TokenCount | None = None

    def take_whole(self, answer: Whole) -> None:
        """A whole answer."""
        self.model = (answer.model or "")[:NAME]
        self.tokens = answer.usage
        for choice in answer.choices[:1]:
            self._spoken(choice.message)
            self._stop(choice.finish_reason)

    def take(self, piece: Piece) -> None:
        """One piece of a stream."""
        self.model = (piece.model or self.model)[:NAME]
        self.tokens = piece.usage or self.tokens
        for choice in piece.choices[:1]:
            self._spoken(choice.delta)
            self._stop(choice.finish_reason)

    def blocks(self, specs: Mapping[str, ToolSpec], provider: str) -> tuple[Block, ...]:
        """Reasoning, text, calls; the last call of an answer that its length limit ended is not complete."""
        reasoning, text = whole("".join(self.reasoning)), whole("".join(self.text))
        found: list[Block] = [ReasoningBlock(text=reasoning, provider=provider)] if reasoning else []
        found += [TextBlock(text=text)] if text else []
        for call in self.calls:
            cut_off = self.stop == "length" and call is self.calls[-1]
            found.append(read_call(call.id, call.tool, "".join(call.arguments), specs, cut_off=cut_off))
        return tuple(found)

    @property
    def written(self) -> int:
        """Characters that have come."""
        pieces = (*self.text, *self.reasoning, *(piece for call in self.calls for piece in call.arguments))
        return sum(map(len, pieces))

    def raw_usage(self) -> RawUsage:
        """The provider's own count; LiteLLM counts what came from or went to a cache among the prompt's tokens."""
        said = self.tokens
        if said is None or said.prompt_tokens is None:
            return RawUsage()
        inside, beside = said.prompt_tokens_details, said.completion_tokens_details
        read = (inside.cached_tokens if inside else None) or 0
        write = (inside.cache_creation_tokens if inside else None) or 0
        fresh = said.prompt_tokens - read - write
        return RawUsage(fresh, said.completion_tokens, read, write, (beside.reasoning_tokens if beside else None) or 0)

    def _spoken(self, spoken: Spoken) -> None:
        if spoken.reasoning_content:
            self.reasoning.append(self.allowance.take(spoken.reasoning_content))
        if spoken.content and (text := self.allowance.take(spoken.content)):
            self.text.append(text)
            if self.on_text:
                self.on_text(whole(text))
        for called in spoken.tool_calls or ():
            self._called(called)

    def _called(self, called: Called) -> None:
        """A piece belongs to the call of its place, unless it brings another id: some send every call at place 0."""
        index = called.index if called.index is not None else len(self.calls)
        call = self.by_index.get(index)
        id, tool = (called.id or "")[:NAME], (called.function.name or "")[:NAME]
        if call is None or (id and tool and call.id != id):
            if not self.allowance.opens():
                return
            call = CallPieces(id)
            self.calls.append(call)
            self.by_index[index] = call
        call.tool = call.tool or tool
        if called.function.arguments:
            call.arguments.append(self.allowance.take(called.function.arguments))

    def _stop(self, reason: str | None) -> None:
        if self.allowance.over:
            self.stop, self.ended = "length", True
        elif reason:
            self.stop = STOPS.get(reason, "other")
            self.ended = True


def error_from(error: Exception, model: str, key_variable: str) -> ModelError:
    """Our error for whatever the library raised; it tells by status, headers and the provider's words within its own."""
    text = str(error).split(" Original exception:")[0]
    if NO_PROVIDER in text:
        advice = "no provider is named in it. Write it like openai/gpt-4o, or as LiteLLM's list of providers has it"
        return provider_errors.error_for(Refusal(400, advice), model)
    kind = type(error).__name__
    status = getattr(error, "status_code", None)
    headers = getattr(error, "litellm_response_headers", None)
    if kind in ("Timeout", "APITimeoutError"):
        return provider_errors.error_for(Refusal(408, "the connection timed out"), model)
    if kind == "APIConnectionError" and (said := _of_ollama(error)) is not None:
        return provider_errors.of_ollama(said, model)
    if kind == "APIConnectionError" or not isinstance(status, int):
        return provider_errors.unreachable(model, OWN_WORDS.sub("", text))
    if status < 400:
        return provider_errors.unreadable(
            model, "it is not in the provider's protocol; check the address it was asked at"
        )
    message, code = _said(text)
    code = code or {
        "ContextWindowExceededError": "context_length_exceeded",
        "ContentPolicyViolationError": "content_filter",
    }.get(kind, "")
    told = {str(k).lower(): str(v) for k, v in dict(headers).items()} if headers is not None else {}
    return provider_errors.error_for(Refusal(status, message, code, told), model, key_variable=key_variable)


def _of_ollama(error: Exception) -> Refusal | None:
    """What an Ollama answered, which the library passes on as a lost connection; None where nothing answered."""
    known: BaseException | None = error
    for _ in range(CHAIN):
        if known is None or type(known).__name__ == "OllamaError":
            break
        known = known.__cause__ or known.__context__
    if known is None or type(known).__name__ != "OllamaError":
        return None
    told = str(known)
    broke_off = IN_STREAM.search(told)
    if broke_off is not None:
        return Refusal(500, broke_off[1])
    status = getattr(known, "status_code", None)
    said = _error_in(told)
    return Refusal(status, said) if isinstance(status, int) and said else None


def _error_in(text: str) -> str:
    """Ollama's own words: ``{"error": "…"}``; '' where they are not there."""
    try:
        body: JsonValue = orjson.loads(text)
    except orjson.JSONDecodeError:
        return ""
    said = body.get("error") if isinstance(body, dict) else None
    return said if isinstance(said, str) else ""


def _said(text: str) -> tuple[str, str]:
    """The provider's message and code, from the body that stands in the library's message."""
    start = text.find("{")
    body: JsonValue = None
    if start >= 0:
        with contextlib.suppress(orjson.JSONDecodeError):
            body = orjson.loads(text[start : text.rfind("}") + 1])
    error = body.get("error", body) if isinstance(body, dict) else None
    if not isinstance(error, dict) or not error.get("message"):
        return OWN_WORDS.sub("", text), ""
    return str(error["message"]), str(error.get("code") or error.get("type") or "")
