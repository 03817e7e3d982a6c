"""The last steps of every route: what a provider sent becomes an ``Answer`` the loop can rely on.  Pure."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Final

from agentic.core.events.execution_events import (
    Block,
    CallBlock,
    StopReason,
    TextBlock,
    Usage,
)
from agentic.models.answers.token_usage import (
    CHARACTERS_A_TOKEN,
    RawUsage,
    counted,
    possible,
    prompt_tokens,
)
from agentic.models.answers.tool_calls import by_name
from agentic.models.answers.tool_calls_in_text import recovered_blocks
from agentic.models.providers.prices import Prices
from agentic.models.requests.call_pairing import unique_ids
from agentic.ports.errors import ModelContentFiltered
from agentic.ports.runtime import Answer, Prompt, Used

HIDDEN_TOKENS: Final = 60
"""Tokens a second that a model writes which cannot be seen yet."""
ESTIMATED: Final = " (usage estimated)"
"""Stands after ``served_by`` where the provider's count was missing or absurd and our own was taken."""


@dataclass(frozen=True, slots=True)
class Came:
    """An answer as one route read it."""

    blocks: tuple[Block, ...]
    stop: StopReason
    usage: RawUsage
    served_by: str


def finished_answer(
    model: str, prompt: Prompt, came: Came, prices: Prices, known_calls: Set[str] | None = None
) -> Answer:
    """The answer with written calls recovered, unique ids, a stop reason that fits, usage and price.

    ``known_calls``: the ids of all calls in the prompt's history, where they were collected before.
    """
    length = came.stop == "length"
    billed = counted(came.usage, prompt, came.blocks)
    blocks = recovered_blocks(came.blocks, by_name(prompt.tools), length=length)
    blocks = unique_ids(blocks, prompt.messages, known_calls)
    if came.stop == "filtered" and not _says_something(blocks):
        raise ModelContentFiltered(f"{model} refused to answer this. Put the task in other words.", model=model)
    served_by = (came.served_by or model) + (ESTIMATED if billed.estimated else "")
    usd = prices.usd(model, billed.usage, came.served_by)
    return Answer(blocks, _stop(blocks, came.stop), billed.usage, usd, served_by, billed.estimated)


@dataclass(frozen=True, slots=True)
class Interrupted:
    """What was asked of a model, as far as an estimate needs it; ``streamed``: its answer comes as it is written."""

    model: str
    prompt: Prompt
    max_tokens: int
    streamed: bool

    def used(self, raw: RawUsage, written: int, silence: float, served_by: str, prices: Prices) -> Used:
        """What it has cost so far: the provider's count where it has said one that can be true, else our own.

        ``written`` are characters that came, ``silence`` the seconds before the first: in these a model that thinks, or
        answers all at once, has written what nobody sees.
        """
        facts = prices.facts(self.model)
        hidden = int(silence * HIDDEN_TOKENS) if not self.streamed or (facts is not None and facts.reasons) else 0
        output = min(written // CHARACTERS_A_TOKEN + hidden, self.max_tokens)
        usage = Usage(input=prompt_tokens(self.prompt), output=output)
        if (raw.input or 0) + raw.cache_read + raw.cache_write and possible(raw):
            usage = Usage(
                input=raw.input or 0,
                output=max(raw.output or 0, output),
                cache_read=raw.cache_read,
                cache_write=raw.cache_write,
            )
        return Used(usage, prices.usd(self.model, usage, served_by), begun=bool(served_by or written))


def _says_something(blocks: tuple[Block, ...]) -> bool:
    return any(
        isinstance(block, CallBlock) or (isinstance(block, TextBlock) and block.text.strip()) for block in blocks
    )


def _stop(blocks: tuple[Block, ...], said: StopReason) -> StopReason:
    """Some providers end an answer full of calls with "stop", or one without any with "tool_calls"."""
    calls = any(isinstance(block, CallBlock) for block in blocks)
    if said in ("end", "other") and calls:
        return "tool_use"
    return "end" if said == "tool_use" and not calls else said
