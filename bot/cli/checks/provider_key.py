"""Check a key with its model provider, by the cheapest request: the list of models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import aiohttp

SECONDS = 10.0

Verdict = Literal["ok", "wrong", "unknown"]


@dataclass(frozen=True, slots=True)
class Provider:
    """How one provider is asked; ``{}`` in ``header`` stands for the key."""

    title: str
    variable: str
    models: str
    header: tuple[str, str] = ("Authorization", "Bearer {}")
    base_variable: str = ""
    more: tuple[tuple[str, str], ...] = ()


PROVIDERS: Mapping[str, Provider] = {
    "anthropic": Provider(
        "Anthropic", "ANTHROPIC_API_KEY", "https://api.anthropic.com/v1/models", ("x-api-key", "{}"),
        "ANTHROPIC_BASE_URL", (("anthropic-version", "2023-06-01"),),
    ),
    "openai": Provider("OpenAI", "OPENAI_API_KEY", "https://api.openai.com/v1/models", base_variable="OPENAI_BASE_URL"),
    "gemini": Provider(
        "Gemini", "GEMINI_API_KEY", "https://generativelanguage.googleapis.com/v1beta/models", ("x-goog-api-key", "{}")
    ),
    "openrouter": Provider("OpenRouter", "OPENROUTER_API_KEY", "https://openrouter.ai/api/v1/key"),
    "mistral": Provider("Mistral", "MISTRAL_API_KEY", "https://api.mistral.ai/v1/models"),
    "groq": Provider("Groq", "GROQ_API_KEY", "https://api.groq.com/openai/v1/models"),
    "deepseek": Provider("DeepSeek", "DEEPSEEK_API_KEY", "https://api.deepseek.com/models"),
    "xai": Provider("xAI", "XAI_API_KEY", "https://api.x.ai/v1/models"),
}  # fmt: skip


async def check(provider: Provider, key: str, settings: Mapping[str, str]) -> tuple[Verdict, str]:
    """Return whether the provider accepts the key, and a message; never raises."""
    name, form = provider.header
    headers = {name: form.format(key), **dict(provider.more)}
    try:
        timeout = aiohttp.ClientTimeout(total=SECONDS)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            async with session.get(address(provider, settings), headers=headers, allow_redirects=False) as response:
                return _verdict(provider, response.status)
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        return "unknown", f"{provider.title} could not be asked ({type(error).__name__}); the key is kept unchecked."


def address(provider: Provider, settings: Mapping[str, str]) -> str:
    """Return the provider's own address, or the one in its base variable."""
    base = settings.get(provider.base_variable, "").rstrip("/") if provider.base_variable else ""
    if not base:
        return provider.models
    if provider.variable == "ANTHROPIC_API_KEY":
        return f"{base.removesuffix('/v1')}/v1/models"
    return f"{base}/models"


def _verdict(provider: Provider, status: int) -> tuple[Verdict, str]:
    if status == 200:
        return "ok", f"{provider.title} takes this key."
    if status in (400, 401, 403):  # Gemini answers 400 to a key that is none
        return "wrong", f"{provider.title} refuses this key. Copy it again from your account there."
    return "unknown", f"{provider.title} answered with {status}; the key is kept unchecked."
