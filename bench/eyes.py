"""From a message at the gateway to 👀, beside the smallest bot that can do it, on the same guild in the same run.

Both bots are processes of their own at one local guild and take turns; a message is posted only when everything that
the one before caused is over.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from statistics import median, quantiles
from time import perf_counter

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bench.bot_process import connected
from bench.figures import Figure, size
from bot.local_discord import LocalGuild

ROUNDS = size("ROUNDS", 3, 1)
MESSAGES = size("MESSAGES", 30, 3)
WARM_UP = 5
SECONDS = 60.0
PAUSE = 0.25
"""Between two messages: a scheduler that keeps below Discord's limit has room again."""
TARGET = 2.5


async def figures() -> AsyncIterator[Figure]:
    """The ratio of the medians of all rounds."""
    times: dict[str, list[float]] = {"plain": [], "ours": []}
    for _ in range(ROUNDS):
        for who, taken in times.items():
            taken += await round_of(who)
    plain, ours = median(times["plain"]), median(times["ours"])
    note = f"{ROUNDS * MESSAGES} messages each"
    yield Figure("eyes_plain_bot", plain * 1e3, "ms", note=note)
    yield Figure("eyes", ours * 1e3, "ms", note=f"{note}, p95 {quantiles(times['ours'], n=20)[-1] * 1e3:.1f}")
    yield Figure("eyes_over_plain_bot", ours / plain, "x", "<=", TARGET, note)


async def round_of(who: str) -> list[float]:
    """Seconds from each message to its 👀."""
    async with ScriptedEndpoint.start(_reply, capture_requests=False) as endpoint, await LocalGuild.start() as guild:
        with tempfile.TemporaryDirectory(prefix="bench-eyes-") as home:
            async with connected(who, guild, endpoint, home):
                times = [await _one(guild, who, number) for number in range(WARM_UP + MESSAGES)]
                return times[WARM_UP:]


async def _one(guild: LocalGuild, who: str, number: int) -> float:
    general = guild.channel().id
    began = perf_counter()
    posted = await guild.post(general, f"{guild.bot.mention} say the number {number}")
    await guild.wait_for(lambda guild: _signs(guild, general, posted.id), SECONDS)
    taken = perf_counter() - began
    if who == "ours":
        await guild.wait_for(
            lambda guild: any("It is said." in m.content for m in _in_thread(guild, posted.id)), SECONDS
        )
    await asyncio.sleep(PAUSE)
    return taken


def _signs(guild: LocalGuild, channel: int, message: int) -> str:
    found = next((one for one in reversed(guild.messages(channel)) if one.id == message), None)
    return "".join(one.emoji for one in found.reactions) if found is not None else ""


def _in_thread(guild: LocalGuild, thread: int):
    return guild.messages(thread) if any(one.id == thread for one in guild.threads()) else []


def _reply(request: CapturedRequest) -> Reply:
    return Reply("", (("finish", {"answer": "It is said."}),)) if "finish" in request.tools else Reply("It is said.")
