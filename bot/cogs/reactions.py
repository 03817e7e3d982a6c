"""Reactions, from raw events: they work on messages of any age, and after a restart."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import discord
from discord.ext import commands

from agentic.core.events import InboxItem
from agentic.core.identity import execution_id
from agentic.errors import AgenticError
from bot.emoji import STOP, meaning, normalised
from bot.feed import folded
from bot.gestures import translate_reaction
from bot.inputs import Reacted, Scene, Speaker
from bot.intake import Place, not_kept
from bot.reading import scene_about, scene_of, when

if TYPE_CHECKING:
    from bot.client import ThreadwrightBot

NOTED = {"up": "👍 Noted for {what}.", "down": "👎 Noted for {what}.", "none": "Your vote on {what} is taken back."}

log = logging.getLogger(__name__)


class Reactions(commands.Cog):
    """Takes reactions in."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot

    @commands.Cog.listener()
    async def on_raw_reaction_add(self, payload: discord.RawReactionActionEvent) -> None:
        """A sign was given."""
        await self._guarded(payload, added=True)

    @commands.Cog.listener()
    async def on_raw_reaction_remove(self, payload: discord.RawReactionActionEvent) -> None:
        """A sign was taken back."""
        await self._guarded(payload, added=False)

    async def _guarded(self, payload: discord.RawReactionActionEvent, *, added: bool) -> None:
        try:
            await self._take(payload, added=added)
        except AgenticError as error:
            text = not_kept(f"a reaction on message {payload.message_id}", error)
            id = f"{payload.message_id}.{payload.user_id}.{payload.emoji}"
            await self.bot.intake.tell(text, id, Place(str(payload.guild_id), str(payload.channel_id)))

    async def _take(self, payload: discord.RawReactionActionEvent, *, added: bool) -> None:
        emoji = payload.emoji
        custom = str(emoji.id) if emoji.id else ""
        if meaning(emoji.name, custom, self.bot.options.custom_emoji) is None or payload.guild_id is None:
            return
        thread = await self._thread(payload)
        speaker = await self._speaker(payload) if thread else None
        if not thread or speaker is None:
            return
        message = str(payload.message_id)
        at = when()
        target = await self._target(thread, message)
        reacted = Reacted(
            id=f"r{message}.{speaker.id}.{int(at.timestamp() * 1000)}", message=message, thread=thread,
            emoji=emoji.name, at=at, speaker=speaker, custom_id=custom, target=target, added=added,
        )  # fmt: skip
        scene = await self._scene(thread, reacted)
        outcome = translate_reaction(reacted, scene, self.bot.reader.house(self.bot.get_guild(payload.guild_id)))
        place = Place(str(payload.guild_id), thread)
        receipt = await self.bot.intake.take(outcome, reacted.id, place)
        if receipt is not None and isinstance(outcome, InboxItem) and outcome.sort == "feedback" and not receipt.text:
            await self.bot.intake.tell(noted(outcome), f"{reacted.id}.noted", place)

    async def _thread(self, payload: discord.RawReactionActionEvent) -> str | None:
        """The session it concerns: on a message of the bot there, or on a task's own message anywhere."""
        message, channel = str(payload.message_id), str(payload.channel_id)
        if not self.bot.conversation.knows(channel):
            return await self.bot.conversation.thread_of_message(message)
        own = self.bot.user is not None and payload.message_author_id == self.bot.user.id
        if own or await self.bot.conversation.thread_of_message(message) == channel:
            return channel
        task = await self.bot.store.execution(execution_id(channel, message))
        return channel if task is not None else None

    async def _scene(self, thread: str, reacted: Reacted) -> Scene:
        if normalised(reacted.emoji) == STOP:
            return await scene_of(self.bot.conversation, thread)
        return await scene_about(self.bot.conversation, self.bot.store, thread, reacted.target)

    async def _speaker(self, payload: discord.RawReactionActionEvent) -> Speaker | None:
        guild = self.bot.get_guild(payload.guild_id or 0)
        member = payload.member or (guild.get_member(payload.user_id) if guild else None)
        if member is None and guild is not None:
            try:
                member = await guild.fetch_member(payload.user_id)
            except discord.HTTPException as error:
                log.info("a reaction by %s is ignored: %s", payload.user_id, error)
        return self.bot.reader.speaker(member, guild) if member is not None else None

    async def _target(self, thread: str, message: str) -> str:
        """What a message shows: a result, or a turn of an execution."""
        shown = self.bot.board.shows(message)
        if shown is not None:
            return f"{shown[0]}/turn:{shown[1]}"
        row = await self.bot.store.by_message(message)
        if row is None:
            task = execution_id(thread, message)
            return f"{task}/result" if await self.bot.store.execution(task) else ""
        if row.item.sort != "progress":
            return f"{row.item.execution}/result"
        return f"{row.item.execution}/turn:{(await folded(self.bot.store, row.item.execution)).turn}"


def noted(item: InboxItem) -> str:
    """What a person is told of a vote."""
    about = item.target.partition("/")[2]
    what = f"turn {about[5:]}" if about.startswith("turn:") else "the result"
    return NOTED[item.text].format(what=what)


async def setup(bot: ThreadwrightBot) -> None:
    """Called by discord.py."""
    await bot.add_cog(Reactions(bot))
