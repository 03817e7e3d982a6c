"""A process of its own that writes to a store: run as ``python -m tests.integration.stores.writing_process``.

``write FILE EXECUTION``: takes the execution's thread, appends for ever, and prints the number of each event once it
was acknowledged.  ``race FILE OWNER TIMES``: takes and gives back the thread, and says what fences it held.
"""

from __future__ import annotations

import asyncio
import sys

from agentic.ports.errors import LeaseLost, SequenceConflict
from agentic.stores.sqlite.store import SQLiteStore
from tests.integration.stores.samples import begin, envelopes, notes, take


async def write(path: str, execution: str) -> None:
    """Append until killed."""
    store = SQLiteStore.open(path)
    lease = await take(store, thread=f"thread of {execution}", owner=execution)
    await begin(store, execution, lease)
    after = 1
    while True:
        await store.append(execution, after, lease, envelopes(execution, lease, after, notes(3, 3_000)))
        after += 3
        sys.stdout.write(f"{after}\n")
        sys.stdout.flush()


async def race(path: str, owner: str, times: int) -> None:
    """Take the one thread again and again; each time, one event must go in."""
    store = SQLiteStore.open(path)
    while times:
        lease = await store.acquire("raced", owner)
        if lease is None:
            await asyncio.sleep(0)
            continue
        row = await store.execution("x1")
        assert row is not None
        await store.append("x1", row.head, lease, envelopes("x1", lease, row.head, notes(1)))
        await store.release(lease)
        try:
            await store.append("x1", row.head + 1, lease, envelopes("x1", lease, row.head + 1, notes(1)))
        except (LeaseLost, SequenceConflict):
            times -= 1
        else:
            raise SystemExit("an append after release went in")
    await store.close()


if __name__ == "__main__":
    mode, file, name, *rest = sys.argv[1:]
    asyncio.run(write(file, name) if mode == "write" else race(file, name, int(rest[0])))
