"""500 threads at once: a message each, ten turns each, a model that takes 200 ms; the bot is a process of its own.

Told from the guild's and the endpoint's side: when each thread's first request to the model came, whether each task was
acknowledged once and answered once, how many requests came to Discord's door in any one second (``turnstile``), and the
bot's memory.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from bisect import bisect_right
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median, quantiles
from time import monotonic

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bench.bot_process import BUSIEST, connected
from bench.figures import Figure, size
from bench.startup import cpu_seconds
from bench.turnstile import passed, turnstile
from bot.local_discord import LocalGuild
from bot.local_discord.model.records import Message

THREADS = size("THREADS", 500, 3)
TURNS = size("TURNS", 10, 3)
LATENCY = 0.2
POSTED_WITHIN = 2.0
"""Seconds over which the messages come."""
SECONDS = 600.0
_NUMBER = re.compile(r"thread number (\d+)\b")
_EXEMPT = ("/interactions/", "/webhooks/", "/gateway", "/users/@me", "/oauth2/", "/applications/")


async def figures() -> AsyncIterator[Figure]:
    """One crowd, with the concurrency limit off."""
    first: dict[int, float] = {}
    cpu: list[float] = []
    requests: Counter[int] = Counter()

    def script(request: CapturedRequest) -> Reply:
        number = _number(request)
        if number not in first:
            first[number] = monotonic()
            cpu.append(cpu_seconds(bot.pid))
        requests[number] += 1
        if requests[number] >= TURNS:
            return Reply("", (("finish", {"answer": f"answer number {number}."}),), delay=LATENCY)
        return Reply("", (("note", {"text": f"turn {requests[number]} of {number}"}),), delay=LATENCY)

    with tempfile.TemporaryDirectory(prefix="bench-crowd-") as home:
        async with (
            ScriptedEndpoint.start(script, capture_requests=False) as endpoint,
            await LocalGuild.start() as guild,
            AsyncExitStack() as stack,
        ):
            came = Path(home) / "came"
            door = await stack.enter_async_context(turnstile(guild.rest_base, came))
            settings = {"GUILD_REST": door, "THREADWRIGHT_MAX_EXECUTIONS": "10000"}
            async with connected("ours", guild, endpoint, home, **settings) as bot:
                await _settled(guild, first, requests)
                before = _resident_mb(bot.pid)
                posted = await _post(guild)
                began = min(posted.values())
                await _answered(guild)
                memory = (_resident_mb(bot.pid) - before) / THREADS
                took = monotonic() - began
            sends = [at for at, what in passed(came) if not _is_exempt(what)]
            counted = int((Path(home) / BUSIEST).read_text(encoding="utf-8"))
    waits = [first[number] - at for number, at in posted.items()]
    note = f"{THREADS} threads, {TURNS} turns"
    yield Figure("crowd_all_started", max(first[number] for number in posted) - began, "s", "<=", 10.0, note)
    yield Figure("crowd_all_started_cpu", cpu[-1] - cpu[0], "s", note="of the bot's process")
    yield Figure("crowd_first_turn_p50", median(waits), "s", note=note)
    yield Figure("crowd_first_turn_p99_over_p50", quantiles(waits, n=100)[98] / median(waits), "x", "<=", 3.0, note)
    lost, doubled = _lost_and_doubled(guild)
    yield Figure("crowd_messages_lost", lost, "messages", "<=", 0, note)
    yield Figure("crowd_messages_doubled", doubled, "messages", "<=", 0, note)
    wrong = sum(requests[number] != TURNS for number in posted)
    yield Figure("crowd_threads_with_other_turns", wrong, "threads", "<=", 0, note)
    yield Figure("crowd_sends_in_a_second", _most_in_a_second(sends), "requests", "<=", 50, f"{note}; at the door")
    yield Figure("crowd_sends_in_a_second_counted", counted, "requests", "<=", 50, "by the bot's own sender")
    seen = [one.at for one in guild.asked if not _is_exempt(one.what)]
    yield Figure("crowd_sends_in_a_second_seen", _most_in_a_second(seen), "requests", note="by the guild's event loop")
    yield Figure("crowd_answers_429", guild.refused, "requests", "<=", 0, note)
    yield Figure("crowd_memory_a_thread", memory, "MB", "<=", 1.5, note)
    yield Figure("crowd_all_answered", took, "s", note=note)


async def _settled(guild: LocalGuild, first: dict[int, float], requests: Counter[int]) -> None:
    """One task before the clock runs: what is loaded once belongs to no thread."""
    text = f"{guild.bot.mention} work in thread number {THREADS + 1}"
    posted = await guild.post(guild.channel().id, text)
    await guild.wait_for(lambda guild: _answers(guild, posted.id, THREADS + 1), SECONDS)
    await asyncio.sleep(3.0)


async def _post(guild: LocalGuild) -> dict[int, float]:
    """A message for each thread; when each was posted, by its number."""
    posted: dict[int, float] = {}
    general, began = guild.channel().id, monotonic()
    for number in range(1, THREADS + 1):
        await asyncio.sleep(max(0.0, began + number * POSTED_WITHIN / THREADS - monotonic()))
        posted[number] = monotonic()
        await guild.post(general, f"{guild.bot.mention} work in thread number {number}")
    return posted


async def _answered(guild: LocalGuild) -> None:
    """Until every thread has its answer, and a moment more for what may be said twice."""
    async with asyncio.timeout(SECONDS):
        while sum("answer number" in message.content for message in _newest(guild)) < THREADS + 1:
            await asyncio.sleep(2.0)
    await asyncio.sleep(5.0)


def _newest(guild: LocalGuild) -> Iterator[Message]:
    """The last message of each thread: looking at all of them would weigh on what is measured."""
    for thread in guild.threads():
        if messages := guild.messages(thread.id):
            yield messages[-1]


def _answers(guild: LocalGuild, thread: int, number: int | None = None) -> int:
    if all(one.id != thread for one in guild.threads()):
        return 0
    wanted = "answer number " if number is None else f"answer number {number}."
    own = (m for m in guild.messages(thread) if m.author_id == guild.bot_user_id)
    return sum(wanted in m.content for m in own)


def _lost_and_doubled(guild: LocalGuild) -> tuple[int, int]:
    """Acknowledgements, progress messages and answers: of each exactly one a task."""
    lost = doubled = 0
    for message in guild.messages(guild.channel().id):
        found = _NUMBER.search(message.content)
        if found is None:
            continue
        number = int(found[1])
        own = [m for m in guild.messages(message.id) if m.author_id == guild.bot_user_id and m.content]
        answers = sum(f"answer number {number}." in m.content for m in own)
        lost += (answers == 0) + (not message.reactions) + (len(own) - answers == 0)
        doubled += max(answers - 1, 0) + max(len(own) - answers - 1, 0)
    return lost, doubled


def _is_exempt(what: str) -> bool:
    return any(path in what for path in _EXEMPT)


def _most_in_a_second(times: list[float]) -> int:
    return max((bisect_right(times, at + 1.0) - place for place, at in enumerate(times)), default=0)


def _number(request: CapturedRequest) -> int:
    found = next((match for m in request.messages if (match := _NUMBER.search(m.text))), None)
    return int(found[1]) if found else 0


def _resident_mb(pid: int) -> float:
    match = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(match[1]) / 1024 if match else 0.0
