"""Row 2 of the fault catalogue: what is said while a process is killed, over real sockets and processes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agentic.models.scripted.endpoint import ScriptedEndpoint
from bot.config.home import DATABASE
from bot.local_discord.faults.rules import Dropped, Duplicated, Rule
from bot.local_discord.local_discord import LocalGuild
from tests.chaos.house import read_through
from tests.e2e.processes import environment, started
from tests.faults.staging import guild
from tests.faults.whole import Mind
from tests.waiting import eventually

__all__ = ["guild"]


@asynccontextmanager
async def process(guild: LocalGuild, endpoint: ScriptedEndpoint, home: Path) -> AsyncGenerator[object]:
    """The product as a process of its own, at a guild that outlives it; killed at the end."""
    env = environment(
        home, endpoint.environment(), DISCORD_TOKEN=guild.bot_token, THREADWRIGHT_DISCORD_API=guild.rest_base,
        THREADWRIGHT_TIER_2="anthropic/claude-haiku-4-5", THREADWRIGHT_SANDBOX="bubblewrap",
    )  # fmt: skip
    async with started("run", env=env, cwd=home) as running:
        await guild.wait_for(lambda g: g.online, timeout=60.0)
        yield running
        await running.kill()


@pytest.mark.parametrize("seed", [1, 2])
async def test_f2_nothing_is_missed_and_nothing_answered_twice_whatever_is_dropped_doubled_or_killed(
    guild: LocalGuild, tmp_path: Path, seed: int
) -> None:
    """A scripted run of posts, dropped and doubled events, new sessions and kill -9; each task is answered once."""
    luck, mind, tasks = random.Random(seed), Mind(), dict[str, int]()
    mind.go.set()
    general = guild.channel("general").id

    async def post() -> None:
        name = f"task {seed} {len(tasks)}"
        tasks[name] = (await guild.post(general, f"{guild.bot.mention} {name}")).id

    async with asyncio.timeout(400), ScriptedEndpoint.start(mind) as endpoint:
        for life in range(2):  # three crashes in one execution would quarantine it
            async with process(guild, endpoint, tmp_path):
                if life == 0:  # before its first mark nothing old is answered
                    await post()
                    await _read(tmp_path, general)
                for _ in range(8):
                    match luck.choice(("post", "post", "drop", "double", "new session")):
                        case "drop":
                            guild.misbehave(Rule("MESSAGE_CREATE", Dropped(), times=luck.randint(1, 2)))
                        case "double":
                            guild.misbehave(Rule("MESSAGE_CREATE", Duplicated(), times=2))
                        case "new session":
                            guild.invalidate_sessions()
                        case _:
                            await post()
                    for _ in range(luck.randrange(2_000)):
                        await asyncio.sleep(0)
                guild.misbehaviour.clear()
            await guild.wait_for(lambda g: not g.online, timeout=60.0)
            await post()
        async with process(guild, endpoint, tmp_path):
            for name, thread in tasks.items():
                await _answered(guild, thread, name)
    for name, thread in tasks.items():
        answers = [m for m in guild.messages(thread) if f"answered <{name}>" in m.content]
        assert len(answers) == 1, name
    assert len(guild.threads()) == len(tasks)


async def _read(home: Path, channel: int) -> None:
    await eventually(lambda: read_through(home / DATABASE, channel))


async def _answered(guild: LocalGuild, thread: int, name: str) -> None:
    def found(_: LocalGuild) -> bool:
        try:
            return any(f"answered <{name}>" in message.content for message in guild.messages(thread))
        except LookupError:
            return False

    try:
        await guild.wait_for(found, timeout=120.0)
    except TimeoutError:
        pytest.fail(f"{name} was never answered")
