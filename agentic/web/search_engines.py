"""Search engines: a SearXNG by its address, or public ones through ``ddgs``; what does not work is told with what to do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlencode, urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError

from agentic.extras import missing
from agentic.web.web_client import WebClient, WebRequest, WebTrouble

MOST = 20
TITLE, SNIPPET, ADDRESS = 200, 400, 2_000
DDGS_SECONDS = 20.0
REQUEST_SECONDS = 8
THREADS = 2
_OK, _FORBIDDEN = 200, 403


class SearchFailed(Exception):
    """There are no results; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class WebHit:
    """One result."""

    title: str
    url: str
    snippet: str


class SearchEngine(Protocol):
    """Finds pages of the web."""

    @property
    def name(self) -> str:
        """What people know it by."""
        ...

    async def search(self, query: str, most: int) -> tuple[WebHit, ...]:
        """Pages, best first.  Raises ``SearchFailed``."""
        ...

    def close(self) -> None:
        """Take no more."""
        ...


class _Result(BaseModel):
    model_config = ConfigDict(extra="ignore")
    url: str = ""
    title: str | None = ""
    content: str | None = ""


class _Results(BaseModel):
    model_config = ConfigDict(extra="ignore")
    results: tuple[_Result, ...] = ()


class Searxng:
    """A SearXNG that answers in JSON."""

    def __init__(self, client: WebClient, address: str) -> None:
        self._client, self._address = client, address.rstrip("/")

    @property
    def name(self) -> str:
        """Its address."""
        return f"SearXNG at {urlsplit(self._address).netloc}"

    def close(self) -> None:
        """Nothing is held."""

    async def search(self, query: str, most: int) -> tuple[WebHit, ...]:
        """Pages, best first."""
        url = f"{self._address}/search?{urlencode({'q': query, 'format': 'json'})}"
        try:
            answer = await self._client.send_to_own(WebRequest(url))
        except WebTrouble as trouble:
            raise SearchFailed(f"{self.name} cannot be asked: {trouble}") from trouble
        if answer.status == _FORBIDDEN:
            raise SearchFailed(
                f"{self.name} gives no JSON: whoever runs it adds `json` to `search.formats` in its settings"
            )
        if answer.status != _OK:
            raise SearchFailed(f"{self.name} answered with HTTP {answer.status}")
        try:
            found = _Results.model_validate_json(answer.body)
        except ValidationError as wrong:
            raise SearchFailed(f"{self.name} answered something that is no list of results") from wrong
        return _hits([(each.title or "", each.url, each.content or "") for each in found.results], most)


Ask = Callable[[str, int], Sequence[Mapping[str, str]]]
"""Waits for the results of a query, at most so many: ``title``, ``href``, ``body``."""


def asked_through_ddgs(query: str, most: int) -> Sequence[Mapping[str, str]]:
    """Ask public search engines; the library is imported only here, since it takes long."""
    from ddgs import DDGS  # pyright: ignore[reportUnknownVariableType]  # it is typed in part

    return DDGS(timeout=REQUEST_SECONDS).text(query, max_results=most)


class PublicEngines:
    """Public search engines, asked in threads of its own: one that hangs keeps nobody else waiting."""

    name = "public search engines (ddgs)"

    def __init__(self, ask: Ask = asked_through_ddgs, seconds: float = DDGS_SECONDS) -> None:
        self._ask, self._seconds = ask, seconds
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="web-search")
        self._room = asyncio.Semaphore(THREADS)

    def close(self) -> None:
        """Take no more; what runs ends by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def search(self, query: str, most: int) -> tuple[WebHit, ...]:
        """Pages, best first."""
        if self._ask is asked_through_ddgs and (lacks := missing("web")) is not None:
            raise SearchFailed(
                f"{self.name} cannot be asked: {lacks}. Tell the person; whoever runs the bot adds it, or sets a SearXNG "
                "of their own (THREADWRIGHT_SEARCH_URL)"
            )
        try:
            async with asyncio.timeout(self._seconds):
                await self._room.acquire()
                asked = asyncio.wrap_future(self._pool.submit(self._ask, query, most))
                asked.add_done_callback(self._over)
                found = await asyncio.shield(asked)
        except TimeoutError as late:
            raise SearchFailed(
                f"{self.name} did not answer within {self._seconds:g} seconds. Try again later"
            ) from late
        except Exception as trouble:  # whatever a library that reads foreign pages comes upon
            why = "".join(c if c.isprintable() else " " for c in str(trouble) or type(trouble).__name__)[:200]
            raise SearchFailed(
                f"{self.name} did not answer ({why}). Try other words or later; an owner can set a SearXNG of their own "
                "(THREADWRIGHT_SEARCH_URL)"
            ) from trouble
        return _hits([(each.get("title", ""), each.get("href", ""), each.get("body", "")) for each in found], most)

    def _over(self, asked: asyncio.Future[Sequence[Mapping[str, str]]]) -> None:
        self._room.release()
        if not asked.cancelled():
            asked.exception()  # whoever asked may have given up: nobody else is told of it


def _hits(found: Sequence[tuple[str, str, str]], most: int) -> tuple[WebHit, ...]:
    """Those with an address of the web, each address once."""
    hits: dict[str, WebHit] = {}
    for title, url, snippet in found:
        url = url.strip()
        if url.startswith(("http://", "https://")) and url.isprintable() and " " not in url and len(url) <= ADDRESS:
            hits.setdefault(url, WebHit(_line(title, TITLE) or url, url, _line(snippet, SNIPPET)))
    return tuple(hits.values())[:most]


def _line(text: str, most: int) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * most]).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
