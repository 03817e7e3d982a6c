"""Waits on this machine for the browser that comes back from a sign-in, and hears nothing but that.

Any program and any page can knock here, so what it reads is bounded, what it answers says nothing, and whether somebody
belongs to the sign-in is for its owner to say, by a secret in the address.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

HOST = "127.0.0.1"
PATH = "/callback"
LINE_BYTES = 16 * 1024
SECONDS = 10.0
CONNECTIONS = 16
BACK = "You can close this page. Threadwright tells you where you began whether the sign-in worked."
STRANGE = "This belongs to no sign-in that Threadwright waits for. Begin it again."


class CannotWait(Exception):
    """Nothing can listen there; the message says why."""


class RedirectListener:
    """Listens from ``open`` to ``close``; ``heard`` is given the address that a browser was sent to, and knows it or not."""

    def __init__(self, heard: Callable[[str], bool]) -> None:
        self._heard = heard
        self._server: asyncio.Server | None = None
        self._held: set[asyncio.StreamWriter] = set()
        self.address = ""
        """Where browsers are to be sent to."""

    async def open(self, port: int) -> None:
        """Listen at a port, 0 for any.  Raises ``CannotWait``."""
        try:
            self._server = await asyncio.start_server(self._connected, HOST, port, limit=LINE_BYTES)
        except OSError as error:
            raise CannotWait(f"port {port} of this machine cannot be listened at: {error.strerror}") from error
        self.address = f"http://{HOST}:{self._server.sockets[0].getsockname()[1]}{PATH}"

    async def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()
            for writer in self._held:
                writer.close()
            await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._held) >= CONNECTIONS:
            writer.transport.abort()
            return
        self._held.add(writer)
        try:
            async with asyncio.timeout(SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._answer(head))
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # whoever does not ask is not answered
        finally:
            self._held.discard(writer)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    def _answer(self, head: bytes) -> bytes:
        method, _, rest = head.partition(b"\r\n")[0].decode("ascii", "replace").partition(" ")
        target = rest.partition(" ")[0]
        known = method == "GET" and target.partition("?")[0] == PATH and self._heard(target)
        body = (BACK if known else STRANGE).encode()
        status = "200 OK" if known else "400 Bad Request"
        return (
            f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
            "Referrer-Policy: no-referrer\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
        ).encode() + body
