"""Messages: a mention becomes a task in a thread of its own; in a session's thread every message counts."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import discord
from discord.ext import commands

from agentic.core.events import InboxItem
from agentic.errors import AgenticError
from bot.cogs.unbuilt import without_commands
from bot.embeds import help_embed, status_embed
from bot.emoji import EYES, command
from bot.inputs import Outcome, Said, Told, Wanted
from bot.intake import Place, not_kept
from bot.posting import Held, Unfit
from bot.reading import scene_of
from bot.sending import Urgency
from bot.translate import title_of, translate_message

if TYPE_CHECKING:
    from bot.client import ThreadwrightBot

NO_THREAD = "I have your task, but could not open a thread for it: {reason}. I try again by myself."
NO_THREADS_HERE = "I cannot open a thread in this kind of channel. Mention me in a text channel."
NO_RIGHTS = "I cannot begin: in this channel I lack the right {rights}. An administrator can grant it."
NOT_TAKEN = "I take files with a task, not while one is running, so {names} stays out. Paste what matters."

log = logging.getLogger(__name__)


class Tasks(commands.Cog):
    """Takes messages in."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot

    @commands.Cog.listener()
    async def on_message(self, message: discord.Message) -> None:
        """Keep what is meant for the agent, acknowledge it, then open its thread."""
        if message.guild is None or message.author == self.bot.user or self._is_command(message.content):
            return
        said = self.bot.reader.said(message)
        place = Place(str(message.guild.id), said.channel, said.id)
        try:
            outcome = await self._outcome(message, said)
        except AgenticError as error:
            await self.bot.intake.tell(not_kept(said.id, error), said.id, place)
            return
        if isinstance(outcome, Wanted):
            await self._answer(message, said, outcome)
            return
        receipt = await self.bot.intake.take(outcome, said.id, place)
        if receipt is not None and isinstance(outcome, InboxItem):
            await self._acknowledge(outcome, said, place)

    async def _outcome(self, message: discord.Message, said: Said) -> Outcome:
        opinion = command(said.text) is not None
        scene = await scene_of(self.bot.conversation, said.thread, wholly=opinion)
        meant = translate_message(said, scene, self.bot.reader.house(message.guild))
        outcome = without_commands(meant, self.bot.options.prefix, frozenset(self.bot.all_commands))
        missing = _missing(message) if isinstance(outcome, InboxItem) and outcome.channel else ""
        return Told(missing) if missing else outcome

    async def _acknowledge(self, item: InboxItem, said: Said, place: Place) -> None:
        """👀 does not wait for the thread, nor the thread for 👀."""
        acts = [self.bot.desk.react(said.channel, said.id, EYES)] if item.sort in ("task", "queue") else []
        if item.channel:
            acts.append(self._open_thread(item, place))
        await asyncio.gather(*acts)
        skipped = [file.name for file in item.files if file.skipped]
        if skipped:
            names = ", ".join(skipped[:3])
            there = Place(place.guild, item.thread)
            await self.bot.intake.tell(NOT_TAKEN.format(names=names), f"{said.id}.files", there)

    async def _open_thread(self, item: InboxItem, place: Place) -> None:
        try:
            await self.bot.desk.open_thread(item.channel, item.thread, title_of(item.text))
        except (Held, Unfit) as problem:
            log.warning("no thread for message %s: %s", item.message, problem)
            await self.bot.intake.tell(NO_THREAD.format(reason=problem), item.id, place)

    async def _answer(self, message: discord.Message, said: Said, wanted: Wanted) -> None:
        if wanted.command == "help":
            embed = help_embed(self.bot.options.prefix)
        else:
            embed = status_embed(await self.bot.conversation.status(said.thread))
        await self.bot.sender.send(
            Urgency.RESULT, lambda: message.channel.send(embed=embed, nonce=f"told-{said.id}"[:25], silent=True)
        )

    def _is_command(self, text: str) -> bool:
        prefix = self.bot.options.prefix
        word = text[len(prefix) :].split(maxsplit=1) if text.startswith(prefix) else []
        return bool(word) and word[0] in self.bot.all_commands


def _missing(message: discord.Message) -> str:
    """What a new thread in this channel fails on, '' for nothing: then the task is not begun at all."""
    if not isinstance(message.channel, discord.TextChannel) or message.guild is None:
        return NO_THREADS_HERE
    rights = message.channel.permissions_for(message.guild.me)
    needed = {
        "Create Public Threads": rights.create_public_threads,
        "Send Messages in Threads": rights.send_messages_in_threads,
    }
    lacking = [f"“{name}”" for name, granted in needed.items() if not granted]
    return NO_RIGHTS.format(rights=" and ".join(lacking)) if lacking else ""


async def setup(bot: ThreadwrightBot) -> None:
    """Called by discord.py."""
    await bot.add_cog(Tasks(bot))
