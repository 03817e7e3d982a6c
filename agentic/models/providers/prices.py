"""What models cost and how much they read, from LiteLLM's price map, of which a copy is part of the package.

The copy has what is read here, of models that are asked here (1 MB; `make prices` makes it anew of the LiteLLM that is
installed). It is read once (about 10 ms) when the first price is asked for, or beforehand by ``load`` in a thread.  Names
that the map lacks, or knows without a price, can be given one in settings; local models cost nothing.  A model without a
price is not asked: its budget could not be kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Final, cast

import orjson
from pydantic import JsonValue

from agentic.core.events.execution_events import Usage
from agentic.ports.errors import ModelUnpriced

SETTING: Final = "THREADWRIGHT_PRICES"
FILE: Final = Path(__file__).with_name("price_list.json")
LOCAL: Final = ("ollama/", "ollama_chat/", "lm_studio/", "llamafile/", "scripted/")
"""Models on one's own machine: no price, and none needed."""
SPEAKING: Final = frozenset({"chat", "completion", "responses"})
LISTENING: Final = "audio_transcription"
HEARD_TOKENS, WRITTEN_TOKENS = 10, 8
"""Tokens of a second of speech where a model is paid by tokens: a tenth of a second each, and more words than people say."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """US dollars a token, and sizes in tokens; None where the map does not say."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    window: int | None = None
    longest_answer: int | None = None
    native_calls: bool = False
    priced: bool = True
    """What it costs is known."""
    provider: str = ""
    """Who serves it, by LiteLLM's name."""
    chats: bool = True
    """It is asked by chat completions, and not by another interface of its provider."""
    reasons: bool = False
    """It thinks before it answers."""
    sees: bool = False
    """It takes pictures."""
    second: float | None = None
    """What a second of sound costs that it writes down."""

    def usd(self, usage: Usage) -> float:
        """The price of a request; a cache without prices of its own is billed as input."""
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        fresh = usage.input * self.input + usage.output * self.output
        return fresh + usage.cache_read * read + usage.cache_write * write


@dataclass(slots=True)
class Prices:
    """The price map; ``extra`` holds what settings add, by full name."""

    extra: Mapping[str, ModelFacts] = field(default_factory=dict[str, ModelFacts])
    _table: dict[str, ModelFacts] | None = None

    def load(self) -> dict[str, ModelFacts]:
        """Read the map now; later calls cost nothing."""
        if self._table is None:
            self._table = read_map()
        return self._table

    def facts(self, model: str) -> ModelFacts | None:
        """What is known of a model by its LiteLLM name, its price as the settings say; None if nothing."""
        table = self.load()
        known = next((table[name] for name in _names(model) if name in table), None)
        if model in self.extra:
            return _priced_as(self.extra[model], known)
        if model.startswith(LOCAL) and (known is None or not known.priced):
            return _priced_as(ModelFacts(0.0, 0.0), known)
        return known

    def priced(self, model: str) -> bool:
        """Whether it is known what the model costs."""
        known = self.facts(model)
        return known is not None and known.priced

    def price(self, model: str, tokens_in: int, tokens_out: int) -> float | None:
        """US dollars at full price; None where it is not known."""
        known = self.facts(model)
        return tokens_in * known.input + tokens_out * known.output if known is not None and known.priced else None

    def second(self, model: str) -> float | None:
        """US dollars for a second of sound that the model writes down; None where it is not known.

        A price of tokens that the settings give stands for it.
        """
        if model in self.extra:
            return _by_tokens(self.extra[model].input, self.extra[model].output)
        known = self.facts(model)
        return known.second if known is not None else None

    def usd(self, model: str, usage: Usage, served: str = "") -> float:
        """What a request cost: by the price of the model that served it, if that is known, else of the one that was asked.

        A price that the settings give for the one that was asked stands.  Raises ``ModelUnpriced``.
        """
        known = self._served(model, served) or self.facts(model)
        if known is None or not known.priced:
            raise ModelUnpriced(no_price(model), model=model)
        return known.usd(usage)

    def _served(self, model: str, served: str) -> ModelFacts | None:
        """What is known of the model that says it answered, at the provider that was asked."""
        if not served or model in self.extra or model.startswith(LOCAL):
            return None
        provider, slash, _ = model.partition("/")
        known = self.facts(f"{provider}/{served}" if slash else served)
        return known if known is not None and known.priced else None

    def context_window(self, model: str) -> int | None:
        """How many tokens the model reads."""
        known = self.facts(model)
        return known.window if known else None

    def names(self) -> Iterator[str]:
        """Every model that answers in text and whose price is known."""
        yield from self.extra
        yield from (name for name, known in self.load().items() if known.priced)


