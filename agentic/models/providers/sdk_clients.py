"""Clients of a provider's SDK, each with a small pool of connections.

The SDKs' HTTP library looks at every connection of a pool at each request and at each end of one, a system call each: with
500 threads in one pool that was a third of the whole process's time.  So a client takes at most ``EACH`` requests at once,
and another one is made beside it, which costs half a millisecond where all share the certificates they trust.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Final, Generic, Protocol, TypeVar

EACH: Final = 8


class _Closable(Protocol):
    async def close(self) -> None: ...


Client = TypeVar("Client", bound=_Closable)


class SdkClients(Generic[Client]):
    """Lends the busiest client that has room, so that connections of the others may rest; ``connect`` makes one more."""

    def __init__(self, connect: Callable[[], Client]) -> None:
        self._connect = connect
        self._busy: dict[Client, int] = {}

    @asynccontextmanager
    async def lent(self) -> AsyncGenerator[Client]:
        """A client for one request."""
        client = max((one for one, busy in self._busy.items() if busy < EACH), key=self._busy.__getitem__, default=None)
        if client is None:
            client = self._connect()
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
