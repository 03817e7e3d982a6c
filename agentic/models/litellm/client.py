"""``LanguageModel`` over LiteLLM: every provider that is not asked directly, with native calls or in schema mode."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Final

from agentic.core.events.execution_events import Block, TextBlock
from agentic.models.answers.answer import Came, finished_answer, used_so_far
from agentic.models.answers.answer_limit import allowance
from agentic.models.answers.stream_timeouts import IDLE_SECONDS, Patience
from agentic.models.answers.tool_calls import by_name
from agentic.models.litellm.facade import Keywords, LiteLLM, Piece
from agentic.models.litellm.request import OpenAIWire, Row
from agentic.models.litellm.response import Reading, error_from
from agentic.models.litellm.schema_mode import (
    SchemaWire,
    read_step,
    response_format,
    step_blocks,
)
from agentic.models.providers import provider_errors
from agentic.models.providers.catalogue import OLLAMA_WINDOW, provider_of
from agentic.models.providers.prices import Prices
from agentic.models.providers.provider_errors import NoAnswer
from agentic.ports.errors import (
    ModelBadRequest,
    ModelError,
    ModelKeyRefused,
    ModelUnavailable,
)
from agentic.ports.runtime import (
    Answer,
    Meter,
    Prompt,
    Used,
)

NO_TOOLS: Final = re.compile(
    r"(?:not|n't) support (?:tool|function)|tools? (?:is|are) not supported|tool[_ ]choice.{0,300}(?:requires|not supported)"
    r"|enable-auto-tool-choice|no endpoints found that support tool use|function calling is not (?:enabled|supported)",
    re.IGNORECASE | re.DOTALL,
)
NO_SHAPE: Final = re.compile(
    r"response_format|json_schema|structured output|\bgrammar\b|guided|invalid schema|\banyOf\b|failed to parse schema",
    re.IGNORECASE,
)
CLAUDE: Final = "claude"
"""Anthropic's models want to be told where to cut their cache, also where another provider serves them."""
CHAT_ROUTE: Final = {"ollama": "ollama_chat"}
"""The first name's route has no native calls and no message list."""
SLACK_SECONDS: Final = 5.0
"""The library's own clock runs a little longer than ours, so that ours says what happened."""


@dataclass(frozen=True, slots=True)
class Asking:
    """One request: how it is asked, and whom it is streamed to."""

    model: str
    prompt: Prompt
    schema: bool
    max_tokens: int
    timeout: float
    on_text: Callable[[str], None] | None
    meter: Meter | None = None