@cache
def read_map() -> dict[str, ModelFacts]:
    """The map's models that answer in text or write sound down; a process needs them several times."""
    return facts_of_rows(FILE.read_bytes())


def facts_of_rows(content: bytes) -> dict[str, ModelFacts]:
    """The facts in the rows of a map, as LiteLLM writes it."""
    rows = cast("dict[str, dict[str, JsonValue]]", orjson.loads(content))
    wanted = {*SPEAKING, LISTENING}
    return {name: _facts(row) for name, row in rows.items() if row.get("mode") in wanted and name != "sample_spec"}


def no_price(model: str) -> str:
    """What is said of a model whose price is not known, and what to do."""
    return f"The price of {model} is not known, so no budget could be kept and it is not asked. {to_set(model)}."


def to_set(model: str) -> str:
    """How a model is given a price."""
    return f"Set {SETTING}={model}=IN/OUT, in US dollars a million tokens, 0/0 where it costs nothing"


def prices_from(text: str) -> dict[str, ModelFacts]:
    """Prices as written in settings, several with commas; see ``price_from``."""
    return dict(price_from(part.strip()) for part in text.split(",") if part.strip())


def price_from(part: str) -> tuple[str, ModelFacts]:
    """One price as written in settings: ``NAME=IN/OUT`` in US dollars a million tokens.

    ``NAME=IN/OUT/READ/WRITE`` gives the cache's too, and ``@TOKENS`` after it the context window.  Raises
    ``ValueError`` naming what cannot be read and how to write it.
    """
    name, _, told = part.rpartition("=")
    figures, _, window = told.partition("@")
    try:
        numbers = [float(figure) / 1_000_000 for figure in figures.split("/")]
        size = int(window) if window else None
    except ValueError:
        numbers, size = [], None
    usable = len(numbers) in (2, 4) and all(math.isfinite(number) and number >= 0 for number in numbers)
    if not name.strip() or any(letter.isspace() for letter in name.strip()) or not usable or (size or 1) < 1:
        raise ValueError(
            f"{part!r} is no price. Write it like hosted_vllm/my-model=0.5/1.5 (US dollars a million tokens, in/out)"
        )
    read, write = (numbers[2], numbers[3]) if len(numbers) == 4 else (None, None)
    return name.strip(), ModelFacts(numbers[0], numbers[1], read, write, size)


def _names(model: str) -> Iterator[str]:
    """A model's full name, then without its provider: the map lists the great ones bare."""
    yield model
    provider, _, bare = model.partition("/")
    if bare and provider in ("anthropic", "openai", "azure", "gemini", "ollama_chat"):
        yield f"ollama/{bare}" if provider == "ollama_chat" else bare


def _priced_as(given: ModelFacts, known: ModelFacts | None) -> ModelFacts:
    """What the map knows of a model, at the price that is given for it."""
    if known is None:
        return given
    prices = {name: getattr(given, name) for name in ("input", "output", "cache_read", "cache_write")}
    return replace(known, **prices, window=given.window or known.window, priced=True)


def _facts(row: Mapping[str, JsonValue]) -> ModelFacts:
    return ModelFacts(
        input=_number(row.get("input_cost_per_token")) or 0.0,
        output=_number(row.get("output_cost_per_token")) or 0.0,
        cache_read=_number(row.get("cache_read_input_token_cost")),
        cache_write=_number(row.get("cache_creation_input_token_cost")),
        window=_whole(row.get("max_input_tokens")) or _whole(row.get("max_tokens")),
        longest_answer=_whole(row.get("max_output_tokens")) or _whole(row.get("max_tokens")),
        native_calls=row.get("supports_function_calling") is True,
        priced=row.get("mode") in SPEAKING
        and any(_number(row.get(f"{way}_cost_per_token")) is not None for way in ("input", "output")),
        provider=str(row.get("litellm_provider", "")),
        chats=row.get("mode") == "chat",
        reasons=row.get("supports_reasoning") is True,
        sees=row.get("supports_vision") is True,
        second=_second(row) if row.get("mode") == LISTENING else None,
    )


def _second(row: Mapping[str, JsonValue]) -> float | None:
    """What a second of sound costs, by seconds or by tokens."""
    by_time = _number(row.get("input_cost_per_second"))
    if by_time is not None:
        return by_time
    heard, written = _number(row.get("input_cost_per_audio_token")), _number(row.get("output_cost_per_token"))
    return None if heard is None or written is None else _by_tokens(heard, written)


def _by_tokens(heard: float, written: float) -> float:
    return heard * HEARD_TOKENS + written * WRITTEN_TOKENS


def _number(value: JsonValue) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _whole(value: JsonValue) -> int | None:
    number = _number(value)
    return int(number) if number and number.is_integer() else None
