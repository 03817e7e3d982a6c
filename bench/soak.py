"""A long life, shortened: one task after the other for ``BENCH_MINUTES``; the bot is a process of its own.

Every task runs in a thread of its own and uses no tool.  What the process holds is looked at after each; the slopes are those
of a straight line through all of it but the first third, in which caches fill.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from statistics import linear_regression
from time import monotonic

from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bench.bot_process import connected
from bench.figures import Figure, size
from bot.local_discord import LocalGuild

MINUTES = size("MINUTES", 2.0, 0.1)
SECONDS = 60.0


async def figures() -> AsyncIterator[Figure]:
    """Slopes for each task, and how many there were."""
    seen: list[tuple[int, int, int]] = []
    with tempfile.TemporaryDirectory() as home:
        async with ScriptedEndpoint.start(lambda _: Reply("Hello.")) as endpoint, await LocalGuild.start() as guild:
            async with connected("ours", guild, endpoint, home) as bot:
                until = monotonic() + MINUTES * 60
                while monotonic() < until:
                    await _task(guild)
                    seen.append(_footprint(bot.pid))
    tasks = seen[len(seen) // 3 :]
    number = list(range(len(tasks)))
    memory, descriptors, threads = (
        linear_regression(number, [each[which] for each in tasks]).slope for which in range(3)
    )
    note = f"{len(seen)} tasks in {MINUTES:g} min"
    yield Figure("soak_memory_a_task", memory, "KB", "<=", 40.0, note)
    yield Figure("soak_descriptors_a_task", descriptors, "", "<=", 0.01, note)
    yield Figure("soak_os_threads_a_task", threads, "", "<=", 0.01, note)
    yield Figure("soak_memory_at_the_end", seen[-1][0] / 1024, "MB", note=note)


async def _task(guild: LocalGuild) -> None:
    posted = await guild.post(guild.channel("general").id, f"{guild.bot.mention} hello there")

    def answered(_: LocalGuild) -> bool:
        try:
            return any("Hello." in each.content for each in guild.messages(posted.id))
        except LookupError:
            return False

    await guild.wait_for(answered, SECONDS)


def _footprint(pid: int) -> tuple[int, int, int]:
    """(kilobytes of memory, open descriptors, threads of the system)."""
    process = Path(f"/proc/{pid}")
    lines = dict(line.split(":", 1) for line in (process / "status").read_text(encoding="utf-8").splitlines())
    return int(lines["VmRSS"].split()[0]), len(list((process / "fd").iterdir())), int(lines["Threads"])
