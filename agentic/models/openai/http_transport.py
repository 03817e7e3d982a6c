"""Providers of OpenAI's protocol, asked through the openai SDK: its connections, headers and errors, our own bytes.

``chat.completions.create`` walks the whole history on each call and makes objects of every piece.  Here the body is
encoded at once and the events are read raw, in the way the SDK documents for requests of one's own (``client.post``).  It
never retries: when to try again is a rule's decision.  Importing this module imports the SDK, which takes a second:
``ModelRouter`` does so in a thread.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import aclosing, contextmanager
from functools import partial
from typing import Final, cast

import httpx2
from openai import APIConnectionError, APIStatusError, AsyncOpenAI, AsyncStream, DefaultAsyncHttpx2Client, Omit
from pydantic import JsonValue

from agentic.models.answers.json_text import dumps, loads
from agentic.models.answers.sse import event_data, lines
from agentic.models.openai import ollama_chat
from agentic.models.openai.chat_model import ChatRequest, Quirk
from agentic.models.openai.chat_request import Row
from agentic.models.openai.chat_response import Piece
from agentic.models.openai.dialects import DIALECTS, Dialect, dialect_of
from agentic.models.openai.refusals import StreamRefused, check_event, refusal_in
from agentic.models.providers import provider_errors
from agentic.models.providers.catalogue import Provider
from agentic.models.providers.prices import ModelFacts, Prices
from agentic.models.providers.provider_errors import NoAnswer, Refusal
from agentic.models.providers.sdk_clients import SdkClients
from agentic.ports.errors import ModelError, ModelKeyRefused

PATH: Final = "/chat/completions"
DONE: Final = b"[DONE]"
NO_KEY: Final = "none"
"""The SDK insists on a key; a server on one's own machine looks at none."""


class HttpTransport:
    """Carries requests to providers whose keys and addresses stand in ``env``."""

    def __init__(self, env: Mapping[str, str], prices: Prices) -> None:
        self._env = env
        self._prices = prices
        self._certificates = httpx2.create_ssl_context()
        self._clients: dict[str, SdkClients[AsyncOpenAI]] = {}

    def reasoning_name(self, model: str) -> str:
        """The field in which the model's provider wants its reasoning back; '' where it wants none."""
        return _served(model)[1].reasoning

    async def close(self) -> None:
        """Release the connections."""
        lenders, self._clients = list(self._clients.values()), {}
        await asyncio.gather(*(clients.close() for clients in lenders))

    async def pieces(self, request: ChatRequest) -> AsyncGenerator[Piece]:
        """The answer: one piece, or those of a stream."""
        model = request.model
        provider, dialect = _served(model)
        if missing := _missing(provider, dialect, self._env):
            raise ModelKeyRefused(f"There is no key for {model}. Set {missing}.", model=model)
        with _own_errors(provider, model):
            async with self._lender(provider, dialect).lent() as client:
                async with aclosing(self._answered(client, provider, dialect, request)) as pieces:
                    async for piece in pieces:
                        yield piece

    async def transcribe(self, model: str, sound: bytes) -> str:
        """The words of a sound in an Ogg file.  Raises ``ModelError``."""
        provider, dialect = _served(model)
        if missing := _missing(provider, dialect, self._env):
            raise ModelKeyRefused(f"There is no key for {model}. Set {missing}.", model=model)
        with _own_errors(provider, model):
            async with self._lender(provider, dialect).lent() as client:
                name, file = model.partition("/")[2] or model, ("voice-message.ogg", sound, "audio/ogg")
                return (await client.audio.transcriptions.create(model=name, file=file)).text

    async def _answered(
        self, client: AsyncOpenAI, provider: Provider, dialect: Dialect, request: ChatRequest
    ) -> AsyncGenerator[Piece]:
        facts = self._prices.facts(request.model)
        ollama = provider.name in ollama_chat.NAMES
        path = ollama_chat.PATH if ollama else PATH
        sent = ollama_chat.body(request, facts) if ollama else body(request, dialect, facts)
        read = ollama_chat.piece if ollama else _piece
        if not sent.get("stream"):
            yield read(_read(await client.post(path, cast_to=bytes, content=dumps(sent))), whole=True)
            return
        stream = await client.post(
            path, cast_to=object, content=dumps(sent), stream=True, stream_cls=AsyncStream[object]
        )
        try:
            received = stream.response.aiter_bytes()
            async with aclosing(lines(received) if ollama else event_data(received)) as events:
                async for data in events:
                    if data == DONE:
                        yield Piece(last=True)
                        return
                    if data:
                        yield read(_read(data))
        finally:
            await stream.response.aclose()

    def _lender(self, provider: Provider, dialect: Dialect) -> SdkClients[AsyncOpenAI]:
        if provider.name not in self._clients:
            self._clients[provider.name] = SdkClients(partial(self._connect, provider, dialect))
        return self._clients[provider.name]

    def _connect(self, provider: Provider, dialect: Dialect) -> AsyncOpenAI:
        key = provider.key(self._env) or self._env.get(f"{provider.name.upper()}_API_KEY") or NO_KEY
        return AsyncOpenAI(
            api_key=key,
            base_url=_address(provider, dialect, self._env),
            max_retries=0,
            timeout=None,  # ``Patience`` keeps both clocks
            default_headers=None if provider.name == "openai" else cast("Mapping[str, str]", _headers(key)),
            http_client=DefaultAsyncHttpx2Client(verify=self._certificates, timeout=None),
        )


