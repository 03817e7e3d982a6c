"""One ``LanguageModel`` for every name: Anthropic's models directly, the tour by its own name, the rest by LiteLLM."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from agentic.core.fold.prompt_size import USUAL, characters
from agentic.models.answers.stream_timeouts import IDLE_SECONDS
from agentic.models.providers.catalogue import is_anthropic
from agentic.models.providers.prices import Prices, no_price
from agentic.models.scripted.tour import TourModel
from agentic.ports.errors import ModelContextOverflow, ModelUnpriced
from agentic.ports.failpoints import reach
from agentic.ports.runtime import (
    Answer,
    LanguageModel,
    Meter,
    Prompt,
)

if TYPE_CHECKING:
    from agentic.models.anthropic.client import AnthropicDirect
    from agentic.models.litellm.client import LiteLLMRoute

SCRIPTED = "scripted/"
LEAST_ANSWER = 512
"""Tokens: with less room than this an answer is no use, and the history has to become shorter."""
SPARE = 1.2
"""Tokens are estimated, so that a prompt counts as this much longer than it seems."""


class ModelRouter:
    """Imports and builds each adapter when the first of its models is asked; ``env`` holds the providers' own variables.

    ``scripted`` answers to names that begin with ``scripted/``; the tour, where nothing else is given.
    """

    def __init__(
        self,
        env: Mapping[str, str],
        *,
        prices: Prices | None = None,
        schema_models: tuple[str, ...] = (),
        idle_seconds: float = IDLE_SECONDS,
        scripted: LanguageModel | None = None,
    ) -> None:
        self._env = env
        self._schema_models = schema_models
        self._idle = idle_seconds
        self._scripted = scripted or TourModel()
        self._anthropic: AnthropicDirect | None = None
        self._litellm: LiteLLMRoute | None = None
        self._told: dict[str, int] = {}
        """Windows that a refusal named, of models of which nothing was known."""
        self.prices = prices or Prices()

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
        """Ask the adapter of the model's provider, for no more than the model can write and has room for.

        A refusal that names the window is answered at once, with an answer that fits.  What has no price is not asked.
        """
        if not self.prices.priced(model):
            raise ModelUnpriced(no_price(model), model=model)
        adapter = self._adapter(model)
        max_tokens = self._fitting(model, prompt, max_tokens)
        reach("model.request.before")
        try:
            answer = await adapter.answer(
                model, prompt, max_tokens=max_tokens, timeout=timeout, on_text=on_text, meter=meter
            )
        except ModelContextOverflow as error:
            fits = self._learned(model, error, max_tokens)
            if fits is None:
                raise
            answer = await adapter.answer(model, prompt, max_tokens=fits, timeout=timeout, on_text=on_text, meter=meter)
        reach("model.request.after")
        return answer

    def _fitting(self, model: str, prompt: Prompt, max_tokens: int) -> int:
        """Tokens of answer for which the model has room; the prompt is measured only where room may be short."""
        known = self.prices.facts(model)
        if known is not None and known.longest_answer:
            max_tokens = min(max_tokens, known.longest_answer)
        window = self._told.get(model) or self.prices.context_window(model)
        if window is None or window >= 4 * max_tokens:
            return max_tokens
        return min(max_tokens, max(window - _tokens(prompt), min(LEAST_ANSWER, window // 4)))

    def _learned(self, model: str, error: ModelContextOverflow, asked: int) -> int | None:
        """Tokens of answer that fit beside the prompt, by what the refusal says; None where that is no use."""
        if error.told is None:
            return None
        window, prompt = error.told
        self._told[model] = window
        fits = window - prompt
        return fits if LEAST_ANSWER <= fits < asked else None

    def price(self, model: str, tokens_in: int, tokens_out: int) -> float | None:
        """US dollars at full price; None where there is no price."""
        return self.prices.price(model, tokens_in, tokens_out)

    async def warm_up(self, models: Iterable[str] = ()) -> None:
        """Load in threads what these models will need: prices, the anthropic SDK, LiteLLM.

        Meant for the background, after the start; a request that comes earlier waits for its own part only.
        """
        names = tuple(models)
        await asyncio.to_thread(self.prices.load)
        if any(is_anthropic(name) for name in names):
            await self._direct().warm_up()
        if any(not is_anthropic(name) and not name.startswith(SCRIPTED) for name in names):
            await self._through_litellm().warm_up()

    async def close(self) -> None:
        """Release every adapter that was built."""
        adapters = [adapter for adapter in (self._anthropic, self._litellm, self._scripted) if adapter is not None]
        await asyncio.gather(*(adapter.close() for adapter in adapters))

    def _adapter(self, model: str) -> LanguageModel:
        if model.startswith(SCRIPTED):
            return self._scripted
        return self._direct() if is_anthropic(model) else self._through_litellm()

    def _direct(self) -> AnthropicDirect:
        if self._anthropic is None:
            from agentic.models.anthropic.client import AnthropicDirect

            self._anthropic = AnthropicDirect(self._env, self.prices, idle_seconds=self._idle)
        return self._anthropic

    def _through_litellm(self) -> LiteLLMRoute:
        if self._litellm is None:
            from agentic.models.litellm.client import LiteLLMRoute

            self._litellm = LiteLLMRoute(
                self._env, self.prices, schema_models=self._schema_models, idle_seconds=self._idle
            )
        return self._litellm


def _tokens(prompt: Prompt) -> int:
    """About how many tokens a prompt has, rather too many than too few."""
    tools = sum(len(tool.description) + len(str(tool.parameters)) for tool in prompt.tools)
    return int((len(prompt.system) + len(prompt.tail) + tools + characters(prompt.messages)) * USUAL * SPARE)
