"""Errors of providers: a refusal, in whatever words it comes, as a typed error with plain advice; pure.

A library that cannot be loaded is a fault of the installation, not of a task, and is told as one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Final

from agentic.ports.errors import (
    ModelBadRequest,
    ModelContentFiltered,
    ModelContextOverflow,
    ModelError,
    ModelKeyRefused,
    ModelLibraryBroken,
    ModelQuotaUsedUp,
    ModelRateLimited,
    ModelTimedOut,
    ModelUnavailable,
    ModelUnknown,
)

INSTALL_ANEW: Final = "install Threadwright anew (in a clone: delete .venv, then `make setup`)"
OVERFLOW: Final = re.compile(
    r"maximum context length|context[_ ]length[_ ]exceeded|context[_ ]window|prompt is too long|input is too long"
    r"|exceeds? (?:the )?(?:available )?context|exceed context limit|input token count|too many (?:input )?tokens"
    r"|reduce the length of (?:the|your) (?:messages|prompt|input)|model_max_prompt_tokens|max_model_len"
    r"|maximum number of (?:input )?tokens|request_too_large|string_above_max_length",
    re.IGNORECASE,
)
FILTERED: Final = re.compile(
    r"content[_ ]filter|content[_ ]policy|content management policy|responsible ?ai|blocked by (?:the )?safety"
    r"|safety system|prohibited_content|content_violation|flagged",
    re.IGNORECASE,
)
QUOTA: Final = re.compile(
    r"insufficient[_ ]quota|exceeded your current quota|credit balance is too low"
    r"|insufficient (?:balance|credits?|funds)"
    r"|billing[_ ](?:hard[_ ]limit|error|not[_ ]active)|account is not active|payment required|spend(?:ing)?[_ ]limit",
    re.IGNORECASE,
)
NOT_PULLED: Final = re.compile(r"model ['\"]?[^\s'\"]{1,200}['\"]? not found|try pulling it", re.IGNORECASE)
TOO_LARGE: Final = re.compile(r"requires more system memory|not enough (?:memory|vram)|out of memory", re.IGNORECASE)
_TOKENS: Final = r"[\d,]{1,12}"
WINDOWS: Final = (
    # as OpenAI says it, and older vLLM
    re.compile(
        rf"maximum context length (?:is|of) (?P<window>{_TOKENS})[^(]{{0,200}}\((?:about )?(?P<prompt>{_TOKENS})[^,)]{{0,60}}"
        r"in (?:the )?(?:messages|prompt|input|your prompt)",
        re.IGNORECASE,
    ),
    # as newer vLLM says it
    re.compile(
        rf"maximum context length (?:is|of) (?P<window>{_TOKENS})[^\n]{{0,200}}?(?P<prompt>{_TOKENS}) input tokens",
        re.IGNORECASE,
    ),
    # as Anthropic says it
    re.compile(rf"exceed context limit: (?P<prompt>{_TOKENS}) \+ {_TOKENS} > (?P<window>{_TOKENS})", re.IGNORECASE),
)
"""Refusals that say why a request does not fit: what it reads, and what the prompt alone has."""
RETRY_IN: Final = re.compile(
    r"retryDelay\W+(?P<delay>\d{1,9}(?:\.\d{1,9})?)s"
    r"|(?:retry|try again) in (?:(?P<h>\d{1,4})h)?(?:(?P<m>\d{1,6})m(?!s))?(?:(?P<n>\d{1,9}(?:\.\d{1,9})?) ?(?P<unit>ms|s))?",
    re.IGNORECASE,
)
"""“retryDelay: 8s”, “try again in 7m12.5s”, “in 859ms”."""
SECRET: Final = re.compile(r"\b(sk|key|pk|gsk|xai|AIza)[-_]?[A-Za-z0-9*_-]{8,}|Bearer\s+\S+", re.IGNORECASE)
SAID_LIMIT: Final = 400


class NoAnswer(Exception):
    """What came is no answer of this protocol."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a provider said: HTTP status (0 = none was reached), its text, its codes, the headers in lower case."""

    status: int
    text: str
    code: str = ""
    headers: Mapping[str, str] | None = None


