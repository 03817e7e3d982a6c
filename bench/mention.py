"""From a mention to what a person sees of it: 👀, the thread, the first progress message, the answer.

``BENCH_EARLIER=PATH`` names another checkout; its bot takes turns with this one at the same guild and endpoint, and
the ratios say whether anything became slower.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from statistics import median
from time import perf_counter

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bench.bot_process import HERE, connected
from bench.figures import Figure, size
from bot.local_discord import LocalGuild

ROUNDS = size("ROUNDS", 6, 1)
MENTIONS = size("MENTIONS", 15, 2)
WARM_UP = 3
SECONDS = 60.0
PAUSE = 0.25
"""Between two mentions: a scheduler that keeps below Discord's limit has room again."""
STEPS = ("sign", "thread", "progress", "answer")
SLOWER = 1.1
"""A ratio of medians up to which two runs on a busy machine are the same."""
THINKS = 0.3
"""Seconds that the model takes for each answer, so that there is progress to be seen."""
ANSWER = "It is said."


async def figures() -> AsyncIterator[Figure]:
    """Medians of all rounds; beside another checkout, ratios too."""
    roots = {"now": HERE}
    if earlier := os.environ.get("BENCH_EARLIER"):
        roots["earlier"] = Path(earlier)
    taken: dict[str, list[tuple[float, ...]]] = {name: [] for name in roots}
    for _ in range(ROUNDS):
        for name, root in roots.items():
            taken[name] += await round_of(root)
    note = f"{ROUNDS * MENTIONS} mentions each"
    for place, step in enumerate(STEPS):
        medians = {name: median(times[place] for times in rows) for name, rows in taken.items()}
        yield Figure(f"mention_to_{step}", medians["now"] * 1e3, "ms", note=note)
        if "earlier" in medians:
            yield Figure(
                f"mention_to_{step}_over_earlier", medians["now"] / medians["earlier"], "x", "<=", SLOWER, note
            )


async def round_of(root: Path) -> list[tuple[float, ...]]:
    """Seconds from each mention to each step."""
    async with ScriptedEndpoint.start(_reply, capture_requests=False) as endpoint, await LocalGuild.start() as guild:
        with tempfile.TemporaryDirectory(prefix="bench-mention-") as home:
            async with connected("ours", guild, endpoint, home, root=root):
                return [await _one(guild, number) for number in range(WARM_UP + MENTIONS)][WARM_UP:]


async def _one(guild: LocalGuild, number: int) -> tuple[float, ...]:
    general = guild.channel().id
    began = perf_counter()
    posted = await guild.post(general, f"{guild.bot.mention} write the number {number} into a file")

    async def since(seen: str) -> float:
        await guild.wait_for(lambda guild: seen in _seen(guild, general, posted.id), SECONDS)
        return perf_counter() - began

    times = await asyncio.gather(*map(since, STEPS))
    await asyncio.sleep(PAUSE)
    return tuple(times)


def _seen(guild: LocalGuild, channel: int, task: int) -> set[str]:
    """What a person sees of the task now."""
    seen = {"sign" for one in guild.messages(channel) if one.id == task and one.reactions}
    if any(one.id == task for one in guild.threads()):
        seen.add("thread")
        own = [one for one in guild.messages(task) if one.author_id == guild.bot.id]
        seen |= {"answer" if ANSWER in one.content else "progress" for one in own if one.content}
    return seen


def _reply(request: CapturedRequest) -> Reply:
    if "finish" not in request.tools:
        return Reply(ANSWER)
    if not request.last.answers:
        return Reply("", (("todo", {"items": [{"text": "Write it", "state": "doing"}]}),), delay=THINKS)
    return Reply("", (("finish", {"answer": ANSWER}),), delay=THINKS)
