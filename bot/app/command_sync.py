"""Registers the slash commands with Discord, only if they are not what was registered last.

Discord allows 200 creations a day and guild, and people see commands blink when they are registered anew: so each
place (everywhere, or one guild) has a fingerprint of what was registered there, kept in the store.  With guilds named
in the settings the commands stand there alone, where a change is seen at once; what was registered in a place that is
no longer meant is taken away, since people would see it twice.  What fails is tried again, later and later.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Iterable

import discord
import orjson
from discord import app_commands

from agentic.ports.stores import Facts

FINGERPRINT = "commands.fingerprint"
PLACES = "commands.places"
"""Guilds where commands were registered, with commas between."""
EVERYWHERE = ""
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 600.0
FORBIDDEN = 50001

log = logging.getLogger(__name__)


class Registration:
    """Of one tree of commands; ``guilds`` are the ids it is registered in, none for everywhere."""

    def __init__(
        self, tree: app_commands.CommandTree[discord.Client], store: Facts, guilds: Iterable[str] = ()
    ) -> None:
        self._tree, self._store = tree, store
        self._wanted = tuple(dict.fromkeys(guilds)) or (EVERYWHERE,)
        self.done = asyncio.Event()
        """The commands are as Discord has them."""

    async def run(self) -> None:
        """Register what changed; returns when everything is as it should be."""
        for place in self._wanted:
            if place:
                self._tree.copy_global_to(guild=discord.Object(int(place)))
        before = set(((await self._store.fact(PLACES)) or "").split(","))
        former = sorted(before - set(self._wanted), key=len)
        pause = FIRST_PAUSE
        while True:
            try:
                for place in self._wanted:
                    await self._register(place)
                for place in former:
                    await self._clear(place)
                await self._store.set_fact(PLACES, ",".join(self._wanted))
                self.done.set()
                return
            except (discord.HTTPException, OSError) as error:
                log.warning("the slash commands could not be registered (%s); once more in %.0f s", error, pause)
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _register(self, place: str) -> None:
        where = _guild(place)
        commands = self._tree.get_commands(guild=where)
        payload = [each.to_dict(self._tree) for each in commands]
        seal = hashlib.sha256(
            orjson.dumps([self._tree.client.application_id, payload], option=orjson.OPT_SORT_KEYS)
        ).hexdigest()
        if await self._store.fact(_key(place)) == seal:
            return
        await self._tree.sync(guild=where)
        await self._store.set_fact(_key(place), seal)

    async def _clear(self, place: str) -> None:
        """Take away what an earlier start registered in a place that is no longer meant; unknown guilds are gone anyway."""
        if not await self._store.fact(_key(place)):
            return
        application = self._tree.client.application_id
        assert application is not None
        http = self._tree.client.http
        try:
            if place:
                await http.bulk_upsert_guild_commands(application, int(place), payload=[])
            else:
                await http.bulk_upsert_global_commands(application, payload=[])
        except discord.Forbidden as gone:
            log.info("the commands of guild %s are out of reach: %s", place, gone)
        await self._store.set_fact(_key(place), "")


def _guild(place: str) -> discord.Object | None:
    return discord.Object(int(place)) if place else None


def _key(place: str) -> str:
    return f"{FINGERPRINT}.{place}" if place else FINGERPRINT
