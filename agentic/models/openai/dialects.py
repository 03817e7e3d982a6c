"""How providers of OpenAI's protocol differ: where they are asked, what they take, what they want back.

LiteLLM is the source of these facts.  Providers that it describes in a file are read from a copy of that file; for those
whose description is Python code the same facts stand here, and a test holds them against LiteLLM's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter

from agentic.models.providers.catalogue import BY_NAME, Provider

FILE: Final = Path(__file__).with_name("providers.json")


@dataclass(frozen=True, slots=True)
class Dialect:
    """One provider's ways; ``address`` is asked where none is set, '' where one must be."""

    address: str = ""
    counts_streams: bool = True
    """It takes ``stream_options``; one that does not counts tokens of a stream unasked."""
    streams_shapes: bool = True
    """It streams answers that follow a schema; one that does not is asked for them whole."""
    reasoning: str = ""
    """The field in which it wants the reasoning of its own messages back; '' where it wants none."""
    extra: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """What every request says besides."""


DIALECTS: Final = {
    "openai": Dialect("https://api.openai.com/v1"),
    "hosted_vllm": Dialect(reasoning="reasoning"),
    "openrouter": Dialect("https://openrouter.ai/api/v1", reasoning="reasoning", extra={"usage": {"include": True}}),
    "groq": Dialect("https://api.groq.com/openai/v1", streams_shapes=False),
    "deepseek": Dialect("https://api.deepseek.com/beta", reasoning="reasoning_content"),
    "xai": Dialect("https://api.x.ai/v1"),
    "mistral": Dialect("https://api.mistral.ai/v1", counts_streams=False),
    "lm_studio": Dialect("http://127.0.0.1:1234/v1"),
    "ollama": Dialect("http://localhost:11434"),
    "ollama_chat": Dialect("http://localhost:11434"),
}


class _Described(BaseModel):
    """A provider as LiteLLM's file describes it; one that needs headers of its own is left to LiteLLM."""

    model_config = ConfigDict(extra="ignore")

    base_url: str
    api_key_env: str
    api_base_env: str | None = None
    headers: dict[str, str] | None = None


@cache
def described() -> Mapping[str, tuple[Provider, Dialect]]:
    """The providers of LiteLLM's file, read once (10 KB)."""
    rows = TypeAdapter(dict[str, _Described]).validate_json(FILE.read_bytes())
    return {
        name: (
            Provider(name, name, (row.api_key_env,), (row.api_base_env,) if row.api_base_env else ()),
            Dialect(row.base_url),
        )
        for name, row in rows.items()
        if not row.headers
    }


def dialect_of(model: str) -> tuple[Provider, Dialect] | None:
    """Who serves a model by OpenAI's protocol, and how; None where another route has to be taken."""
    name, slash, _ = model.partition("/")
    name = name if slash else "openai"
    if name in DIALECTS:
        return BY_NAME[name], DIALECTS[name]
    return described().get(name)
