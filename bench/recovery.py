"""After a SIGKILL with 200 executions in the middle of a turn: how soon the next process goes on with them.

The guild and the endpoint live in this process and see both lives.  Timed from the start of the second interpreter to
the first request of a continued execution, and to the last.  And what a failpoint costs that nobody asked for.
"""

from __future__ import annotations

import asyncio
import tempfile
import timeit
from collections.abc import AsyncIterator
from pathlib import Path
from statistics import median
from time import monotonic

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.ports.failpoints import reach
from bench.figures import Figure, size
from bench.startup import cpu_seconds
from bot.local_discord import LocalGuild
from tests.e2e.processes import ANEW, MODEL, Running, environment, started

WAITING = size("WAITING", 200, 3)
ROUNDS = size("ROUNDS", 3, 1)
SECONDS = 180.0
TARGET = 4.0
REACHES = 100_000


async def figures() -> AsyncIterator[Figure]:
    """First turns after a crash, and failpoints."""
    took = [await recovered() for _ in range(ROUNDS)]
    cpu = median(spent for _, _, spent in took)
    note = f"{WAITING} executions were open, median of {ROUNDS}, from the start of the interpreter"
    yield Figure("recovery_first_turn", median(first for first, _, _ in took), "s", "<=", TARGET, note)
    yield Figure("recovery_first_turn_cpu", cpu, "s", note="of the new process, until then")
    yield Figure("recovery_first_turn_slowest", max(first for first, _, _ in took), "s", note=f"of {ROUNDS}")
    yield Figure("recovery_all_go_on", median(last for _, last, _ in took), "s", note=note)
    spent = min(timeit.repeat(lambda: reach("loop.commit.before"), number=REACHES, repeat=5)) / REACHES
    yield Figure("failpoint_unused", spent * 1e9, "ns", "<=", 300.0, "a call of reach; about ten a turn")


async def recovered() -> tuple[float, float, float]:
    """Seconds from the second start to the first and the last request of what was open; processor seconds to the first."""
    asked: list[float] = []
    goes_on = asyncio.Event()

    async def script(request: CapturedRequest) -> Reply:
        asked.append(monotonic())
        await goes_on.wait()
        return Reply(calls=(("finish", {"answer": "done."}),))

    with tempfile.TemporaryDirectory(prefix="bench-recovery-") as home:
        async with (
            ScriptedEndpoint.start(script, capture_requests=False) as endpoint,
            await LocalGuild.start() as guild,
        ):
            env = environment(
                Path(home), endpoint.environment(), DISCORD_TOKEN=guild.bot_token,
                THREADWRIGHT_DISCORD_API=guild.rest_base, THREADWRIGHT_TIER_2=MODEL, THREADWRIGHT_SANDBOX="bubblewrap",
                THREADWRIGHT_MAX_EXECUTIONS="10000",
            )  # fmt: skip
            async with started("run", env=env, cwd=Path(home), program=ANEW) as bot:
                await guild.wait_for(lambda guild: guild.online, SECONDS)
                await _all_wait(guild, bot, asked)
                await bot.kill()
            await guild.wait_for(lambda guild: not guild.online, SECONDS)
            asked.clear()
            goes_on.set()
            began = monotonic()
            async with started("run", env=env, cwd=Path(home), program=ANEW) as bot:
                await _until(asked, 1, bot)
                spent = cpu_seconds(bot.process.pid)
                await _until(asked, WAITING, bot)
    return asked[0] - began, asked[WAITING - 1] - began, spent


async def _all_wait(guild: LocalGuild, bot: Running, asked: list[float]) -> None:
    for number in range(WAITING):
        await guild.post(guild.channel().id, f"{guild.bot.mention} work in thread number {number}")
    await _until(asked, WAITING, bot)
    await guild.wait_for(lambda guild: len(guild.threads()) == WAITING, SECONDS)
    await asyncio.sleep(3.0)  # what was said is acknowledged, and how far was read is written


async def _until(asked: list[float], number: int, bot: Running) -> None:
    try:
        async with asyncio.timeout(SECONDS):
            while len(asked) < number:
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise RuntimeError(f"{len(asked)} of {number} came to the model\n{bot.output[-3000:]}") from None
