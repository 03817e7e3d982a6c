"""The doors of a process: a Unix socket for each thread's sandbox, behind which the proxy asks what that thread may reach."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from agentic.core.events.execution_events import REASONS, Exposure
from agentic.egress.host_list import HostList, read
from agentic.egress.proxy import PIECE, Door, Proxy
from agentic.ports.way_out import RefusedHost

MOST_TOLD = 20
FETCHED = "what came from {host}"
OWN = "what came from the own network"
BACKLOG = 128

Chosen = Callable[[str], Awaitable[HostList]]
"""What is chosen for a thread, as it is now."""


@dataclass(slots=True)
class _Way:
    """What is known of a thread's door, also while there is none."""

    lent: HostList = field(default_factory=HostList)
    refused: dict[str, RefusedHost] = field(default_factory=dict[str, RefusedHost])
    reached: dict[str, bool] = field(default_factory=dict[str, bool])
    """Hosts, and whether they are of the own network."""
    server: asyncio.Server | None = None
    path: Path | None = None
    serving: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])


class HostDoors:
    """Implements ``Doors`` over a proxy; the sockets lie in ``folder``, which nobody else may enter."""

    def __init__(self, folder: Path, proxy: Proxy, chosen: Chosen) -> None:
        self._folder = folder
        self._proxy = proxy
        self._chosen = chosen
        self._ways: dict[str, _Way] = {}

    async def open(self, thread: str, owner: tuple[int, int]) -> Path:
        """A door that this user (and group) can go through.  Raises ``OSError``."""
        await self.close(thread)
        way = self._ways.setdefault(thread, _Way())
        way.path = self._folder / hashlib.sha256(thread.encode()).hexdigest()[:24]
        listening = _listening(way.path, owner)
        door = Door(
            lambda host: self._allows(thread, way, host),
            lambda refused: _note(way, refused),
            lambda host, own: _note_reached(way, host, own),
        )

        def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(self._proxy.serve(door, reader, writer), name="egress")
            way.serving.add(task)
            task.add_done_callback(way.serving.discard)

        way.server = await asyncio.start_unix_server(serve, sock=listening, limit=PIECE, backlog=BACKLOG)
        return way.path

    async def close(self, thread: str) -> None:
        """Shut it, and end what goes through it."""
        way = self._ways.get(thread)
        if way is None or way.server is None:
            return
        server, way.server = way.server, None
        server.close()
        if way.path is not None:
            way.path.unlink(missing_ok=True)
        serving = tuple(way.serving)
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
        if (
            way.lent == HostList()
            and not way.refused
            and not way.reached
            and way.server is None
            and self._ways.get(thread) is way
        ):
            del self._ways[thread]  # of a thread whose sandbox is gone nothing is kept

    async def close_all(self) -> None:
        """Shut every door, for good."""
        for thread in tuple(self._ways):
            await self.close(thread)
        self._proxy.close()

    @property
    def known(self) -> int:
        """Threads of which something is kept."""
        return len(self._ways)

    def lend(self, thread: str, hosts: Iterable[str]) -> None:
        """What the thread may reach beside what is chosen for it, until this is called again."""
        lent = read(hosts)
        if thread in self._ways or lent != HostList():
            self._ways.setdefault(thread, _Way()).lent = lent

    def told(self, thread: str) -> tuple[RefusedHost, ...]:
        """What was refused since this was asked last, each host once."""
        way = self._ways.get(thread)
        if way is None:
            return ()
        refused, way.refused = tuple(way.refused.values()), {}
        return refused

    async def exposure(self, thread: str) -> Exposure:
        """The hosts that were reached since this was asked last, and what may be reached now as it is chosen."""
        way, chosen = self._ways.get(thread), await self._chosen(thread)
        reached = way.reached if way is not None else {}
        if way is not None:
            way.reached = {}
        fetched = tuple(FETCHED.format(host=host) for host in reached)[:REASONS]
        private = (OWN,) if any(reached.values()) else ()
        return Exposure(untrusted=fetched, private=private, reach=chosen.beyond_packages, fetches=chosen.reaches)

    async def hosts(self, thread: str) -> HostList:
        """What a thread may reach now: what is chosen for it, and what its task was let reach."""
        way, chosen = self._ways.get(thread), await self._chosen(thread)
        return chosen if way is None else way.lent | chosen

    async def _allows(self, thread: str, way: _Way, host: str) -> bool:
        return way.lent.allows(host) or (await self._chosen(thread)).allows(host)


def _note(way: _Way, refused: RefusedHost) -> None:
    if len(way.refused) < MOST_TOLD:
        way.refused.setdefault(refused.host, refused)


def _note_reached(way: _Way, host: str, own: bool) -> None:
    if own or len(way.reached) < MOST_TOLD:
        way.reached[host] = own or way.reached.get(host, False)


def _listening(path: Path, owner: tuple[int, int]) -> socket.socket:
    """A socket at a path of any length, for this user only."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.parent.chmod(0o700)
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        listening.bind(f"/proc/self/fd/{folder}/{path.name}")
        path.chmod(0o600)
        if os.geteuid() == 0:
            os.chown(path, *owner)
    except BaseException:
        listening.close()
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        raise
    finally:
        os.close(folder)
    return listening
