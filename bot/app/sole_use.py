"""Keeps a process that does everything apart from others on one store, where no lock of a home can: they share no disk.

Both would take up all that is open, and both would say it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agentic.ports.errors import StoreError
from agentic.ports.runtime import Clock, Lease, Store
from bot.app.shards import hears
from bot.sessions.lease import LEASE_SECONDS, RENEW_SECONDS, ThreadTaken, ended, give_back, take

ALONE = "alone"
"""The lease of a process that does everything."""
BESIDE = (
    "`threadwright {command}` {holder} works on the same table. `threadwright run` does everything alone: stop one of "
    "them, or start `threadwright gateway` and `threadwright worker`. If it was killed on another machine, try again in "
    "half a minute."
)

log = logging.getLogger(__name__)


class SharedWithOthers(Exception):
    """Others use the store in a way that this process cannot join; the message says which and what to do."""


@asynccontextmanager
async def sole_use(store: Store, clock: Clock, owner: str, *, alone: bool) -> AsyncGenerator[None]:
    """Use the store ``alone``, or beside others, for as long as this lasts.

    Raises ``SharedWithOthers`` and ``StoreError`` at the beginning.
    """
    if not alone:
        if holder := await store.holder(ALONE):
            raise SharedWithOthers(BESIDE.format(command="run", holder=holder))
        yield
        return
    try:
        lease = await take(store, clock, ALONE, owner)
    except ThreadTaken:
        raise SharedWithOthers(BESIDE.format(command="run", holder=await store.holder(ALONE))) from None
    keeper = asyncio.create_task(_keep(store, clock, lease), name="the store for this process alone")
    try:
        if holder := await hears(store, owner):
            raise SharedWithOthers(BESIDE.format(command="gateway", holder=holder))
        yield
    finally:
        await ended(keeper)
        await give_back(store, lease)


async def _keep(store: Store, clock: Clock, lease: Lease) -> None:
    """Renew; a store that is away for a while ends nothing."""
    while True:
        await clock.sleep(RENEW_SECONDS)
        try:
            if not await store.renew(lease, LEASE_SECONDS):
                log.error("another `threadwright run` works on the same table now; stop one of them")
                return
        except StoreError as error:
            log.warning("that this process is alone on the store cannot be renewed: %s", error)
