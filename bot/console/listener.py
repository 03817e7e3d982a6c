"""Listening for connections, within bounds: how many, how long one may be silent, how long its answers may lie unread."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Mapping
from typing import ClassVar, cast

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

CONNECTIONS = 480
"""Open at once; a page that is kept up to date holds one. Below the files that a process may open where nothing is set."""
TURNED_AWAY = 200
"""So many more are told that there are too many; the rest is cut off."""
IDLE_SECONDS = 60.0
"""So long a connection may take to send a request, and may stay without one."""
UNREAD_SECONDS = 60.0
"""So long an answer may lie unread at the other end."""
LINGER_SECONDS = 1.0
"""So long somebody may go on sending who was answered already."""
FULL = b"Too many pages of the console are open. Close some, then load this one again.\n"
ANSWER = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nRetry-After: 10\r\n"
    b"Connection: close\r\nContent-Length: %d\r\n%s\r\n%s"
)

log = logging.getLogger(__name__)
log.addFilter(lambda record: not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError)))
"""What is no HTTP is answered with 400; anybody could fill the log with it."""


class Listener:
    """Serves an application from ``open`` to ``close``. ``headers``: of the answers that the application knows nothing of."""

    def __init__(self, app: web.Application, headers: Mapping[str, str]) -> None:
        self._app, self._headers = app, headers
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._full = ANSWER % (len(FULL), lines.encode(), FULL)
        self._runner: web.AppRunner | None = None
        self._listening: asyncio.Server | None = None
        self.address = ("", 0)

    async def open(self, host: str, port: int, listens_at: Callable[[str, int], None]) -> None:
        """Listen; ``listens_at`` is told the address before a request comes. Raises ``OSError``."""
        self._runner = web.AppRunner(self._app, shutdown_timeout=2.0, handler_cancellation=True)
        await self._runner.setup()
        loop = asyncio.get_running_loop()
        self._listening = await loop.create_server(self._admitted, host, port, backlog=256, start_serving=False)
        for each in self._listening.sockets:
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(UNREAD_SECONDS * 1000))
        self.address = cast("tuple[str, int]", self._listening.sockets[0].getsockname()[:2])
        listens_at(*self.address)
        await self._listening.start_serving()

    async def close(self) -> None:
        """End all connections."""
        if self._listening is not None:
            self._listening.close()
        if self._runner is not None:
            await self._runner.cleanup()

    def _admitted(self) -> asyncio.BaseProtocol:
        assert self._runner is not None
        server = self._runner.server
        if server is None or len(server.connections) >= CONNECTIONS:
            return _TurnedAway(self._full)
        return _Speaker(self._headers, server)


class _Speaker(web.RequestHandler):
    """A connection; what is no HTTP is answered with our headers too."""

    __slots__ = ("_own_headers",)

    def __init__(self, headers: Mapping[str, str], server: web.Server) -> None:
        super().__init__(
            server, loop=asyncio.get_running_loop(), keepalive_timeout=IDLE_SECONDS, lingering_time=LINGER_SECONDS, logger=log,
            access_log=None,  # pyright: ignore[reportArgumentType]  # nothing is logged of each request
        )  # fmt: skip
        self._own_headers = headers

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        answer = super().handle_error(request, status, exc, message)
        answer.headers.update(self._own_headers)
        return answer


class _TurnedAway(asyncio.Protocol):
    """A connection that is one too many: its request is answered with 503."""

    _there: ClassVar[set[_TurnedAway]] = set()

    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._there.add(self)
        self._end = asyncio.get_running_loop().call_later(LINGER_SECONDS, self._transport.abort)
        if len(self._there) > TURNED_AWAY:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._transport.write(self._answer)
        self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end.cancel()
        self._there.discard(self)
