"""The embedded store on this disk: what an append costs beside a bare commit of the same bytes, and how much it holds."""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import apsw

from agentic.core.events.execution_events import EVENT, Envelope
from agentic.ports.runtime import Lease
from agentic.stores.sqlite.store import SQLiteStore
from bench.figures import Figure
from bench.trajectory import THREAD, Trajectory, record

TURNS = 300
WRITERS = 100
TURNS_OF_A_WRITER = 10


async def figures() -> AsyncIterator[Figure]:
    """Cost of one append, throughput of many writers, size."""
    trajectory = await record(TURNS)
    with tempfile.TemporaryDirectory(prefix="bench-store-", dir=Path.cwd()) as folder:
        async for figure in one_writer(Path(folder), trajectory):
            yield figure
        async for figure in many_writers(Path(folder), trajectory):
            yield figure


async def one_writer(folder: Path, trajectory: Trajectory) -> AsyncIterator[Figure]:
    """Appends and bare commits of the same bytes in turn, so that both meet the same disk."""
    store = SQLiteStore.open(folder / "one.db")
    lease = await store.acquire(THREAD, "bench")
    assert lease is not None
    bare = Bare(folder / "bare.db")
    ours: list[float] = []
    theirs: list[float] = []
    cpu = bare_cpu = 0.0
    blobs = trajectory.blobs
    for group in appends(trajectory.envelopes):
        events = fenced(group, lease)
        content = "".join(EVENT.dump_json(envelope.event).decode() for envelope in events)
        began, cpu_began = perf_counter(), process_time()
        await store.append("x1", events[0].seq - 1, lease, events, blobs=blobs)
        ours.append(perf_counter() - began)
        cpu += process_time() - cpu_began
        blobs = ()
        began, cpu_began = perf_counter(), process_time()
        bare.commit(content)
        theirs.append(perf_counter() - began)
        bare_cpu += process_time() - cpu_began
    bare.close()
    await store.close()
    ratio = median(ours) / median(theirs)
    yield Figure("store_append_over_bare_commit", ratio, "x", "<=", 2.5, "medians, in turn, synchronous=FULL")
    yield Figure("store_append_median", median(ours) * 1e6, "us")
    yield Figure("store_append_p99", sorted(ours)[int(len(ours) * 0.99)] * 1e6, "us")
    yield Figure("store_append_cpu", cpu / len(ours) * 1e6, "us", note=f"bare {bare_cpu / len(ours) * 1e6:.0f} us")
    payload = sum(len(EVENT.dump_json(envelope.event)) for envelope in trajectory.envelopes)
    payload += sum(reference.size for reference, _ in trajectory.blobs)
    size = sum(path.stat().st_size for path in folder.glob("one.db*"))
    note = f"{len(trajectory.envelopes)} events, {TURNS} turns, {payload} bytes"
    yield Figure("store_bytes_over_payload", size / payload, "x", "<=", 1.3, note)


async def many_writers(folder: Path, trajectory: Trajectory) -> AsyncIterator[Figure]:
    """A hundred executions at once, each with a thread of its own."""
    store = SQLiteStore.open(folder / "many.db")
    template = list(itertools.islice(appends(trajectory.envelopes), 1 + 2 * TURNS_OF_A_WRITER))
    waits: list[float] = []
    written = 0

    async def write(number: int) -> None:
        nonlocal written
        thread, execution = f"{THREAD}{number}", f"x{number}"
        lease = await store.acquire(thread, "bench")
        assert lease is not None
        for group in template:
            events = [moved(envelope, execution, thread) for envelope in fenced(group, lease)]
            began = perf_counter()
            await store.append(execution, events[0].seq - 1, lease, events)
            waits.append(perf_counter() - began)
            written += len(events)

    began = perf_counter()
    await asyncio.gather(*(write(number) for number in range(WRITERS)))
    seconds = perf_counter() - began
    commits = store.counters.commits
    await store.close()
    note = f"{WRITERS} writers, {commits} commits for {len(waits)} appends"
    yield Figure("store_events_a_second", written / seconds, "events/s", ">=", 2_000, note)
    yield Figure("store_many_writers_p99", sorted(waits)[int(len(waits) * 0.99)] * 1e3, "ms")


class Bare:
    """A commit without anything around it: one row, synchronous=FULL, in this thread."""

    def __init__(self, path: Path) -> None:
        self._connection = apsw.Connection(str(path))
        for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "CREATE TABLE rows (content TEXT)"):
            self._connection.execute(statement)

    def commit(self, content: str) -> None:
        """Make one row durable."""
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute("INSERT INTO rows VALUES (?)", (content,))
        self._connection.execute("COMMIT")

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()


def appends(envelopes: Sequence[Envelope]) -> list[list[Envelope]]:
    """The log in the groups the loop commits: up to each request, and up to the intents of its calls."""
    groups: list[list[Envelope]] = [[]]
    for envelope in envelopes:
        groups[-1].append(envelope)
        if envelope.event.kind in ("model_requested", "tool_started", "finished"):
            groups.append([])
    return [group for group in groups if group]


def fenced(group: Sequence[Envelope], lease: Lease) -> list[Envelope]:
    """The events as the holder of this lease would write them."""
    return [envelope.model_copy(update={"fence": lease.fence}) for envelope in group]


def moved(envelope: Envelope, execution: str, thread: str) -> Envelope:
    """The event in another execution and thread."""
    event = envelope.event
    if event.kind == "started":
        event = event.model_copy(update={"thread": thread})
    return envelope.model_copy(update={"execution": execution, "event": event})
