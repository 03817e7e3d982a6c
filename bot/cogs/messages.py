"""Messages: a mention becomes a task in a thread of its own; in a session's thread every message counts, and directly.

What is said in a thread is taken in one after the other; a stop waits for nobody, but for a moment for what it is to stop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import discord
from discord.ext import commands

from agentic.core.events.execution_events import InboxItem
from agentic.core.events.ids import execution_id
from agentic.ports.errors import AgenticError
from bot.inbound.emoji import command
from bot.inbound.events import (
    MessageEvent,
    Outcome,
    Reply,
    ShowCommand,
)
from bot.inbound.intake import ReplyPlace, not_kept, noted
from bot.inbound.interpret_message import title_of, translate_message, without_mentions
from bot.inbound.parse import is_first_of_post, scene_of, with_title
from bot.inbound.thread_names import name_once
from bot.inbound.unknown_commands import without_commands
from bot.inbound.voice_messages import Heard
from bot.messages.embeds import help_embed, status_embed
from bot.outbound.discord_api import Held, Unfit
from bot.outbound.live.task_signs import WORKS
from bot.outbound.request_queue import Urgency

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot

NO_THREAD = "I have your task but couldn't open a thread for it: {reason}. I'll keep trying."
NO_THREADS_HERE = "I can't open threads in this kind of channel. Mention me in a text channel."
NO_RIGHTS = "I can't start: I'm missing the permission {rights} in this channel. An administrator can grant it."

Acknowledgement = Coroutine[None, None, None]

log = logging.getLogger(__name__)


class Tasks(commands.Cog):
    """Takes messages in."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot
        self._beside: set[asyncio.Task[None]] = set()
        self._begun: dict[int, asyncio.Task[None]] = {}
        bot.catching.take = self.take_late

    @commands.Cog.listener()
    async def on_message(self, message: discord.Message) -> None:
        """Take it in after what was said before it in its channel, then acknowledge it."""
        channel = str(message.channel.id)
        if self._is_stop(message):
            await self.bot.coming.before_a_stop(channel)
            await _done(await self._take(message))
            return
        with ExitStack() as held:
            with self.bot.coming.message(channel, message.id):
                acknowledgement = await self._in_turn(message, channel, held)
            await _done(acknowledgement)

    async def _in_turn(self, message: discord.Message, channel: str, held: ExitStack) -> Acknowledgement | None:
        if self._stands_alone(message):
            return await self._once(message, channel, held)
        async with self.bot.lanes.lane(channel):
            await self.bot.catching.close(channel)
            return await self._once(message, channel, held)

    async def _once(self, message: discord.Message, channel: str, held: ExitStack) -> Acknowledgement | None:
        """Take it in, unless it was fetched meanwhile; how far the channel was read waits for the acknowledgement."""
        if self.bot.watermarks.known(message.id):
            return None
        held.enter_context(self.bot.watermarks.taking(channel, message.id))
        acknowledgement = await self._take(message)
        self.bot.watermarks.taken(message.id)
        return acknowledgement

    def _stands_alone(self, message: discord.Message) -> bool:
        """Outside of threads each task gets one of its own: five hundred in one channel need not wait for each other."""
        plain = isinstance(message.channel, discord.abc.GuildChannel)
        return plain and self.bot.watermarks.is_closed(str(message.channel.id))

    @commands.Cog.listener()
    async def on_thread_create(self, thread: discord.Thread) -> None:
        """What begins while the bot listens has no gap; the first message of a forum's post has the post's id."""
        self.bot.watermarks.closed(str(thread.id), thread.id - 1)

    async def take_late(self, message: discord.Message) -> None:
        """Take in what was missed when it was said; its channel's lane is held."""
        if self._is_command(message.content):
            await asyncio.shield(self._carried_out(message))
        elif (acknowledgement := await self._take(message)) is not None:
            self._acknowledge_beside(message, acknowledgement)
        self.bot.watermarks.taken_care_of(str(message.channel.id), message.id)

    def _carried_out(self, message: discord.Message) -> asyncio.Task[None]:
        """A command that has begun comes to its end though reading is broken off; who reads anew waits for the same."""
        task = self._begun.get(message.id)
        if task is None:
            task = asyncio.create_task(self.bot.on_message(message), name=f"command {message.id}")
            self._begun[message.id] = task
            task.add_done_callback(lambda _: self._begun.pop(message.id))
        return task

    def _acknowledge_beside(self, message: discord.Message, acknowledgement: Acknowledgement) -> None:
        """What follows in the channel does not wait for it; how far the channel was read does."""
        held = ExitStack()
        held.enter_context(self.bot.watermarks.taking(str(message.channel.id), message.id))
        task = asyncio.create_task(acknowledgement, name=f"acknowledge {message.id}")
        self._beside.add(task)

        def done(task: asyncio.Task[None]) -> None:
            self._beside.discard(task)
            if not task.cancelled():
                held.close()

        task.add_done_callback(done)

    async def _take(self, message: discord.Message) -> Acknowledgement | None:
        """Keep what is meant for the agent; returns how to acknowledge it."""
        direct = isinstance(message.channel, discord.DMChannel)
        ours = message.author == self.bot.user or self._is_command(message.content)
        if ours or (message.guild is None and not direct):
            return None
        said = self.bot.reader.said(message)
        if isinstance(message.channel, discord.Thread) and is_first_of_post(message):
            said = await self._of_post(said, message.channel)
        place = ReplyPlace(str(message.guild.id) if message.guild else "", said.channel, said.id)
        try:
            heard = await self._heard(said, message)
            if heard == "taken":
                return None
            said = heard.said if heard is not None else said
            said, outcome = await self._outcome(message, said)
        except AgenticError as error:
            await self.bot.intake.tell(not_kept(said.id, error), said.id, place)
            return None
        if isinstance(outcome, ShowCommand):
            return self._answer(message, said, outcome)
        if heard is not None and not heard.as_words:
            outcome = Reply(heard.told)
        receipt = await self.bot.intake.take(outcome, said.id, place)
        if heard is not None and receipt is not None:
            await self._now_taken(heard, place)
        if receipt is None or not isinstance(outcome, InboxItem):
            return None
        if (words := noted(outcome, over=receipt.state == "idle")) and not receipt.text:
            return self.bot.intake.tell(words, f"{said.id}.noted", place, sign=outcome.sort == "feedback")
        if receipt.again:  # whoever kept it may have died before 👀; the rest is in the outbox
            return self._see_again(outcome, said)
        return self._acknowledge(outcome, said, place)

    async def _heard(self, said: MessageEvent, message: discord.Message) -> Heard | Literal["taken"] | None:
        """What was heard of a voice message that counts here, of somebody who may give tasks; None of any other message."""
        voices = self.bot.voices
        if said.kind != "voice" or voices is None:
            return None
        if message.guild is not None and not await self.bot.conversation.knows(said.thread):
            return None
        speaker = await self.bot.reader.speaker_of(message)
        return None if speaker.level == "viewer" or speaker.bot else await voices.read(said, message)

    async def _now_taken(self, heard: Heard, place: ReplyPlace) -> None:
        """Its words were taken in: show them, and let go of them."""
        await self.bot.intake.tell(heard.told, f"{heard.said.id}.heard", place)
        if self.bot.voices is not None:
            try:
                await self.bot.voices.taken(heard.said.id)
            except AgenticError as error:
                log.warning("what was heard in %s is kept although it was taken in: %s", heard.said.id, error)

    async def _of_post(self, said: MessageEvent, post: discord.Thread) -> MessageEvent:
        """The first message of a forum's post: its title is a part of it, and where the server chose so it is addressed."""
        chosen = await self.bot.preferences.of(channel=str(post.parent_id), guild=str(post.guild.id))
        own = self.bot.reader.house(post.guild).mentions
        return with_title(said, post.name, own, addressed=said.addressed or chosen.posts == "all")

    async def _outcome(self, message: discord.Message, said: MessageEvent) -> tuple[MessageEvent, Outcome]:
        house = self.bot.reader.house(message.guild)
        opinion = command(without_mentions(said.text, house.mentions)) is not None
        scene = await scene_of(self.bot.conversation, said.thread, wholly=opinion)
        if said.addressed or scene.state != "unknown":
            said = replace(said, speaker=await self.bot.reader.speaker_of(message))
        meant = translate_message(said, scene, house)
        outcome = without_commands(meant, self.bot.options.prefix, frozenset(self.bot.all_commands))
        return said, possible(outcome, message.channel)

    async def _acknowledge(self, item: InboxItem, said: MessageEvent, place: ReplyPlace) -> None:
        """👀 does not wait for the thread, nor the thread for 👀."""
        beside = asyncio.ensure_future(prepare_thread(self.bot, item, place))
        await self._see(item, said)  # in this very step: it is on the wire before what was said has work begin
        await beside

    async def _see(self, item: InboxItem, said: MessageEvent) -> None:
        if item.sort in ("task", "queue", "side"):
            await self.bot.desk.react(said.channel, said.id, WORKS)

    async def _see_again(self, item: InboxItem, said: MessageEvent) -> None:
        """The same for what was kept before; a task may run by now, or have ended."""
        execution = execution_id(item.thread, item.id)
        if await self.bot.store.execution(execution) is not None:
            await self.bot.board.sign(execution, doubtful=True)
        else:
            await self._see(item, said)

    async def _answer(self, message: discord.Message, said: MessageEvent, wanted: ShowCommand) -> None:
        if wanted.command == "help":
            embed = help_embed(self.bot.options.prefix)
        else:
            status = await self.bot.conversation.status(said.thread)
            details = self.bot.feed.links.task(said.thread, status.execution)
            embed = status_embed(status, self.bot.backstage.held_up(), details, self.bot.backstage.sandbox())
        await self.bot.sender.send(
            Urgency.RESULT,
            lambda: message.channel.send(
                embed=self.bot.desk.discreet(embed), nonce=f"told-{said.id}"[:25], silent=True
            ),
        )

    def _is_command(self, text: str) -> bool:
        prefix = self.bot.options.prefix
        word = text[len(prefix) :].split(maxsplit=1) if text.startswith(prefix) else []
        return bool(word) and word[0] in self.bot.all_commands

    def _is_stop(self, message: discord.Message) -> bool:
        """A stop of something; where nothing runs yet it comes after what was said before it, which may be about to begin."""
        found = command(message.content)
        runs = self.bot.conversation.state(str(message.channel.id)) not in ("unknown", "idle")
        return runs and found is not None and found[0] == "stop"


