"""Keeps a process that does everything apart from others on one store, where no lock of a home can: they share no disk.

Both would take up all that is open, and both would say it.  Each first says that it is there and then looks for the other, so
that of two that begin at once at least one sees the other: a process that is alone by a lease, gateways by those of their
shards, a worker by one of a few that are numbered.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

from agentic.ports.errors import StoreError
from agentic.ports.runtime import Clock, Lease, Store
from agentic.stores.process_identity import in_words
from bot.app.shards import hears
from bot.sessions.lease import LEASE_SECONDS, RENEW_SECONDS, ThreadTaken, ended, give_back, take

ALONE = "alone"
"""The lease of a process that does everything."""
WORKERS = "workers"
"""The fact that says how many workers there ever were at a time."""
WORKER_SECONDS, SEEN_SECONDS = 90.0, 30.0
"""How long a worker is seen after its last sign, and how often it gives one; each is a write that costs."""
BESIDE = (
    "`threadwright {command}` ({holder}) works on the same table. `threadwright run` does everything alone: stop one of "
    "them, or start `threadwright gateway` and `threadwright worker`. If it was killed on another machine, try again in "
    "two minutes."
)
WAITING = "`threadwright run` (%s) has the same table; waiting up to %.0f seconds, in case it was killed"

log = logging.getLogger(__name__)


class SharedWithOthers(Exception):
    """Others use the store in a way that this process cannot join; the message says which and what to do."""


@asynccontextmanager
async def sole_use(store: Store, clock: Clock, owner: str, *, alone: bool, works: bool = False) -> AsyncGenerator[None]:
    """Use the store ``alone``, or beside others, for as long as this lasts.

    ``works``: this process is one of several workers.  Raises ``SharedWithOthers`` and ``StoreError`` at the beginning.
    """
    async with AsyncExitStack() as stack:
        if alone:
            await stack.enter_async_context(_alone(store, clock, owner))
        elif works:
            await stack.enter_async_context(_seen(store, clock, owner))
        if not alone and (holder := await store.holder(ALONE)):
            raise SharedWithOthers(BESIDE.format(command="run", holder=in_words(holder)))
        yield


@asynccontextmanager
async def _alone(store: Store, clock: Clock, owner: str) -> AsyncGenerator[None]:
    lease = await _take(store, clock, owner)
    async with _held(store, clock, lease, LEASE_SECONDS, RENEW_SECONDS):
        if holder := await hears(store, owner):
            raise SharedWithOthers(BESIDE.format(command="gateway", holder=in_words(holder)))
        for number in range(int(await store.fact(WORKERS) or 0)):
            if (holder := await store.holder(_worker(number))) not in ("", owner):
                raise SharedWithOthers(BESIDE.format(command="worker", holder=in_words(holder)))
        yield


@asynccontextmanager
async def _seen(store: Store, clock: Clock, owner: str) -> AsyncGenerator[None]:
    """Let a process that would be alone see this worker."""
    lease = await _place(store, owner)
    async with _held(store, clock, lease, WORKER_SECONDS, SEEN_SECONDS):
        yield


async def _place(store: Store, owner: str) -> Lease:
    """Take the first number that is free, one more than there were where none is."""
    while True:
        known = await store.fact(WORKERS)
        count = int(known or 0)
        for number in range(count):
            if (lease := await store.acquire(_worker(number), owner, WORKER_SECONDS)) is not None:
                return lease
        await store.swap_fact(WORKERS, known, str(count + 1))  # or another worker did, and there is one more as well


def _worker(number: int) -> str:
    return f"worker: {number}"


@asynccontextmanager
async def _held(store: Store, clock: Clock, lease: Lease, seconds: float, every: float) -> AsyncGenerator[None]:
    keeper = asyncio.create_task(_keep(store, clock, lease, seconds, every), name=f"the lease {lease.thread}")
    try:
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


async def _keep(store: Store, clock: Clock, lease: Lease, seconds: float, every: float) -> None:
    """Renew; a store that is away for a while ends nothing."""
    while True:
        await clock.sleep(every)
        try:
            if not await store.renew(lease, seconds):
                log.error("another process has the lease %r of this one now; stop one of them", lease.thread)
                return
        except StoreError as error:
            log.warning("the lease %r of this process cannot be renewed: %s", lease.thread, error)
