"""The frame of the REST API: authentication, faults, rate limits, errors.

Around every endpoint: apply faults, authenticate, take from the rate limit, turn a refusal into Discord's JSON.
https://discord.com/developers/docs/reference
"""

from __future__ import annotations

import mimetypes
import secrets
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic
from urllib.parse import parse_qs

from aiohttp import BodyPartReader, web

from bot.local_discord.faults import rules
from bot.local_discord.faults.delivery import Outgoing
from bot.local_discord.faults.rules import Misbehaviour
from bot.local_discord.interactions.commands import Commands
from bot.local_discord.interactions.interactions import Interactions
from bot.local_discord.messages import limits
from bot.local_discord.messages.channel_messages import Messages
from bot.local_discord.messages.message_params import Upload
from bot.local_discord.model.errors import ApiError, invalid, too_large, unknown
from bot.local_discord.model.json_fields import Fields, Json, decode, is_snowflake
from bot.local_discord.model.permission_flags import Permission
from bot.local_discord.model.records import Channel, Message
from bot.local_discord.model.state import GuildState
from bot.local_discord.payloads.message_payload import MessageView
from bot.local_discord.rest import responses
from bot.local_discord.rest.oauth_grants import OAuthGrants
from bot.local_discord.rest.rate_limit_buckets import Allowances, Bucket, RateLimits

PREFIX = "/api/v10"
# Requests that carry their own token in the path.
_TOKEN_IN_PATH = ("/webhooks/", "/interactions/")
ASKED_KEPT = 20_000
"""Number of requests that are remembered."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it arrived: when (monotonic seconds), ``METHOD /path`` without the API prefix."""

    at: float
    what: str


@dataclass(slots=True)
class Sharding:
    """The application's recommended shards, and whether it may connect without any (4011 if not)."""

    shards: int = 1
    required: bool = False


class Api:
    """The parts that endpoints use, at one address (host and port)."""

    def __init__(self, state: GuildState, commands: Commands, token: str, address: str, allowed: Allowances) -> None:
        self.state, self.commands, self.token = state, commands, token
        self.gateway_url = f"ws://{address}/gateway"
        self.view = MessageView(state, f"http://{address}")
        self.messages = Messages(state, self.view)
        self.interactions = Interactions(state, self.view, self.messages)
        self.ratelimits = RateLimits(state.clock, allowed)
        self.misbehaviour = Misbehaviour()
        self.outgoing = Outgoing()
        self.sharding = Sharding()
        self.oauth = OAuthGrants(state.identity.application_id, token, state.clock)
        self.asked: deque[Asked] = deque(maxlen=ASKED_KEPT)

    @property
    def me(self) -> int:
        """The user id of the bot, the only user of this API."""
        return self.state.identity.bot_id


@dataclass(frozen=True, slots=True)
class Created:
    """An answer with 201, for a new object."""

    body: Json


Endpoint = Callable[[web.Request], Awaitable["Json | Created"]]


@dataclass(frozen=True, slots=True)
class Body:
    """A request's JSON and the files that came with it."""

    fields: Fields
    uploads: tuple[Upload, ...] = ()


def endpoint(api: Api, handler: Endpoint) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """Wrap an endpoint: None is answered with 204, anything else as JSON."""

    async def answer(request: web.Request) -> web.StreamResponse:
        path = request.path.removeprefix(PREFIX)
        api.asked.append(Asked(monotonic(), f"{request.method} {path}"))
        banned = api.ratelimits.banned_for()
        if banned:
            return responses.edge(banned)
        response = await _perhaps_faulty(api, handler, request, path)
        api.ratelimits.count_answer(response.status, response.headers.get("X-RateLimit-Scope"))
        return response

    return answer


async def _perhaps_faulty(api: Api, handler: Endpoint, request: web.Request, path: str) -> web.StreamResponse:
    fault = api.misbehaviour.fault_for(f"{request.method} {path}")
    early = await responses.misbehaved(request, path, fault, api.ratelimits)
    if early is not None:
        return early
    match fault:
        case rules.EventsFirst():
            response = await _answered(api, handler, request, path)
            await api.outgoing.flushed()
        case rules.AnswerFirst(seconds=seconds):
            with api.outgoing.held(seconds):
                response = await _answered(api, handler, request, path)
                await response.prepare(request)
                await response.write_eof()
        case _:
            response = await _answered(api, handler, request, path)
    return await responses.landed(request, fault, response)


async def _answered(api: Api, handler: Endpoint, request: web.Request, path: str) -> web.StreamResponse:
    bucket: Bucket | None = None
    try:
        _authenticate(api, request, path)
        bucket = api.ratelimits.bucket(request.method, path)
        api.ratelimits.take(bucket, path)
        body = await handler(request)
    except ApiError as error:
        return responses.refusal(error, _where(api, bucket))
    if isinstance(body, Created):
        return responses.as_json(body.body, 201, _where(api, bucket))
    return responses.as_json(body, 204 if body is None else 200, _where(api, bucket))


def _where(api: Api, bucket: Bucket | None) -> dict[str, str]:
    return api.ratelimits.headers(bucket) if bucket else {}


def _authenticate(api: Api, request: web.Request, path: str) -> None:
    if path.startswith(_TOKEN_IN_PATH):
        return
    said = request.headers.get("Authorization", "")
    if path == "/users/@me" and api.oauth.user(said.removeprefix("Bearer ")) is not None:
        return
    if not secrets.compare_digest(said.encode("utf-8", "replace"), f"Bot {api.token}".encode()):
        raise ApiError(401, 0, "401: Unauthorized")


