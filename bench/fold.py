"""How long it takes to take an execution of 300 and of 3,000 turns up again: decoding its log, and folding it."""

from __future__ import annotations

import gc
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from time import process_time
from typing import Any

from agentic.core.events.execution_events import Envelope
from agentic.core.fold.fold import fold
from agentic.stores.sqlite.store import SQLiteStore
from bench.figures import Figure
from bench.store import appends, fenced
from bench.trajectory import THREAD, record

TURNS, MANY = 300, 3_000
TIMES, FEW = 15, 3
LINEAR = 1.15
"""Times as much a turn as it may cost in the longer log: what is measured twice differs by as much."""


async def figures() -> AsyncIterator[Figure]:
    """Fold alone, and reading from the store alone; the best of several, because nothing here waits for anything.

    The fold is measured in processor time: what else the machine does is none of its cost.
    """
    trajectory, longer = await record(TURNS), await record(MANY)
    caches = [each for each in gc.get_objects() if type(each).__name__ == "_lru_cache_wrapper"]
    gc.freeze()  # what is measured with lies in memory, and is none of the cost
    folded = fold(trajectory.envelopes)
    assert folded.finished is not None
    folds = [_seconds_of(trajectory.envelopes, ()) for _ in range(TIMES)]
    note = f"{len(trajectory.envelopes)} events"
    yield Figure("fold_300_turns", min(folds) * 1e3, "ms", "<=", 20, note)
    cold = [_seconds_of(trajectory.envelopes, caches) for _ in range(TIMES)]
    many = [_seconds_of(longer.envelopes, caches) for _ in range(FEW)]
    events = len(longer.envelopes) / len(trajectory.envelopes)
    note = f"{len(longer.envelopes)} events, {events:.2f} times as many; processor time, no command read before"
    yield Figure("fold_3000_over_300_turns", min(many) / min(cold), "x", "<=", events * LINEAR, note)
    with tempfile.TemporaryDirectory(prefix="bench-fold-", dir=Path.cwd()) as folder:
        store = SQLiteStore.open(Path(folder) / "one.db")
        lease = await store.acquire(THREAD, "bench")
        assert lease is not None
        reads: dict[int, float] = {}
        for turns, written, times in ((TURNS, trajectory.envelopes, TIMES), (MANY, longer.envelopes, FEW)):
            execution = f"x{turns}"
            for group in appends(written):
                named = [each.model_copy(update={"execution": execution}) for each in fenced(group, lease)]
                await store.append(execution, group[0].seq - 1, lease, named)
            reads[turns] = min([await _read(store, execution, len(written)) for _ in range(times)])
        await store.close()
    yield Figure("read_300_turns", reads[TURNS] * 1e3, "ms", note="from SQLite, checksums and decoding; processor time")
    yield Figure("read_3000_over_300_turns", reads[MANY] / reads[TURNS], "x", "<=", events * LINEAR, note)


async def _read(store: SQLiteStore, execution: str, events: int) -> float:
    began = process_time()
    read = 0
    async for _ in store.read(execution):  # whoever takes one up keeps none of them either
        read += 1
    assert read == events
    return process_time() - began


def _seconds_of(envelopes: Sequence[Envelope], caches: Sequence[Any]) -> float:
    """Processor time of a fold; what an earlier one left in these caches is forgotten first."""
    for cached in caches:
        cached.cache_clear()
    began = process_time()
    fold(envelopes)
    return process_time() - began
