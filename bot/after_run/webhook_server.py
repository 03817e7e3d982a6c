"""Receives webhooks of hosts of repositories, and does nothing but ring: their pull requests are asked about now.

It faces whoever can reach it, so it believes nothing: a delivery without the right signature is refused, of the others
only the name of the repository is read.  What it reads, how long, and from how many at once is bounded; whatever is refused
or lost, polling goes on.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable

from aiohttp import web

from agentic.forges.webhook import is_signed, repository_named

BODY_BYTES = 1024 * 1024
"""Largest delivery; hosts send less of what is of use here, and what is larger is found by polling."""
BODY_SECONDS = 10.0
CONNECTIONS = 32
CONNECTION_SECONDS = 15.0
"""A connection lives at least so long and at most twice that, whatever it sends."""
HERE = "Threadwright takes signed webhooks here."
"""What everybody reads who sends none; `threadwright doctor` knows it by that."""
UNSIGNED = "THREADWRIGHT_WEBHOOK_SECRET is not set, so no webhook is received; pull requests are polled"
MAKE_ONE = "set it to what `openssl rand -hex 32` prints, and give the host the same"
WRONG = "The signature does not fit. The secret at the host has to be THREADWRIGHT_WEBHOOK_SECRET of the bot.\n"


class CannotListen(Exception):
    """No webhooks are received; the text says why, ``todo`` what to do."""

    def __init__(self, why: str, todo: str) -> None:
        super().__init__(why)
        self.todo = todo


class _Refused(asyncio.Protocol):
    """A connection beyond the bound."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.abort()


class WebhookServer:
    """Listens from ``open`` to ``close``; ``ring`` is told the name of a repository."""

    def __init__(self, address: tuple[str, int], secret: str, ring: Callable[[str], None]) -> None:
        self._address, self._secret, self._ring = address, secret, ring
        self._web: web.Server | None = None
        self._server: asyncio.Server | None = None
        self._sweeping: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Listen.  Raises ``CannotListen``."""
        if not self._secret:
            raise CannotListen(UNSIGNED, MAKE_ONE)
        self._web = web.Server(self._answer, access_log=None, auto_decompress=False, lingering_time=1.0)
        host, port = self._address
        try:
            self._server = await asyncio.get_running_loop().create_server(
                self._connected, host, port, backlog=CONNECTIONS
            )
        except OSError as error:
            raise cannot_listen(self._address, error) from error
        self._sweeping = asyncio.create_task(self._sweep(self._web), name="webhook connections")

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

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            answer = await self._taken(request)
        except web.HTTPException as refused:
            refused.force_close()
            raise
        answer.force_close()
        return answer

    async def _taken(self, request: web.BaseRequest) -> web.Response:
        if request.method != "POST":
            raise web.HTTPMethodNotAllowed(request.method, ["POST"], text=HERE)
        body = await _body(request)
        if not is_signed(request.headers, body, self._secret):
            raise web.HTTPUnauthorized(text=WRONG)
        if repository := repository_named(body):
            self._ring(repository)
        return web.Response(status=204)


async def _body(request: web.BaseRequest) -> bytes:
    """What was sent, within bounds.  Raises ``HTTPException``."""
    body = bytearray()
    if (request.content_length or 0) > BODY_BYTES:
        raise web.HTTPRequestEntityTooLarge(BODY_BYTES, request.content_length or 0)
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for piece in request.content.iter_any():
                body += piece
                if len(body) > BODY_BYTES:
                    raise web.HTTPRequestEntityTooLarge(BODY_BYTES, len(body))
    except TimeoutError:
        raise web.HTTPRequestTimeout from None
    except (web.RequestPayloadError, ConnectionError):
        raise web.HTTPBadRequest from None
    return bytes(body)


def cannot_listen(address: tuple[str, int], error: OSError) -> CannotListen:
    """What is wrong with an address to listen at."""
    place = f"{address[0]}:{address[1]}"
    todo = "set THREADWRIGHT_WEBHOOKS to another port, and lead the host or the reverse proxy there"
    if error.errno == errno.EADDRINUSE:
        return CannotListen(f"{place} is used by another program, so no webhook is received", todo)
    if error.errno in (errno.EACCES, errno.EPERM):
        return CannotListen(f"{place} may not be used by you, so no webhook is received", todo)
    if error.errno == errno.EADDRNOTAVAIL:
        return CannotListen(f"{place} is no address of this machine, so no webhook is received", todo)
    return CannotListen(f"{place} cannot be listened at ({os.strerror(error.errno or 0)})", todo)
