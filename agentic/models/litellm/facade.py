"""LiteLLM, in the one place that knows it: imported late and in a thread, silenced, validated, closed.

What it does that must be kept in: its import takes seconds and fetches a price map unless told not to; it prints help on
stdout when a provider is unknown; its ``openai/`` route walks the history on each call unless told otherwise; it leaves
connections open.  What it returns is read by pydantic models, so that a change in its shapes is an error here and
nowhere else.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import warnings
from collections.abc import AsyncIterator
from typing import Any, Final, Protocol, cast

from pydantic import BaseModel, ConfigDict, JsonValue, PydanticDeprecatedSince211

from agentic.models.providers.provider_errors import broken

SETTINGS: Final = {
    "LITELLM_MODE": "PRODUCTION",  # else importing it reads a .env from the folders above it, or the one we are in
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else importing it waits for a download
    "MAX_BASE64_LENGTH_FOR_LOGGING": "0",  # else it walks the history after each call, for logs that nobody asked for
    "EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER": "True",  # the route of openai/ whose cost does not grow with the history
}
REFUSING: Final = "http://127.0.0.1:9"
"""Nobody listens on the discard port: a call there is refused at once."""

OLLAMA: Final = ("ollama", "ollama_chat")

Keywords = dict[str, JsonValue]


class Came(BaseModel):
    """Read from LiteLLM's own objects by attribute."""

    model_config = ConfigDict(from_attributes=True, extra="ignore", frozen=True)


class CalledFunction(Came):
    name: str | None = None
    arguments: str | None = None


class Called(Came):
    id: str | None = None
    index: int | None = None
    function: CalledFunction


class Spoken(Came):
    """A message or a piece of one."""

    content: str | None = None
    reasoning_content: str | None = None
    tool_calls: tuple[Called, ...] | None = None


class WholeChoice(Came):
    finish_reason: str | None = None
    message: Spoken


class PieceChoice(Came):
    finish_reason: str | None = None
    delta: Spoken


class InputDetails(Came):
    cached_tokens: int | None = None
    cache_creation_tokens: int | None = None


class OutputDetails(Came):
    reasoning_tokens: int | None = None


class TokenCount(Came):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: InputDetails | None = None
    completion_tokens_details: OutputDetails | None = None


class Whole(Came):
    """A whole answer."""

    model: str | None = None
    choices: tuple[WholeChoice, ...]
    usage: TokenCount | None = None


class Piece(Came):
    """One piece of a stream."""

    model: str | None = None
    choices: tuple[PieceChoice, ...] = ()
    usage: TokenCount | None = None

    @property
    def counts(self) -> bool:
        """Whether the provider counted tokens in it."""
        return self.usage is not None and bool(self.usage.prompt_tokens or self.usage.completion_tokens)


class Stream(Protocol):
    """LiteLLM's stream; ``received_finish_reason`` and ``chunks`` are what came from the provider, without its own guesses."""

    received_finish_reason: str | None
    chunks: list[object]

    def __aiter__(self) -> AsyncIterator[object]: ...

    async def aclose(self) -> None: ...


class Library(Protocol):
    """What we use of the library."""

    suppress_debug_info: bool
    telemetry: bool
    drop_params: bool
    disable_streaming_logging: bool
    disable_hf_tokenizer_download: bool
    disable_token_counter: bool
    model_cost: dict[str, dict[str, JsonValue]]

    async def acompletion(self, **keywords: Any) -> object: ...

    async def close_litellm_async_clients(self) -> None: ...


class LiteLLM:
    """The library, ready once ``ready`` has returned; requests that come earlier wait for it."""

    def __init__(self) -> None:
        self._library: Library | None = None
        self._getting_ready = asyncio.Lock()

    async def ready(self) -> Library:
        """Import it and make the first calls in a thread, so that the event loop is not stalled by them."""
        async with self._getting_ready:
            if self._library is None:
                try:
                    self._library = await asyncio.to_thread(_import_and_rehearse)
                except Exception as error:
                    raise broken("litellm", error) from error
            return self._library

    async def whole(self, keywords: Keywords) -> Whole:
        """A whole answer."""
        library = await self._ready_for(keywords)
        return Whole.model_validate(await library.acompletion(**keywords))

    async def stream(self, keywords: Keywords) -> Stream:
        """An answer in pieces, to be read by ``Piece.model_validate`` and closed."""
        library = await self._ready_for(keywords)
        return cast(
            "Stream", await library.acompletion(**keywords, stream=True, stream_options={"include_usage": True})
        )

    async def _ready_for(self, keywords: Keywords) -> Library:
        library = await self.ready()
        _silence_its_deprecations()
        _spare_the_question(library, str(keywords["model"]))
        return library

    async def close(self) -> None:
        """Close the connections that it keeps."""
        if self._library is not None:
            await self._library.close_litellm_async_clients()


def _silence_its_deprecations() -> None:
    """It reads pydantic attributes that are deprecated, and sets a filter against that when it is imported.

    Whoever runs tests restores the filters after each one, and makes errors of warnings: so the filter is set again.
    """
    first = warnings.filters[0] if warnings.filters else None
    if first is None or first[2] is not PydanticDeprecatedSince211:
        warnings.filterwarnings("ignore", category=PydanticDeprecatedSince211, module="litellm")


def _spare_the_question(library: Library, model: str) -> None:
    """It asks an Ollama about a model that is not in its map, after each call, and blocks the event loop meanwhile."""
    provider, _, bare = model.partition("/")
    if provider in OLLAMA and f"ollama/{bare}" not in library.model_cost:
        row: dict[str, JsonValue] = {"mode": "chat", "input_cost_per_token": 0.0, "output_cost_per_token": 0.0}
        for name in OLLAMA:
            library.model_cost.setdefault(f"{name}/{bare}", {**row, "litellm_provider": name})


def _import_and_rehearse() -> Library:
    for name, value in SETTINGS.items():
        os.environ[name] = value
    library = cast("Library", importlib.import_module("litellm"))
    library.suppress_debug_info = True
    library.telemetry = False
    library.drop_params = True
    library.disable_streaming_logging = True
    library.disable_hf_tokenizer_download = True  # it would fetch one to guess at usage that a provider did not send
    library.disable_token_counter = True
    asyncio.run(_rehearse(library))
    return library


async def _rehearse(library: Library) -> None:
    """What is loaded at the first call of each sort is loaded now: whole, streamed, refused."""
    question: list[JsonValue] = [{"role": "user", "content": "hello"}]
    plain: Keywords = {"model": "openai/gpt-4o", "messages": question, "api_key": "none", "mock_response": "hello"}
    await library.acompletion(**plain)
    async for _ in cast("Stream", await library.acompletion(**plain, stream=True)):
        pass
    refused: Keywords = {**plain, "api_base": REFUSING, "timeout": 5, "max_retries": 0}
    del refused["mock_response"]
    with contextlib.suppress(Exception):  # to be refused is the rehearsal
        await library.acompletion(**refused)
    await library.close_litellm_async_clients()
