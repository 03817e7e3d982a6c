"""The proxy behind a door: one connection, one request, to a host that the policy names.

The order is the promise: the name is judged first, then resolved here, then each of its addresses, and the connection goes
to what was looked at.  A tunnel carries TLS that asks for the same host, and nothing else.  Redirects are the client's:
they come as a request of their own.  Everything has a bound.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from agentic.egress import client_hello, http_request
from agentic.egress.addresses import refusal
from agentic.egress.client_hello import UNRECOGNISED_NAME, HelloReader, NoHello, NotThatServer
from agentic.egress.host_list import HTTP, HTTPS, PORTS, Authority, NoHost, authority
from agentic.egress.http_request import BadRequest, ProxyRequest
from agentic.egress.names import Names
from agentic.egress.proxy_checks import ALL, Checks
from agentic.ports.way_out import RefusedHost

log = logging.getLogger(__name__)

PIECE = 64 * 1024
CLOSE_SECONDS = 5.0
MOST_SHOWN = 120
_REASONS = {400: "Bad Request", 403: "Forbidden", 408: "Request Timeout", 411: "Length Required",
            431: "Request Header Fields Too Large", 502: "Bad Gateway", 503: "Service Unavailable",
            504: "Gateway Timeout", 505: "HTTP Version Not Supported"}  # fmt: skip

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host, as numbers."""
Dial = Callable[[str, int], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]
"""A connection to an address."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one door may take."""

    head: int = 32 * 1024
    """Bytes of a request's head."""
    connections: int = 96
    head_seconds: float = 15.0
    """Until a request, or the first message of TLS, is there."""
    resolve_seconds: float = 10.0
    connect_seconds: float = 15.0
    idle_seconds: float = 300.0
    life_seconds: float = 3600.0
    size: int = 4 << 30
    """Bytes of one connection, both ways."""


