"""What each thread's sandbox may reach, by what was chosen for its place: asked anew for each connection, so a choice counts
at once, and one that another process made within two seconds.
"""

from __future__ import annotations

from functools import lru_cache

from agentic.core.events.ids import thread_of
from agentic.egress.host_list import ADDS, NONE, WEB, HostList, read
from agentic.ports.stores import Sessions
from bot.config.preferences import Preferences, Scope, UnknownChoice

REMEMBERED = 5_000
"""Number of threads whose channel and server are kept in memory; neither ever changes."""


class ThreadNetworks:
    """The choices for threads."""

    def __init__(self, preferences: Preferences, store: Sessions) -> None:
        self._preferences = preferences
        self._store = store
        self._places: dict[str, tuple[str, str]] = {}

    async def chosen(self, thread: str) -> str:
        """Return the choice that applies in a thread, and in copies of its workspace."""
        thread = thread_of(thread)
        if thread not in self._places:
            row = await self._store.session(thread)
            if row is None:
                return (await self._preferences.of(thread)).network
            while len(self._places) > REMEMBERED:
                del self._places[next(iter(self._places))]
            self._places[thread] = (row.channel, row.guild)
        return (await self._preferences.of(thread, *self._places[thread])).network

    async def hosts(self, thread: str) -> HostList:
        """Return the hosts that a thread may reach."""
        return _read(await self.chosen(thread))

    async def keep(self, thread: str, hosts: tuple[str, ...]) -> str:
        """Add hosts to a thread's own choice where it has one, else to its channel's; say so.

        What a wider place chooses goes on counting, also when it changes.
        """
        await self.chosen(thread)
        channel, _ = self._places.get(thread, ("", ""))
        own = await self._preferences.at("thread", thread, "network")
        scope: Scope = "thread" if own or not channel else "channel"
        place = channel if scope == "channel" else thread
        before = await self._preferences.at(scope, place, "network") or ADDS
        try:
            await self._preferences.put(scope, place, "network", f"{before} {' '.join(hosts)}")
        except UnknownChoice as full:
            return f"They could not be kept for later tasks: {full}"
        return f"Later tasks in this {scope} may too."


@lru_cache(maxsize=1_000)
def _read(choice: str) -> HostList:
    return read(choice.split())


def placed(place: str, network: str) -> str:
    """Return where commands run with what they reach: 'docker, no network'; the host has the machine's own."""
    if not place or place.startswith("host"):
        return place
    hosts = " ".join(word for word in network.split() if word not in (NONE, WEB))
    return f"{place}, network: {hosts}" if hosts else f"{place}, no network"
