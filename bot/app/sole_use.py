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
from agentic.stores.process_identity import in_words
from bot.app.shards import hears
from bot.sessions.lease import LEASE_SECONDS, RENEW_SECONDS, ThreadTaken, ended, give_back, take

ALONE = "alone"
"""The lease of a process that does everything."""
BESIDE = (
    "`threadwright {command}` ({holder}) works on the same table. `threadwright run` does everything alone: stop one of "
    "them, or start `threadwright gateway` and `threadwright worker`. If it was killed on another machine, try again in "
    "half a minute."
)
WAITING = "`threadwright run` (%s) has the same table; waiting up to %.0f seconds, in case it was killed"

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
            raise SharedWithOthers(BESIDE.format(command="run", holder=in_words(holder)))
        yield
        return
    lease = await _take(store, clock, owner)
    keeper = asyncio.create_task(_keep(store, clock, lease), name="the store for this process alone")
    try:
        if holder := await hears(store, owner):
            raise SharedWithOthers(BESIDE.format(command="gateway", holder=in_words(holder)))
        yield
    finally:
        await ended(keeper)
        await give_back(store, lease)


async def _take(store: Store, clock: Clock, owner: str) -> Lease:
    """The lease of the one that does everything; that of one that was killed on another machine is waited for."""
    try:
        return await take(store, clock, ALONE, owner, patient=False)
    except ThreadTaken:
        holder = in_words(await store.holder(ALONE))
    log.warning(WAITING, holder, LEASE_SECONDS + RENEW_SECONDS)
    try:
        return await take(store, clock, ALONE, owner)
    except ThreadTaken:
        raise SharedWithOthers(BESIDE.format(command="run", holder=holder)) from None


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