class Routes(ABC):
    """The endpoints of one subject, as the bot asks them."""

    def __init__(self, api: Api) -> None:
        self._api = api

    @abstractmethod
    def table(self) -> list[tuple[str, str, Endpoint]]:
        """Return the endpoints, each with its method and path."""

    def routes(self) -> list[web.RouteDef]:
        """Return the endpoints as aiohttp routes."""
        return [web.route(method, PREFIX + path, endpoint(self._api, one)) for method, path, one in self.table()]

    def _channel(self, request: web.Request, needed: Permission = Permission.VIEW_CHANNEL) -> Channel:
        channel = self._api.state.channel(path_id(request, "channel"))
        self._api.state.require(self._api.me, channel, needed)
        return channel

    def _message(self, request: web.Request, needed: Permission = Permission.VIEW_CHANNEL) -> Message:
        found = self._api.state.message(self._channel(request, needed).id, path_id(request, "message"))
        if found.ephemeral:  # those are reached through their interaction only
            raise unknown("Message")
        return found


async def read_body(request: web.Request, list_name: str | None = None) -> Body:
    """Read the JSON of a request, with its files if it is multipart; a bare list is put under `list_name`."""
    if request.content_type == "multipart/form-data":
        return await _read_multipart(request)
    raw = await request.content.read(limits.REQUEST_BYTES + 1)
    while not request.content.at_eof() and len(raw) <= limits.REQUEST_BYTES:
        raw += await request.content.read(limits.REQUEST_BYTES + 1 - len(raw))
    if len(raw) > limits.REQUEST_BYTES:
        raise too_large()
    if not raw:
        return Body(Fields({}))
    if request.content_type == "application/x-www-form-urlencoded":
        form = parse_qs(raw.decode("utf-8", "replace"))
        return Body(Fields.of(decode(form.get("payload_json", ["{}"])[-1])))
    if request.content_type != "application/json":
        raise invalid((), "CONTENT_TYPE_INVALID", 'Expected "Content-Type" header to be one of {"application/json"}.')
    value = decode(raw)
    if list_name is not None:
        value = {list_name: value}
    return Body(Fields.of(value))


async def _read_multipart(request: web.Request) -> Body:
    fields = Fields({})
    files: dict[int, Upload] = {}
    total = 0
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader):
            continue
        content = await _read_part(part, limits.REQUEST_BYTES - total)
        total += len(content)
        if part.name == "payload_json":
            fields = Fields.of(decode(content))
        elif part.filename is not None:
            number = (part.name or "").removeprefix("files[").removesuffix("]")
            key = int(number) if is_snowflake(number) else len(files)
            files[key] = _uploaded(part, content)
    return Body(fields, _described(fields, files))


async def _read_part(part: BodyPartReader, room: int) -> bytes:
    limit = room if part.filename is None else min(room, limits.FILE_BYTES)
    content = bytearray()
    while chunk := await part.read_chunk(1 << 16):
        content += chunk
        if len(content) > limit:
            raise too_large()
    return bytes(content)


def _uploaded(part: BodyPartReader, content: bytes) -> Upload:
    name = safe_name(part.filename or "file")
    guessed = mimetypes.guess_type(name)[0] or "application/octet-stream"
    if guessed.startswith("text/") or guessed == "application/json":
        guessed += "; charset=utf-8"
    return Upload(name, content, guessed)


def safe_name(filename: str) -> str:
    """Return a file name as Discord stores it: no path, no control characters, spaces as underscores."""
    base = filename.replace("\\", "/").rsplit("/", 1)[-1]
    kept = "".join(c if c.isalnum() or c in "._-" else "_" for c in base)
    return kept.strip(".")[:255] or "file"


def _described(fields: Fields, files: dict[int, Upload]) -> tuple[Upload, ...]:
    described: list[Upload] = []
    notes = {note.integer("id"): note for note in fields.objects("attachments") or []}
    if len(files) > limits.FILES:
        raise ApiError(400, 30015, "Maximum number of attachments in a message reached (10)")
    for key, upload in sorted(files.items()):
        note = notes.get(key)
        name = note.text("filename") if note else None
        text = note.text("description") if note else None
        described.append(
            Upload(
                safe_name(name) if name else upload.filename,
                upload.content,
                upload.content_type,
                text,
                note.number("duration_secs") if note else None,
                note.text("waveform") if note else None,
            )
        )
    return tuple(described)


def path_id(request: web.Request, name: str) -> int:
    """An id in the path."""
    value = request.match_info[name]
    if not is_snowflake(value):
        raise invalid((name,), "NUMBER_TYPE_COERCE", f'Value "{value[:40]}" is not snowflake.')
    return int(value)


def query_id(request: web.Request, name: str) -> int | None:
    """An id in the query."""
    value = request.query.get(name)
    if value is not None and not is_snowflake(value):
        raise invalid((name,), "NUMBER_TYPE_COERCE", f'Value "{value}" is not snowflake.')
    return int(value) if value else None


def query_limit(request: web.Request, default: int, high: int) -> int:
    """The `limit` of a listing."""
    value = request.query.get("limit", str(default))
    if not is_snowflake(value) or not 1 <= int(value) <= high:
        raise invalid(("limit",), "NUMBER_TYPE_MAX", f"int value should be less than or equal to {high}.")
    return int(value)
