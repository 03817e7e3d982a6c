"""What happens to the places where the bot works: threads locked, archived or deleted, rights changed, servers left."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import discord
from discord.ext import commands

from agentic.ports.errors import AgenticError
from agentic.ports.runtime import ExecutionRow, SessionRow
from bot.catch_up.missed_messages import stops_in, stops_on
from bot.inbound.emoji import STOP
from bot.inbound.events import ReactionEvent
from bot.inbound.intake import ReplyPlace
from bot.inbound.interpret_reaction import translate_reaction
from bot.inbound.parse import scene_of, when
from bot.outbound.discord_api import Gone, Held, Unfit
from bot.outbound.priorities import Urgency

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot

log = logging.getLogger(__name__)

Look = Callable[[discord.abc.Messageable], Awaitable[list[tuple[str, int]]]]


class Places(commands.Cog):
    """Looks after threads when something about their place changes, and catches up when the bot was away."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot
        bot.catching.stops = self.missed_stops

    @commands.Cog.listener()
    async def on_connect(self) -> None:
        """A new session with Discord: nothing of what was said before it is replayed."""
        self.bot.catching.connected()

    @commands.Cog.listener()
    async def on_ready(self) -> None:
        """Discord has told which channels there are."""
        self.bot.catching.ready()

    @commands.Cog.listener()
    async def on_guild_join(self, guild: discord.Guild) -> None:
        """The bot is back, or new there."""
        self.bot.outbox.retry_now()
        self.bot.catching.connected()
        self.bot.catching.ready()

    @commands.Cog.listener()
    async def on_guild_available(self, guild: discord.Guild) -> None:
        """A server of Discord's that was out of order is back."""
        await self.on_guild_join(guild)

    @commands.Cog.listener()
    async def on_guild_remove(self, guild: discord.Guild) -> None:
        """The bot was removed: what runs there is kept for when it is back."""
        await _kept(self.bot.tending.look_all(guild.id))

    @commands.Cog.listener()
    async def on_raw_thread_update(self, payload: discord.RawThreadUpdateEvent) -> None:
        """A thread was locked or unlocked, archived or opened."""
        locked = bool(payload.data.get("thread_metadata", {}).get("locked"))
        await _kept(self.bot.tending.look(str(payload.thread_id), locked=locked))

    @commands.Cog.listener()
    async def on_raw_thread_delete(self, payload: discord.RawThreadDeleteEvent) -> None:
        """A thread is gone."""
        await _kept(self.bot.tending.gone(str(payload.thread_id), str(payload.guild_id)))

    @commands.Cog.listener()
    async def on_guild_channel_delete(self, channel: discord.abc.GuildChannel) -> None:
        """A channel is gone, and with it every thread in it, also those that Discord does not name."""
        for row in await self.bot.store.sessions_in(str(channel.id)):
            await _kept(self.bot.tending.gone(row.thread, row.guild))

    @commands.Cog.listener()
    async def on_guild_channel_update(self, before: discord.abc.GuildChannel, after: discord.abc.GuildChannel) -> None:
        """Rights in a channel may have changed."""
        await _kept(self.bot.tending.look_all(after.guild.id))

    @commands.Cog.listener()
    async def on_guild_role_update(self, before: discord.Role, after: discord.Role) -> None:
        """Rights of a role may have changed."""
        await _kept(self.bot.tending.look_all(after.guild.id))

    @commands.Cog.listener()
    async def on_member_update(self, before: discord.Member, after: discord.Member) -> None:
        """The bot's own roles may have changed."""
        if after == after.guild.me:
            await _kept(self.bot.tending.look_all(after.guild.id))

    async def missed_stops(self, row: ExecutionRow, session: SessionRow, task: str, urgency: Urgency) -> None:
        """Obey a 🛑 that was given while nobody listened, and notice that the task's message is gone."""
        began, first = row.started_at or when(), task == row.thread
        channel = (
            (session.channel or row.thread) if first else row.thread
        )  # a later task was given in the thread itself
        custom = self.bot.options.custom_emoji
        if task.isdecimal():  # by Discord's clock, as are the messages
            began = discord.utils.snowflake_time(int(task))
        found = await self._looked(row.thread, lambda _: stops_in(self.bot, row.thread, began, custom), urgency)
        if task.isdecimal():
            found += await self._looked(
                channel, lambda _: stops_on(self.bot, channel, task, custom), urgency, gone=(task, session.guild)
            )
        guild = self.bot.get_guild(int(session.guild)) if session.guild else None
        for message, person in found:
            speaker = await self.bot.reader.speaker_by_id(person, guild)
            if speaker is None:
                continue
            at = await self.bot.discord_clock.arrival(self.bot.store, row.thread, message)
            reacted = ReactionEvent(
                id=f"r{message}.{person}.missed", message=message, thread=row.thread, emoji=STOP, at=at, speaker=speaker,
            )  # fmt: skip
            scene = await scene_of(self.bot.conversation, row.thread)
            outcome = translate_reaction(reacted, scene, self.bot.reader.house(guild))
            await self.bot.intake.take(outcome, reacted.id, ReplyPlace(session.guild, row.thread))

    async def _looked(
        self, channel: str, look: Look, urgency: Urgency, gone: tuple[str, str] = ("", "")
    ) -> list[tuple[str, int]]:
        """What was found; ``gone`` is a task's message and its server, told where the message is no more."""
        try:
            return await self.bot.desk.look(channel, look, urgency)
        except Gone:
            message, guild = gone
            await self.bot.tending.deleted(message, channel, guild)
        except (Held, Unfit) as error:
            log.info("channel %s: whether it was stopped meanwhile cannot be read: %s", channel, error)
        return []


async def _kept(act: Awaitable[None]) -> None:
    try:
        await act
    except AgenticError as error:
        log.error("a change of a place was not taken in: %s", error)


async def setup(bot: ThreadwrightBot) -> None:
    """Called by discord.py."""
    await bot.add_cog(Places(bot))
