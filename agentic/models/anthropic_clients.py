"""Clients of the anthropic SDK, each with a small pool of connections.

Its HTTP library looks at every connection of a pool at each request and at each end of one, a system call each: with 500
threads in one pool that was a third of the whole process's time.  So a client takes at most ``EACH`` requests at once,
and another one is made beside it, which costs half a millisecond because all share the certificates they trust.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ssl import SSLContext

    from anthropic import AsyncAnthropic

EACH: Final = 8


class Clients:
    """Lends the busiest client that has room, so that connections of the others may rest; ``connect`` makes the first."""

    def __init__(self, connect: Callable[[], tuple[AsyncAnthropic, SSLContext]]) -> None:
        self._connect = connect
        self._making = asyncio.Lock()
        self._busy: dict[AsyncAnthropic, int] = {}
        self._certificates: SSLContext | None = None

    @property
    def are_there(self) -> bool:
        """The first one is made."""
        return bool(self._busy)

    async def ready(self) -> None:
        """Have one client at least; the first is made in a thread, since it imports the SDK."""
        async with self._making:
            if not self._busy:
                first, self._certificates = await asyncio.to_thread(self._connect)
                self._busy[first] = 0

    @asynccontextmanager
    async def lent(self) -> AsyncGenerator[AsyncAnthropic]:
        """A client for one request."""
        await self.ready()
        client = max((one for one, busy in self._busy.items() if busy < EACH), key=self._busy.__getitem__, default=None)
        if client is None:
            client = self._another()
        self._busy[client] = self._busy.get(client, 0) + 1
        try:
            yield client
        finally:
            if client in self._busy:
                self._busy[client] -= 1

    async def close(self) -> None:
        """Release all connections."""
        clients, self._busy = list(self._busy), {}
        for client in clients:
            await client.close()

    def _another(self) -> AsyncAnthropic:
        import anthropic

        assert self._certificates is not None, "the first client is there, and with it what all of them trust"
        first = next(iter(self._busy))
        return first.copy(http_client=anthropic.DefaultAsyncHttpxClient(verify=self._certificates))