async def _done(acknowledgement: Acknowledgement | None) -> None:
    if acknowledgement is not None:
        await acknowledgement


async def prepare_thread(bot: ThreadwrightBot, item: InboxItem, place: ReplyPlace) -> None:
    """Open the thread of a task that has none yet, or name one that is used for the first time."""
    if not item.channel:
        if item.sort == "task":
            await name_once(bot, bot.desk, bot.store, item.thread, item.text)
        return
    try:
        await bot.desk.open_thread(item.channel, item.thread, title_of(bot.desk.discreet_text(item.text)))
    except (Held, Unfit) as problem:
        log.warning("no thread for message %s: %s", item.thread, problem)
        await bot.intake.tell(NO_THREAD.format(reason=problem), item.id, place)


def possible(outcome: Outcome, channel: object) -> Outcome:
    """The outcome, or why a task that needs a new thread in this channel is not begun at all."""
    missing = _missing(channel) if isinstance(outcome, InboxItem) and outcome.channel else ""
    return Reply(missing) if missing else outcome


def _missing(channel: object) -> str:
    """What a new thread in this channel fails on, '' for nothing."""
    if not isinstance(channel, discord.TextChannel):
        return NO_THREADS_HERE
    rights = channel.permissions_for(channel.guild.me)
    needed = {
        "Create Public Threads": rights.create_public_threads,
        "Send Messages in Threads": rights.send_messages_in_threads,
    }
    lacking = [f"“{name}”" for name, granted in needed.items() if not granted]
    return NO_RIGHTS.format(rights=" and ".join(lacking)) if lacking else ""


async def setup(bot: ThreadwrightBot) -> None:
    """Called by discord.py."""
    await bot.add_cog(Tasks(bot))
