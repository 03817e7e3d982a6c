"""A start with many stored threads, measured beside one with none: until the bot is online, its first 👀, and the longest
stall of its event loop.

Each stored thread is a session that was used once: one finished execution, an answer that was delivered, a watermark.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from time import monotonic

from agentic.core.events.execution_events import Envelope, Finished, OutboxItem, Person, Started
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from agentic.ports.stores import SessionRow
from agentic.stores.sqlite.store import SQLiteStore
from bench.bot_process import LONGEST, connected
from bench.figures import Figure, size
from bot.local_discord import LocalGuild

THREADS = size("THREADS", 10_000, 200)
ROUNDS = size("ROUNDS", 3, 1)
AT_ONCE = 200
SETTLES = 3.0
"""Seconds after 👀 in which a start still does what need not be done at once."""
SECONDS = 120.0
FIRST = 1_100_000_000_000_000_000
"""The id of the oldest stored thread."""
ADDED_SECONDS, STALL_SECONDS, TIMES_AS_LONG = 0.2, 0.25, 1.2


async def figures() -> AsyncIterator[Figure]:
    """Starts with and without stored threads, in turns."""
    starts: dict[int, list[tuple[float, float, float]]] = {0: [], THREADS: []}
    with tempfile.TemporaryDirectory(prefix="bench-stored-") as folder:
        async with (
            ScriptedEndpoint.start(_reply, capture_requests=False) as endpoint,
            await LocalGuild.start() as guild,
        ):
            for threads in starts:
                await stored(Path(folder, str(threads)), threads, str(guild.guild_id))
                await started(guild, endpoint, Path(folder, str(threads)))  # a first start settles what is new to it
            for _ in range(ROUNDS):
                for threads, taken in starts.items():
                    taken.append(await started(guild, endpoint, Path(folder, str(threads))))
    middle = {threads: [median(each) for each in zip(*taken, strict=True)] for threads, taken in starts.items()}
    (online, eyes, stall), (many_online, many_eyes, many_stall) = middle.values()
    note = f"{THREADS} stored threads against none, median of {ROUNDS}"
    yield Figure("stored_threads_add_to_online", many_online - online, "s", "<=", ADDED_SECONDS, note)
    yield Figure("stored_threads_add_to_eyes", many_eyes - eyes, "s", "<=", ADDED_SECONDS, note)
    yield Figure("stored_threads_online_over_none", many_online / online, "x", "<=", TIMES_AS_LONG, note)
    yield Figure("stored_threads_online", many_online, "s", note="from the start of the interpreter")
    yield Figure("stored_threads_longest_stall", many_stall, "s", "<=", stall + STALL_SECONDS, "of the event loop")
    yield Figure("no_stored_threads_longest_stall", stall, "s")


async def stored(home: Path, threads: int, guild: str) -> None:
    """Write the home of a bot that has served so many threads."""
    home.mkdir()
    store = SQLiteStore.open(home / "threadwright.sqlite")
    try:
        for first in range(0, threads, AT_ONCE):
            await asyncio.gather(*(_serve(store, number, guild) for number in range(first, first + AT_ONCE)))
    finally:
        await store.close()


async def _serve(store: SQLiteStore, number: int, guild: str) -> None:
    thread, name = str(FIRST + number), f"stored{number}"
    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=number)
    person = Person(id="7", name="Anna")
    lease = await store.acquire(thread, "bench")
    assert lease is not None
    task = f"Count the files in folder number {number}."
    events = (
        Started(thread=thread, task=task, requester=person),
        Finished(reason="done", answer="There are forty-two."),
    )
    log = [
        Envelope(execution=name, seq=seq, at=at, fence=lease.fence, event=event, cause="", build="bench")
        for seq, event in enumerate(events, 1)
    ]
    answer = OutboxItem(key=f"{name}.2.0", thread=thread, execution=name, sort="answer", text="There are forty-two.")
    await store.save_session(SessionRow(thread, "1", guild, task, at, at))
    await store.append(name, 0, lease, log, (answer,))
    await store.delivered(answer.key, [str(FIRST * 2 + number)])
    await store.set_fact(f"read: {thread}", str(FIRST * 2 + number))
    await store.set_fact(f"learned: {name}", "0")
    await store.release(lease)


async def started(guild: LocalGuild, endpoint: ScriptedEndpoint, home: Path) -> tuple[float, float, float]:
    """Seconds until the bot is online, and until its first 👀; seconds of its longest stall."""
    began = monotonic()
    async with connected("ours", guild, endpoint, str(home), THREADWRIGHT_MAX_EXECUTIONS="10000"):
        online = monotonic() - began
        posted = await guild.post(guild.channel().id, f"{guild.bot.mention} What is the answer?")
        await guild.wait_for(lambda guild: _has_eyes(guild, posted.id), SECONDS)
        eyes = monotonic() - began
        await asyncio.sleep(SETTLES)
    return online, eyes, float((home / LONGEST).read_text(encoding="utf-8"))


def _has_eyes(guild: LocalGuild, message: int) -> bool:
    found = next(each for each in guild.messages(guild.channel().id) if each.id == message)
    return bool(found.reactions)


def _reply(request: CapturedRequest) -> Reply:
    return Reply(calls=(("finish", {"answer": "Forty-two."}),))
