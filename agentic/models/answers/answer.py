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
)
from agentic.models.answers.tool_calls import by_name
from agentic.models.answers.tool_calls_in_text import recovered_blocks
from agentic.models.providers.prices import Prices
from agentic.models.requests.call_pairing import unique_ids
from agentic.ports.errors import ModelContentFiltered
from agentic.ports.runtime import Answer, Prompt, Used

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


def used_so_far(model: str, raw: RawUsage, written: int, served_by: str, prices: Prices) -> Used:
    """What an answer has cost of which only a part has come: the provider's count of what it read, ours of what it wrote.

    ``written`` are characters.
    """
    if not (raw.input or 0) + raw.cache_read + raw.cache_write or not possible(raw):
        return Used(Usage(), None)
    output = max(raw.output or 0, written // CHARACTERS_A_TOKEN)
    usage = Usage(input=raw.input or 0, output=output, cache_read=raw.cache_read, cache_write=raw.cache_write)
    return Used(usage, prices.usd(model, usage, served_by))


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
