"""Which process delivers what, where several deliver: one at a time in each thread.

What an execution says is delivered by the process that runs it, which also keeps its progress message; where nobody runs
it, by any that works. What is said beside (receipts, notices) is delivered by whoever comes first, mostly the one that says
it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agentic.core.events.execution_events import OutboxItem
from agentic.ports.errors import StoreError
from agentic.ports.runtime import Lease, Store

TURN_SECONDS = 30.0
RENEW_SECONDS = 10.0


class SharedDelivery:
    """Takes turns with other processes by leases of its own, so that delivery and work never wait for each other."""

    def __init__(self, store: Store, owner: str, *, works: bool) -> None:
        self._store, self._owner, self._works = store, owner, works

    async def may(self, item: OutboxItem) -> bool:
        """Whether an item is for this process to deliver. Raises ``StoreError``."""
        if not item.execution:
            return True
        return self._works and await self._store.holder(item.thread) in ("", self._owner)

    @asynccontextmanager
    async def turn(self, thread: str) -> AsyncGenerator[bool]:
        """Deliver in a thread as the only process; False where another one does, or may by now. Raises ``StoreError``."""
        asked = asyncio.get_running_loop().time()
        lease = await self._store.acquire(f"delivery: {thread}", self._owner, TURN_SECONDS)
        if lease is None:
            yield False
            return
        if asyncio.get_running_loop().time() - asked > RENEW_SECONDS:  # it counts from when it was asked for
            await self._store.release(lease)
            yield False
            return
        keeper = asyncio.create_task(self._keep(lease), name=f"turn of delivery in {thread}")
        try:
            yield True
        finally:
            keeper.cancel()
            await asyncio.gather(keeper, return_exceptions=True)
            with contextlib.suppress(StoreError):  # it runs out by itself
                await self._store.release(lease)

    async def _keep(self, lease: Lease) -> None:
        """Hold the turn for as long as Discord takes; a turn that is lost after all costs order, not a double post."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            with contextlib.suppress(StoreError):
                await self._store.renew(lease, TURN_SECONDS)
