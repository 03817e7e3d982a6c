"""Receives webhooks of hosts of repositories, and does nothing but ring: their pull requests are asked about now.

It faces whoever can reach it, so it believes nothing: a delivery without the right signature is refused, of the others
only the name of the repository is read.  What it reads, how long, and from how many at once is bounded; whatever is refused
or lost, polling goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from aiohttp import web

from agentic.forges.webhook import is_signed, repository_named
from bot.telemetry.bounded_server import BoundedServer, why_not

BODY_BYTES = 1024 * 1024
"""Largest delivery; hosts send less of what is of use here, and what is larger is found by polling."""
BODY_SECONDS = 10.0
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


class WebhookServer:
    """Listens from ``open`` to ``close``; ``ring`` is told the name of a repository."""

    def __init__(self, address: tuple[str, int], secret: str, ring: Callable[[str], None]) -> None:
        self._address, self._secret, self._ring = address, secret, ring
        self._server = BoundedServer(address, self._answer)

    async def open(self) -> None:
        """Listen.  Raises ``CannotListen``."""
        if not self._secret:
            raise CannotListen(UNSIGNED, MAKE_ONE)
        try:
            await self._server.open()
        except OSError as error:
            raise cannot_listen(self._address, error) from error

    async def close(self) -> None:
        """Stop listening, and end all connections."""
        await self._server.close()

    async def _answer(self, request: web.BaseRequest) -> web.Response:
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
    todo = "set THREADWRIGHT_WEBHOOKS to another port, and lead the host or the reverse proxy there"
    return CannotListen(f"{why_not(address, error)}, so no webhook is received", todo)
