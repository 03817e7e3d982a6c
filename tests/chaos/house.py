"""A guild and a model that outlive the bot, the bot's home, and its lives, one after the other."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.ports.failpoints import VARIABLE
from bot.config.home import DATABASE
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.records import Message
from tests.chaos.mind import CALLS, Mind
from tests.chaos.nursery import Child, Nursery
from tests.e2e.processes import MODEL, environment
from tests.waiting import eventually

SECONDS = 60.0
REST = (
    "SELECT (SELECT count(*) FROM executions WHERE finished = ''), (SELECT count(*) FROM inbox WHERE item IS NOT NULL),"
    " (SELECT count(*) FROM outbox WHERE delivered IS NULL)"
)
READ = "SELECT value FROM facts WHERE key = ?"


class NotAtRest(AssertionError):
    """What was begun does not come to an end."""


@dataclass
class Ground:
    """What outlives every process of a bot: the guild, the model, and ``home``, below which all of them keep their files."""

    home: Path
    guild: LocalGuild
    endpoint: ScriptedEndpoint
    mind: Mind
    nursery: Nursery
    settings: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def general(self) -> int:
        """The channel in which tasks are given."""
        return self.guild.channel("general").id

    def environment(self, home: Path, failpoint: str = "") -> dict[str, str]:
        """What a process with this home is told."""
        env = environment(
            home, self.endpoint.environment(), DISCORD_TOKEN=self.guild.bot_token,
            THREADWRIGHT_DISCORD_API=self.guild.rest_base, THREADWRIGHT_TIER_2=MODEL, THREADWRIGHT_SANDBOX="bubblewrap",
            THREADWRIGHT_DEFAULT_LEVEL="operator",
            **self.settings,
        )  # fmt: skip
        return env | {VARIABLE: failpoint} if failpoint else env

    async def give(self, kind: str, job: str) -> int:
        """Mention the bot with a task; the id of the message and of its thread."""
        return (await self.guild.post(self.general, f"{self.guild.bot.mention} job {kind} {job}")).id

    def said(self, channel: int) -> list[Message]:
        """The bot's messages in a channel or thread; none where there is none."""
        try:
            messages = self.guild.messages(channel)
        except LookupError:
            return []
        return [
            message for message in messages if message.author_id == self.guild.bot_user_id and not message.ephemeral
        ]


@dataclass
class House(Ground):
    """Where a bot lives and dies."""

    lives: list[Child] = field(default_factory=list[Child])

    @property
    def database(self) -> Path:
        """The bot's store."""
        return self.home / DATABASE

    async def live(self, failpoint: str = "") -> Child:
        """Start the bot again."""
        log = self.home / f"life-{len(self.lives)}.log"
        child = await self.nursery.start(self.environment(self.home, failpoint), self.home, log)
        self.lives.append(child)
        return child

    async def says(self, channel: int, words: str, seconds: float = SECONDS) -> Message:
        """Wait until the bot says it there."""

        def found(_: LocalGuild) -> Message | None:
            return next((message for message in self.said(channel) if words in message.content), None)

        try:
            return await self.guild.wait_for(found, seconds)
        except TimeoutError:
            raise NotAtRest(f"the bot did not say {words!r} in {channel}; {self.told(channel)}") from None

    def told(self, channel: int) -> str:
        """What there is to see, for a failure's message."""
        said = "\n  ".join(message.content.replace("\n", " / ") for message in self.said(channel))
        return f"it said:\n  {said}\nand its log ends with:\n{self.lives[-1].said[-3000:]}"

    def lines(self, thread: int) -> list[str]:
        """What the unkeyed calls of a thread left behind."""
        path = self.home / "workspaces" / str(thread) / CALLS
        return path.read_text().splitlines() if path.exists() else []

    def waits(self) -> tuple[int, int, int]:
        """Open executions, inbox items and undelivered messages in the store."""
        connection = apsw.Connection(str(self.database), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            connection.set_busy_timeout(5_000)
            row = connection.execute(REST).fetchone()
        finally:
            connection.close()
        assert row is not None
        return row[0], row[1], row[2]

    async def rest(self, asking: int = 0, seconds: float = SECONDS) -> None:
        """Wait until nothing is open, waits or is undelivered; ``asking`` executions may wait for a person."""
        try:
            await eventually(lambda: self.waits() == (asking, 0, 0), seconds=seconds)
        except AssertionError:
            raise NotAtRest(
                f"open executions, inbox, undelivered: {self.waits()}; the log ends with:\n{self.lives[-1].said[-3000:]}"
            ) from None

    async def read_through(self, message: int) -> None:
        """Wait until it is written that the channel of tasks was read so far: without a mark nothing old is answered."""
        await self.until(lambda: read_through(self.database, self.general) >= message)

    async def until(self, holds: Callable[[], object], seconds: float = SECONDS) -> None:
        """Wait for something that no change of the guild announces."""
        await eventually(holds, seconds=seconds)


def read_through(database: Path, channel: int) -> int:
    """Up to which message a channel was read, as a process that starts now would find it; 0 where nobody knows."""
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        connection.set_busy_timeout(5_000)
        mark = connection.execute(READ, (f"read: {channel}",)).get
    finally:
        connection.close()
    return int(str(mark or 0))


@asynccontextmanager
async def house(home: Path, nursery: Nursery, mind: Mind | None = None, **settings: str) -> AsyncGenerator[House]:
    """A new one; every life is over at its end."""
    home.mkdir(parents=True, exist_ok=True)
    mind = mind or Mind()
    async with (
        ScriptedEndpoint.start(mind, capture_requests=False) as endpoint,
        await LocalGuild.start() as guild,
    ):
        place = House(home, guild, endpoint, mind, nursery, settings)
        try:
            yield place
        finally:
            for child in place.lives:
                await child.kill()
