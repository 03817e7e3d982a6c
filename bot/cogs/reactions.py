"""Reactions, from raw events: they work on messages of any age, and after a restart.

Discord's events of one person are taken in one after the other, so that a vote that was given and taken back within a
moment ends as it was meant; an event that the gateway sends again changes nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import discord
from discord.ext import commands

from agentic.core.events.execution_events import InboxItem
from agentic.ports.errors import AgenticError
from bot.access.permissions import Speaker, at_least
from bot.inbound.emoji import Meaning, meaning
from bot.inbound.events import Outcome, ReactionEvent, ThreadView
from bot.inbound.intake import ReplyPlace, not_kept, noted
from bot.inbound.interpret_reaction import JUDGEMENTS, translate_reaction
from bot.inbound.message_target import MessageTarget, Showing
from bot.inbound.parse import scene_about, scene_of, when
from bot.inbound.standing_vote import standing_vote

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot

Given = tuple[int, int, str]
"""(message, person, sign)."""
REMEMBERED = 2_000

log = logging.getLogger(__name__)


def _asks_why(outcome: Outcome) -> bool:
    """Whether it votes a result down: what was wrong is asked then, which says enough."""
    return (
        isinstance(outcome, InboxItem)
        and (outcome.sort, outcome.text) == ("feedback", "down")
        and (outcome.target.endswith("/result"))
    )


class Reactions(commands.Cog):
    """Takes reactions in."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot
        self._showing = Showing(bot.store, bot.conversation, bot.board)
        self._turns: dict[int, tuple[asyncio.Lock, int]] = {}
        self._last: OrderedDict[Given, bool] = OrderedDict()

    @commands.Cog.listener()
    async def on_ready(self) -> None:
        """A connection begins anew: what was missed is not known, so nothing counts as a repetition."""
        self._last.clear()

    @commands.Cog.listener()
    async def on_raw_reaction_add(self, payload: discord.RawReactionActionEvent) -> None:
        """A sign was given."""
        await self.take(payload, added=True)

    @commands.Cog.listener()
    async def on_raw_reaction_remove(self, payload: discord.RawReactionActionEvent) -> None:
        """A sign was taken back."""
        await self.take(payload, added=False)

    @commands.Cog.listener()
    async def on_raw_reaction_clear(self, payload: discord.RawReactionClearEvent) -> None:
        """Somebody tidied up: votes stay, but may be given again."""
        self._forget(payload.message_id, "")

    @commands.Cog.listener()
    async def on_raw_reaction_clear_emoji(self, payload: discord.RawReactionClearEmojiEvent) -> None:
        """The same for one sign."""
        self._forget(payload.message_id, str(payload.emoji))

    async def take(self, payload: discord.RawReactionActionEvent, *, added: bool) -> None:
        """Take a reaction in, once, after those that the same person gave before."""
        if self._meaning(payload.emoji) is None:
            return
        if self.bot.user is not None and payload.user_id == self.bot.user.id:
            return
        await self._after_what_was_said(payload)
        async with self._in_turn(payload.user_id):
            if self._is_repeated(payload, added=added):
                return
            try:
                await self._take(payload, added=added)
            except AgenticError as error:
                text = not_kept(f"a reaction on message {payload.message_id}", error)
                id = f"{payload.message_id}.{payload.user_id}.{payload.emoji}"
                await self.bot.intake.tell(text, id, ReplyPlace(str(payload.guild_id or ""), str(payload.channel_id)))

    async def _after_what_was_said(self, payload: discord.RawReactionActionEvent) -> None:
        """The message itself is taken in, and for a stop all of its thread: else it would begin after the stop."""
        await self.bot.coming.through(str(payload.channel_id), payload.message_id)
        if self._meaning(payload.emoji) == ("stop", ""):
            for thread in (payload.channel_id, payload.message_id):
                if await self.bot.conversation.knows(str(thread)):
                    await self.bot.coming.before_a_stop(str(thread))

    async def _take(self, payload: discord.RawReactionActionEvent, *, added: bool) -> None:
        shown = await self._shown(payload)
        speaker = await self._speaker(payload) if shown else None
        if shown is None or speaker is None:
            return
        message, emoji = str(payload.message_id), payload.emoji
        at = await self.bot.discord_clock.arrival(self.bot.store, shown.thread, message)
        found = self._meaning(payload.emoji)
        if shown.deleted and found is not None and found[0] in JUDGEMENTS:
            await self._too_late(shown, speaker, message, added=added)
            return
        mark = f"{'+' if added else '-'}{emoji.id or '.'.join(f'{ord(char):x}' for char in emoji.name)}"
        reacted = ReactionEvent(
            id=f"r{message}.{speaker.id}.{int(when().timestamp() * 1000)}{mark}", message=message, thread=shown.thread,
            emoji=emoji.name, at=at, speaker=speaker, custom_id=str(emoji.id or ""), target=shown.target, added=added,
            question=shown.question, offer=shown.offer, lesson=shown.lesson,
        )  # fmt: skip
        if not added:
            vote, target = await standing_vote(self.bot.store, shown.thread, shown.target, message, speaker.id)
            reacted = replace(reacted, target=target)
            if found is None or found != ("feedback", vote):
                log.debug("%s: it is not the vote that stands", reacted.id)
                return
        guild = self.bot.get_guild(payload.guild_id or 0)
        scene = await self._scene(reacted, found)
        if guild is not None:
            scene = replace(scene, bot_writes=await self._may_write(payload.channel_id, guild.me))
        outcome = translate_reaction(reacted, scene, self.bot.reader.house(guild))
        await self._carry_out(outcome, reacted, ReplyPlace(str(payload.guild_id or ""), shown.thread))

    async def _too_late(self, shown: MessageTarget, speaker: Speaker, message: str, *, added: bool) -> None:
        """A judgement of a task whose log was deleted; who may only look hears nothing, as of any other."""
        words = await self.bot.expiry.of_execution(shown.deleted, shown.thread)
        if added and words and at_least(speaker.level, "executor"):
            reply_to = "" if message == shown.thread else message
            await self.bot.intake.tell(words, f"deleted.{message}.{speaker.id}", ReplyPlace("", shown.thread, reply_to))

    async def _carry_out(self, outcome: Outcome, reacted: ReactionEvent, place: ReplyPlace) -> None:
        over = isinstance(outcome, InboxItem) and await self._is_over(outcome)
        receipt = await self.bot.intake.take(outcome, reacted.id, place)
        told = receipt is None or bool(receipt.text)
        words = noted(outcome, over=over) if isinstance(outcome, InboxItem) and not told else ""
        if words and not (over and _asks_why(outcome)):
            await self.bot.intake.tell(words, f"{reacted.id}.noted", place)

    async def _shown(self, payload: discord.RawReactionActionEvent) -> MessageTarget | None:
        message, channel = str(payload.message_id), str(payload.channel_id)
        own = self.bot.user is not None and payload.message_author_id == self.bot.user.id
        return await self._showing.on(message, channel, own=own)

    def _meaning(self, emoji: discord.PartialEmoji) -> Meaning | None:
        return meaning(emoji.name, str(emoji.id or ""), self.bot.options.custom_emoji)

    async def _scene(self, reacted: ReactionEvent, found: Meaning | None) -> ThreadView:
        """Judgements are read by whose execution they are about, other signs by what runs in the thread."""
        conversation = self.bot.conversation
        if found is not None and found[0] in JUDGEMENTS:
            return await scene_about(conversation, self.bot.store, reacted.thread, reacted.target)
        return await scene_of(conversation, reacted.thread, wholly=found != ("stop", ""))

    async def _is_over(self, item: InboxItem) -> bool:
        row = await self.bot.store.execution(item.target.partition("/")[0]) if item.target else None
        return row is None or bool(row.finished)

    async def _speaker(self, payload: discord.RawReactionActionEvent) -> Speaker | None:
        """Who it is, with the rights that Discord says they have now."""
        try:
            if payload.guild_id is None:
                user = self.bot.get_user(payload.user_id) or await self.bot.fetch_user(payload.user_id)
                return await self.bot.reader.in_person(user)
            guild = self.bot.get_guild(payload.guild_id)
            if guild is None:
                return None
            member = payload.member or await guild.fetch_member(payload.user_id)
            return self.bot.reader.speaker(member, guild, writes=await self._may_write(payload.channel_id, member))
        except discord.HTTPException as error:
            log.info("a reaction by %s is ignored: %s", payload.user_id, error)
            return None

    async def _may_write(self, channel: int, member: discord.Member) -> bool:
        """Whether Discord lets somebody write in the task's thread."""
        place = self.bot.get_channel(channel) or await self.bot.fetch_channel(channel)
        if not isinstance(place, discord.abc.GuildChannel | discord.Thread):
            return False
        rights = place.permissions_for(member)
        return rights.view_channel and rights.send_messages_in_threads

    def _is_repeated(self, payload: discord.RawReactionActionEvent, *, added: bool) -> bool:
        """The gateway sent it again: nobody can give a sign twice without taking it back."""
        given = (payload.message_id, payload.user_id, str(payload.emoji))
        repeated = self._last.get(given) is added
        self._last[given] = added
        self._last.move_to_end(given)
        if len(self._last) > REMEMBERED:
            self._last.popitem(last=False)
        return repeated

    def _forget(self, message: int, emoji: str) -> None:
        for given in [one for one in self._last if one[0] == message and emoji in ("", one[2])]:
            del self._last[given]

    @asynccontextmanager
    async def _in_turn(self, person: int) -> AsyncGenerator[None]:
        """One after the other for each person, in the order of Discord's events."""
        lock, waiting = self._turns.get(person, (asyncio.Lock(), 0))
        self._turns[person] = (lock, waiting + 1)
        try:
            async with lock:
                yield
        finally:
            lock, waiting = self._turns.pop(person)
            if waiting > 1:
                self._turns[person] = (lock, waiting - 1)


async def setup(bot: ThreadwrightBot) -> None:
    """Called by discord.py."""
    await bot.add_cog(Reactions(bot))
