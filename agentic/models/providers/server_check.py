"""A model server at an address that was set: whether the address can be one, whether something answers there, and what.

An address is looked at without asking (``flaw``) before anything runs; ``look`` asks the server for the list of its
models, which costs nothing, and says what is wrong in words that name the variable to change.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import aiohttp
import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentic.models.providers.catalogue import Provider
from agentic.models.providers.provider_errors import without_secrets

SECONDS: Final = 3.0
MOST_BYTES: Final = 4_000_000
SHOWN: Final = 5
"""So many models of a server are named."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with a server, and what to do."""

    variable: str
    said: str
    instead: str


class _Row(BaseModel):
    """One model in a server's list: ``id`` by OpenAI's and Anthropic's interfaces, ``name`` by Ollama's."""

    model_config = ConfigDict(extra="ignore")

    id: str = ""
    name: str = ""


class _Listed(BaseModel):
    """A server's list of its models."""

    model_config = ConfigDict(extra="ignore")

    data: tuple[_Row, ...] = ()
    models: tuple[_Row, ...] = Field(default=())

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for row in (*self.data, *self.models) if (name := row.id or row.name))


def variable_of(provider: Provider, env: Mapping[str, str]) -> str:
    """The variable that holds the provider's address; '' where none is set."""
    return next((name for name in provider.addresses if env.get(name)), "")


def flaw(provider: Provider, env: Mapping[str, str]) -> Finding | None:
    """What is wrong with the address as it is written; None where it can be one, or none is set."""
    variable = variable_of(provider, env)
    if not variable:
        return None
    text = env[variable].strip()
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return Finding(variable, f"{text!r} is no address", "Write it like http://127.0.0.1:8000/v1")
    if "://" not in text:
        return Finding(variable, f"{text!r} does not say whether it is http or https", f"Write http://{text}")
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        return Finding(variable, f"{text!r} is no address of a web server", "Write it like http://127.0.0.1:8000/v1")
    return None


async def look(
    provider: Provider, env: Mapping[str, str], models: Iterable[str], seconds: float = SECONDS
) -> Finding | None:
    """Ask the server at the address that is set for its models; None where all is well, or no address is set.

    ``models`` are the LiteLLM names that are to be asked there.
    """
    variable = variable_of(provider, env)
    if not variable:
        return None
    if (wrong := flaw(provider, env)) is not None:
        return wrong
    address = env[variable].strip().rstrip("/")
    try:
        async with asyncio.timeout(seconds):
            status, body = await _asked(provider, address, provider.key(env))
    except TimeoutError:
        return Finding(
            variable, f"{address} did not answer within {seconds:g} seconds", "Start the server, or change it"
        )
    except (aiohttp.ClientError, OSError) as error:
        return _unreached(variable, address, error)
    return _read(variable, address, status, body, tuple(model.partition("/")[2] or model for model in models))


async def _asked(provider: Provider, address: str, key: str) -> tuple[int, bytes]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    where = f"{address}/models"
    if provider.name.startswith("ollama"):
        where = f"{address.removesuffix('/v1')}/api/tags"
    elif provider.name == "anthropic":
        where = f"{address.removesuffix('/v1')}/v1/models"
        headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
    async with (
        aiohttp.ClientSession() as session,
        session.get(where, headers=headers, allow_redirects=False) as response,
    ):
        return response.status, await response.content.read(MOST_BYTES)


def _unreached(variable: str, address: str, error: Exception) -> Finding:
    scheme, _, rest = address.partition("://")
    certificate = isinstance(error, aiohttp.ClientConnectorCertificateError)
    if scheme == "https" and isinstance(error, aiohttp.ClientSSLError | ssl.SSLError) and not certificate:
        return Finding(variable, f"what answers at {rest} speaks http, not https", f"Write http://{rest}")
    if scheme == "http" and isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientResponseError):
        return Finding(variable, f"what answers at {rest} does not speak http", f"Try https://{rest}")
    if isinstance(error, aiohttp.ClientConnectorError) and not certificate:
        return Finding(variable, f"nothing answers at {address}", "Start the server, or change the address")
    return Finding(variable, f"{address} cannot be asked ({without_secrets(str(error))[:200]})", "Check the address")


def _read(variable: str, address: str, status: int, body: bytes, wanted: tuple[str, ...]) -> Finding | None:
    if status == 400 and b"HTTPS" in body:
        return Finding(variable, f"{address} speaks https, not http", f"Write https{address.removeprefix('http')}")
    if status in (401, 403):
        return Finding(variable, f"{address} refused the key ({status})", "Set the key that belongs to this server")
    if status == 404 and not address.endswith("/v1"):
        return Finding(variable, f"there is no list of models at {address}", f"Most servers want {address}/v1")
    if 300 <= status < 400:
        return Finding(variable, f"{address} only points elsewhere ({status})", "Write the address it points to")
    if status != 200:
        return Finding(
            variable, f"{address} answered {status} to the question which models it serves", "Check the address"
        )
    try:
        names = _Listed.model_validate(orjson.loads(body)).names
    except (orjson.JSONDecodeError, ValidationError):
        return Finding(variable, f"what answers at {address} is no model server", "Check the address")
    return _missing(variable, address, names, wanted)


def _missing(variable: str, address: str, names: tuple[str, ...], wanted: tuple[str, ...]) -> Finding | None:
    """The first model that is wanted and not served; a tag that is left out is ``latest`` to an Ollama."""
    served = {*names, *(name.removesuffix(":latest") for name in names)}
    missing = next((name for name in wanted if name not in served), "")
    if not missing:
        return None
    ollama = variable.startswith("OLLAMA")
    instead = f"Get it with `ollama pull {missing}`, or name another" if ollama else "Name a model that it serves"
    listed = ", ".join(names[:SHOWN]) + (" …" if len(names) > SHOWN else "") if names else "none"
    return Finding(variable, f"{missing} is not among the models at {address} (it has: {listed})", instead)
