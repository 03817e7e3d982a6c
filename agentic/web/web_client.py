"""Requests to the web, by the rules that hold for a sandbox's network.

The order is that of the proxy (``agentic/egress/proxy.py``): the name is judged, then resolved here, then each of its
addresses, and the connection goes to what was looked at.  Each redirect is judged anew.  Nothing of this machine goes with
a request: no proxy of its environment, no cookies, no credentials.
"""

from __future__ import annotations

import asyncio
import socket
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Literal

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from agentic.egress.addresses import refusal
from agentic.egress.host_list import HTTP, HTTPS, PORTS, Authority, HostList, NoHost, host_name
from agentic.egress.names import Names

PIECE = 64 * 1024
REDIRECTS = 5
SHOWN = 200
MARKUP = ("text/html", "application/xhtml+xml")
_MOVED = (301, 302, 303, 307, 308)
_AGENT = "Threadwright"
_PACKED = ("gzip", "x-gzip")
_PLAIN = ("", "identity")

Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host, as numbers.  Raises ``OSError``."""
Policy = Callable[[], Awaitable[HostList]]
"""What may be reached, as it is now."""


class Asker:
    """Whose requests these are: each has look-ups of its own, so that none takes those of another."""


class WebTrouble(Exception):
    """A request that came to nothing; the message says why, in words."""


class WebRefused(WebTrouble):
    """Nothing was sent to ``host``; ``listed`` is False where putting it on the list would let it be reached."""

    def __init__(self, host: str, why: str, *, listed: bool = True) -> None:
        super().__init__(f"{host[:SHOWN]}: {why}")
        self.host, self.why, self.listed = host[:SHOWN], why, listed


class WebUnanswered(WebTrouble):
    """What was asked gave no answer that can be used; ``sent`` is True where it may have been received."""

    def __init__(self, why: str, *, sent: bool = True) -> None:
        super().__init__(why)
        self.sent = sent


@dataclass(frozen=True, slots=True)
class WebBounds:
    """What one request may take."""

    seconds: float = 30.0
    connect_seconds: float = 10.0
    size: int = 5 * 1024 * 1024
    """Bytes of an answer, as it is sent and as it is once unpacked."""


@dataclass(frozen=True, slots=True)
class WebRequest:
    """One request."""

    url: str
    method: Method = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """What came back; ``cut``: there was more than is read; ``private``: it came by way of the own network."""

    url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    media: str
    charset: str
    body: bytes
    cut: bool = False
    private: bool = False


class WebClient:
    """Sends requests; ``private``: what of the own network may be reached where a list names it."""

    def __init__(
        self,
        private: frozenset[Authority] = frozenset(),
        *,
        resolve: Resolve | None = None,
        bounds: WebBounds | None = None,
        names: Names | None = None,
    ) -> None:
        self._private = private
        self._names = names or Names()
        self._resolve = resolve
        self._bounds = bounds or WebBounds()

    def close(self) -> None:
        """Look up no more names."""
        self._names.close()

    async def page(self, url: str, policy: Policy, asker: Asker) -> WebAnswer:
        """What stands at an address, with its redirects followed.  Raises ``WebTrouble``."""
        at, private = _read(url), False
        async with _in_time(self._bounds.seconds):
            for _ in range(REDIRECTS + 1):
                answer = await self._send(WebRequest(str(at)), at, policy, asker)
                private = private or answer.private
                leads = _location(answer)
                if answer.status not in _MOVED or not leads:
                    return replace(answer, private=private)
                at = _joined(at, leads)
        raise WebUnanswered(f"{url[:SHOWN]} redirects more than {REDIRECTS} times")

    async def send(self, request: WebRequest, policy: Policy, asker: Asker) -> WebAnswer:
        """One request; a redirect is an answer.  Raises ``WebTrouble``."""
        async with _in_time(self._bounds.seconds):
            return await self._send(request, _read(request.url), policy, asker)

    async def send_to_own(self, request: WebRequest) -> WebAnswer:
        """One request to an address that the owner of this machine set; no policy is asked.  Raises ``WebTrouble``."""
        async with _in_time(self._bounds.seconds):
            return await self._exchange(request, _read(request.url), aiohttp.TCPConnector(force_close=True))

    async def _send(self, request: WebRequest, at: URL, policy: Policy, asker: Asker) -> WebAnswer:
        place = _place(at)
        self._judge(place, at.scheme, await policy())
        addresses = await self._addresses(place, asker)
        connector = aiohttp.TCPConnector(resolver=_Pinned(addresses), use_dns_cache=False, force_close=True)
        return replace(await self._exchange(request, at, connector), private=place in self._private)

    def _judge(self, place: Authority, scheme: str, hosts: HostList) -> None:
        """All that can be said before anything is resolved."""
        own, usual = place in self._private, HTTPS if scheme == "https" else HTTP
        if not hosts.allows(place.host) and (own or not hosts.web):
            raise WebRefused(place.host, "it's not on this channel's list", listed=False)
        if place.port != usual and (place.port in PORTS or not own):
            raise WebRefused(str(place), f"only port {usual} is open for {scheme}")

    async def _addresses(self, place: Authority, asker: Asker) -> Sequence[str]:
        try:
            async with asyncio.timeout(self._bounds.connect_seconds):
                found = await (
                    self._resolve(place.host, place.port)
                    if self._resolve is not None
                    else self._names.resolve(asker, place.host, place.port)
                )
        except (OSError, TimeoutError, UnicodeError) as error:
            raise WebUnanswered(f"{place.host} has no address that can be found", sent=False) from error
        for address in found:
            if why := refusal(address, own_network=place in self._private):
                raise WebRefused(place.host, why)
        if not found:
            raise WebUnanswered(f"{place.host} has no address", sent=False)
        return found

    async def _exchange(self, request: WebRequest, at: URL, connector: aiohttp.TCPConnector) -> WebAnswer:
        headers = [("User-Agent", _AGENT), ("Accept", "*/*"), ("Accept-Encoding", "gzip")]
        given = {name.lower() for name, _ in request.headers}
        headers = [*(pair for pair in headers if pair[0].lower() not in given), *request.headers]
        session = aiohttp.ClientSession(
            connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False, trust_env=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._bounds.connect_seconds), middlewares=(_once,),
        )  # fmt: skip
        try:
            async with session, session.request(
                request.method, at, headers=headers, data=request.body or None, allow_redirects=False
            ) as response:  # fmt: skip
                body, cut = await self._body(response)
                return WebAnswer(
                    url=str(at.with_fragment(None)),
                    status=response.status,
                    headers=tuple(response.headers.items()),
                    media=response.content_type.lower() if "Content-Type" in response.headers else "",
                    charset=(response.charset or "").lower(),
                    body=body,
                    cut=cut,
                )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise WebUnanswered(f"{at.host} did not answer in a way that can be read: {_plain(error)}") from error

    async def _body(self, response: aiohttp.ClientResponse) -> tuple[bytes, bool]:
        """The content, unpacked, up to the bound; and whether there is more of it."""
        packing = response.headers.get("Content-Encoding", "").strip().lower()
        if packing not in (*_PLAIN, *_PACKED):
            raise WebUnanswered(f"what {response.url.host} sent is packed in a way that is not read ({packing[:40]})")
        unpack = zlib.decompressobj(zlib.MAX_WBITS | 16) if packing in _PACKED else None
        content, sent = bytearray(), 0
        try:
            async for piece in response.content.iter_chunked(PIECE):
                sent += len(piece)
                room = self._bounds.size + 1 - len(content)
                content += piece if unpack is None else unpack.decompress(piece, room)
                if len(content) > self._bounds.size or sent > self._bounds.size:
                    return bytes(content[: self._bounds.size]), True
        except zlib.error as damaged:
            raise WebUnanswered(f"what {response.url.host} sent is damaged (invalid gzip)") from damaged
        return bytes(content), unpack is not None and bool(sent) and not unpack.eof


async def _once(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """What breaks off is told as it is: the library would send a request again where its method is meant to bear that."""
    try:
        return await send(request)
    except aiohttp.ClientConnectorError as error:
        raise WebUnanswered(f"{request.url.host} cannot be reached: {_plain(error)}", sent=False) from error
    except aiohttp.ClientConnectionError as error:
        raise WebUnanswered(f"{request.url.host} broke off: {_plain(error)}") from error


class _Pinned(AbstractResolver):
    """Answers with the addresses that were judged."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._addresses = addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The same ones, whatever is asked."""
        return [
            ResolveResult(
                hostname=host, host=address, port=port, family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0, flags=socket.AI_NUMERICHOST,
            )
            for address in self._addresses
        ]  # fmt: skip

    async def close(self) -> None:
        """Nothing is held."""


