"""What providers of OpenAI's protocol say when they refuse, in each of the shapes they say it in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from pydantic import JsonValue

from agentic.models.answers import json_text
from agentic.models.providers.provider_errors import Refusal

STATUS: Final = {
    "invalid_request_error": 400,
    "context_length_exceeded": 400,
    "invalid_api_key": 401,
    "authentication_error": 401,
    "insufficient_quota": 429,
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "overloaded_error": 503,
}
"""Of errors that come within a stream, which has no status of its own."""
WRONG_KEY: Final = re.compile(r"incorrect api key|invalid api key", re.IGNORECASE)
"""xAI says so with status 400."""


class StreamRefused(Exception):
    """A stream that says, in an event of its own, that it failed."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.text)
        self.refusal = refusal


def refusal_in(body: bytes, status: int, headers: Mapping[str, str]) -> Refusal:
    """The refusal in the body of a response; ``headers`` in lower case."""
    try:
        said = json_text.loads(body)
    except ValueError:
        said = body.decode(errors="replace")
    return _refusal(said, status, headers)


def check_event(event: JsonValue) -> None:
    """Raise ``StreamRefused`` where an event of a stream, or an answer of status 200, is an error."""
    if not isinstance(event, dict) or not event.get("error"):
        return
    refusal = _refusal(event, 500, {})
    status = int(refusal.code) if refusal.code.isdecimal() and len(refusal.code) == 3 else STATUS.get(refusal.code, 500)
    raise StreamRefused(replace(refusal, status=status))


def _refusal(said: JsonValue, status: int, headers: Mapping[str, str]) -> Refusal:
    """OpenAI has ``{"error": {"message", "type", "code"}}``; others have the words at ``error``, ``message`` or ``detail``."""
    outer = said if isinstance(said, dict) else {}
    error = outer.get("error") or outer
    if not isinstance(error, dict):
        error = {"message": error, "code": outer.get("code")}
    words = error.get("message") or error.get("detail") or said
    code = str(error.get("code") or error.get("type") or "")
    if isinstance(metadata := error.get("metadata"), dict) and metadata.get("raw"):
        words = f"{words}: {metadata['raw']}"  # OpenRouter's, of a provider behind it
    text = words if isinstance(words, str) else json_text.dumps(words).decode()
    if status == 400 and WRONG_KEY.search(text):
        status = 401
    return Refusal(status, text, code, headers)
