"""In which of the bot's servers somebody is. Discord tells it server by server, so it is asked within bounds.

First come the servers where they were seen, then a few of the others, each time the next ones, so that all have their turn.
Only for somebody who was found nowhere the look goes on through the others. No count of servers shuts anybody out.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import TypeVar

import aiohttp
import discord

from agentic.core.events.execution_events import Level
from bot.access.permissions import ORDER

KNOWN, AT_ONCE = 5, 10
"""Servers that are remembered of a person, and that are asked together: so many questions for somebody who is in some."""
LOOK = 200
"""Servers that one look asks at most for somebody who is in none of them; the next one goes on there."""
NOWHERE_SECONDS, NEXT_SECONDS = 60.0, 10.0
"""So long after a look that found nobody there is no other: where all servers were asked, and where there are more."""
PEOPLE = 5_000

V = TypeVar("V")

log = logging.getLogger(__name__)


class NotAllAsked(Exception):
    """Somebody was found nowhere yet, and there are servers that were not asked or did not answer."""


class SharedServers:
    """``ask`` tells somebody's level in a server. It raises what discord.py raises."""

    def __init__(self, ask: Callable[[int, discord.Guild], Awaitable[Level]]) -> None:
        self._ask = ask
        self._seen: dict[int, tuple[int, ...]] = {}
        """Servers where a person was seen; where they may do most comes first."""
        self._next: dict[int, int] = {}
        """Which of the other servers has its turn."""
        self._nowhere: dict[int, tuple[float, bool]] = {}
        """Until when a person counts as found nowhere, and whether all servers said so."""

    def saw(self, person: int, guild: int) -> None:
        """Note that somebody is in a server."""
        self._nowhere.pop(person, None)
        seen = self._seen.get(person, ())
        if guild not in seen:
            self._note(person, (*seen[: KNOWN - 1], guild))

    async def highest_level(self, person: int, guilds: Sequence[discord.Guild]) -> Level | None:
        """Return the highest level of somebody in these servers as far as they were asked; None where they are in none.

        Raises ``NotAllAsked``.
        """
        until, everywhere = self._nowhere.get(person, (0.0, True))
        if monotonic() < until:
            if everywhere:
                return None
            raise NotAllAsked
        seen = self._seen.get(person, ())
        found, silent = await self._found(person, [guild for guild in guilds if guild.id in seen])
        others = [guild for guild in guilds if guild.id not in seen]
        begin = at = self._next.get(person, 0) if self._next.get(person, 0) < len(others) else 0
        while at < len(others) and at - begin < LOOK:
            more, unheard = await self._found(person, others[at : at + AT_ONCE])
            found, silent, at = found | more, silent or unheard, at + AT_ONCE
            if found:
                break
        _make_room(self._next)
        self._next[person] = at if at < len(others) else 0
        if found:
            places = sorted(found, key=lambda guild: ORDER.index(found[guild]), reverse=True)
            self._note(person, tuple(places[:KNOWN]))
            return found[places[0]]
        complete = at >= len(others) and not silent
        _make_room(self._nowhere)
        self._nowhere[person] = monotonic() + (NOWHERE_SECONDS if complete else NEXT_SECONDS), complete
        if not complete:
            raise NotAllAsked
        return None

    async def _found(self, person: int, guilds: Sequence[discord.Guild]) -> tuple[dict[int, Level], bool]:
        """Somebody's level in each of these servers that they are in, and whether one could not be asked."""
        asked = [self._ask(person, guild) for guild in guilds]
        found, silent = dict[int, Level](), False
        for guild, level in zip(guilds, await asyncio.gather(*asked, return_exceptions=True), strict=True):
            if isinstance(level, str):
                found[guild.id] = level
            elif isinstance(level, discord.HTTPException | aiohttp.ClientError | OSError):
                if not isinstance(level, discord.NotFound | discord.Forbidden):
                    log.info("whether %s is a member of %s cannot be asked now: %s", person, guild.id, level)
                    silent = True
            else:
                raise level
        return found, silent

    def _note(self, person: int, guilds: tuple[int, ...]) -> None:
        self._seen.pop(person, None)
        _make_room(self._seen)
        self._seen[person] = guilds


def _make_room(known: dict[int, V]) -> None:
    while len(known) >= PEOPLE:
        del known[next(iter(known))]
