"""The REST API's frame: who asks, what goes wrong, what is sent back.

Around every endpoint: misbehave if told to, authenticate, take from the rate limit, turn a
refusal into Discord's JSON. https://discord.com/developers/docs/reference
"""

from __future__ import annotations

import asyncio
import mimetypes
import socket
import struct
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from time import monotonic

from aiohttp import BodyPartReader, web

from bot.guild import limits, misbehave
from bot.guild.commands import Commands
from bot.guild.drafts import Upload
from bot.guild.errors import ApiError, RateLimitedError, invalid, too_large
from bot.guild.interactions import Interactions
from bot.guild.message_view import MessageView
from bot.guild.messages import Messages
from bot.guild.misbehave import Misbehaviour
from bot.guild.ratelimits import Bucket, RateLimits, RenameLimit, headers
from bot.guild.state import GuildState
from bot.guild.wire import Fields, Json, decode, encode, is_snowflake

PREFIX = "/api/v10"
# Requests that carry their own token in the path.
_TOKEN_IN_PATH = ("/webhooks/", "/interactions/")
ASKED_KEPT = 20_000
"""So many requests are remembered."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it arrived: when (monotonic seconds), ``METHOD /path`` without the API prefix."""

    at: float
    what: str


@dataclass(slots=True)
class Api:
    """What endpoints work on."""

    state: GuildState
    view: MessageView
    messages: Messages
    interactions: Interactions
    commands: Commands
    token: str
    misbehaviour: Misbehaviour
    ratelimits: RateLimits = field(default_factory=RateLimits)
    renames: RenameLimit = field(default_factory=RenameLimit)
    asked: deque[Asked] = field(default_factory=lambda: deque(maxlen=ASKED_KEPT))

    @property
    def me(self) -> int:
        """The user id of the bot, who is the only one to use this API."""
        return self.state.identity.bot_id


Endpoint = Callable[[web.Request], Awaitable[Json]]


@dataclass(frozen=True, slots=True)
class Body:
    """A request's JSON and the files that came with it."""

    fields: Fields
    uploads: tuple[Upload, ...] = ()


def endpoint(api: Api, handler: Endpoint) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """Wraps an endpoint: None is answered with 204, anything else as JSON."""

    async def answer(request: web.Request) -> web.StreamResponse:
        path = request.path.removeprefix(PREFIX)
        api.asked.append(Asked(monotonic(), f"{request.method} {path}"))
        fault = api.misbehaviour.fault_for(f"{request.method} {path}")
        early = await _misbehaved(request, fault)
        if early is not None:
            return early
        response = await _answered(api, handler, request, path)
        if isinstance(fault, misbehave.Reset):
            _reset(request)
        if isinstance(fault, misbehave.Delayed) and fault.landed:
            await asyncio.sleep(fault.seconds)
        return response

    return answer


async def _answered(api: Api, handler: Endpoint, request: web.Request, path: str) -> web.StreamResponse:
    bucket: Bucket | None = None
    try:
        _authenticate(api, request, path)
        bucket = api.ratelimits.bucket(request.method, path)
        api.ratelimits.take(bucket)
        body = await handler(request)
    except ApiError as error:
        return refusal(error, bucket)
    status = 204 if body is None else 200
    return _json(body, status, headers(bucket))


def _authenticate(api: Api, request: web.Request, path: str) -> None:
    if path.startswith(_TOKEN_IN_PATH):
        return
    if request.headers.get("Authorization") != f"Bot {api.token}":
        raise ApiError(401, 0, "401: Unauthorized")


async def _misbehaved(request: web.Request, fault: misbehave.Fault | None) -> web.StreamResponse | None:
    match fault:
        case misbehave.RateLimited(html=True):
            return web.Response(status=429, text="<html>error code: 1015</html>", content_type="text/html")
        case misbehave.RateLimited(retry_after=seconds, is_global=everywhere):
            return refusal(RateLimitedError(seconds, is_global=everywhere), None)
        case misbehave.Refused(status, code, message):
            return refusal(ApiError(status, code, message), None)
        case misbehave.Reset(landed=False):
            _reset(request)
            return web.Response(status=500)
        case misbehave.Delayed(seconds=seconds, landed=False):
            await asyncio.sleep(seconds)
        case _:
            pass
    return None


def _reset(request: web.Request) -> None:
    if request.transport is None:
        return
    sock = request.transport.get_extra_info("socket")
    if sock is not None:  # without lingering, closing sends RST: the client reads errno 104
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    request.transport.abort()


def refusal(error: ApiError, bucket: Bucket | None) -> web.Response:
    """Discord's answer to a request it refuses."""
    extra = headers(bucket) if bucket else {}
    if isinstance(error, RateLimitedError):
        # A 429 without Via counts as a ban by the edge: clients give up at once.
        extra |= {
            "Via": "1.1 google",
            "Retry-After": f"{error.retry_after:.3f}",
            "X-RateLimit-Scope": error.scope,
        }
        if error.is_global:
            extra["X-RateLimit-Global"] = "true"
    return _json(error.body(), error.status, extra)


def _json(body: Json, status: int, extra: dict[str, str]) -> web.Response:
    if body is None:
        return web.Response(status=status, headers=extra)
    # Exactly this content type: with a charset, discord.py takes the body for text.
    return web.Response(body=encode(body), status=status, headers=extra, content_type="application/json")


async def read_body(request: web.Request, list_name: str | None = None) -> Body:
    """The JSON of a request, with its files if it is multipart; a bare list is put under `list_name`."""
    if request.content_type == "multipart/form-data":
        return await _read_multipart(request)
    raw = await request.content.read(limits.REQUEST_BYTES + 1)
    while not request.content.at_eof() and len(raw) <= limits.REQUEST_BYTES:
        raw += await request.content.read(limits.REQUEST_BYTES + 1 - len(raw))
    if len(raw) > limits.REQUEST_BYTES:
        raise too_large()
    if not raw:
        return Body(Fields({}))
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
            key = int(number) if number.isdigit() else len(files)
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
    """A file name as Discord keeps it: no path, no control characters, spaces as underscores."""
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
            )
        )
    return tuple(described)


def path_id(request: web.Request, name: str) -> int:
    """An id in the path."""
    return int(request.match_info[name])


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
