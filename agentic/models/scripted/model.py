"""A model in the process that answers from a script: for tests of everything that stands above the port."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from inspect import isawaitable

from pydantic import JsonValue

from agentic.core.events.execution_events import (
    Block,
    CallBlock,
    StopReason,
    TextBlock,
    Usage,
)
from agentic.ports.errors import ModelBadRequest, ModelError
from agentic.ports.runtime import Answer, Meter, Prompt

PIECE = 24


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as the scripted model got it."""

    model: str
    prompt: Prompt
    max_tokens: int


Step = Answer | ModelError
Script = Iterable[Step] | Callable[[Asked], Step | Awaitable[Step]]


def answer(
    text: str = "",
    *calls: tuple[str, Mapping[str, JsonValue]],
    stop: StopReason | None = None,
    usage: Usage | None = None,
    usd: float = 0.0,
    served_by: str = "scripted",
) -> Answer:
    """An answer with text and calls; their ids are the calls' places, made unique by the model that gives them."""
    blocks: list[Block] = [TextBlock(text=text)] if text else []
    blocks += [
        CallBlock(provider_id=f"call_{i}", tool=tool, arguments=dict(args)) for i, (tool, args) in enumerate(calls)
    ]
    counted = usage or Usage(input=100, output=len(text) // 4 + 8 * len(calls) + 1)
    return Answer(tuple(blocks), stop or ("tool_use" if calls else "end"), counted, usd, served_by)


class ScriptedModel:
    """Implements ``LanguageModel`` from a list of answers and errors, or a function of the question.

    ``asked`` holds every question in order.  ``prices`` gives US dollars for a million tokens in and out.
    """

    def __init__(
        self, script: Script, *, prices: Mapping[str, tuple[float, float]] | None = None, delay: float = 0.0
    ) -> None:
        self._script = script if callable(script) else iter(tuple(script))
        self._prices = dict(prices or {})
        self._delay = delay
        self.asked: list[Asked] = []

    async def answer(
        self,
        model: str,
        prompt: Prompt,
        *,
        max_tokens: int,
        timeout: float,
        on_text: Callable[[str], None] | None = None,
        meter: Meter | None = None,
    ) -> Answer:
        """The script's next answer; its text is passed on in pieces."""
        question = Asked(model, prompt, max_tokens)
        self.asked.append(question)
        await asyncio.sleep(self._delay)
        step = await self._next(question)
        if isinstance(step, ModelError):
            raise step
        if on_text:
            for block in step.blocks:
                if isinstance(block, TextBlock):
                    for start in range(0, len(block.text), PIECE):
                        on_text(block.text[start : start + PIECE])
        return _with_unique_ids(step, len(self.asked))

    def price(self, model: str, tokens_in: int, tokens_out: int) -> float | None:
        """By the prices it was given; nothing costs anything without them."""
        if not self._prices:
            return 0.0
        if model not in self._prices:
            return None
        price_in, price_out = self._prices[model]
        return (tokens_in * price_in + tokens_out * price_out) / 1_000_000

    async def close(self) -> None:
        """There is nothing to release."""

    async def _next(self, question: Asked) -> Step:
        if callable(self._script):
            step = self._script(question)
            return await step if isawaitable(step) else step
        step = next(self._script, None)
        return step if step is not None else ModelBadRequest("the script has no answer left", model=question.model)


def _with_unique_ids(step: Answer, number: int) -> Answer:
    blocks = tuple(
        block.model_copy(update={"provider_id": f"{block.provider_id}_{number}"})
        if isinstance(block, CallBlock)
        else block
        for block in step.blocks
    )
    return Answer(blocks, step.stop, step.usage, step.usd, step.served_by)