@contextmanager
def _own_errors(provider: Provider, model: str) -> Generator[None]:
    """Raise what the SDK raises as ``ModelError``."""
    try:
        yield
    except APIStatusError as error:
        headers = {name.lower(): value for name, value in error.response.headers.items()}
        raise _error(refusal_in(error.response.content, error.status_code, headers), provider, model) from error
    except StreamRefused as error:
        raise _error(error.refusal, provider, model) from error
    except (APIConnectionError, httpx2.TransportError) as error:
        raise provider_errors.unreachable(model, str(error.__cause__ or error)) from error


def body(request: ChatRequest, dialect: Dialect, facts: ModelFacts | None) -> Row:
    """The request in OpenAI's form, with what this dialect and this model take."""
    reasons = dialect is DIALECTS["openai"] and facts is not None and facts.reasons
    own_limit = reasons or Quirk.COMPLETION_LIMIT in request.quirks
    stream = request.stream and (request.shape is None or dialect.streams_shapes)
    sent: Row = {
        "model": request.model.partition("/")[2] or request.model,
        "messages": list(request.rows),
        "max_completion_tokens" if own_limit else "max_tokens": request.max_tokens,
        **dialect.extra,
    }
    if request.tools:
        sent["tools"] = list(request.tools)
    if request.shape is not None:
        sent["response_format"] = request.shape
    if stream:
        sent["stream"] = True
        if dialect.counts_streams:
            sent["stream_options"] = {"include_usage": True}
    return sent


def _served(model: str) -> tuple[Provider, Dialect]:
    found = dialect_of(model)
    assert found is not None, "the router sends other models elsewhere"
    return found


def _piece(answer: JsonValue, *, whole: bool = False) -> Piece:
    """One event of a stream, or a whole answer."""
    check_event(answer)
    piece = Piece.model_validate(answer)
    if not whole:
        return piece
    if not piece.choices:
        raise NoAnswer("no choices")
    return piece.model_copy(update={"last": True})


def _read(data: bytes) -> JsonValue:
    try:
        return loads(data)
    except ValueError as error:
        raise NoAnswer(str(error)) from error


def _error(refusal: Refusal, provider: Provider, model: str) -> ModelError:
    if provider.name in ollama_chat.NAMES:
        return provider_errors.of_ollama(refusal, model)
    return provider_errors.error_for(refusal, model, key_variable=provider.keys[0] if provider.keys else "")


def _missing(provider: Provider, dialect: Dialect, env: Mapping[str, str]) -> str:
    """Which variables have to be set before the provider can be asked; '' where nothing is missing."""
    if provider.keys and not provider.is_set_up(env):
        return provider.wanted
    return "" if _address(provider, dialect, env) else provider.addresses[0]


def _address(provider: Provider, dialect: Dialect, env: Mapping[str, str]) -> str:
    address = (provider.address(env) or dialect.address).strip().rstrip("/")
    if provider.name in ollama_chat.NAMES:
        return address.removesuffix("/v1")
    return f"{address}/v1" if provider.name == "mistral" and not address.endswith("/v1") else address


def _headers(key: str) -> dict[str, str | Omit]:
    """What the SDK reads from variables for OpenAI, taken back: another provider has no business with it."""
    lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").splitlines()
    names = (
        "OpenAI-Organization",
        "OpenAI-Project",
        *(line.partition(":")[0].strip() for line in lines if ":" in line),
    )
    return {**dict.fromkeys(names, Omit()), "Authorization": f"Bearer {key}"}
