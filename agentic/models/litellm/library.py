"""LiteLLM, in the one place that knows it: imported late and in a thread, silenced, closed.

What it does that must be kept in: its import takes seconds and fetches a price map unless told not to; it prints help on
stdout when a provider is unknown; it leaves connections open.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import warnings
from collections.abc import AsyncIterator
from typing import Any, Final, Protocol, cast

from pydantic import JsonValue, PydanticDeprecatedSince211

SETTINGS: Final = {
    "LITELLM_MODE": "PRODUCTION",  # else importing it reads a .env from the folders above it, or the one we are in
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else importing it waits for a download
    "MAX_BASE64_LENGTH_FOR_LOGGING": "0",  # else it walks the history after each call, for logs that nobody asked for
    "EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER": "True",  # the rehearsal then loads what most other providers need too
}
REFUSING: Final = "http://127.0.0.1:9"
"""Nobody listens on the discard port: a call there is refused at once."""

Keywords = dict[str, JsonValue]


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

    async def acompletion(self, **keywords: Any) -> object: ...

    async def close_litellm_async_clients(self) -> None: ...


def silence_its_deprecations() -> None:
    """It reads pydantic attributes that are deprecated, and sets a filter against that when it is imported.

    Whoever runs tests restores the filters after each one, and makes errors of warnings: so the filter is set again.
    """
    first = warnings.filters[0] if warnings.filters else None
    if first is None or first[2] is not PydanticDeprecatedSince211:
        warnings.filterwarnings("ignore", category=PydanticDeprecatedSince211, module="litellm")


def load() -> Library:
    """Import it and make the first calls, in seconds: to be done in a thread, so that the event loop is not stalled."""
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