class LiteLLMRoute:
    """Models by their LiteLLM names; keys and addresses of the providers stand in ``env``.

    ``schema_models`` are names, with * and ?, of models that answer in schema mode; those that turn out to take no tools
    do so from then on.
    """

    def __init__(
        self,
        env: Mapping[str, str],
        prices: Prices,
        *,
        schema_models: tuple[str, ...] = (),
        idle_seconds: float = IDLE_SECONDS,
        library: LiteLLM | None = None,
    ) -> None:
        self._env = env
        self._prices = prices
        self._schema_models = schema_models
        self._idle = idle_seconds
        self._library = library or LiteLLM()
        self._learned: set[str] = set()
        self._unionless: set[str] = set()
        """Models whose server takes the shape, and no alternatives in it."""
        self._shapeless: set[str] = set()
        self._schema_wire = SchemaWire()
        self.wire = OpenAIWire()

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
        """Ask once; a model that turns out not to take tools, or the shape of schema mode, is asked again without."""
        asking = Asking(model, prompt, self.speaks_schema(model, prompt), max_tokens, timeout, on_text, meter)
        async with Patience(model, timeout, self._idle) as patience:
            while True:
                try:
                    return await self._ask(asking, patience)
                except (ModelBadRequest, ModelUnavailable) as error:
                    again = self._learn(asking, error)
                    if again is None:
                        raise
                    asking = again

    def speaks_schema(self, model: str, prompt: Prompt) -> bool:
        """Whether the model is asked in schema mode: by setting, by experience, or as a small local one unknown to call."""
        if not prompt.tools:
            return False
        if model in self._learned or any(fnmatchcase(model, pattern) for pattern in self._schema_models):
            return True
        if not model.startswith(("ollama/", "ollama_chat/")):
            return False
        known = self._prices.facts(model)
        return known is None or not known.native_calls

    def price(self, model: str, tokens_in: int, tokens_out: int) -> float | None:
        """US dollars at full price."""
        return self._prices.price(model, tokens_in, tokens_out)

    async def warm_up(self) -> None:
        """Import the library and make its first calls, so that no request waits for them."""
        await self._library.ready()

    async def close(self) -> None:
        """Release the connections."""
        await self._library.close()

    async def _ask(self, asking: Asking, patience: Patience) -> Answer:
        keywords = self._keywords(asking)
        reading = Reading(allowance(asking.max_tokens), None if asking.schema else asking.on_text)
        provider = asking.model.partition("/")[0]
        try:
            if asking.on_text is None:
                reading.take_whole(await self._library.whole(keywords))
            else:
                await self._stream(keywords, reading, patience, asking)
        except ModelError:
            raise
        except NoAnswer as error:
            raise provider_errors.unreadable(asking.model, str(error)) from error
        except Exception as error:
            raise error_from(error, asking.model, self._key_variable(asking.model)) from error
        blocks = reading.blocks(by_name(asking.prompt.tools), provider)
        if asking.schema:
            blocks = self._steps(asking, blocks, cut_off=reading.stop == "length")
        came = Came(blocks, reading.stop, reading.raw_usage(), reading.model)
        known = None if asking.schema else self.wire.call_ids(asking.prompt.messages)
        return finished_answer(asking.model, asking.prompt, came, self._prices, known)

    async def _stream(self, keywords: Keywords, reading: Reading, patience: Patience, asking: Asking) -> None:
        def used() -> Used:
            return used_so_far(asking.model, reading.raw_usage(), reading.written, reading.model, self._prices)

        stream = await self._library.stream(keywords)
        try:
            async for piece in stream:
                patience.heard()
                reading.take(Piece.model_validate(piece))
                if asking.meter is not None:
                    asking.meter.reads(used)
                if reading.allowance.over:
                    reading.tokens = None  # they come at the end, for which nobody waits
                    return
        finally:
            await stream.aclose()
        if not stream.received_finish_reason:
            raise NoAnswer("the stream ended before the answer did")
        if not any(Piece.model_validate(chunk).counts for chunk in stream.chunks[-2:] + stream.chunks[:1]):
            reading.tokens = None  # the library filled in a guess of its own

    def _keywords(self, asking: Asking) -> Keywords:
        """What the library is called with; raises where a key is missing, before the library is loaded for it."""
        keywords: Keywords = {
            "model": self._routed(asking.model),
            "messages": list(self._rows(asking)),
            "max_tokens": asking.max_tokens,
            "timeout": asking.timeout + SLACK_SECONDS,
            "max_retries": 0,
            **self._access(asking.model),
        }
        if str(keywords["model"]).startswith("ollama"):
            known = self._prices.context_window(asking.model)
            keywords["num_ctx"] = min(known or OLLAMA_WINDOW, OLLAMA_WINDOW)
        if asking.schema and asking.model not in self._shapeless:
            keywords["response_format"] = response_format(
                asking.prompt.tools, union=asking.model not in self._unionless
            )
        elif asking.prompt.tools and not asking.schema:
            keywords["tools"] = list(self.wire.tools(asking.prompt.tools))
        return keywords

    def _rows(self, asking: Asking) -> list[Row]:
        if asking.schema:
            return self._schema_wire.rows(asking.prompt)
        return self.wire.rows(asking.prompt, breakpoints=CLAUDE in asking.model)

    def _routed(self, model: str) -> str:
        provider, slash, bare = model.partition("/")
        if slash:
            return f"{CHAT_ROUTE.get(provider, provider)}/{bare}"
        return f"openai/{model}" if self._prices.facts(model) is None else model

    def _access(self, model: str) -> Keywords:
        provider = provider_of(model)
        if provider is None:
            return {}  # LiteLLM knows more providers than we do, and finds their keys itself
        key, address = provider.key(self._env), provider.address(self._env)
        if provider.keys and not (key or address):
            wanted = (
                f"Set {provider.keys[0]}."
                if not provider.addresses
                else f"Set {provider.keys[0]} or {provider.addresses[0]}."
            )
            raise ModelKeyRefused(f"There is no key for {model}. {wanted}", model=model)
        access: Keywords = {"api_key": key or "none"} if provider.keys else {}
        return {**access, "api_base": address} if address else access

    def _key_variable(self, model: str) -> str:
        provider = provider_of(model)
        return provider.keys[0] if provider and provider.keys else ""

    def _learn(self, asking: Asking, error: ModelError) -> Asking | None:
        """How to ask again after a refusal that says what the model cannot do; None where nothing is to be learned.

        Each answer takes something away for good (tools, alternatives in the shape, the shape), so that this ends.
        """
        if not asking.schema and asking.prompt.tools and NO_TOOLS.search(error.message):
            self._learned.add(asking.model)
            return replace(asking, schema=True)
        if asking.schema and asking.model not in self._shapeless and NO_SHAPE.search(error.message):
            (self._shapeless if asking.model in self._unionless else self._unionless).add(asking.model)
            return asking
        return None

    def _steps(self, asking: Asking, blocks: tuple[Block, ...], *, cut_off: bool) -> tuple[Block, ...]:
        """The blocks that the step's text means; a text that is no step stays as it is."""
        text = "".join(block.text for block in blocks if isinstance(block, TextBlock))
        step = read_step(text)
        if step is None:
            return blocks
        read = step_blocks(step, by_name(asking.prompt.tools), cut_off=cut_off)
        if asking.on_text:
            for block in read:
                if isinstance(block, TextBlock):
                    asking.on_text(block.text)
        return (*(block for block in blocks if not isinstance(block, TextBlock)), *read)
