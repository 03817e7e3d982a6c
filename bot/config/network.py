"""What each thread's sandbox may reach, by what was chosen for its place: read anew for each connection, so a choice counts
at once.
"""

from __future__ import annotations

from functools import lru_cache

from agentic.egress.host_list import NONE, HostList, read
from agentic.ports.stores import Sessions
from bot.config.preferences import Preferences

REMEMBERED = 5_000
"""Number of threads whose channel and server are kept in memory; neither ever changes."""


class ThreadNetworks:
    """The choices for threads."""

    def __init__(self, preferences: Preferences, store: Sessions) -> None:
        self._preferences = preferences
        self._store = store
        self._places: dict[str, tuple[str, str]] = {}

    async def chosen(self, thread: str) -> str:
        """Return the choice that applies in a thread."""
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

    def channel(self, thread: str) -> str:
        """Return the channel of a thread that was asked about."""
        return self._places.get(thread, ("", ""))[0]


@lru_cache(maxsize=1_000)
def _read(choice: str) -> HostList:
    return read(choice.split())


def placed(place: str, network: str) -> str:
    """Return where commands run with what they reach: 'docker, no network'; the host has the machine's own."""
    if not place or place.startswith("host"):
        return place
    return f"{place}, no network" if network == NONE else f"{place}, network: {network}"
