"""JSON over HTTP to a host's API: typed errors, conditional requests, bounded answers.

The token goes to the host it is for and nowhere else: an answer that leads elsewhere is followed without it, and only
where a file is read.  What did not change is answered with 304, which costs no quota, and is taken from memory.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TypeVar
from urllib.parse import urljoin, urlsplit

import aiohttp
from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError

from agentic.ports.errors import (
    AnswerTooLarge,
    ForgeBusy,
    ForgeRejected,
    ForgeUnclear,
    RepositoryGone,
    RightMissing,
    TokenRefused,
)

S = TypeVar("S")
T = TypeVar("T")

SECONDS = 20.0
ANSWER_BYTES = 4 * 1024 * 1024
REMEMBERED = 200
REDIRECTS = 4
PAGE, MOST_PAGES = 50, 50
"""Entries of a page, and pages of a list that are read: all comments that GitHub takes on one pull request."""
CHECKS_PAGE, MOST_CHECKS = 30, 600
"""Checks on a page, whose summaries may be long, and checks of a commit."""
_MOVED = (301, 302, 303, 307, 308)
_AGENT = "Threadwright"


class ApiClient:
    """Requests to one API with one token."""

    def __init__(self, api: str, host: str, authorization: str, headers: Mapping[str, str] | None = None) -> None:
        self.host = host
        self._api = api
        self._authorization = authorization
        self._headers = {"User-Agent": _AGENT, "Accept": "application/json", **(headers or {})}
        self._session: aiohttp.ClientSession | None = None
        self._known: OrderedDict[str, tuple[str, bytes]] = OrderedDict()
        """What an address answered last, with its tag."""

    async def close(self) -> None:
        """Let go of connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def get(self, path: str, shape: TypeAdapter[T], **query: str) -> T:
        """What stands at a path; a repository that was renamed is found under its new name."""
        return self._read(await self._call("GET", path, query=query), shape)

    async def pages(
        self, path: str, shape: TypeAdapter[S], inside: Callable[[S], tuple[T, ...]], size: str, each: int = PAGE,
        most: int = MOST_PAGES, **query: str,
    ) -> tuple[T, ...]:  # fmt: skip
        """The entries of a list, at most ``most`` pages; ``size`` is what the host calls the number of them on a page."""
        found: list[T] = []
        for page in range(1, most + 1):
            some = inside(await self.get(path, shape, **query, **{size: str(each), "page": str(page)}))
            found += some
            if len(some) < each:
                break
        return tuple(found)

    async def checks(
        self, path: str, shape: TypeAdapter[S], inside: Callable[[S], tuple[T, ...]], size: str
    ) -> tuple[T, ...]:
        """All checks of a list: half of them are no green.  Raises ``AnswerTooLarge`` where there are too many."""
        found = await self.pages(path, shape, inside, size, CHECKS_PAGE, MOST_CHECKS // CHECKS_PAGE)
        if len(found) >= MOST_CHECKS:
            raise AnswerTooLarge(f"{self.host} lists {MOST_CHECKS} or more checks of it, which is more than I read.")
        return found

    async def send(self, method: str, path: str, body: dict[str, JsonValue], shape: TypeAdapter[T]) -> T:
        """Ask for a change."""
        return self._read(await self._call(method, path, body=body), shape)

    async def text(self, path: str, most: int) -> str:
        """The end of a text, at most ``most`` characters."""
        content = await self._call("GET", path, keeps=False)
        return content.decode("utf-8", "replace")[-most:]

    def _read(self, content: bytes, shape: TypeAdapter[T]) -> T:
        try:
            return shape.validate_json(content)
        except ValidationError as wrong:
            problem = wrong.errors()[0]
            where = ".".join(map(str, problem["loc"]))
            raise ForgeUnclear(
                f"{self.host} answered something that I cannot read ({where}: {problem['msg']})."
            ) from wrong

    async def _call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: dict[str, JsonValue] | None = None,
        keeps: bool = True,
    ) -> bytes:
        address, tried = f"{self._api}{path}", 0
        try:
            async with asyncio.timeout(SECONDS):
                while True:
                    status, headers, content = await self._once(method, address, query, body, keeps)
                    leads = headers.get("Location", "")
                    if status not in _MOVED or not leads or method != "GET" or tried == REDIRECTS:
                        break
                    address, query, tried = urljoin(address, leads), None, tried + 1
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            why = "did not answer in time" if isinstance(error, TimeoutError) else f"cannot be reached ({error})"
            raise ForgeUnclear(f"{self.host} {why}. I'll look again before I repeat anything.") from error
        if 200 <= status < 300:
            return content
        raise self._problem(method, status, headers, content)

    async def _once(
        self, method: str, address: str, query: Mapping[str, str] | None, body: dict[str, JsonValue] | None, keeps: bool
    ) -> tuple[int, Mapping[str, str], bytes]:
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=SECONDS), trust_env=True)
        ours = urlsplit(address)[:2] == urlsplit(self._api)[:2]
        headers = dict(self._headers)
        if ours and self._authorization:
            headers["Authorization"] = self._authorization
        elif not ours and not address.startswith("https://"):
            raise aiohttp.ClientConnectionError("it led to an address that is not encrypted")
        name = f"{address}?{sorted((query or {}).items())}"
        known = self._known.get(name) if method == "GET" and keeps else None
        if known is not None:
            headers["If-None-Match"] = known[0]
        async with self._session.request(
            method, address, params=query, json=body, headers=headers, allow_redirects=False
        ) as answer:
            content = await self._bounded(answer, whole=method == "GET" and keeps)
            if answer.status == 304 and known is not None:
                self._known.move_to_end(name)
                return 200, answer.headers, known[1]
            if answer.status == 200 and keeps and method == "GET" and (tag := answer.headers.get("ETag")):
                self._known[name] = (tag, content)
                while len(self._known) > REMEMBERED:
                    self._known.popitem(last=False)
            return answer.status, answer.headers, content

    async def _bounded(self, answer: aiohttp.ClientResponse, *, whole: bool) -> bytes:
        """An answer's content; of one that is too long the end, or ``AnswerTooLarge`` where only the ``whole`` is of use."""
        kept = bytearray()
        async for piece in answer.content.iter_chunked(64 * 1024):
            kept += piece
            if whole and len(kept) > ANSWER_BYTES:
                raise AnswerTooLarge(
                    f"{self.host} answers with more than {ANSWER_BYTES // 2**20} MB at once, which is more than I read. "
                    "Very long comments or summaries of checks can be the reason."
                )
            if len(kept) > 2 * ANSWER_BYTES:
                del kept[:-ANSWER_BYTES]
        return bytes(kept[-ANSWER_BYTES:])

    def _problem(self, method: str, status: int, headers: Mapping[str, str], content: bytes) -> Exception:
        said = _said(content)
        if status == 401:
            return TokenRefused(
                f"{self.host} does not take the token: it is wrong, was revoked or has expired. Whoever runs the bot has to "
                "set a new one."
            )
        if status == 429 or (
            status == 403 and (headers.get("X-RateLimit-Remaining") == "0" or "Retry-After" in headers)
        ):
            wait = _seconds_to_wait(headers)
            return ForgeBusy(f"{self.host} asks to wait {wait:.0f} s: too many requests.", wait)
        if status == 403:
            return RightMissing(f"The token may not do this at {self.host}: {said or 'no reason was given'}.")
        if status in (404, 410, 451):
            return RepositoryGone(f"{self.host} has nothing there, or does not show it to this token.")
        if status in _MOVED and method != "GET":
            return ForgeRejected(f"The repository has another name now at {self.host}.", status)
        if 400 <= status < 500:
            return ForgeRejected(f"{self.host} refused: {said or f'HTTP {status}'}", status)
        return ForgeUnclear(f"{self.host} failed with HTTP {status}. I'll look again before I repeat anything.")


class _Refusal(BaseModel):
    """Why a host says no; what it names as errors are texts or objects."""

    message: str = ""
    errors: tuple[JsonValue, ...] = ()


def _said(content: bytes) -> str:
    """Why a host says no, in its words, cut to a line."""
    try:
        read = _Refusal.model_validate_json(content)
    except ValidationError:
        return ""
    more = [str(each.get("message", "")) if isinstance(each, dict) else str(each) for each in read.errors]
    return " ".join(" ".join([read.message, *more]).split())[:300]


def _seconds_to_wait(headers: Mapping[str, str]) -> float:
    after, until = headers.get("Retry-After", ""), headers.get("X-RateLimit-Reset", "")
    if after.isdecimal():
        return min(float(after), 3_600.0)
    if until.isdecimal():
        return min(max(float(until) - time.time(), 1.0), 3_600.0)
    return 60.0
