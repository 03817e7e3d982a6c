"""What people do in a simulated world: they give tasks, guide, ask aside, pause, stop, answer, vote, queue and delete."""

from __future__ import annotations

import asyncio
from random import Random

from agentic.core.events.execution_events import Level
from bot.access.permissions import Speaker
from tests.chaos.simulated.place import Message
from tests.chaos.simulated.processes import World
from tests.chaos.simulated.virtual import now

NAMES: tuple[tuple[str, Level], ...] = (
    ("Ada", "operator"),
    ("Ben", "executor"),
    ("Cem", "executor"),
    ("Dora", "owner"),
)
DEEDS = ("guide", "queue", "aside", "stop", "stop_sign", "pause", "vote", "wrong", "ask", "status", "again")
WEIGHTS = (24, 10, 8, 9, 8, 8, 6, 3, 3, 2, 14)


class People:
    """Everybody in one world; ``threads`` is how many threads they begin."""

    def __init__(self, world: World, threads: int) -> None:
        self.world, self.town, self.guild = world, world.town, world.guild
        self.threads = threads
        self.plans = 0
        self.begun: list[str] = []
        """The threads of their tasks."""

    async def live(self) -> None:
        """All that they do before they go home."""
        async with asyncio.TaskGroup() as group:
            for number in range(self.threads):
                group.create_task(self._thread(number))

    def speaker(self, dice: Random) -> Speaker:
        """Somebody."""
        place = dice.randrange(len(NAMES))
        return Speaker(str(5000 + place), NAMES[place][0], NAMES[place][1])

    def plan(self) -> str:
        """A task of its own."""
        self.plans += 1
        return f"mend part {self.plans} (plan p{self.plans})"

    async def _thread(self, number: int) -> None:
        dice = self.town.dice(f"person {number}")
        await asyncio.sleep(dice.uniform(0.0, 60.0))
        me = Speaker("5000", "Ada", "operator")
        said = self.guild.say(me, self.plan())
        self.begun.append(said.id)
        while said.id not in self.guild.threads and now() < 1_000:
            await asyncio.sleep(1.0)
        answering = asyncio.create_task(self._answers(said.id, dice))
        try:
            for _ in range(dice.choice((1, 2, 2, 3, 4, 5))):
                await asyncio.sleep(dice.choice((dice.uniform(0.0, 8.0), dice.uniform(5.0, 60.0))))
                await self._deed(said.id, dice)
            await asyncio.sleep(60.0)
        finally:
            answering.cancel()

    async def _deed(self, thread: str, dice: Random) -> None:
        who, deed = self.speaker(dice), dice.choices(DEEDS, WEIGHTS)[0]
        mine = self.guild.of_bot(thread)
        match deed:
            case "guide":
                self.guild.say(who, f"look at part {dice.randrange(9)} as well (plan p{self._new()})", thread)
            case "again":
                await asyncio.sleep(dice.uniform(10.0, 60.0))
                self.guild.say(who, self.plan(), thread)
            case "queue":
                self.guild.say(who, f". {self.plan()}", thread)
            case "aside":
                self.guild.say(who, f". btw how is it going? (plan s{self._new()})", thread)
            case "stop":
                self.guild.say(who, "stop", thread)
            case "pause":
                self.guild.say(who, "pause", thread)
                await asyncio.sleep(dice.uniform(1.0, 40.0))
                self.guild.say(who, "resume", thread)
            case "wrong" | "ask" | "status":
                self.guild.say(
                    who, {"wrong": "that was wrong", "ask": "ask me", "status": "how far are you?"}[deed], thread
                )
            case _ if mine:
                sign = "🛑" if deed == "stop_sign" else dice.choice("👍👎")
                self.guild.react(who, mine[-1].id, thread, sign)
            case _:
                pass

    def _new(self) -> int:
        self.plans += 1
        return self.plans

    async def _answers(self, thread: str, dice: Random) -> None:
        """Questions get an answer after a while, most of them."""
        seen: set[int] = set()
        while True:
            await asyncio.sleep(2.0)
            for message in self.guild.of_bot(thread):
                if message.id not in seen and any(one.startswith("tw:ask:") for one in message.buttons):
                    seen.add(message.id)
                    if dice.random() < 0.85:
                        await asyncio.sleep(dice.uniform(1.0, 40.0))
                        self._answer(message, dice)

    def _answer(self, message: Message, dice: Random) -> None:
        me = Speaker("5000", "Ada", "operator")
        choices = [one for one in message.buttons if one.startswith("tw:ask:")]
        if dice.random() < 0.5:
            self.guild.say(me, dice.choice(("1", "2", "whatever you think is best")), message.channel)
        else:
            question = choices[0].split(":")[2]
            self.guild.click(me, message.id, message.channel, question, dice.randrange(len(choices)))
