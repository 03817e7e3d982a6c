"""What went over the wire, as shapes: JSON lines that name nobody and open nothing.

Everything is left out that is not known to be harmless. Of values only their kind stays: a text is ``…``, a time is always the
same, an id is a number that stands for it in the whole record. Words of an address, and words under a few names (``type``,
``state``), are kept where they are in a list. What is left goes through the redaction of everything that the bot posts.

It is seen by a server on loopback that passes requests on: the product's clients talk to it as they would to the service.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Self, TextIO

import aiohttp
import yarl
from aiohttp import web
from pydantic import JsonValue

from bot.rendering.secrets import Discretion

FORM = 1
"""Which form of a record this is."""
TEXT, TIME = "…", "2000-01-01T00:00:00+00:00"
FIRST_ID = 100_000_000_000_000_000
"""The placeholder of the first id; it has as many digits as Discord's own."""
SNOWFLAKE = re.compile(r"\d{15,20}")
_ROUTE = frozenset((
    "@me", "@original", "api", "applications", "bot", "branches", "callback", "channels", "chat", "comments",
    "completions", "gateway", "guilds", "interactions", "issues", "messages", "models", "oauth2", "pulls", "reactions",
    "repos", "threads", "typing", "user", "users", "v1", "v3", "webhooks",
))  # fmt: skip
"""Words of addresses that are kept; anything else may be a name, an id or a token."""
_WORDS = frozenset(("finish_reason", "object", "role", "state", "status", "stop_reason", "type"))
"""Names under which a single word is kept."""
_NUMBERS = frozenset(("code", "component_type", "type"))
"""Names under which a number is kept."""
_WORD = re.compile(r"[a-z][a-z_.]{0,39}")
_NAME = re.compile(r"[A-Za-z_$][\w.$-]{0,63}", re.ASCII)


_OF_ONE_CONNECTION = frozenset((
    "accept-encoding", "connection", "content-encoding", "content-length", "host", "keep-alive", "proxy-authorization",
    "te", "trailer", "transfer-encoding", "upgrade",
))  # fmt: skip
MOST = 64 * 1024 * 1024
SECONDS = 300.0


class WireRecord:
    """Writes each exchange as it ends; ``part`` and ``step`` say what it was for."""

    def __init__(self, out: TextIO, hidden: Iterable[str]) -> None:
        self._out = out
        self._discretion = Discretion(hidden)
        self._ids: dict[str, str] = {}
        self.part = self.step = ""

    def begin(self, build: str, day: str) -> None:
        """Say first which version wrote it, and when."""
        self._out.write(json.dumps({"record": FORM, "build": build, "day": day}) + "\n")

    def exchange(
        self, method: str, path: str, sent: bytes, status: int, headers: Mapping[str, str], received: bytes
    ) -> None:
        """A request and its answer; ``path`` begins after the address of the API."""
        kind = headers.get("Content-Type", "")
        self._write(
            method=method,
            route=route_of(path),
            request=self._body(sent),
            status=status,
            headers=_headers(headers),
            body=self._streamed(received) if "event-stream" in kind else self._body(received),
        )

    def event(self, name: str, data: JsonValue) -> None:
        """Something that Discord's gateway told."""
        self._write(event=name, body=self._shape(data))

    def _write(self, **row: JsonValue) -> None:
        whole = self._discretion.everywhere({"part": self.part, "step": self.step, **row})
        self._out.write(json.dumps(whole, ensure_ascii=False) + "\n")
        self._out.flush()

    def _body(self, content: bytes) -> JsonValue:
        if not content:
            return None
        try:
            return self._shape(json.loads(content))
        except ValueError:  # a file, a form, lines
            return TEXT

    def _streamed(self, content: bytes) -> JsonValue:
        """The events of a stream by their kind, those of one kind as one that has the fields of all."""
        kinds: dict[str, JsonValue] = {}
        for line in content.split(b"\n"):
            if line.startswith(b"data: {"):
                event = self._body(line.removeprefix(b"data: ").strip())
                fields = event if isinstance(event, dict) else {}
                kind = str(fields.get("type") or fields.get("object") or "event")
                kinds[kind] = _merged(kinds.get(kind), event)
        return {"events": kinds}

    def _shape(self, value: JsonValue, name: str = "") -> JsonValue:
        match value:
            case None | bool():
                return value
            case str():
                return self._text(value, name)
            case int() | float():
                return value if name in _NUMBERS else self._number(value, name)
            case list():
                return [self._shape(each, name) for each in value]
            case dict():
                return {self._name(key): self._shape(each, key) for key, each in value.items()}

    def _text(self, value: str, name: str) -> str:
        if SNOWFLAKE.fullmatch(value):
            return self._placeholder(value)
        if _is_time(value):
            return TIME
        return value if not value or (name in _WORDS and _WORD.fullmatch(value)) else TEXT

    def _number(self, value: float, name: str) -> int:
        is_id = name in ("id", "number") or name.endswith("_id")
        return int(self._placeholder(str(value))) if is_id else 0

    def _name(self, key: str) -> str:
        if SNOWFLAKE.fullmatch(key):
            return "{}"
        return key if _NAME.fullmatch(key) or key.isdecimal() else TEXT

    def _placeholder(self, id: str) -> str:
        return self._ids.setdefault(id, str(FIRST_ID + len(self._ids)))


