"""A small HTTP server that believes nobody: few connections, each for a short time, one answer each."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Awaitable, Callable

from aiohttp import web

CONNECTIONS = 32
CONNECTION_SECONDS = 15.0
"""A connection lives at least so long and at most twice that, whatever it sends."""


class _Refused(asyncio.Protocol):
    """A connection beyond the bound."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.abort()


class BoundedServer:
    """Listens from ``open`` to ``close``; ``answer`` may raise ``HTTPException``."""

    def __init__(
        self, address: tuple[str, int], answer: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
    ) -> None:
        self._address, self._answer = address, answer
        self._web: web.Server | None = None
        self._server: asyncio.Server | None = None
        self._sweeping: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Listen.  Raises ``OSError``."""
        self._web = web.Server(self._answered, access_log=None, auto_decompress=False, lingering_time=1.0)
        host, port = self._address
        self._server = await asyncio.get_running_loop().create_server(self._connected, host, port, backlog=CONNECTIONS)
        self._sweeping = asyncio.create_task(self._sweep(self._web), name=f"connections of port {port}")

    async def close(self) -> None:
        """Stop listening, and end all connections."""
        server, self._server = self._server, None
        if server is None or self._web is None or self._sweeping is None:
            return
        self._sweeping.cancel()
        await asyncio.gather(self._sweeping, return_exceptions=True)
        server.close()
        await self._web.shutdown(0.1)
        await server.wait_closed()

    def _connected(self) -> asyncio.Protocol:
        assert self._web is not None
        return self._web() if len(self._web.connections) < CONNECTIONS else _Refused()

    async def _sweep(self, served: web.Server) -> None:
        """End connections that last too long: whoever sends nothing keeps no place."""
        before = frozenset[object]()
        while True:
            await asyncio.sleep(CONNECTION_SECONDS)
            for connection in served.connections:
                if connection in before and connection.transport is not None:
                    connection.transport.abort()
            before = frozenset(served.connections)

    async def _answered(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            answer = await self._answer(request)
        except web.HTTPException as refused:
            refused.force_close()
            raise
        answer.force_close()
        return answer


def why_not(address: tuple[str, int], error: OSError) -> str:
    """Why an address cannot be listened at."""
    place = f"{address[0]}:{address[1]}"
    if error.errno == errno.EADDRINUSE:
        return f"{place} is used by another program"
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"{place} may not be used by you"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{place} is no address of this machine"
    return f"{place} cannot be listened at ({os.strerror(error.errno or 0)})"
