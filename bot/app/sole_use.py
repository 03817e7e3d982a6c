"""Keeps a process that does everything apart from others on one store, where no lock of a home can: they share no disk.

Both would take up all that is open, and both would say it.  Each first says that it is there and then looks for the other, so
that of two that begin at once at least one sees the other: a process that is alone by a lease, each of several by one of a few
that are numbered.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

from agentic.ports.errors import StoreError
from agentic.ports.runtime import Clock, Lease, Store
from agentic.stores.process_identity import in_words
from bot.sessions.lease import LEASE_SECONDS, RENEW_SECONDS, ThreadTaken, ended, give_back, take

ALONE = "alone"
"""The lease of a process that does everything."""
SEVERAL = "processes"
"""The fact that says how many gateways and workers there ever were at a time."""
PLACE_SECONDS, SEEN_SECONDS = 90.0, 30.0
"""How long each of several is seen after its last sign, and how often it gives one; each is a write that costs."""
RUN, OTHERS = "`threadwright run`", "`threadwright gateway` or `threadwright worker`"
BESIDE = (
    "{command} ({holder}) works on the same table. `threadwright run` does everything alone: stop one of "
    "them, or start `threadwright gateway` and `threadwright worker`. If it was killed on another machine, try again in "
    "two minutes."
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
    async with _alone(store, clock, owner) if alone else _one_of_several(store, clock, owner):
        yield


@asynccontextmanager
async def _alone(store: Store, clock: Clock, owner: str) -> AsyncGenerator[None]:
    lease = await _take(store, clock, owner)
    async with _held(store, clock, [lease], LEASE_SECONDS, RENEW_SECONDS):
        for number in range(int(await store.fact(SEVERAL) or 0)):
            if (holder := await store.holder(_name(number))) not in ("", owner):
                raise SharedWithOthers(BESIDE.format(command=OTHERS, holder=in_words(holder)))
        yield


@asynccontextmanager
async def _one_of_several(store: Store, clock: Clock, owner: str) -> AsyncGenerator[None]:
    lease = await _place(store, owner)
    async with _held(store, clock, [lease], PLACE_SECONDS, SEEN_SECONDS, partial(_place, store, owner)):
        if holder := await store.holder(ALONE):
            raise SharedWithOthers(BESIDE.format(command=RUN, holder=in_words(holder)))
        yield


async def _place(store: Store, owner: str) -> Lease:
    """Take the first number that is free, one more than there were where none is."""
    while True:
        known = await store.fact(SEVERAL)
        count = int(known or 0)
        for number in range(count):
            if (lease := await store.acquire(_name(number), owner, PLACE_SECONDS)) is not None:
                return lease
        await store.swap_fact(SEVERAL, known, str(count + 1))  # or another process did, and there is one more as well


def _name(number: int) -> str:
    return f"process: {number}"


@asynccontextmanager
async def _held(
    store: Store, clock: Clock, leases: list[Lease], seconds: float, every: float,
    again: Callable[[], Awaitable[Lease]] | None = None,
) -> AsyncGenerator[None]:  # fmt: skip
    """Renew the lease; one that was lost, as by a machine that slept, is taken ``again``."""
    keeper = asyncio.create_task(
        _keep(store, clock, leases, seconds, every, again), name=f"the lease {leases[0].thread}"
    )
    try:
        yield
    finally:
        await ended(keeper)
        await give_back(store, leases[-1])


async def _take(store: Store, clock: Clock, owner: str) -> Lease:
    """The lease of the one that does everything; that of one that was killed on another machine is waited for."""
    try:
        return await take(store, clock, ALONE, owner, patient=False)
    except ThreadTaken:
        holder = in_words(await store.holder(ALONE))
    if holder:
        log.warning(WAITING, holder, LEASE_SECONDS + RENEW_SECONDS)
    try:
        return await take(store, clock, ALONE, owner)
    except ThreadTaken:
        raise SharedWithOthers(BESIDE.format(command=RUN, holder=holder or "on another machine")) from None


async def _keep(
    store: Store, clock: Clock, leases: list[Lease], seconds: float, every: float,
    again: Callable[[], Awaitable[Lease]] | None,
) -> None:  # fmt: skip
    """Renew the last of the leases; a store that is away for a while ends nothing."""
    while True:
        await clock.sleep(every)
        try:
            if await store.renew(leases[-1], seconds):
                continue
            if again is None:
                log.error("another process has the lease %r of this one now; stop one of them", leases[-1].thread)
                return
            leases[:] = [await again()]
        except StoreError as error:
            log.warning("the lease %r of this process cannot be renewed: %s", leases[-1].thread, error)