def error_for(refusal: Refusal, model: str, *, key_variable: str = "") -> ModelError:
    """The typed error; its message says what happened and what to do."""
    said = f"{refusal.code} {refusal.text}"
    told = _shown(refusal)
    wait = retry_after(refusal)
    status = refusal.status
    if status in (401, 403):
        where = f" {key_variable}" if key_variable else " the provider's key"
        return ModelKeyRefused(
            f"The key for {model} was refused ({told}). Set{where} to one that may use this model.", model=model
        )
    spent = refusal.code == "insufficient_quota" or "spend_limit_reached" in refusal.code
    if status == 402 or spent or (QUOTA.search(said) and wait is None):
        return ModelQuotaUsedUp(
            f"The account for {model} has no credit left ({told}). Add credit, then continue.", model=model
        )
    if status == 429:
        return ModelRateLimited(f"The provider of {model} asks to wait ({told}).", model=model, retry_after=wait)
    if status == 413 or (status in (400, 422, 500) and OVERFLOW.search(said)):
        return ModelContextOverflow(
            f"The request is longer than {model} can read ({told}).", model=model, told=told_window(refusal.text)
        )
    if FILTERED.search(said) and status < 500:
        return ModelContentFiltered(f"The provider of {model} refused the content ({told}).", model=model)
    if status in (408, 504):
        return ModelTimedOut(f"{model} did not answer in time ({told}).", model=model, retry_after=wait)
    if status == 0 or status == 409 or status >= 500:
        return ModelUnavailable(f"The provider of {model} is not available ({told}).", model=model, retry_after=wait)
    if status == 404:
        return ModelUnknown(f"{model} is not known to its provider ({told}).", model=model)
    return ModelBadRequest(f"{model} did not take the request ({told}).", model=model)


def of_ollama(refusal: Refusal, model: str) -> ModelError:
    """An Ollama's refusal: a model that is not pulled, one that takes no tools, a server that cannot run it."""
    name = model.partition("/")[2]
    if refusal.status == 404 or NOT_PULLED.search(refusal.text):
        return ModelUnknown(
            f"Ollama does not have {name}. Get it with `ollama pull {name}`, or set another model.", model=model
        )
    if TOO_LARGE.search(refusal.text):
        return ModelBadRequest(
            f"Ollama cannot load {name} ({_shown(refusal)}). Set a smaller model, or free memory.", model=model
        )
    if refusal.status >= 500:
        return ModelUnavailable(f"Ollama could not run {name} ({_shown(refusal)}).", model=model)
    return error_for(refusal, model)


def told_window(message: str) -> tuple[int, int] | None:
    """How many tokens the model reads, and how many the prompt has, where a refusal for length names both."""
    for pattern in WINDOWS:
        found = pattern.search(message)
        if found is not None:
            return int(found["window"].replace(",", "")), int(found["prompt"].replace(",", ""))
    return None


def timed_out(model: str, seconds: float) -> ModelTimedOut:
    """No whole answer within the time that was given."""
    return ModelTimedOut(f"{model} did not answer within {seconds:g} seconds.", model=model)


def stalled(model: str, seconds: float) -> ModelTimedOut:
    """A stream that went silent."""
    return ModelTimedOut(f"The answer of {model} stalled: nothing came for {seconds:g} seconds.", model=model)


def unreachable(model: str, reason: str) -> ModelUnavailable:
    """No connection, or one that broke."""
    return ModelUnavailable(
        f"{model} could not be reached, or the connection broke ({without_keys(reason)}).", model=model
    )


def unreadable(model: str, reason: str) -> ModelUnavailable:
    """An answer that is none of the protocol: a proxy's page, half a body."""
    return ModelUnavailable(f"{model} answered with something that is no answer ({without_keys(reason)}).", model=model)


def retry_after(refusal: Refusal) -> float | None:
    """Seconds to wait, from the headers (seconds, milliseconds or a date) or from the provider's words."""
    headers = refusal.headers or {}
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    told = headers.get("retry-after")
    seconds = _number(told)
    if seconds is not None:
        return seconds
    if told and (until := _until(told, headers.get("date", ""))) is not None:
        return until
    return _said_wait(refusal.text)


def without_keys(text: str) -> str:
    """The text without anything that looks like a key."""
    return SECRET.sub("[key]", text)


def _shown(refusal: Refusal) -> str:
    said = " ".join(without_keys(refusal.text).split())
    said = said[: SAID_LIMIT - 1] + "…" if len(said) > SAID_LIMIT else said
    return f"{refusal.status}: {said}" if refusal.status else said or "no connection"


def _said_wait(text: str) -> float | None:
    """Seconds to wait, where the words say so."""
    found = RETRY_IN.search(text)
    if found is None or not any(found.groupdict().values()):
        return None
    if found["delay"]:
        return float(found["delay"])
    last = float(found["n"] or 0) / (1000 if found["unit"] == "ms" else 1)
    return int(found["h"] or 0) * 3600 + int(found["m"] or 0) * 60 + last


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text else None
    except ValueError:
        return None
    return number if number is not None and 0 <= number < 1e6 else None


def _until(told: str, date: str) -> float | None:
    """A date is taken against the provider's own clock, which stands in the same headers."""
    then, now = _date(told), _date(date)
    return max(0.0, (then - now).total_seconds()) if then and now else None


def _date(text: str) -> datetime | None:
    try:
        return parsedate_to_datetime(text)
    except ValueError:
        return None


def broken(library: str, error: Exception) -> ModelLibraryBroken:
    """What is told where importing a library failed, in whatever way it did."""
    said = str(error).strip().partition("\n")[0][:200]
    return ModelLibraryBroken(
        f"The library {library} cannot be loaded ({type(error).__name__}: {said}), so its models cannot be asked. "
        f"Next: {INSTALL_ANEW}; `threadwright doctor` shows whether that helped."
    )
