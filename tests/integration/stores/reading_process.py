"""A process of today's version that goes on while another version writes: ``python -m … FILE``.

It opens the store, says so, and for each line on its standard input tries to take the thread of that name.
"""

from __future__ import annotations

import asyncio
import sys

from agentic.ports.errors import StoreTooNew
from agentic.stores.sqlite.store import SQLiteStore


async def main(path: str) -> None:
    """Until its standard input ends."""
    store = SQLiteStore.open(path)
    print("ready", flush=True)
    while thread := (await asyncio.to_thread(sys.stdin.readline)).strip():
        try:
            lease = await store.acquire(thread, "older")
            print("taken" if lease is not None else "held by another", flush=True)
        except StoreTooNew as refused:
            print(refused, flush=True)
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
