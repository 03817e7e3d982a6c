"""Read chat completions, whole or in pieces, into blocks and usage.

Both routes that speak OpenAI's protocol read with this: what comes over HTTP as JSON, and what LiteLLM returns as objects
of its own.  Pydantic reads either, so that a shape that changed is an error here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue

from agentic.core.events.execution_events import Block, ReasoningBlock, StopReason, TextBlock
from agentic.models.answers.answer_limit import NAME, Allowance
from agentic.models.answers.json_text import dumps, whole
from agentic.models.answers.token_usage import RawUsage
from agentic.models.answers.tool_calls import read_call
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


class _Received(BaseModel):
    """Read from JSON, or by attribute from LiteLLM's objects."""

    model_config = ConfigDict(from_attributes=True, extra="ignore", frozen=True)


class _Function(_Received):
    name: str | None = None
    arguments: str | dict[str, JsonValue] | None = None


class _Call(_Received):
    id: str | None = None
    index: int | None = None
    function: _Function = _Function()


class _Part(_Received):
    """A part of a message that comes as a list: Mistral's reasoning models send ``text`` and ``thinking``."""

    type: str = ""
    text: str | None = None
    thinking: str | tuple[_Part, ...] | None = None

    @property
    def thought(self) -> str:
        """The text of its thinking."""
        if isinstance(self.thinking, tuple):
            return "".join(part.text or "" for part in self.thinking)
        return self.thinking or ""


class _Spoken(_Received):
    """A message or a piece of one; reasoning has two names, and some send it under both."""

    content: str | tuple[_Part, ...] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: tuple[_Call, ...] | None = None


class _Choice(_Received):
    finish_reason: str | None = None
    spoken: _Spoken = Field(validation_alias=AliasChoices("delta", "message"))


class _InputDetails(_Received):
    cached_tokens: int | None = None
    cache_creation_tokens: int | None = Field(
        None, validation_alias=AliasChoices("cache_creation_tokens", "cache_write_tokens")
    )


class _OutputDetails(_Received):
    reasoning_tokens: int | None = None


class TokenCount(_Received):
    """The provider's count of a request."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    prompt_cache_hit_tokens: int | None = None
    """DeepSeek's name for what came from its cache."""
    prompt_tokens_details: _InputDetails | None = None
    completion_tokens_details: _OutputDetails | None = None

    def raw(self) -> RawUsage:
        """The same in our terms: fresh input is what is left of the prompt without what came from or went to a cache."""
        if self.prompt_tokens is None:
            return RawUsage()
        inside, beside = self.prompt_tokens_details, self.completion_tokens_details
        read = (inside.cached_tokens if inside else None) or self.prompt_cache_hit_tokens or 0
        write = (inside.cache_creation_tokens if inside else None) or 0
        reasoning = (beside.reasoning_tokens if beside else None) or 0
        output = self.completion_tokens
        if output is not None and reasoning and self.total_tokens == self.prompt_tokens + output + reasoning:
            output += reasoning  # xAI counts reasoning beside the answer instead of within it
        return RawUsage(self.prompt_tokens - read - write, output, read, write, reasoning)


class Piece(_Received):
    """A whole answer, or one piece of a stream."""

    model: str | None = None
    choices: tuple[_Choice, ...] = ()
    usage: TokenCount | None = None
    last: bool = False
    """The stream says that it is complete."""

    @property
    def counts(self) -> bool:
        """Whether the provider counted tokens in it."""
        return self.usage is not None and bool(self.usage.prompt_tokens or self.usage.completion_tokens)


@dataclass(slots=True)
class _CallPieces:
    """A call that comes in pieces."""

    id: str
    tool: str = ""
    arguments: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class ChatReading:
    """An answer as it comes in, as much of it as is allowed."""

    allowance: Allowance
    on_text: Callable[[str], None] | None = None
    model: str = ""
    stop: StopReason = "other"
    ended: bool = False
    text: list[str] = field(default_factory=list[str])
    reasoning: list[str] = field(default_factory=list[str])
    calls: list[_CallPieces] = field(default_factory=list[_CallPieces])
    by_index: dict[int, _CallPieces] = field(default_factory=dict[int, _CallPieces])
    tokens: TokenCount | None = None

    def take(self, piece: Piece) -> None:
        """A whole answer, or the next piece of one."""
        self.model = (piece.model or self.model)[:NAME]
        self.tokens = piece.usage or self.tokens
        for choice in piece.choices[:1]:
            self._spoken(choice.spoken)
            self._stop(choice.finish_reason)
        self.ended = self.ended or piece.last

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
        """The provider's own count."""
        return self.tokens.raw() if self.tokens is not None else RawUsage()

    def _spoken(self, spoken: _Spoken) -> None:
        if thought := spoken.reasoning_content or spoken.reasoning:
            self.reasoning.append(self.allowance.take(thought))
        if isinstance(spoken.content, tuple):
            for part in spoken.content:
                self.reasoning.append(self.allowance.take(part.thought))
                self._text(part.text)
        else:
            self._text(spoken.content)
        for call in spoken.tool_calls or ():
            self._call(call)

    def _text(self, text: str | None) -> None:
        if text and (taken := self.allowance.take(text)):
            self.text.append(taken)
            if self.on_text:
                self.on_text(whole(taken))

    def _call(self, piece: _Call) -> None:
        """A piece belongs to the call of its place, unless it brings another id: some send every call at place 0."""
        index = piece.index if piece.index is not None else len(self.calls)
        call = self.by_index.get(index)
        id, tool = (piece.id or "")[:NAME], (piece.function.name or "")[:NAME]
        if call is None or (id and tool and call.id != id):
            if not self.allowance.opens():
                return
            call = _CallPieces(id)
            self.calls.append(call)
            self.by_index[index] = call
        call.tool = call.tool or tool
        arguments = piece.function.arguments
        if isinstance(arguments, dict):
            arguments = dumps(arguments).decode()
        if arguments:
            call.arguments.append(self.allowance.take(arguments))

    def _stop(self, reason: str | None) -> None:
        if self.allowance.over:
            self.stop, self.ended = "length", True
        elif reason:
            self.stop = STOPS.get(reason, "other")
            self.ended = True
