"""What people do around a bot that is killed again and again: tasks, guidance, stops, votes and answers, also in between."""

from __future__ import annotations

import asyncio
import contextlib
import random
from dataclasses import dataclass, field
from typing import Protocol

from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.records import Message

GIVEN_AT_ONCE = 4
ASKED = "Which way for "
LEFT_ALONE = ("I've stopped trying", "I'll continue where I stopped")
"""After these the bot waits for a word."""
KINDS = ("quick",) * 6 + ("work", "asks", "fails", "helpers", "helpers", "serves", "serves")


class Neighbourhood(Protocol):
    """Where people meet the bot."""

    guild: LocalGuild

    async def give(self, kind: str, job: str) -> int:
        """Mention the bot with a task; the id of the message and of its thread."""
        ...

    def said(self, channel: int) -> list[Message]:
        """The bot's messages in a channel or thread."""
        ...


@dataclass
class People:
    """They give so many tasks that ``busy_at_most`` threads wait for an answer; what is given waits for them."""

    luck: random.Random
    kinds: tuple[str, ...] = KINDS
    more: str = "quick"
    """The kind of what is asked for afterwards."""
    busy_at_most: int = 5
    jobs: dict[int, str] = field(default_factory=dict[int, str])
    """Threads and the job that was first given there."""
    answered: set[int] = field(default_factory=set[int])
    """Questions that got their answer, and quarantines that somebody looked at."""

    async def go_on(self, place: Neighbourhood) -> None:
        """Do something now and then, until cancelled."""
        while True:
            await self.do(place)
            await asyncio.sleep(self.luck.uniform(0.2, 0.8))

    async def do(self, place: Neighbourhood) -> None:
        """Something of what people do, wherever there is something to do it to."""
        await self.look_after(place)
        for _ in range(self.luck.randint(0, GIVEN_AT_ONCE)):
            if self.busy(place) < self.busy_at_most:
                await self.give(place)
        if self.jobs and self.luck.random() < 0.5:
            thread = self.luck.choice(list(self.jobs)[-8:])
            with contextlib.suppress(LookupError):  # its thread is not made yet
                await self._does(place, thread)

    async def _does(self, place: Neighbourhood, thread: int) -> None:
        said = place.said(thread)
        match self.luck.choice(("guidance", "guidance", "stop", "vote", "more")):
            case "guidance" if said:
                await place.guild.post(thread, f"and mind the {self.luck.choice(('cats', 'dogs', 'birds'))}")
            case "stop" if said and self.luck.random() < 0.3:
                await place.guild.react(said[0].id, "🛑")
            case "vote" if cards := answers(place, thread):
                await place.guild.react(cards[-1].id, self.luck.choice(("👍", "👎")))
            case "more" if answers(place, thread):
                await place.guild.post(thread, f"job {self.more} {self.jobs[thread]}x{self.luck.randrange(10**6)}")
            case _:
                return

    async def give(self, place: Neighbourhood) -> int:
        """Give a task; its thread."""
        kind = self.luck.choice(self.kinds)
        job = f"{kind}{len(self.jobs)}"
        thread = await place.give(kind, job)
        self.jobs[thread] = job
        return thread

    def busy(self, place: Neighbourhood) -> int:
        """Threads without an answer."""
        return sum(not answers(place, thread) for thread in list(self.jobs)[-40:])

    async def look_after(self, place: Neighbourhood) -> None:
        """Answer what the bot asks, and write where it left something alone."""
        for thread in self.jobs:
            for message in place.said(thread):
                if message.id in self.answered:
                    continue
                if message.content.startswith(ASKED):
                    await place.guild.post(thread, "this")
                elif any(words in message.content for words in LEFT_ALONE):
                    await place.guild.post(thread, "go on")
                else:
                    continue
                self.answered.add(message.id)


def answers(place: Neighbourhood, thread: int) -> list[Message]:
    """The final cards: they carry the buttons for votes."""
    return [m for m in place.said(thread) if any(one.startswith("tw:vote:") for one in m.custom_ids())]