def _nobody(_: str, _own: bool) -> None:
    """Nobody is told."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Door:
    """What a proxy asks of the sandbox behind it."""

    allows: Callable[[str], Awaitable[bool]]
    """Whether a host may be reached now."""
    refused: Callable[[RefusedHost], None]
    """Told of each refusal."""
    reached: Callable[[str, bool], None] = _nobody
    """Told of each host that is connected to, before anything of it is passed on; whether it is of the own network."""


class _Refused(Exception):
    def __init__(self, refusal: RefusedHost, status: int = 403) -> None:
        super().__init__(refusal.why)
        self.refusal, self.status = refusal, status


class _Failed(Exception):
    """Nothing was refused, and yet it did not work."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Proxy:
    """Serves the connections of doors; ``private``: what of the own network may be reached where a list names it."""

    def __init__(
        self,
        private: frozenset[Authority] = frozenset(),
        *,
        resolve: Resolve | None = None,
        dial: Dial | None = None,
        bounds: Bounds | None = None,
        checks: Checks = ALL,
    ) -> None:
        self._private = private
        self._resolve = resolve
        self._names = Names()
        self._dial = dial or dialled
        self._bounds = bounds or Bounds()
        self._checks = checks
        self._open: dict[int, int] = {}

    def close(self) -> None:
        """Look up no more names."""
        self._names.close()

    async def serve(self, door: Door, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, to its end."""
        with self._counted(door) as room, suppress(OSError, TimeoutError):
            try:
                if not room:
                    raise _Failed(503, "too many connections are open; wait for some to end")
                async with asyncio.timeout(self._bounds.life_seconds if self._checks.bounds else None):
                    await self._exchange(door, reader, writer)
            except _Refused as refused:
                self._tell(door, refused.refusal)
                await _answer(writer, refused.status, f"The network refused {_told(refused.refusal)}")
            except _Failed as failed:
                await _answer(writer, failed.status, str(failed))
            finally:
                await _closed(writer)

    def _counted(self, door: Door) -> _Room:
        return _Room(self._open, id(door), self._bounds.connections if self._checks.bounds else 1 << 30)

    def _tell(self, door: Door, refusal: RefusedHost) -> None:
        log.info("refused %s: %s", _plain(refusal.host), _plain(refusal.why))
        door.refused(refusal)

    # --- one exchange -------------------------------------------------------------------------------------------

    async def _exchange(self, door: Door, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await self._request(reader)
        place = self._place(request)
        await self._judge(door, request, place)
        try:
            host_reader, host_writer = await self._connected(door, place)
        except (OSError, TimeoutError) as error:
            raise _Failed(
                502, f"{place.host} cannot be reached: {_plain(str(error) or type(error).__name__)}"
            ) from error
        checks = self._checks

        async def allowed() -> bool:
            return not checks.listed or await door.allows(place.host)

        door.reached(place.host, place in self._private)
        wire = _Wire(self._bounds, allowed, bounded=checks.bounds)
        try:
            if request.connects:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await self._greet(door, place, reader, writer, host_writer)
                await wire.both(wire.piped(reader, host_writer), wire.piped(host_reader, writer))
            else:
                host_writer.write(request.forwarded(_host_header(place), single=checks.single))
                single = (
                    wire.body(reader, host_writer, request.length) if checks.single else wire.piped(reader, host_writer)
                )
                await wire.both(single, wire.piped(host_reader, writer))
        finally:
            await _closed(host_writer)

    async def _request(self, reader: asyncio.StreamReader) -> ProxyRequest:
        checks = self._checks
        try:
            async with asyncio.timeout(self._bounds.head_seconds if checks.bounds else None):
                head = await reader.readuntil(b"\r\n\r\n")
            if checks.bounds and len(head) > self._bounds.head:
                raise BadRequest(431, "the request's head is too long")
            return http_request.read(head, strict=checks.framing)
        except asyncio.LimitOverrunError:
            raise _Refused(RefusedHost("a request", "its head is too long"), 431) from None
        except asyncio.IncompleteReadError:
            raise ConnectionResetError from None
        except TimeoutError:
            raise _Refused(RefusedHost("a request", "it did not come in time"), 408) from None
        except BadRequest as bad:
            raise _Refused(RefusedHost("a request", str(bad)), bad.status) from None

    def _place(self, request: ProxyRequest) -> Authority:
        try:
            return authority(request.authority, None if request.connects else HTTP)
        except NoHost as wrong:
            if self._checks.names:
                raise _Refused(RefusedHost(request.authority[:MOST_SHOWN], str(wrong)[:MOST_SHOWN])) from None
        named = request.authority.rpartition("@")[2]
        host, _, port = named.rpartition(":") if ":" in named else (named, "", "")
        return Authority(host.strip("[]"), int(port) if port.isdigit() else HTTP)

    async def _judge(self, door: Door, request: ProxyRequest, place: Authority) -> None:
        """All that can be said before anything is resolved."""
        checks = self._checks
        if checks.listed and not await door.allows(place.host):
            raise _Refused(RefusedHost(place.host, "it's not on this channel's list", listed=False))
        usual = HTTPS if request.connects else HTTP
        if checks.ports and place.port != usual and (place.port in PORTS or place not in self._private):
            raise _Refused(RefusedHost(str(place), f"only port {usual} is open this way"))
        if not checks.host_header or request.connects:
            return
        named = request.values("host")
        try:
            same = len(named) == 1 and authority(named[0], HTTP) == place
        except NoHost:
            same = False
        if not same:
            raise _Refused(RefusedHost(place.host, "the request's Host names another one"))

    async def _connected(self, door: Door, place: Authority) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        bounds = self._bounds
        try:
            async with asyncio.timeout(bounds.resolve_seconds):
                addresses = await self._addresses(door, place)
        except OSError as error:
            raise _Failed(502, f"{place.host} has no address that can be found") from error
        own = place in self._private
        for address in addresses if self._checks.addresses else ():
            if why := refusal(address, own_network=own):
                raise _Refused(RefusedHost(place.host, why))
        if not self._checks.pinned:
            addresses = await self._addresses(door, place)
        async with asyncio.timeout(bounds.connect_seconds):
            return await self._first(addresses, place.port)

    async def _addresses(self, door: Door, place: Authority) -> Sequence[str]:
        if self._resolve is not None:
            return await self._resolve(place.host, place.port)
        return await self._names.resolve(door, place.host, place.port)

    async def _first(self, addresses: Sequence[str], port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to the first address that takes one."""
        trouble: OSError = ConnectionRefusedError("it has no address")
        for address in addresses:
            try:
                return await self._dial(address, port)
            except OSError as error:
                trouble = error
        raise trouble

    async def _greet(
        self,
        door: Door,
        place: Authority,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        host_writer: asyncio.StreamWriter,
    ) -> None:
        """The first message of TLS, looked at before the host gets it."""
        if not self._checks.tunnel:
            return
        try:
            async with asyncio.timeout(self._bounds.head_seconds if self._checks.bounds else None):
                hello, sent = await _hello(reader)
            if self._checks.server_name:
                client_hello.require(hello, place.host)
        except (NoHello, NotThatServer, TimeoutError) as wrong:
            why = str(wrong) or "it did not speak TLS in time"
            self._tell(door, RefusedHost(place.host, why))
            if isinstance(wrong, NotThatServer):
                writer.write(UNRECOGNISED_NAME)
            raise ConnectionResetError from None
        host_writer.write(sent)


class _Room:
    """One of a door's connections while it is open; true where there was room for it."""

    def __init__(self, open_: dict[int, int], door: int, most: int) -> None:
        self._open, self._door, self._most = open_, door, most

    def __enter__(self) -> bool:
        self._open[self._door] = self._open.get(self._door, 0) + 1
        return self._open[self._door] <= self._most

    def __exit__(self, *_: object) -> None:
        self._open[self._door] -= 1
        if not self._open[self._door]:
            del self._open[self._door]


class _Wire:
    """The bytes of one connection, both ways: counted, and cut when nothing moves or the host is no longer allowed."""

    def __init__(self, bounds: Bounds, allowed: Callable[[], Awaitable[bool]], *, bounded: bool) -> None:
        self._bounds, self._allowed, self._bounded = bounds, allowed, bounded
        self._size = 0
        self._idle: asyncio.Timeout | None = None

    async def both(self, there: Coroutine[None, None, None], back: Coroutine[None, None, None]) -> None:
        """Both ways beside each other, until what comes back has ended."""
        up = asyncio.create_task(there, name="egress-up")
        try:
            async with asyncio.timeout(self._bounds.idle_seconds if self._bounded else None) as self._idle:
                await back
        finally:
            up.cancel()
            await asyncio.gather(up, return_exceptions=True)

    async def piped(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on all that comes."""
        with _aborted(writer):
            while data := await reader.read(PIECE):
                await self._passed(data, writer)
            if writer.can_write_eof():
                writer.write_eof()

    async def body(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, length: int) -> None:
        """Pass on exactly so many bytes; whatever follows them ends the connection."""
        with _aborted(writer):
            while length:
                data = await reader.read(min(PIECE, length))
                if not data:
                    raise ConnectionResetError
                length -= len(data)
                await self._passed(data, writer)
            if await reader.read(1):
                raise ConnectionResetError
            if writer.can_write_eof():
                writer.write_eof()

    async def _passed(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        self._size += len(data)
        if not await self._allowed() or (self._bounded and self._size > self._bounds.size):
            raise ConnectionResetError
        if self._idle is not None and self._bounded:
            self._idle.reschedule(asyncio.get_running_loop().time() + self._bounds.idle_seconds)
        writer.write(data)
        await writer.drain()


@contextmanager
def _aborted(writer: asyncio.StreamWriter) -> Generator[None]:
    """What goes wrong one way ends the other: its reader comes to an end."""
    try:
        yield
    except OSError:
        writer.transport.abort()
        raise


async def _hello(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """The ClientHello, and all bytes that came with it."""
    hello, sent = HelloReader(), bytearray()
    while True:
        data = await reader.read(PIECE)
        if not data:
            raise NoHello("it ended before its TLS began") if sent else ConnectionResetError
        sent += data
        if (body := hello.feed(data)) is not None:
            return body, bytes(sent)


async def dialled(address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to an address; nothing is resolved."""
    return await asyncio.open_connection(address, port, limit=PIECE, flags=socket.AI_NUMERICHOST)


async def _answer(writer: asyncio.StreamWriter, status: int, words: str) -> None:
    """An error in words, where nothing has been answered yet."""
    body = f"{words}\n".encode("utf-8", "replace")
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    writer.write(head.encode() + body)
    await writer.drain()


async def _closed(writer: asyncio.StreamWriter) -> None:
    """Close it; what the other side does not take in time is dropped."""
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(CLOSE_SECONDS):
            writer.close()
            await writer.wait_closed()
            return
    writer.transport.abort()


def _host_header(place: Authority) -> str:
    return place.host if place.port == HTTP else f"{place.host}:{place.port}"


def _told(refusal: RefusedHost) -> str:
    ask = "" if refusal.listed else " If you need it, call the tool `network` with it."
    return f"{_plain(refusal.host)}: {_plain(refusal.why)}.{ask}"


def _plain(text: str) -> str:
    """A foreign text in a line of a log or an answer."""
    return "".join(c if c.isprintable() else "?" for c in text[:MOST_SHOWN])