@asynccontextmanager
async def _in_time(seconds: float) -> AsyncGenerator[None]:
    """A time-out that is told as what it is."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as late:
        raise WebUnanswered(f"no whole answer came within {seconds:g} seconds") from late


def _read(written: str) -> URL:
    """An address as it is asked for.  Raises ``WebRefused``."""
    try:
        at = URL(written.strip())
        port = at.port
    except ValueError:
        raise WebRefused(written, "it is no address that can be read; write https://…") from None
    if at.scheme not in ("http", "https") or not at.raw_host or port is None:
        raise WebRefused(written, "only http:// and https:// addresses are read")
    if at.raw_user is not None or at.raw_password is not None:
        raise WebRefused(at.raw_host, "an address must not hold a name or a password")
    return at.with_fragment(None)


def _place(at: URL) -> Authority:
    try:
        return Authority(host_name(at.raw_host or ""), at.port or 0)
    except NoHost as wrong:
        raise WebRefused(at.raw_host or "", str(wrong)) from None


def _location(answer: WebAnswer) -> str:
    return next((value for name, value in answer.headers if name.lower() == "location"), "")


def _joined(at: URL, leads: str) -> URL:
    try:
        return _read(str(at.join(URL(leads.strip()))))
    except ValueError:
        raise WebUnanswered(f"{at.host} redirects to an address that cannot be read") from None


def _plain(error: Exception) -> str:
    text = str(error) or type(error).__name__
    return "".join(c if c.isprintable() else "?" for c in text[:SHOWN])
