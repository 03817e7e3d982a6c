"""Carries requests through LiteLLM: every provider that speaks neither Anthropic's protocol nor OpenAI's."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncGenerator, Mapping
from typing import Final, cast

import orjson
from pydantic import JsonValue, ValidationError

from agentic.models.answers.json_text import dumps, loads
from agentic.models.litellm.library import Keywords, Library, Stream, silence_its_deprecations
from agentic.models.openai.chat_model import ChatRequest
from agentic.models.openai.chat_request import Row
from agentic.models.openai.chat_response import Piece, TokenCount
from agentic.models.providers import provider_errors
from agentic.models.providers.catalogue import provider_of
from agentic.models.providers.provider_errors import NoAnswer, Refusal
from agentic.ports.errors import ModelError, ModelKeyRefused

SLACK_SECONDS: Final = 5.0
"""The library's own clock runs a little longer than ours, so that ours says what happened."""
OWN_WORDS: Final = re.compile(r"^(?:litellm\.\w+: |\w+Error: |\w+Exception - |\w+: )+")
NO_PROVIDER: Final = "LLM Provider NOT provided"


class LiteLLMTransport:
    """Models by their LiteLLM names; keys and addresses of the providers stand in ``env``."""

    def __init__(self, env: Mapping[str, str], library: Library) -> None:
        self._env = env
        self._library = library

    def reasoning_name(self, model: str) -> str:
        """None: the library does not say which of its providers want reasoning back."""
        return ""

    async def close(self) -> None:
        """Release the connections that the library keeps."""
        await self._library.close_litellm_async_clients()

    async def pieces(self, request: ChatRequest) -> AsyncGenerator[Piece]:
        """The answer: one piece, or those of a stream."""
        keywords = self._keywords(request)
        silence_its_deprecations()
        try:
            answer = await self._library.acompletion(**keywords)
            if not request.stream:
                answer = Piece.model_validate(answer)
                if not answer.choices:
                    raise NoAnswer("no choices")
                yield answer.model_copy(update={"last": True})
                return
            stream = cast("Stream", answer)
            try:
                async for piece in stream:
                    yield Piece.model_validate(piece)
            finally:
                await stream.aclose()
            if not stream.received_finish_reason:
                raise NoAnswer("the stream ended before the answer did")
            if not any(Piece.model_validate(chunk).counts for chunk in stream.chunks[-2:] + stream.chunks[:1]):
                yield Piece(usage=TokenCount())  # the library filled in a guess of its own
        except (ModelError, NoAnswer, ValidationError):
            raise
        except Exception as error:
            raise error_from(error, request.model, self._key_variable(request.model)) from error

    def _keywords(self, request: ChatRequest) -> Keywords:
        """What the library is called with; raises where a key is missing, before the library is loaded for it."""
        keywords: Keywords = {
            "model": request.model,
            "messages": _copied(request.rows),
            "max_tokens": request.max_tokens,
            "timeout": request.timeout + SLACK_SECONDS,
            "max_retries": 0,
            **self._access(request.model),
        }
        if request.stream:
            keywords |= {"stream": True, "stream_options": {"include_usage": True}}
        if request.shape is not None:
            keywords["response_format"] = request.shape
        elif request.tools:
            keywords["tools"] = _copied(request.tools)
        return keywords

    def _access(self, model: str) -> Keywords:
        provider = provider_of(model)
        if provider is None:
            return {}  # LiteLLM knows more providers than we do, and finds their keys itself
        key, address = provider.key(self._env), provider.address(self._env)
        if provider.keys and not (key or address):
            raise ModelKeyRefused(f"There is no key for {model}. Set {provider.wanted}.", model=model)
        access: Keywords = {"api_key": key or "none"} if provider.keys else {}
        return {**access, "api_base": address} if address else access

    def _key_variable(self, model: str) -> str:
        provider = provider_of(model)
        return provider.keys[0] if provider and provider.keys else ""


def _copied(rows: list[Row]) -> JsonValue:
    """A copy down to the last value: the library changes what it is given, schemas of tools included."""
    return loads(dumps(list[JsonValue](rows)))


def error_from(error: Exception, model: str, key_variable: str) -> ModelError:
    """Our error for whatever the library raised; it tells by status, headers and the provider's words within its own."""
    text = str(error).split(" Original exception:")[0]
    if NO_PROVIDER in text:
        advice = "no provider is named in it. Write it like openai/gpt-4o, or as LiteLLM's list of providers has it"
        return provider_errors.error_for(Refusal(400, advice), model)
    kind = type(error).__name__
    status = getattr(error, "status_code", None)
    headers = getattr(error, "litellm_response_headers", None)
    if kind in ("Timeout", "APITimeoutError"):
        return provider_errors.error_for(Refusal(408, "the connection timed out"), model)
    if kind == "APIConnectionError" or not isinstance(status, int):
        return provider_errors.unreachable(model, OWN_WORDS.sub("", text))
    if status < 400:
        return provider_errors.unreadable(
            model, "it is not in the provider's protocol; check the address it was asked at"
        )
    message, code = _said(text)
    code = code or {
        "ContextWindowExceededError": "context_length_exceeded",
        "ContentPolicyViolationError": "content_filter",
    }.get(kind, "")
    told = {str(k).lower(): str(v) for k, v in dict(headers).items()} if headers is not None else {}
    return provider_errors.error_for(Refusal(status, message, code, told), model, key_variable=key_variable)


def _said(text: str) -> tuple[str, str]:
    """The provider's message and code, from the body that stands in the library's message."""
    start = text.find("{")
    body: JsonValue = None
    if start >= 0:
        with contextlib.suppress(orjson.JSONDecodeError):
            body = orjson.loads(text[start : text.rfind("}") + 1])
    error = body.get("error", body) if isinstance(body, dict) else None
    if not isinstance(error, dict) or not error.get("message"):
        return OWN_WORDS.sub("", text), ""
    return str(error["message"]), str(error.get("code") or error.get("type") or "")
