"""What a simulated process hears of its guild: events as they come, gaps that are closed, and stops that were missed.

This stands in for discord.py's gateway and for the cogs that listen to it; what things mean, and in which order they are
taken in, is decided by the real ``translate``, ``interpret_reaction``, ``intake`` and ``watermarks``.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

import discord

from agentic.core.events.execution_events import InboxItem
from agentic.ports.errors import AgenticError
from bot.access.permissions import Speaker
from bot.catch_up.watermarks import Lanes, Watermarks
from bot.inbound.emoji import STOP, command
from bot.inbound.events import BotIdentity, ClickEvent, Ignore, MessageEvent, ReactionEvent
from bot.inbound.intake import ReplyPlace, noted
from bot.inbound.interpret_message import title_of, translate_message
from bot.inbound.interpret_reaction import translate_click, translate_reaction
from bot.inbound.parse import scene_of
from bot.outbound.discord_api import Gone, Held, Unfit
from tests.chaos.simulated.place import GUILD, PARENT, Heard

if TYPE_CHECKING:
    from tests.chaos.simulated.processes import Process

HOUSE = BotIdentity()


class Hearing:
    """The ears of one process."""

    def __init__(self, process: Process) -> None:
        self._process, self._town, self._guild = process, process.town, process.world.guild
        self.marks, self.lanes = Watermarks(process.access), Lanes()
        self.read = asyncio.Event()
        """What was said in threads where something runs has been read."""

    async def missed(self, thread: str) -> None:
        """Wait for that, not for ever."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(20.0):
                await self.read.wait()

    async def connect(self, after: float) -> None:
        """A session with Discord: what is said from now on is heard, what was said before is read back."""
        await asyncio.sleep(after)
        self.marks.opened()
        self._guild.ears[self._process.name] = self._hear
        try:
            await self._close_gaps()
        finally:
            self.read.set()

    def lose_gateway(self, seconds: float) -> None:
        """Nothing is heard for a while."""
        self._guild.ears.pop(self._process.name, None)
        self._process.begin(self.connect(seconds), "connection")

    async def _close_gaps(self) -> None:
        for _ in range(20):
            try:
                for row in await self._process.access.open_executions():
                    await self._close(row.thread)
                    await self._missed_stops(row.thread)
                for channel in (PARENT, *self._guild.threads):
                    await self._close(channel)
            except (AgenticError, Held, Gone, Unfit) as error:
                self._town.tell(f"{self._process.name} cannot read what was missed: {error}")
                await asyncio.sleep(5.0)
            else:
                await self.marks.write()
                return

    async def _close(self, channel: str) -> None:
        async with self.lanes.lane(channel):
            await self._close_lane(channel)

    async def _close_lane(self, channel: str) -> None:
        if self.marks.is_closed(channel):
            return
        mark = await self.marks.of(channel) or (int(channel) if channel != PARENT else 0)
        await asyncio.sleep(0.05)
        missed = [s for s in self._guild.said if (s.thread or s.channel) == channel and int(s.id) > mark]
        for said in missed:
            if not self.marks.known(int(said.id)):
                await self._take(said)
                self.marks.taken_care_of(channel, int(said.id))
        self.marks.closed(channel, max((int(said.id) for said in missed), default=mark))

    async def _missed_stops(self, thread: str) -> None:
        """A 🛑 on the bot's messages of what runs, given while nobody listened."""
        began = [e.at for row in await self._process.access.open_executions(thread)
                 for e in self._process.world.truth.log_of(row.execution)[:1]]  # fmt: skip
        for message in self._guild.of_bot(thread):
            for person in message.reactions.get(STOP, []):
                if began and message.id >= discord.utils.time_snowflake(min(began)):
                    reacted = ReactionEvent(
                        f"stop{message.id}",
                        str(message.id),
                        thread,
                        STOP,
                        self._town.machine.true(),
                        Speaker(str(person), "Ada"),
                    )
                    await self._sign(reacted)

    def _hear(self, heard: Heard) -> None:
        delay = self._town.dice("gateway").uniform(0.02, 0.2)
        loop = self._town.loop
        loop.call_later(delay, lambda: self._process.begin(self._handle(heard), "event"), context=self._process.context)

    async def _handle(self, heard: Heard) -> None:
        if self._process.name not in self._guild.ears:
            return
        if isinstance(heard, MessageEvent):
            await self._message(heard)
        else:
            await self._sign(heard)

    async def _message(self, said: MessageEvent) -> None:
        channel, id = said.thread or said.channel, int(said.id)
        found = command(said.text)
        if found is not None and found[0] == "stop" and await self._process.threads.knows(said.thread):
            await self._take(said)
        elif not said.thread and self.marks.is_closed(channel):
            if not self.marks.known(id):
                with self.marks.taking(channel, id):
                    await self._take(said)
        else:
            async with self.lanes.lane(channel):
                with contextlib.suppress(AgenticError):
                    await self._close_lane(channel)
                if not self.marks.known(id):
                    await self._take(said)
                    self.marks.taken_care_of(channel, id)

    async def _take(self, said: MessageEvent) -> None:
        place = ReplyPlace(GUILD, said.channel if not said.thread else said.thread, said.id)
        try:
            opinion = command(said.text) is not None
            scene = await scene_of(self._process.threads, said.thread, wholly=opinion)
        except AgenticError as error:
            await self._process.intake.tell(f"I couldn't save that ({error}).", said.id, place)
            self._town.handled.add(said.id)
            return
        outcome = translate_message(said, scene, HOUSE)
        receipt = await self._process.intake.take(outcome, said.id, place)
        self._town.handled.add(said.id)
        if receipt is None or not isinstance(outcome, InboxItem):
            return
        if (words := noted(outcome, over=receipt.state == "idle")) and not receipt.text:
            self._process.begin(self._process.intake.tell(words, f"{said.id}.noted", place), "note")
        elif outcome.channel:
            self._process.begin(self._open_thread(outcome, place), "thread")

    async def _open_thread(self, item: InboxItem, place: ReplyPlace) -> None:
        try:
            await self._process.desk.open_thread(
                item.channel, item.thread, title_of(self._process.desk.discreet_text(item.text))
            )
        except (Held, Unfit) as problem:
            await self._process.intake.tell(f"I couldn't open a thread for it: {problem}", item.id, place)

    async def _sign(self, heard: ReactionEvent | ClickEvent) -> None:
        try:
            thread = await self._process.threads.thread_of_message(heard.message) or heard.thread
            scene = await scene_of(self._process.threads, thread, wholly=True)
        except AgenticError:
            return
        place = ReplyPlace(GUILD, thread, heard.message)
        if isinstance(heard, ClickEvent):
            outcome = translate_click(heard, scene)
        else:
            outcome = translate_reaction(replace(heard, thread=thread), scene, HOUSE)
        if not isinstance(outcome, Ignore):
            await self._process.intake.take(outcome, heard.id, place)
