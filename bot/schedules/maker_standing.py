"""Whether a schedule may still do its work: who made it is there and may, its place is there, the bot may write there."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import aiohttp
import discord

from agentic.core.events.execution_events import Person
from bot.access.permissions import may
from bot.access.thread_access import SpeakerReader
from bot.outbound.discord_api import DiscordApi, Gone, Held, Post, Unfit, nonce_of
from bot.outbound.request_queue import Urgency
from bot.rendering.discord_text import plain
from bot.schedules.schedule import ScheduledTask
from bot.schedules.schedule_text import GONE, LEFT, LOST, MINE, REMOVED
from bot.schedules.ticker import Later

AWAY_SECONDS = 60.0
"""A server or Discord that does not answer is asked again after this."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why it is to be paused; ``silent``: nothing can be said in its place, so who made it is told directly."""

    why: str
    silent: bool = False


class MakerStanding:
    """Asks Discord, each time anew: nothing of rights is remembered."""

    def __init__(self, client: discord.Client, reader: SpeakerReader, desk: DiscordApi) -> None:
        self._client, self._reader, self._desk = client, reader, desk

    async def of(self, schedule: ScheduledTask) -> Person | Refusal:
        """Return who made it with the level they have now, or why it is paused. Raises ``Later``."""
        try:
            return await (self._in_guild(schedule) if schedule.guild else self._directly(schedule))
        except (discord.HTTPException, aiohttp.ClientError, OSError) as error:
            raise Later(f"Discord does not answer ({error})", AWAY_SECONDS) from error

    async def whisper(self, person: str, key: str, text: str) -> None:
        """Tell a person directly; somebody who takes no direct messages finds it in ``/schedule list``."""
        try:
            user = await self._client.fetch_user(int(person))
            channel = user.dm_channel or await user.create_dm()
            await self._desk.post(Post(str(channel.id), text, nonce_of(key)), Urgency.MESSAGE)
        except (discord.HTTPException, aiohttp.ClientError, OSError, Held, Gone, Unfit) as error:
            log.info("person %s could not be told %s: %s", person, key, error)

    async def _directly(self, schedule: ScheduledTask) -> Person | Refusal:
        speaker = await self._reader.in_person(await self._client.fetch_user(int(schedule.person)))
        if not may(speaker.level, "start"):
            return Refusal(LOST.format(name=plain(schedule.name, 40)))
        return speaker.person()

    async def _in_guild(self, schedule: ScheduledTask) -> Person | Refusal:
        guild = self._client.get_guild(int(schedule.guild))
        if guild is None and self._client.is_ready():
            return Refusal(REMOVED, silent=True)
        if guild is None or guild.unavailable:
            raise Later("the server is not there now", AWAY_SECONDS)
        stands, channel = await self._place(guild, schedule)
        parent = guild.get_channel(channel)
        if parent is None or not stands:
            return Refusal(GONE.format(place="channel" if parent is None else "thread"), silent=True)
        try:
            member = await guild.fetch_member(int(schedule.person))
        except discord.NotFound:
            return Refusal(LEFT.format(name=plain(schedule.name, 40)))
        if not _suffices(parent.permissions_for(guild.me), schedule):
            return Refusal(MINE.format(channel=parent.id), silent=True)
        rights = parent.permissions_for(member)
        writes = rights.view_channel and rights.send_messages_in_threads
        speaker = self._reader.speaker(member, guild, writes=writes)
        if not writes or not may(speaker.level, "start"):
            return Refusal(LOST.format(name=plain(schedule.name, 40)))
        return speaker.person()

    async def _place(self, guild: discord.Guild, schedule: ScheduledTask) -> tuple[bool, int]:
        """Whether its thread is there, and the number of its channel; archived threads have to be asked for."""
        channel = int(schedule.channel or 0)
        if not schedule.thread:
            return True, channel
        try:
            found = guild.get_thread(int(schedule.thread)) or await guild.fetch_channel(int(schedule.thread))
        except discord.NotFound:
            return False, channel
        except discord.Forbidden:
            return True, channel  # what is lacking is said by the rights in its channel
        return True, found.parent_id if isinstance(found, discord.Thread) else channel


def _suffices(mine: discord.Permissions, schedule: ScheduledTask) -> bool:
    threads = bool(schedule.thread) or (mine.create_public_threads and mine.send_messages)
    return mine.view_channel and mine.send_messages_in_threads and threads
