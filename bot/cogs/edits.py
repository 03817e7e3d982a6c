"""What happens to messages after they were said: edited, deleted.

An edit of a task's message reaches the agent as guidance, and never starts a second run; so does an edit of guidance.
What still waits when its message is deleted is taken out.

Discord also announces a "change" when a thread is made from a message or a link preview arrives: only other words with
a time of editing are an edit.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import discord
from discord.ext import commands

from agentic.core.events.execution_events import InboxItem, InputReceived
from agentic.core.events.ids import execution_id
from agentic.ports.errors import AgenticError
from bot.inbound.events import Ignore, MessageEvent, Outcome
from bot.inbound.intake import ReplyPlace, not_kept
from bot.inbound.interpret_message import translate_afterthought, translate_edit

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot

_WAITING = ("guidance", "side")

log = logging.getLogger(__name__)


class Edits(commands.Cog):
    """Takes edits and deletions in."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot

    @commands.Cog.listener()
    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        """A message changed in some way."""
        message = payload.message
        if message.edited_at is None or message.author == self.bot.user:
            return
        id = f"e{message.id}.{int(message.edited_at.timestamp() * 1000)}"
        place = ReplyPlace(str(message.guild.id) if message.guild else "", str(message.channel.id), str(message.id))
        await self.bot.coming.through(str(message.channel.id), message.id)
        async with self.bot.lanes.lane(str(message.channel.id)):  # not before what was said there was taken in
            try:
                outcome = await self._outcome(message, id)
            except AgenticError as error:
                await self.bot.intake.tell(not_kept(id, error), id, place)
                return
            await self.bot.intake.take(outcome, id, place)

    @commands.Cog.listener()
    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        """A message is gone."""
        await self._deleted([payload.message_id], payload.channel_id, payload.guild_id)

    @commands.Cog.listener()
    async def on_raw_bulk_message_delete(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        """Many are."""
        await self._deleted(sorted(payload.message_ids), payload.channel_id, payload.guild_id)

    async def _deleted(self, messages: list[int], channel: int, guild: int | None) -> None:
        for message in messages:
            await self.bot.coming.through(str(channel), message)
        async with self.bot.lanes.lane(str(channel)):
            for message in messages:
                await self.bot.tending.deleted(str(message), str(channel), str(guild or ""))

    async def _outcome(self, message: discord.Message, id: str) -> Outcome:
        said = self.bot.reader.said(message)
        conversation = self.bot.conversation
        thread = said.thread if await conversation.knows(said.thread) else await conversation.thread_of_message(said.id)
        if not thread:
            return Ignore("an edit outside of tasks")
        said = replace(said, speaker=await self.bot.reader.speaker_of(message))
        task = await self.bot.store.execution(execution_id(thread, said.id))
        house = self.bot.reader.house(message.guild)
        if task is None:
            return await self._of_waiting(said, id, thread) or await self._of_guidance(said, id, thread)
        if task.finished:
            return Ignore("an edit of what is no running task")
        return translate_edit(said, id, task.thread, task.task, house)

    async def _of_waiting(self, said: MessageEvent, id: str, thread: str) -> Outcome | None:
        """An edit of what still lies in the inbox: guidance is replaced (by who takes it in), a task is told."""
        pending = await self.bot.store.pending(thread)
        waiting = next((item for item in pending if said.id in (item.id, item.message) and item.sort != "edited"), None)
        if waiting is None:
            return None
        house = self.bot.reader.house(None)
        edited = translate_edit(said, id, thread, waiting.text, house)
        if not isinstance(edited, InboxItem) or waiting.sort not in _WAITING:
            return edited
        return waiting.model_copy(update={"id": id, "text": edited.text, "message": said.id})

    async def _of_guidance(self, said: MessageEvent, id: str, thread: str) -> Outcome:
        """An edit of what the running execution has taken in."""
        running = (await self.bot.conversation.standing(thread)).execution
        row = await self.bot.store.execution(running) if running else None
        if row is None or row.finished:
            return Ignore("an edit of what is no running task")
        before: str | None = None
        async for envelope in self.bot.store.read(running):
            event = envelope.event
            if isinstance(event, InputReceived) and event.message == said.id and event.sort in ("guidance", "answer"):
                before = event.text
        if before is None:
            return Ignore("an edit of what was never taken in")
        return translate_afterthought(said, id, thread, before, self.bot.reader.house(None))


async def setup(bot: ThreadwrightBot) -> None:
    """Called by discord.py."""
    await bot.add_cog(Edits(bot))