class RecordingRelay:
    """Open from ``async with`` on; a path that nobody can guess keeps other programs of this machine out of the record."""

    def __init__(self, record: WireRecord) -> None:
        self._record = record
        self._services: dict[str, str] = {}
        app = web.Application(client_max_size=MOST)
        app.router.add_route("*", "/{key}/{rest:.*}", self._pass_on)
        self._runner = web.AppRunner(app, access_log=None)
        self._port = 0

    async def __aenter__(self) -> Self:
        timeout = aiohttp.ClientTimeout(total=SECONDS)
        self._session = aiohttp.ClientSession(timeout=timeout, trust_env=True, cookie_jar=aiohttp.DummyCookieJar())
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()
        await self._session.close()

    def to(self, service: str) -> str:
        """The address to use instead of a service's."""
        key = secrets.token_urlsafe(16)
        self._services[key] = service.rstrip("/")
        return f"http://127.0.0.1:{self._port}/{key}"

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        service = self._services.get(request.match_info["key"])
        if service is None:
            return web.Response(status=404)
        path = request.raw_path.removeprefix(f"/{request.match_info['key']}")
        sent = await request.read()
        headers = {k: v for k, v in request.headers.items() if k.lower() not in _OF_ONE_CONNECTION}
        try:
            asked = self._session.request(
                request.method, yarl.URL(f"{service}{path}", encoded=True), data=sent or None, headers=headers,
                allow_redirects=False,
            )  # fmt: skip
            async with asked as answer:
                return await self._answered(request, path, sent, answer)
        except aiohttp.ClientError:
            if request.transport is not None:
                request.transport.abort()  # as the service did
            raise

    async def _answered(
        self, request: web.Request, path: str, sent: bytes, answer: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        kept = {k: v for k, v in answer.headers.items() if k.lower() not in _OF_ONE_CONNECTION}
        passed = web.StreamResponse(status=answer.status, headers=kept)
        received = bytearray()
        await passed.prepare(request)
        async for piece in answer.content.iter_any():
            received += piece
            await passed.write(piece)
        self._record.exchange(request.method, path, sent, answer.status, answer.headers, bytes(received))
        await passed.write_eof()
        return passed


def route_of(path: str) -> str:
    """The address with ``{}`` for what is not a known word of one, and without what follows a question mark."""
    parts = path.partition("?")[0].split("/")
    return "/".join(part if not part or part in _ROUTE else "{}" for part in parts)


def _is_time(text: str) -> bool:
    """Whether a text is a moment with its time zone."""
    try:
        return "T" in text and datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _merged(one: JsonValue, other: JsonValue) -> JsonValue:
    """A value with the fields of both; a list has one item that has those of all."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {key: _merged(one.get(key), other.get(key)) for key in {**one, **other}}
    if isinstance(one, list) or isinstance(other, list):
        whole: JsonValue = None
        for each in (*(one if isinstance(one, list) else ()), *(other if isinstance(other, list) else ())):
            whole = _merged(whole, each)
        return [] if whole is None else [whole]
    return other if one is None else one


def _headers(headers: Mapping[str, str]) -> dict[str, JsonValue]:
    """Those that matter, in lower case; of a limit only that it is named, and for whom it counts."""
    kept: dict[str, JsonValue] = {}
    for name, value in sorted((name.lower(), value) for name, value in headers.items()):
        if name == "content-type":
            kept[name] = value.partition(";")[0]
        elif name.startswith("x-ratelimit-") or name == "retry-after":
            kept[name] = value if name == "x-ratelimit-scope" and _WORD.fullmatch(value) else TEXT
    return kept
