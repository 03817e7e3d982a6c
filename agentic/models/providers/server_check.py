"""A model server: whether its address can be one, whether it answers and takes the key, and which models it has.

An address is looked at without asking (``flaw``) before anything runs. ``ask`` asks for the list of models, which costs
nothing: at the address that is set, else at the provider's own. What is wrong is said in words that name the variable to
change; a server that could not be asked is told apart from one that refused.
"""

from __future__ import annotations

import asyncio
import difflib
import re
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import urlsplit

import aiohttp
import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentic.models.providers.catalogue import Provider
from agentic.models.providers.provider_errors import without_keys

SECONDS: Final = 5.0
MOST_BYTES: Final = 4_000_000
SHOWN: Final = 5
"""So many models of a server are named."""
_NO_TALKER: Final = ("embed", "rerank", "bge-", "minilm")
_DATED: Final = re.compile(r"(?:-\d{8}|-\d{4}-\d{2}-\d{2}|:latest)\Z")

Kind = Literal["refused", "wrong", "unknown"]
"""refused: it does not take the key; wrong: something else is to be changed; unknown: it could not be asked."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with a server, and what to do."""

    variable: str
    said: str
    instead: str
    kind: Kind = "wrong"


class _Row(BaseModel):
    """One model in a server's list: ``id`` by OpenAI's and Anthropic's interfaces, ``name`` by Ollama's and Gemini's."""

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
        rows = (*self.data, *self.models)
        return tuple((row.id or row.name).removeprefix("models/") for row in rows if row.id or row.name)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a provider is asked; ``own`` where the address was set and is not the provider's."""

    address: str
    variable: str
    """What to change: the variable of the address, else of the key."""
    title: str
    own: bool


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


async def ask(provider: Provider, env: Mapping[str, str], seconds: float = SECONDS) -> tuple[str, ...] | Finding:
    """The models that the provider's server lists, by its own names; else what is wrong. Never raises."""
    if (wrong := flaw(provider, env)) is not None:
        return wrong
    place = _place(provider, env)
    if not place.address:
        return Finding("", f"nobody knows where {provider.title} is asked", "", "unknown")
    key = provider.key(env)
    if not all(sign.isprintable() for sign in key):
        return Finding(place.variable, "the key holds signs that no key has", "Copy the key again", "refused")
    try:
        async with asyncio.timeout(seconds):
            status, body = await _asked(provider, place.address, env)
    except TimeoutError:
        said = f"{place.title} did not answer within {seconds:g} seconds"
        return Finding(place.variable, said, _again(place, "Start the server, or change it"), "unknown")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return _unreached(place, error)
    return _read(provider, place, status, body, has_key=bool(key))


def talkers(names: Sequence[str]) -> list[str]:
    """The names without those of models that only compare texts."""
    return [name for name in names if not any(word in name.lower() for word in _NO_TALKER)]


def lists(names: Sequence[str], model: str) -> bool:
    """Whether a model, by its LiteLLM name, is among the names of its server: also without a date, or ``latest``."""
    wanted = _bare(model)
    served = {*names, *(_DATED.sub("", name) for name in names)}
    return bool({wanted, wanted.removesuffix("-latest"), _without_variant(model)} & served)


def unlisted(provider: Provider, env: Mapping[str, str], names: Sequence[str], model: str) -> Finding | None:
    """What to do about a model that its server does not list; None where it does."""
    if lists(names, model):
        return None
    wanted, near = _bare(model), nearest(names, _bare(model))
    listed = ", ".join(names[:SHOWN]) + (" …" if len(names) > SHOWN else "") if names else "none"
    place = _place(provider, env)
    instead = f"Did you mean {near}?" if near else "Name a model that it has"
    if place.variable.startswith("OLLAMA"):
        instead = f"Get it with `ollama pull {wanted}`, or name another"
    at = place.address if place.own else place.title
    has = "" if near else f" (it has: {listed})"
    return Finding(place.variable, f"{wanted} is not among the models at {at}{has}", instead)


def nearest(names: Sequence[str], wanted: str) -> str:
    """The listed name, also without its date, that a wrong one may have been; '' for none."""
    known = [*dict.fromkeys((*(_DATED.sub("", name) for name in names), *names))]
    return next(iter(difflib.get_close_matches(wanted, known, n=1, cutoff=0.6)), "")


def _bare(model: str) -> str:
    return model.partition("/")[2] or model


def _without_variant(model: str) -> str:
    """OpenRouter's names may end in a variant, such as ``:free``, which its list leaves out."""
    return _bare(model).rpartition(":")[0] if model.startswith("openrouter/") else ""


