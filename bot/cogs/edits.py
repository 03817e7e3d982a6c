"""What happens to messages and threads of a running task after it began.

An edit of its message reaches the agent as guidance, and never starts a second run.  A deleted thread stops it.

Discord also announces a "change" when a thread is made from a message or a link preview arrives: only other words with
a time of editing are an edit.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import discord
from discord.ext import commands

from agentic.core.events import InboxItem, Person
from agentic.core.identity import execution_id
from agentic.errors import AgenticError
from bot.inputs import Ignored, Outcome
from bot.intake import Place, not_kept
from bot.reading import when
from bot.translate import translate_edit

if TYPE_CHECKING:
    from bot.client import ThreadwrightBot

NOBODY = Person(id="0", name="Discord (the thread was deleted)", level="operator")

log = logging.getLogger(__name__)


class Edits(commands.Cog):
    """Takes edits of tasks in."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot

    @commands.Cog.listener()
    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        """A message changed in some way."""
        message = payload.message
        if message.edited_at is None or message.author == self.bot.user or message.guild is None:
            return
        id = f"e{message.id}.{int(message.edited_at.timestamp() * 1000)}"
        place = Place(str(message.guild.id), str(message.channel.id), str(message.id))
        try:
            outcome = await self._outcome(message, id)
        except AgenticError as error:
            await self.bot.intake.tell(not_kept(id, error), id, place)
            return
        await self.bot.intake.take(outcome, id, place)

    @commands.Cog.listener()
    async def on_raw_thread_delete(self, payload: discord.RawThreadDeleteEvent) -> None:
        """A thread is gone: what runs in it stops, what was to be said there is dropped."""
        thread = str(payload.thread_id)
        if not self.bot.conversation.knows(thread):
            return
        self.bot.outbox.gone(thread)
        stop = InboxItem(id=f"gone{thread}", thread=thread, sort="stop", author=NOBODY, at=when())
        receipt = await self.bot.intake.deliver(stop, str(payload.guild_id))
        log.warning("thread %s was deleted: %s", thread, "it is stopped" if receipt.accepted else receipt.text)

    async def _outcome(self, message: discord.Message, id: str) -> Outcome:
        said = self.bot.reader.said(message)
        conversation = self.bot.conversation
        thread = said.thread if conversation.knows(said.thread) else await conversation.thread_of_message(said.id)
        task = await self.bot.store.execution(execution_id(thread, said.id)) if thread else None
        house = self.bot.reader.house(message.guild)
        if thread and task is None:
            waiting = [item for item in await self.bot.store.pending(thread) if item.id == said.id]
            if waiting:
                return translate_edit(said, id, thread, waiting[0].text, house)
        if task is None or task.finished:
            return Ignored("an edit of what is no running task")
        return translate_edit(said, id, task.thread, task.task, house)


async def setup(bot: ThreadwrightBot) -> None:
    """Called by discord.py."""
    await bot.add_cog(Edits(bot))
