"""Providers by the first part of a LiteLLM name: which variables hold their key and their address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider; ``keys`` and ``addresses`` are variables, the first one that is set counts."""

    name: str
    title: str
    keys: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    official: str = ""
    """The address that is asked where none is set, as far as it is asked which models it has."""
    caches: bool | None = None
    """Whether a request that begins like an earlier one is cheaper or quicker; None where it depends on the model."""

    def key(self, env: Mapping[str, str]) -> str:
        """The key, or ''."""
        return next((env[name] for name in self.keys if env.get(name)), "")

    def address(self, env: Mapping[str, str]) -> str:
        """The address that was set, or ''."""
        return next((env[name] for name in self.addresses if env.get(name)), "")

    @property
    def wanted(self) -> str:
        """The variables of which one has to be set."""
        return " or ".join((*self.keys[:1], *self.addresses[:1]))

    def is_set_up(self, env: Mapping[str, str]) -> bool:
        """Whether it can be used: it has a key, or an address of one's own."""
        return bool(self.key(env) or self.address(env))


OLLAMA: Final = "http://127.0.0.1:11434"
"""Where an Ollama usually listens."""

PROVIDERS: Final = (
    Provider(
        "anthropic", "Anthropic", ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), ("ANTHROPIC_BASE_URL",),
        "https://api.anthropic.com", caches=True,
    ),
    Provider(
        "openai", "OpenAI", ("OPENAI_API_KEY",), ("OPENAI_BASE_URL", "OPENAI_API_BASE"), "https://api.openai.com/v1",
        caches=True,
    ),
    Provider(
        "gemini", "Gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), (), "https://generativelanguage.googleapis.com/v1beta"
    ),
    Provider(
        "openrouter", "OpenRouter", ("OPENROUTER_API_KEY",), ("OPENROUTER_API_BASE",), "https://openrouter.ai/api/v1"
    ),
    Provider(
        "mistral", "Mistral", ("MISTRAL_API_KEY",), ("MISTRAL_API_BASE",), "https://api.mistral.ai/v1", caches=False
    ),
    Provider("groq", "Groq", ("GROQ_API_KEY",), ("GROQ_API_BASE",), "https://api.groq.com/openai/v1"),
    Provider(
        "deepseek", "DeepSeek", ("DEEPSEEK_API_KEY",), ("DEEPSEEK_API_BASE",), "https://api.deepseek.com", caches=True
    ),
    Provider("xai", "xAI", ("XAI_API_KEY",), ("XAI_API_BASE",), "https://api.x.ai/v1", caches=True),
    Provider("ollama", "Ollama", (), ("OLLAMA_API_BASE",), OLLAMA, caches=True),
    Provider("ollama_chat", "Ollama", (), ("OLLAMA_API_BASE",), OLLAMA, caches=True),
    Provider("hosted_vllm", "vLLM", ("HOSTED_VLLM_API_KEY",), ("HOSTED_VLLM_API_BASE",), caches=True),
    Provider("lm_studio", "LM Studio", ("LM_STUDIO_API_KEY",), ("LM_STUDIO_API_BASE",), caches=True),
)  # fmt: skip
"""Those we know by name; LiteLLM knows more, and reads their variables itself.

Servers on one's own machine keep the state of the last prompt, so that only what is new in a request is read.
"""

BY_NAME: Final = {provider.name: provider for provider in PROVIDERS}
ANTHROPIC_PREFIX: Final = "claude-"
OLLAMA_WINDOW: Final = 32_768
"""Tokens; unless it is told, Ollama takes a few thousand and silently forgets the beginning of a longer prompt."""


def provider_of(model: str) -> Provider | None:
    """The provider of a LiteLLM name, as far as we know it; bare names are Anthropic's or OpenAI's."""
    name, slash, _ = model.partition("/")
    if slash:
        return BY_NAME.get(name)
    return BY_NAME["anthropic" if model.startswith(ANTHROPIC_PREFIX) else "openai"]


def is_anthropic(model: str) -> bool:
    """Whether the model is asked through Anthropic's own interface."""
    return model.startswith(("anthropic/", ANTHROPIC_PREFIX))


def keeps_prefix(model: str, cached_price: float | None) -> bool:
    """Whether a growing history pays: the model's provider serves the beginning of a request from a cache.

    ``cached_price`` is what the price map says that a token read from a cache costs; None where it knows of none.
    """
    provider = provider_of(model)
    if provider is not None and provider.caches is not None:
        return provider.caches
    return cached_price is not None
