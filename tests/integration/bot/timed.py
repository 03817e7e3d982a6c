"""A running bot whose clock the test sets, and what people do with its schedules."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.runtime.clock import SystemClock
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.records import Message, MessageFlag
from bot.schedules.schedule import ScheduledTask
from tests.integration.bot.whole import SECONDS, Whole, finishes, uses, whole
from tests.waiting import eventually


class SetClock(SystemClock):
    """The machine's clock, set ahead by ``shift``; what waits, waits in real time."""

    def __init__(self) -> None:
        super().__init__()
        self.shift = timedelta(0)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.shift


@dataclass
class Mind:
    """Finishes each task; one with ``hold`` in it waits for the test first."""

    go: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[CapturedRequest] = field(default_factory=list[CapturedRequest])
    script: Callable[[CapturedRequest], Reply | None] = lambda _: None

    async def __call__(self, request: CapturedRequest) -> Reply:
        if not request.tools:
            return Reply("no lesson")
        self.asked.append(request)
        if (reply := self.script(request)) is not None:
            return reply
        if "hold" in request.text() and not self.go.is_set():
            await self.go.wait()
        return finishes("Looked at it.")


@dataclass
class Timed:
    """The bot, its guild, its clock and its model."""

    bot: Whole
    clock: SetClock
    mind: Mind

    @property
    def guild(self) -> LocalGuild:
        return self.bot.guild

    @property
    def general(self) -> int:
        return self.guild.channel().id

    async def uses(
        self, channel: int, name: str, options: Mapping[str, object] | None = None, author: str | None = None
    ) -> Message:
        """Use a slash command; its answer."""
        id = await self.guild.slash(channel, name, dict(options or {}), author=author)  # type: ignore[arg-type]

        def shown(here: LocalGuild) -> Message | None:
            original = here.interaction(id).original_id
            said = next((m for m in here.messages(channel, viewer=author) if m.id == original), None)
            return said if said is not None and not said.flags & MessageFlag.LOADING else None

        return await self.guild.wait_for(shown, SECONDS)

    async def adds(self, when: str, task: str, channel: int = 0, author: str | None = None, **more: object) -> Message:
        """Add a schedule; the answer."""
        return await self.uses(channel or self.general, "schedule add", {"when": when, "task": task, **more}, author)

    async def schedules(self) -> list[ScheduledTask]:
        """All there are."""
        return await self.bot.app.bot.schedules.schedules()

    async def passes(self, amount: timedelta) -> None:
        """The clock goes ahead, and the bot has noticed and done what follows."""
        self.clock.shift += amount
        await self.settles()

    async def settles(self) -> None:
        """What has come is dealt with."""
        bot = self.bot.app.bot
        bot.schedules.changed.set()
        await eventually(self._nothing_due, "nothing is due or claimed")
        await bot.ticker.settled()

    async def _nothing_due(self) -> bool:
        return not any(one.claim or (one.due and one.due <= self.clock.now()) for one in await self.schedules())

    async def until_next(self, index: int = 0) -> None:
        """The clock goes to the next time of a schedule, and a second further."""
        due = (await self.schedules())[index].due
        assert due is not None
        await self.passes(due - self.clock.now() + timedelta(seconds=1))

    def opened(self, words: str) -> list[Message]:
        """The messages in the channel that scheduled tasks began under."""
        told = [m for m in self.bot.of_bot(self.general) if not m.ephemeral]
        return [m for m in told if m.content.startswith("⏰") and words in m.content]

    async def answered(self, thread: int, times: int = 1) -> None:
        """So many tasks of the thread have ended and are answered."""
        await self.bot.ended(thread, times)

    async def presses(self, message: Message, label: str, author: str | None = None, says: str = "") -> Message:
        """Press a button of a list; what is said privately then."""
        button = next(each for each in message.interactive() if each.get("label") == label)
        last = max((m.id for m in self.guild.messages(message.channel_id, viewer=author)), default=0)
        await self.guild.click(message.id, str(button["custom_id"]), author=author)

        def said(here: LocalGuild) -> Message | None:
            new = [m for m in here.messages(message.channel_id, viewer=author) if m.id > last and m.ephemeral]
            return next((m for m in new if says in m.content), None)

        return await self.guild.wait_for(said, SECONDS)


@asynccontextmanager
async def timed(home: Path, guild: LocalGuild, mind: Mind | None = None, **settings: object) -> AsyncGenerator[Timed]:
    """Start it, with a clock that the test sets."""
    mind, clock = mind or Mind(), SetClock()
    async with ScriptedEndpoint.start(mind) as endpoint, whole(home, endpoint, guild, clock=clock, **settings) as bot:
        async with asyncio.timeout(SECONDS):
            await bot.app.bot.registration.done.wait()
        yield Timed(bot, clock, mind)
        mind.go.set()


__all__ = ["Mind", "SetClock", "Timed", "timed", "uses"]
