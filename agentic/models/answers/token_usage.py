"""Tokens of a request: the provider's count where it can be believed, else our own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agentic.core.events.execution_events import Block, CallBlock, Usage
from agentic.models.answers.json_text import dumps
from agentic.ports.runtime import Message, Prompt, ToolSpec

CHARACTERS_A_TOKEN: Final = 4
ABSURD: Final = 20_000_000
"""No model reads that many tokens in one request."""
ABSURD_ANSWER: Final = 1_000_000
"""Nor writes that many."""
FEW, MANY = 200, 300_000
"""Tokens of a prompt below and above which the count is held against our own; counting each would walk each history."""
LESS, MORE = 40, 20
"""So many times less, or more, than our own count is no difference of tokenizers."""


@dataclass(frozen=True, slots=True)
class RawUsage:
    """A provider's count as it came; None where it said nothing."""

    input: int | None = None
    output: int | None = None
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class Counted:
    """Usage that can be billed; ``estimated`` says that the provider's count was missing or absurd."""

    usage: Usage
    estimated: bool = False


def counted(raw: RawUsage, prompt: Prompt, blocks: tuple[Block, ...]) -> Counted:
    """The provider's count, or our own of characters where any part of it cannot be true."""
    read, wrote = (raw.input or 0) + raw.cache_read + raw.cache_write, raw.output or 0
    if raw.input is not None and raw.output is not None and possible(raw) and _likely(read, wrote, prompt, blocks):
        usage = Usage(
            input=raw.input,
            output=raw.output,
            cache_read=raw.cache_read,
            cache_write=raw.cache_write,
            reasoning=raw.reasoning,
        )
        return Counted(usage)
    return Counted(Usage(input=prompt_tokens(prompt), output=answer_tokens(blocks)), estimated=True)


def possible(raw: RawUsage) -> bool:
    """Whether any request could have used so much."""
    numbers = (raw.input or 0, raw.cache_read, raw.cache_write)
    return all(0 <= n <= ABSURD for n in numbers) and all(
        0 <= n <= ABSURD_ANSWER for n in (raw.output or 0, raw.reasoning)
    )


def _likely(read: int, wrote: int, prompt: Prompt, blocks: tuple[Block, ...]) -> bool:
    """Whether so many tokens fit what was sent and what came, near enough."""
    if not read or (blocks and not wrote) or wrote * LESS + 1_000 < answer_tokens(blocks):
        return False
    if FEW <= read <= MANY:
        return True
    ours = prompt_tokens(prompt)
    return read * LESS + 100 >= ours if read < FEW else read <= ours * MORE + 20_000


def prompt_tokens(prompt: Prompt) -> int:
    """Our own count of a prompt, four characters a token."""
    characters = len(prompt.system) + len(prompt.tail)
    characters += sum(_tool(spec) for spec in prompt.tools) + sum(_message(message) for message in prompt.messages)
    return characters // CHARACTERS_A_TOKEN + 1


def answer_tokens(blocks: tuple[Block, ...]) -> int:
    """Our own count of an answer."""
    characters = sum(_call(b) if isinstance(b, CallBlock) else len(b.text) for b in blocks)
    return characters // CHARACTERS_A_TOKEN + 1


def _tool(spec: ToolSpec) -> int:
    return len(spec.name) + len(spec.description) + len(dumps(spec.parameters))


def _message(message: Message) -> int:
    calls = sum(len(call.tool) + len(dumps(call.arguments)) for call in message.calls)
    return len(message.text) + calls + sum(len(answer.text) for answer in message.answers)


def _call(block: CallBlock) -> int:
    return len(block.tool) + (len(block.raw) if block.problem else len(dumps(block.arguments)))
