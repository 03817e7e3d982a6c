"""Looks names up for the doors, in threads of its own: a name whose server is silent keeps nobody else here waiting.

A look-up cannot be broken off.  So a door's place is taken until its thread is done, and not only while somebody waits.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from weakref import WeakKeyDictionary

THREADS = 32
FOR_EACH = 4
"""Look-ups of one door at a time."""

Look = Callable[[str, int], Sequence[str]]
"""Waits for the addresses of a host.  Raises ``OSError``."""


def addresses_of(host: str, port: int) -> Sequence[str]:
    """The addresses of a host, by the resolver of this machine."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


class Names:
    """A bounded number of threads, of which each door has a few."""

    def __init__(self, look: Look = addresses_of, threads: int = THREADS, each: int = FOR_EACH) -> None:
        self._look = look
        self._each = each
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="egress-names")
        self._rooms: WeakKeyDictionary[object, asyncio.Semaphore] = WeakKeyDictionary()

    async def resolve(self, door: object, host: str, port: int) -> Sequence[str]:
        """The addresses of a host, for a door.  Raises ``OSError``."""
        room = self._rooms.setdefault(door, asyncio.Semaphore(self._each))
        await room.acquire()
        try:
            asked = self._pool.submit(self._look, host, port)
        except RuntimeError as error:
            room.release()
            raise OSError("names are not looked up any more") from error
        looking = asyncio.wrap_future(asked)
        looking.add_done_callback(lambda done: _over(room, done))
        return await asyncio.shield(looking)

    def close(self) -> None:
        """Take no more; what runs ends by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _over(room: asyncio.Semaphore, looked: asyncio.Future[Sequence[str]]) -> None:
    room.release()
    if not looked.cancelled():
        looked.exception()  # whoever asked may have given up: nobody else is told of it
