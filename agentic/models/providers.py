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

    def key(self, env: Mapping[str, str]) -> str:
        """The key, or ''."""
        return next((env[name] for name in self.keys if env.get(name)), "")

    def address(self, env: Mapping[str, str]) -> str:
        """The address that was set, or ''."""
        return next((env[name] for name in self.addresses if env.get(name)), "")

    def is_set_up(self, env: Mapping[str, str]) -> bool:
        """Whether it can be used: it has a key, or an address of one's own."""
        return bool(self.key(env) or self.address(env))


PROVIDERS: Final = (
    Provider("anthropic", "Anthropic", ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), ("ANTHROPIC_BASE_URL",)),
    Provider("openai", "OpenAI", ("OPENAI_API_KEY",), ("OPENAI_BASE_URL", "OPENAI_API_BASE")),
    Provider("gemini", "Gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
    Provider("openrouter", "OpenRouter", ("OPENROUTER_API_KEY",), ("OPENROUTER_API_BASE",)),
    Provider("mistral", "Mistral", ("MISTRAL_API_KEY",), ("MISTRAL_API_BASE",)),
    Provider("groq", "Groq", ("GROQ_API_KEY",), ("GROQ_API_BASE",)),
    Provider("deepseek", "DeepSeek", ("DEEPSEEK_API_KEY",), ("DEEPSEEK_API_BASE",)),
    Provider("xai", "xAI", ("XAI_API_KEY",), ("XAI_API_BASE",)),
    Provider("ollama", "Ollama", (), ("OLLAMA_API_BASE",)),
    Provider("ollama_chat", "Ollama", (), ("OLLAMA_API_BASE",)),
    Provider("hosted_vllm", "vLLM", ("HOSTED_VLLM_API_KEY",), ("HOSTED_VLLM_API_BASE",)),
    Provider("lm_studio", "LM Studio", ("LM_STUDIO_API_KEY",), ("LM_STUDIO_API_BASE",)),
)
"""Those we know by name; LiteLLM knows more, and reads their variables itself."""

BY_NAME: Final = {provider.name: provider for provider in PROVIDERS}
ANTHROPIC_PREFIX: Final = "claude-"


def provider_of(model: str) -> Provider | None:
    """The provider of a LiteLLM name, as far as we know it; bare names are Anthropic's or OpenAI's."""
    name, slash, _ = model.partition("/")
    if slash:
        return BY_NAME.get(name)
    return BY_NAME["anthropic" if model.startswith(ANTHROPIC_PREFIX) else "openai"]


def is_anthropic(model: str) -> bool:
    """Whether the model is asked through Anthropic's own interface."""
    return model.startswith(("anthropic/", ANTHROPIC_PREFIX))
