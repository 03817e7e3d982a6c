"""Finds an Ollama on its usual port, to offer it to someone who has configured no model."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp
from pydantic import BaseModel, ValidationError

from agentic.models.providers.catalogue import OLLAMA
from agentic.models.providers.server_check import talkers


@dataclass(frozen=True, slots=True)
class Ollama:
    """A running Ollama and the models it holds, as LiteLLM names."""

    address: str
    models: tuple[str, ...]

    def offer(self) -> str:
        """What to set to use it."""
        if not self.models:
            return f"An Ollama runs at {self.address}, without a model. Get one with: ollama pull qwen3"
        return f"An Ollama runs at {self.address}. To use it, set THREADWRIGHT_TIER_2={self.models[0]}"


class Named(BaseModel):
    """A model in Ollama's list."""

    name: str


class Listed(BaseModel):
    """Ollama's list of models."""

    models: tuple[Named, ...] = ()


async def find_ollama(timeout: float = 0.2, env: Mapping[str, str] | None = None, address: str = "") -> Ollama | None:
    """The Ollama at ``OLLAMA_API_BASE`` of ``env``, else on this machine's usual port; None where none answers in time."""
    where = (address or (env or {}).get("OLLAMA_API_BASE") or OLLAMA).rstrip("/")
    try:
        async with asyncio.timeout(timeout), aiohttp.ClientSession() as session:
            async with session.get(f"{where}/api/tags") as response:
                listed = Listed.model_validate_json(await response.read())
    except (TimeoutError, aiohttp.ClientError, ValidationError, OSError):
        return None
    return Ollama(where, tuple(f"ollama_chat/{name}" for name in talkers([row.name for row in listed.models])))
