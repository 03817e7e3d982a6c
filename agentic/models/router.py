"""One ``LanguageModel`` for every name, by three routes.

Anthropic's models are asked through Anthropic's SDK, providers of OpenAI's protocol through the openai SDK, all others
through LiteLLM; the tour has a name of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from agentic.core.events.execution_events import Usage
from agentic.core.fold.prompt_size import USUAL, characters
from agentic.extras import missing
from agentic.models.answers.stream_timeouts import IDLE_SECONDS
from agentic.models.openai.chat_model import ChatModel, Transport
from agentic.models.openai.dialects import dialect_of
from agentic.models.providers.catalogue import is_anthropic
from agentic.models.providers.prices import Prices, no_price
from agentic.models.providers.provider_errors import broken
from agentic.models.scripted.tour import TourModel
from agentic.ports.errors import ModelBadRequest, ModelContextOverflow, ModelLibraryBroken, ModelUnpriced
from agentic.ports.failpoints import reach
from agentic.ports.runtime import (
    Answer,
    LanguageModel,
    Meter,
    Prompt,
    Used,
)

if TYPE_CHECKING:
    from agentic.models.openai.http_transport import HttpTransport

SCRIPTED = "scripted/"
Library = Literal["anthropic", "openai", "litellm"]
LEAST_ANSWER = 512
"""Tokens: with less room than this an answer is no use, and the history has to become shorter."""
TRANSCRIPTION_SECONDS = 60.0
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
        self._adapters: dict[Library, LanguageModel] = {}
        self._ears: HttpTransport | None = None
        """What carries sounds, once one was heard."""
        self._loading = asyncio.Lock()
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
        if meter is not None:
            meter.reads(lambda: Used(Usage(), 0.0, begun=False))  # until an adapter asks
        adapter = await self._adapter(model)
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

    def sees(self, model: str) -> bool:
        """Whether the model takes pictures, as far as is known."""
        known = self.prices.facts(model)
        return known is not None and known.sees

    def price(self, model: str, tokens_in: int, tokens_out: int) -> float | None:
        """US dollars at full price; None where there is no price."""
        return self.prices.price(model, tokens_in, tokens_out)

    async def transcribe(self, model: str, sound: bytes) -> str:
        """The words of a sound, an Ogg file, by a provider of OpenAI's protocol.  Raises ``ModelError``, ``TimeoutError``."""
        _check_hears(model)
        async with asyncio.timeout(TRANSCRIPTION_SECONDS):
            if self._ears is None:
                self._ears = await asyncio.to_thread(self._own_transport)
            return await self._ears.transcribe(model, sound)

    async def price_of_a_second(self, model: str) -> float:
        """US dollars for a second of sound that it writes down.  Raises ``ModelBadRequest`` and ``ModelUnpriced``."""
        _check_hears(model)
        await asyncio.to_thread(self.prices.load)
        second = self.prices.second(model)
        if second is None:
            raise ModelUnpriced(no_price(model), model=model)
        return second

    async def warm_up(self, models: Iterable[str] = ()) -> None:
        """Load in threads what these models will need: prices, and the library of each.

        Meant for the background, after the start; a request that comes earlier waits for the same.
        """
        await asyncio.to_thread(self.prices.load)
        for model in models:
            await self._adapter(model)

    async def close(self) -> None:
        """Release every adapter that was built."""
        ears = (self._ears,) if self._ears is not None else ()
        await asyncio.gather(*(each.close() for each in (*self._adapters.values(), self._scripted, *ears)))

    async def _adapter(self, model: str) -> LanguageModel:
        """The adapter of the model's route; its library is imported in a thread when the first of its models is asked."""
        library = library_of(model, self.prices)
        if library is None:
            return self._scripted
        if library not in self._adapters:
            async with self._loading:
                if library not in self._adapters:
                    self._adapters[library] = await asyncio.to_thread(self._loaded, library)
        return self._adapters[library]

    def _loaded(self, library: Library) -> LanguageModel:
        """Import the library and build its adapter.  Raises ``ModelLibraryBroken``."""
        if library == "litellm" and (lacks := missing("providers")) is not None:
            raise ModelLibraryBroken(f"Its models are asked through LiteLLM, and {lacks}.")
        try:
            if library == "anthropic":
                from agentic.models.anthropic.client import AnthropicDirect

                return AnthropicDirect(self._env, self.prices, idle_seconds=self._idle)
            transport = self._transport(library)
        except Exception as error:
            raise broken(library, error) from error
        return ChatModel(transport, self.prices, schema_models=self._schema_models, idle_seconds=self._idle)

    def _own_transport(self) -> HttpTransport:
        from agentic.models.openai.http_transport import HttpTransport

        return HttpTransport(self._env, self.prices)

    def _transport(self, library: Library) -> Transport:
        if library == "openai":
            return self._own_transport()
        from agentic.models.litellm.library import load
        from agentic.models.litellm.litellm_transport import LiteLLMTransport

        return LiteLLMTransport(self._env, load())


def _check_hears(model: str) -> None:
    if dialect_of(model) is None:
        why = f"{model} cannot write down voice messages. Ask whoever runs the bot to set THREADWRIGHT_TRANSCRIPTION."
        raise ModelBadRequest(why, model=model)


def library_of(model: str, prices: Prices) -> Library | None:
    """The library through which a model is asked; None for a scripted one.

    A bare name is OpenAI's unless the price map says otherwise.  What is asked by another interface than chat completions
    is left to LiteLLM, which knows them all.
    """
    if model.startswith(SCRIPTED):
        return None
    if is_anthropic(model):
        return "anthropic"
    known = prices.facts(model)
    elsewhere = known is not None and (not known.chats or ("/" not in model and known.provider not in ("", "openai")))
    return "litellm" if elsewhere or dialect_of(model) is None else "openai"


def _tokens(prompt: Prompt) -> int:
    """About how many tokens a prompt has, rather too many than too few."""
    tools = sum(len(tool.description) + len(str(tool.parameters)) for tool in prompt.tools)
    return int((len(prompt.system) + len(prompt.tail) + tools + characters(prompt.messages)) * USUAL * SPARE)
