"""A gateway alone with 1,000 threads that get a message each every 30 s: how long until a message stands in the inbox, what
a message costs the processor, and what becomes of the memory.

In each thread a task is open, so a message is a word to what runs.  What workers do is done by the bench: it looks at the
shared store all the time, notes when a message stands there, and takes it out.  So a figure holds one look too many.
"""

from __future__ import annotations

import asyncio
import os
import random
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles
from time import monotonic

from agentic.core.events.execution_events import Envelope, Person, Started
from agentic.ports.runtime import SessionRow, Store
from agentic.stores.aws.store import AwsStore
from agentic.stores.sqlite.store import SQLiteStore
from bench.figures import Figure, size
from bench.part_process import RESTED_WITHIN, part, resident_mb, rested
from bench.startup import cpu_seconds
from bot.local_discord import LocalGuild

THREADS = size("THREADS", 1_000, 10)
EVERY = size("EVERY", 30.0, 1.0)
"""Seconds in which each thread gets a message."""
ROUNDS = size("ROUNDS", 3, 1)
RESTED_SECONDS = size("RESTED_SECONDS", 5.0, 1.0)
MOST_SECONDS = 0.2
LOOK_SECONDS = 0.02
AT_ONCE = 50
PATIENCE = 60.0
"""Seconds after the last message."""


@dataclass(slots=True)
class Measured:
    """What was posted and when it was found."""

    posted: dict[str, float] = field(default_factory=dict[str, float])
    """By thread: when a message was said there that was not found yet."""
    waits: list[float] = field(default_factory=list[float])
    looks: list[float] = field(default_factory=list[float])
    overtaken: int = 0
    """Messages that came while the one before in their thread had not been found."""


async def figures() -> AsyncIterator[Figure]:
    """Over a file, then over a local AWS."""
    from deploy.aws_local.emulator import mini_stack
    from deploy.aws_local.resources import CREDENTIALS, environment, make_resources

    with tempfile.TemporaryDirectory(prefix="bench-gateway-") as folder:
        home = Path(folder)
        store = SQLiteStore.open(home / "threadwright.sqlite")
        async for figure in _measured("sqlite", store, home, {}):
            yield figure
    os.environ.update(CREDENTIALS)
    with tempfile.TemporaryDirectory(prefix="bench-gateway-") as folder, ExitStack() as stack:
        place = make_resources(stack.enter_context(mini_stack()), "gateway")
        async for figure in _measured("aws", AwsStore.open(place), Path(folder), environment(place)):
            yield figure


async def _measured(name: str, store: Store, home: Path, settings: Mapping[str, str]) -> AsyncIterator[Figure]:
    async with await LocalGuild.start() as guild:
        general = guild.channel().id
        threads = [(await guild.create_thread(general, f"Task {number}")).id for number in range(THREADS)]
        for first in range(0, THREADS, AT_ONCE):
            some = threads[first : first + AT_ONCE]
            await asyncio.gather(*(_begin(store, str(thread), guild) for thread in some))
        async with part("gateway", home, guild, settings) as process:
            await _asks_nothing(guild)  # what was said before its start is read as fast as Discord lets anybody read
            await rested(process, RESTED_SECONDS)
            memory, cpu, began = resident_mb(process), cpu_seconds(process.pid), monotonic()
            measured = Measured()
            watching = asyncio.create_task(_watch(store, measured))
            grown = [await _round(guild, threads, measured) or resident_mb(process) for _ in range(ROUNDS)]
            await _all_found(measured, watching)
            cpu, took = cpu_seconds(process.pid) - cpu, monotonic() - began
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
    await store.close()
    messages, waits = THREADS * ROUNDS, measured.waits
    note = f"{messages} messages in {took:.0f} s; a look takes {median(measured.looks) * 1e3:.0f} ms"
    yield Figure(f"gateway_{name}_to_inbox_p50", median(waits), "s", note=note)
    yield Figure(f"gateway_{name}_to_inbox_p99", quantiles(waits, n=100)[98], "s", "<=", MOST_SECONDS, note)
    yield Figure(f"gateway_{name}_to_inbox_longest", max(waits), "s")
    lost = messages - len(waits) - measured.overtaken
    yield Figure(f"gateway_{name}_messages_lost", lost, "messages", "<=", 0)
    yield Figure(f"gateway_{name}_cpu_a_message", cpu / messages * 1e3, "ms", note=f"{cpu / took:.0%} of a processor")
    yield Figure(f"gateway_{name}_memory", memory, "MB", note=f"online, with {THREADS} open threads that nobody used")
    first = (grown[0] - memory) / THREADS * 1024
    yield Figure(f"gateway_{name}_memory_a_used_thread", first, "kB", note="grown in the first round")
    later = (grown[-1] - grown[0]) / max(1, ROUNDS - 1)
    yield Figure(f"gateway_{name}_memory_a_later_round", later, "MB")


async def _begin(store: Store, thread: str, guild: LocalGuild) -> None:
    """A task that is open in a thread of Discord's, read so far."""
    at, execution = datetime.now(UTC), f"{thread}x"
    started = Started(thread=thread, task="Fix it", requester=Person(id=str(guild.you.id), name=guild.you.name))
    lease = await store.acquire(thread, "bench")
    assert lease is not None
    await store.save_session(SessionRow(thread, str(guild.channel().id), str(guild.guild_id), "Fix it", at, at))
    log = [Envelope(execution=execution, seq=1, at=at, fence=lease.fence, event=started, cause="", build="bench")]
    await store.append(execution, 0, lease, log, ())
    await store.set_fact(f"read: {thread}", thread)
    await store.release(lease)


async def _asks_nothing(guild: LocalGuild) -> None:
    """Wait until no request came for a while."""
    async with asyncio.timeout(RESTED_WITHIN):
        before = None
        while (newest := guild.asked[-1:]) != before:
            before = newest
            await asyncio.sleep(RESTED_SECONDS)


async def _round(guild: LocalGuild, threads: list[int], measured: Measured) -> None:
    """A message for each thread, one after the other."""
    began = monotonic()
    order = random.Random(7).sample(threads, len(threads))
    for number, thread in enumerate(order):
        await asyncio.sleep(max(0.0, began + number * EVERY / THREADS - monotonic()))
        measured.overtaken += str(thread) in measured.posted
        measured.posted[str(thread)] = monotonic()
        await guild.post(thread, "Use the blue one.")


async def _watch(store: Store, measured: Measured) -> None:
    """Find what stands in the inboxes, and take it out as a worker does."""
    while True:
        began = monotonic()
        found = await store.pending_threads()
        now = monotonic()
        measured.looks.append(now - began)
        for thread in found:
            if (posted := measured.posted.pop(thread, None)) is not None:
                measured.waits.append(now - posted)
        items = await asyncio.gather(*map(store.pending, found))
        if found:
            await store.discard([item.id for each in items for item in each])
        await asyncio.sleep(LOOK_SECONDS)


async def _all_found(measured: Measured, watching: asyncio.Task[None]) -> None:
    """Until nothing is missing; what was not found after a while is lost."""
    until = monotonic() + PATIENCE
    while measured.posted and monotonic() < until:
        if watching.done():
            watching.result()
        await asyncio.sleep(LOOK_SECONDS)
