"""HTTP to servers: to the address that was looked at, within bounds, and no further than the file allows.

The name is resolved here, each of its addresses is judged, and the connection goes to one of those.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import cache
from typing import cast

import httpx2

from agentic.egress.addresses import refusal
from agentic.egress.names import Names

ANSWER_BYTES = 16 << 20
CONNECT_SECONDS = 15.0
RESOLVE_SECONDS = 10.0
_certificates = cache(httpx2.create_ssl_context)
"""What is trusted; read once, for everybody waits for the 30 ms that it takes."""

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


class AddressRefused(httpx2.ConnectError):
    """A host may not be connected to; nothing was sent."""


class AnswerTooLong(httpx2.StreamError):
    """An answer is longer than what is read."""


@cache
def _names() -> Names:
    return Names()


async def resolved(host: str, port: int) -> Sequence[str]:
    """The addresses of a host, looked up in threads of these servers alone: a silent name server holds up nothing else."""
    names = _names()
    async with asyncio.timeout(RESOLVE_SECONDS):
        return await names.resolve(names, host, port)


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Connects to what was judged; remembers the last status that was an error, of which the SDK says nothing.

    ``own`` are the hosts that may have an address of a private network.
    """

    def __init__(self, own: frozenset[str], resolve: Resolve = resolved) -> None:
        self._own = own
        self._resolve = resolve
        self._inner = httpx2.AsyncHTTPTransport(verify=_certificates(trust_env=False), trust_env=False)
        self.status = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; raises ``AddressRefused`` before anything is sent."""
        host, port = request.url.host, request.url.port or (443 if request.url.scheme == "https" else 80)
        address = await self._address(host, port)
        extensions = {**request.extensions, "sni_hostname": host}
        request.headers.setdefault("Host", request.url.netloc.decode())
        there = httpx2.Request(
            request.method,
            request.url.copy_with(host=address),
            headers=request.headers,
            stream=request.stream,
            extensions=extensions,
        )
        response = await self._inner.handle_async_request(there)
        self.status = response.status_code if response.status_code >= httpx2.codes.BAD_REQUEST else 0
        stream = _Bounded(cast(AsyncIterator[bytes], response.stream), response.stream)
        return httpx2.Response(
            response.status_code, headers=response.headers, stream=stream, extensions=response.extensions
        )

    async def _address(self, host: str, port: int) -> str:
        try:
            addresses = await self._resolve(host, port)
        except (OSError, TimeoutError, UnicodeError) as error:
            raise AddressRefused(f"{host} was not found: {error}") from error
        for address in addresses:
            if why := refusal(address, own_network=host.lower() in self._own):
                raise AddressRefused(f"{host} is not connected to: {why}")
        if not addresses:
            raise AddressRefused(f"{host} has no address")
        return addresses[0]

    async def aclose(self) -> None:
        """Let go of connections."""
        await self._inner.aclose()


class _Bounded(httpx2.AsyncByteStream):
    """An answer's bytes, up to a bound."""

    def __init__(self, pieces: AsyncIterator[bytes], whole: object) -> None:
        self._pieces = pieces
        self._whole = whole

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = ANSWER_BYTES
        async for piece in self._pieces:
            left -= len(piece)
            if left < 0:
                raise AnswerTooLong(f"the answer has more than {ANSWER_BYTES >> 20} MB")
            yield piece

    async def aclose(self) -> None:
        if isinstance(self._whole, httpx2.AsyncByteStream):
            await self._whole.aclose()
