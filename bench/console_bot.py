"""The bot beside its console: how long its event loop lets others wait while nobody watches, and while fifty do.

A real bot with its console works on some tasks. Windows without and with watchers take turns, so that what the machine does
otherwise falls on both. The watchdog's questions to the loop are the measure. The watchers read from this process, so on a
machine of two processors they, the console, the model and the bot share them, and waits of a few milliseconds follow from
that alone: the processor time that the bot takes for a step of its tasks says whether watchers give itself more to do.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import monotonic

import aiohttp

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bench.bot_process import CONSOLE, HERE, connected
from bench.figures import Figure, size
from bench.hostile import waits
from bench.startup import cpu_seconds
from bot.local_discord import LocalGuild

TASKS = size("TASKS", 6, 1)
VIEWERS = size("VIEWERS", 50, 2)
ROUNDS = size("ROUNDS", 8, 1)
SECONDS = size("SECONDS", 12.0, 1.5)
SETTLE_SECONDS = size("SETTLE", 2.0, 0.1)
TURN_SECONDS = 0.9
"""Of the model: six tasks write about twenty events a second."""
BEGUN_SECONDS = 60.0
RATIO = 1.25
SETTINGS = {
    "THREADWRIGHT_SANDBOX": "auto",
    "THREADWRIGHT_CONSOLE": "127.0.0.1:0",
    "THREADWRIGHT_MAX_TURNS_SIMPLE": "1000",
    "THREADWRIGHT_MAX_TURNS_MEDIUM": "1000",
    "THREADWRIGHT_MAX_TURNS_COMPLEX": "1000",
    "THREADWRIGHT_MAX_TOKENS": "1000000000",
    "THREADWRIGHT_MAX_USD": "100000",
}
AT_MOST = aiohttp.ClientTimeout(total=None, connect=20.0, sock_read=60.0)


@dataclass(slots=True)
class Window:
    """Some seconds, and in them: processor time of the console and of the bot, steps of the tasks, updates of watchers."""

    watched: bool
    began: float = 0.0
    ended: float = 0.0
    cpu: float = 0.0
    bot_cpu: float = 0.0
    steps: int = 0
    updates: int = 0

    @property
    def work(self) -> float:
        """Processor time of the bot for a step."""
        return self.bot_cpu / max(self.steps, 1)


async def figures() -> AsyncIterator[Figure]:
    """The slowest answer of a hundred, in the median window of each sort, and one over the other."""
    steps = [0]

    def work(request: CapturedRequest) -> Reply:
        if "shell" not in request.tools:
            return Reply("A title")
        step = steps[0] = steps[0] + 1  # another command each time: who repeats themselves is stuck
        return Reply(f"Step {step}.", (("shell", {"command": f"seq {step} {step + 40}"}),), delay=TURN_SECONDS)

    windows = [Window(watched) for _ in range(ROUNDS) for watched in (False, True)]
    with tempfile.TemporaryDirectory(prefix="bench-console-bot-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        async with (
            ScriptedEndpoint.start(work, capture_requests=False) as endpoint,
            await LocalGuild.start() as guild,
            connected("ours", guild, endpoint, folder, HERE, **SETTINGS) as bot,
        ):
            texts = [f"{guild.bot.mention} Count on, part {number}" for number in range(TASKS)]
            threads = [(await guild.post(guild.channel().id, text)).id for text in texts]
            address = await _read(home / CONSOLE)
            await _until(lambda: steps[0] > 4 * TASKS)
            for window in windows:
                async with _watching(address, threads if window.watched else ()) as updates:
                    await asyncio.sleep(SETTLE_SECONDS)
                    await _through(window, bot.pid, steps, updates)
        lags = [sorted(waits(home, each.began, each.ended)) for each in windows]
    quiet, watched = (
        [each for each, window in zip(lags, windows, strict=True) if window.watched is sort] for sort in (False, True)
    )
    load = [each for each in windows if each.watched]
    cpu, rate = (
        median(each.cpu / (each.ended - each.began) for each in load),
        median(each.updates / (each.ended - each.began) for each in load),
    )
    note = f"{TASKS} tasks at work, {ROUNDS} windows of {SECONDS:g} s of each sort"
    crowd = f"{VIEWERS} watchers; the console took {100 * cpu:.0f} % of a core for {rate:.0f} updates a second"
    yield Figure("console_bot_loop_lag_p99", _slow(quiet, 0.99) * 1e3, "ms", note=f"nobody watches; {note}")
    yield Figure("console_bot_loop_lag_p99_watched", _slow(watched, 0.99) * 1e3, "ms", note=crowd)
    ratio = _slow(watched, 0.99) / max(_slow(quiet, 0.99), 1e-9)
    yield Figure("console_bot_loop_lag_ratio", ratio, "x", "<=", RATIO, "of both; medians of the windows' p99")
    spent = [median(each.work for each in windows if each.watched is sort) for sort in (False, True)]
    note = f"processor time of the bot for a step of a task; {spent[0] * 1e3:.1f} ms while nobody watches"
    yield Figure("console_bot_work_ratio", spent[1] / max(spent[0], 1e-9), "x", "<=", RATIO, note)


async def _through(window: Window, bot: int, steps: Sequence[int], updates: Sequence[int]) -> None:
    """Let a window pass."""
    console = _child(bot)

    def now() -> tuple[float, float, int, int]:
        return cpu_seconds(console), cpu_seconds(bot), steps[0], updates[0]

    window.began, before = monotonic(), now()
    await asyncio.sleep(SECONDS)
    window.ended, after = monotonic(), now()
    window.cpu, window.bot_cpu = after[0] - before[0], after[1] - before[1]
    window.steps, window.updates = after[2] - before[2], after[3] - before[3]


@asynccontextmanager
async def _watching(address: str, threads: Sequence[int]) -> AsyncGenerator[list[int]]:
    """Fifty who have opened one of the tasks each; how many updates came to all of them, in a list of one."""
    came = [0]
    ready = [asyncio.Event() for _ in range(VIEWERS if threads else 0)]

    async def watch(client: aiohttp.ClientSession, thread: int, is_ready: asyncio.Event) -> None:
        async with client.get(f"{address}/t/{thread}") as page:
            live = re.search(r'hx-sse:connect="([^"]+)"', await page.text())
        assert live is not None
        async with client.get(address + live[1].replace("&amp;", "&")) as stream:
            is_ready.set()
            async for line in stream.content:
                if line.startswith(b"id:"):
                    came[0] += 1

    async with aiohttp.ClientSession(timeout=AT_MOST, connector=aiohttp.TCPConnector(limit=0)) as client:
        tasks = [
            asyncio.create_task(watch(client, threads[place % len(threads)], each)) for place, each in enumerate(ready)
        ]
        try:
            await _until(lambda: all(each.is_set() for each in ready) or any(task.done() for task in tasks))
            yield came
            assert not any(task.done() for task in tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def _slow(windows: Sequence[Sequence[float]], share: float) -> float:
    """The wait that so many of a window's are not longer than, in the median window."""
    return median(waits[min(int(len(waits) * share), len(waits) - 1)] for waits in windows)


async def _read(path: Path) -> str:
    """The console's address, as soon as the bot has it."""
    await _until(lambda: path.exists() and path.read_text(encoding="utf-8"))
    return path.read_text(encoding="utf-8")


def _child(bot: int) -> int:
    """The console's process."""
    children = Path(f"/proc/{bot}/task/{bot}/children").read_text(encoding="ascii").split()
    return next(int(one) for one in children if b"console" in Path(f"/proc/{one}/cmdline").read_bytes().split(b"\0"))


async def _until(reached: Callable[[], object]) -> None:
    async with asyncio.timeout(BEGUN_SECONDS):
        while not reached():
            await asyncio.sleep(0.05)