def _place(provider: Provider, env: Mapping[str, str]) -> _Place:
    variable = variable_of(provider, env)
    if variable:
        address = env[variable].strip().rstrip("/")
        return _Place(address, variable, address, own=True)
    if not provider.keys:
        return _Place(provider.official, provider.addresses[0], provider.official, own=True)
    key = next((name for name in provider.keys if env.get(name)), provider.keys[0])
    return _Place(provider.official, key, provider.title, own=False)


async def _asked(provider: Provider, address: str, env: Mapping[str, str]) -> tuple[int, bytes]:
    key = provider.key(env)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    where = f"{address}/models"
    if provider.name.startswith("ollama"):
        where = f"{address.removesuffix('/v1')}/api/tags"
    elif provider.name == "anthropic":
        where = f"{address.removesuffix('/v1')}/v1/models?limit=1000"
        kept = {} if env.get("ANTHROPIC_API_KEY") or not key else headers
        headers = {"anthropic-version": "2023-06-01", **(kept or {"x-api-key": key})}
    elif provider.name == "gemini":
        where, headers = f"{where}?pageSize=1000", {"x-goog-api-key": key}
    async with aiohttp.ClientSession() as session:
        if provider.name == "openrouter":  # it shows its models to everybody; only this asks for the key
            status, body = await _get(session, f"{address}/key", headers)
            if status != 200:
                return status, body
        return await _get(session, where, headers)


async def _get(session: aiohttp.ClientSession, where: str, headers: Mapping[str, str]) -> tuple[int, bytes]:
    async with session.get(where, headers=headers, allow_redirects=False) as response:
        body = bytearray()
        while piece := await response.content.readany():
            body += piece
            if len(body) > MOST_BYTES:
                raise ValueError(f"it answered with more than {MOST_BYTES:,} bytes")
        return response.status, bytes(body)


def _again(place: _Place, own: str) -> str:
    return own if place.own else "Look at the network, then check again"


def _unreached(place: _Place, error: Exception) -> Finding:
    scheme, _, rest = place.address.partition("://")
    certificate = isinstance(error, aiohttp.ClientConnectorCertificateError)
    if not place.own:
        said = f"{place.title} could not be reached ({type(error).__name__})"
        return Finding(place.variable, said, _again(place, ""), "unknown")
    if scheme == "https" and isinstance(error, aiohttp.ClientSSLError | ssl.SSLError) and not certificate:
        return Finding(place.variable, f"what answers at {rest} speaks http, not https", f"Write http://{rest}")
    if scheme == "http" and isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientResponseError):
        return Finding(place.variable, f"what answers at {rest} does not speak http", f"Try https://{rest}")
    if isinstance(error, aiohttp.ClientConnectorError) and not certificate:
        said = f"nothing answers at {place.address}"
        return Finding(place.variable, said, "Start the server, or change the address", "unknown")
    said = f"{place.address} cannot be asked ({without_keys(str(error))[:200]})"
    return Finding(place.variable, said, "Check the address", "unknown")


def _read(provider: Provider, place: _Place, status: int, body: bytes, *, has_key: bool) -> tuple[str, ...] | Finding:
    """What an answer says; Gemini answers 400 to a key that is none."""
    address, variable = place.address, place.variable
    if status == 400 and b"HTTPS" in body:
        return Finding(variable, f"{address} speaks https, not http", f"Write https{address.removeprefix('http')}")
    if status in (401, 403) or (status == 400 and provider.name == "gemini"):
        if place.own and not has_key:
            return Finding(variable, f"{place.title} wants a key ({status})", "Set the key of this server", "refused")
        instead = "Set the key of this server" if place.own else "Copy the key again from your account there"
        return Finding(variable, f"{place.title} refused the key ({status})", instead, "refused")
    if not place.own and status != 200:
        return Finding(variable, f"{place.title} answered with {status}", "Check again in a few minutes", "unknown")
    if status == 404 and not address.endswith("/v1"):
        return Finding(variable, f"there is no list of models at {address}", f"Most servers want {address}/v1")
    if 300 <= status < 400:
        return Finding(variable, f"{address} only points elsewhere ({status})", "Write the address it points to")
    if status != 200:
        said = f"{address} answered {status} to the question which models it serves"
        return Finding(variable, said, "Check the address", "unknown" if status >= 429 else "wrong")
    try:
        return _Listed.model_validate(orjson.loads(body)).names
    except (orjson.JSONDecodeError, ValidationError):
        return Finding(variable, f"what answers at {place.title} is no model server", "Check the address")
