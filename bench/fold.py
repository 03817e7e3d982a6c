"""How long it takes to take an execution of 300 turns up again: decoding its log, and folding it."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from time import perf_counter, process_time

from agentic.core.events.execution_events import Envelope
from agentic.core.fold.fold import fold
from agentic.stores.sqlite.store import SQLiteStore
from bench.figures import Figure
from bench.store import appends, fenced
from bench.trajectory import THREAD, record

TURNS = 300
TIMES = 15


async def figures() -> AsyncIterator[Figure]:
    """Fold alone, and reading from the store alone; the best of several, because nothing here waits for anything.

    The fold is measured in processor time: what else the machine does is none of its cost.
    """
    trajectory = await record(TURNS)
    folded = fold(trajectory.envelopes)
    assert folded.finished is not None
    folds = [_seconds_of(trajectory.envelopes) for _ in range(TIMES)]
    note = f"{len(trajectory.envelopes)} events"
    yield Figure("fold_300_turns", min(folds) * 1e3, "ms", "<=", 20, note)
    halves = [_seconds_of(trajectory.envelopes[: len(trajectory.envelopes) // 2]) for _ in range(TIMES)]
    yield Figure("fold_whole_over_half", min(folds) / min(halves), "x", note="linear is 2")
    with tempfile.TemporaryDirectory(prefix="bench-fold-", dir=Path.cwd()) as folder:
        store = SQLiteStore.open(Path(folder) / "one.db")
        lease = await store.acquire(THREAD, "bench")
        assert lease is not None
        for group in appends(trajectory.envelopes):
            await store.append("x1", group[0].seq - 1, lease, fenced(group, lease))
        reads: list[float] = []
        for _ in range(TIMES):
            began = perf_counter()
            events = [envelope async for envelope in store.read("x1")]
            reads.append(perf_counter() - began)
            assert len(events) == len(trajectory.envelopes)
        await store.close()
    yield Figure("read_300_turns", min(reads) * 1e3, "ms", note="from SQLite, checksums and decoding")


def _seconds_of(envelopes: Sequence[Envelope]) -> float:
    began = process_time()
    fold(envelopes)
    return process_time() - began
