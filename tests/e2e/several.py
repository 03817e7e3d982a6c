"""A gateway and workers as processes of their own, and in this one a Discord, where a test acts as people do."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agentic.core.events.execution_events import Envelope, OwnerChanged
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.ports.stores import Store
from agentic.stores.sqlite.store import SQLiteStore
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.records import Message, MessageFlag
from tests.e2e.processes import Running, environment, started
from tests.waiting import eventually

SECONDS = 60.0
ONLINE = r"is online"
WORKS = r"Working on what the gateway hears"


@dataclass
class Several:
    """The processes, the guild, and a look into the store that they share."""

    guild: LocalGuild
    home: Path
    env: Mapping[str, str]
    stack: AsyncExitStack
    store: Store
    apart: bool = False
    """Each process has a home of its own, called like the process."""
    running: dict[str, Running] = field(default_factory=dict[str, Running])

    async def start(self, command: str, name: str = "", *, ready: bool = True) -> Running:
        """Start a process, and wait until it is ``ready``."""
        home = self.home / (name or command) if self.apart else self.home
        home.mkdir(exist_ok=True)
        env = {**self.env, "THREADWRIGHT_HOME": str(home)}
        running = await self.stack.enter_async_context(started(command, env=env, cwd=home))
        self.running[name or command] = running
        if ready:
            await running.until_said(WORKS if command == "worker" else ONLINE)
        return running

    @property
    def output(self) -> str:
        """What all processes said, for a failure's message."""
        return "\n".join(f"=== {name}\n{one.output}" for name, one in self.running.items())

    async def mention(self, text: str, files: Sequence[tuple[str, bytes]] = ()) -> int:
        """Post a task; its thread's id."""
        general = self.guild.channel("general").id
        return (await self.guild.post(general, f"{self.guild.bot.mention} {text}", files=files)).id

    def said(self, thread: int) -> list[Message]:
        """The bot's messages in a thread."""
        try:
            messages = self.guild.messages(thread)
        except LookupError:
            return []
        return [m for m in messages if m.author_id == self.guild.bot_user_id and m.content]

    async def says(self, thread: int, pattern: str, times: int = 1) -> Message:
        """Wait until the bot has said it so many times; the last of them."""

        def found(_: LocalGuild) -> Message | None:
            them = [m for m in self.said(thread) if re.search(pattern, m.content)]
            return them[-1] if len(them) >= times else None

        try:
            return await self.guild.wait_for(found, SECONDS)
        except TimeoutError:
            there = "\n---\n".join(m.content for m in self.said(thread))
            pytest.fail(f"the bot did not say {pattern!r}; what it said:\n{there}\n{self.output}")

    async def until(self, holds: Callable[[], object], what: str) -> None:
        """Wait for something that nothing announces."""
        try:
            await eventually(holds, what)
        except AssertionError:
            pytest.fail(f"it never came to this: {what}\n{self.output}")

    async def log(self, thread: int) -> list[Envelope]:
        """The log of the thread's newest execution."""
        rows = await self.store.executions(str(thread))
        return [envelope async for envelope in self.store.read(rows[-1].execution)] if rows else []

    async def owner(self, thread: int) -> str:
        """The worker that has the thread, by its name here."""
        return self._named(await self.store.holder(str(thread)))

    async def owners_of(self, thread: int) -> list[str]:
        """The workers that took up the thread's newest execution after the first one."""
        return [
            self._named(each.event.worker) for each in await self.log(thread) if isinstance(each.event, OwnerChanged)
        ]

    def _named(self, process: str) -> str:
        number = process.split("/")[2] if process else ""
        return next((name for name, one in self.running.items() if str(one.process.pid) == number), "")

    async def slash(self, channel: int, command: str) -> str:
        """Use a slash command; the words of its answer."""
        message = await self.answer(channel, command)
        return f"{message.content} {message.embeds}"

    async def answer(self, channel: int, command: str, **options: str) -> Message:
        """Use a slash command; its answer."""
        id = await self.guild.slash(channel, command, options)

        def answered(guild: LocalGuild) -> Message | None:
            original = guild.interaction(id).original_id
            found = (m for m in guild.messages(channel, viewer=guild.you.name) if m.id == original)
            return next((m for m in found if not m.flags & MessageFlag.LOADING), None)

        return await self.guild.wait_for(answered, SECONDS)


@asynccontextmanager
async def several(
    home: Path, endpoint: ScriptedEndpoint, *, shards: int = 1, workers: int = 2, elsewhere: Store | None = None,
    **settings: str,
) -> AsyncGenerator[Several]:  # fmt: skip
    """Workers and a gateway for each shard, online; ``elsewhere`` is a store that they share instead of a home."""
    home.mkdir(parents=True, exist_ok=True)
    async with await LocalGuild.start(limits="discord") as guild, AsyncExitStack() as stack:
        guild.recommend_shards(shards, required=shards > 1)
        env = environment(
            home, endpoint.environment(),
            **{
                "DISCORD_TOKEN": guild.bot_token, "THREADWRIGHT_DISCORD_API": guild.rest_base,
                "THREADWRIGHT_TIER_2": "anthropic/claude-haiku-4-5", "THREADWRIGHT_SANDBOX": "bubblewrap",
                "THREADWRIGHT_DRAIN_SECONDS": "0.2", "THREADWRIGHT_LESSONS_HELD_BACK": "0",
                "THREADWRIGHT_EMBEDDINGS": "off", "THREADWRIGHT_LOG_LEVEL": "info", **settings,
            },
        )  # fmt: skip
        store = elsewhere or SQLiteStore.open(home / "threadwright.sqlite")
        stack.push_async_callback(store.close)
        them = Several(guild, home, env, stack, store, apart=elsewhere is not None)
        gateways = (them.start("gateway", f"gateway {number}") for number in range(shards))
        await asyncio.gather(*gateways, *(them.start("worker", f"worker {number}") for number in range(workers)))
        yield them
