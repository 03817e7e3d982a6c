"""Hold a thread's lease while work goes on, and end the work before the lease can run out.

The store's clock decides who owns a thread; the local clock decides when to let go. Each renewal counts from the
moment it was *requested*, so the local deadline always comes before the store's, and work that cannot renew in time is
cancelled while the thread is still owned. A blocked event loop can cancel nothing: therefore ``allow`` tells the
thread's sandbox until when effects may go on, and the sandbox ends them by itself after that.

Waits here (downloads, slots, leases of others) end at once when a person stops the thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeVar

from agentic.ports.errors import LeaseLost, StoreError, StoreUnavailable
from agentic.ports.runtime import Clock, Lease, Leases

Result = TypeVar("Result")


class Halted(Exception):
    """A person stopped the execution before it began; the message says what it was waiting for, '' where that needs no
    words.
    """


async def unless(halt: asyncio.Event, work: Awaitable[Result]) -> Result:
    """Return the work's result; once ``halt`` is set, cancel the work, wait for its end and raise ``Halted``."""
    task = asyncio.ensure_future(work)
    halted = asyncio.create_task(halt.wait())
    try:
        await asyncio.wait((task, halted), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Halted
        return task.result()
    finally:
        halted.cancel()
        await ended(task)


async def ended(*tasks: asyncio.Future[Any]) -> None:
    """Cancel tasks and wait for their end; their results are read elsewhere.

    All are cancelled at once, and each only once: a second cancellation would interrupt an orderly end. If the caller
    is cancelled while waiting here, however often, that takes effect once the tasks have ended.
    """
    for task in tasks:
        task.cancel()
    called_off: asyncio.CancelledError | None = None
    while running := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(running)
        except asyncio.CancelledError as again:
            called_off = again
    for task in tasks:
        if not task.cancelled():
            task.exception()
    if called_off is not None:
        raise called_off


LEASE_SECONDS = 20.0
RENEW_SECONDS = 5.0
SAFETY_SECONDS = 8.0
"""Seconds reserved for ending effects before another owner could begin; longer than the loop waits for their end."""

LATE = 3
"""How often a lease may be granted too late before it is given up."""
RELEASE_SECONDS = 3.0
"""Seconds a cancelled caller waits for the lease to be given back; after that the lease runs out by itself."""
Allow = Callable[[str, float | None], None]
"""Tells a thread's sandbox until when effects may go on, on the monotonic clock; None: the lease is not held."""

log = logging.getLogger(__name__)


class ThreadTaken(LeaseLost):
    """Another running process owns this thread."""


class LeaseStore(Leases, Protocol):
    """The part of a store that leases need."""


async def take(
    store: LeaseStore, clock: Clock, thread: str, owner: str, halt: asyncio.Event | None = None, *, patient: bool = True
) -> Lease:
    """Take the thread's lease, waiting for one that may still run out unless ``halt`` is set. Raises ``ThreadTaken``.

    Where several processes work nobody is ``patient``: whoever has the thread does what is to be done there. That somebody
    has it is seen before it is wanted: a look costs less than a refusal, and a refused owner looks like one that lost.
    """
    if not patient and await store.holder(thread) not in ("", owner):
        raise ThreadTaken(f"another process has the thread {thread}")
    give_up, late = clock.monotonic() + LEASE_SECONDS + RENEW_SECONDS, 0
    while True:
        asked = clock.monotonic()
        lease = await store.acquire(thread, owner, LEASE_SECONDS)
        if lease is not None and clock.monotonic() - asked <= RENEW_SECONDS:
            return lease
        if lease is not None:  # it counts from when it was asked for: by now it may have run out, and is asked for anew
            late += 1
            if late < LATE:
                continue
            await store.release(lease)
            raise StoreUnavailable(f"the store is too slow to hold the lease of thread {thread}")
        if not patient:
            raise ThreadTaken(f"another process has the thread {thread}")
        if clock.monotonic() > give_up or (halt is not None and halt.is_set()):
            raise ThreadTaken(f"another process has the thread {thread}; is Threadwright running twice on one folder?")
        await _pause(clock, halt)


async def give_back(store: Leases, lease: Lease) -> None:
    """Release the lease. A cancellation takes effect afterwards, so that the thread does not stay taken."""
    releasing = asyncio.create_task(store.release(lease), name=f"giving back {lease.thread}")
    try:
        await asyncio.shield(releasing)
    except asyncio.CancelledError:
        await asyncio.wait((releasing,), timeout=RELEASE_SECONDS)
        raise


async def _pause(clock: Clock, halt: asyncio.Event | None) -> None:
    """Wait for a second, or until ``halt`` is set."""
    with contextlib.suppress(Halted):
        await unless(halt or asyncio.Event(), clock.sleep(1.0))


def nothing_to_end(_thread: str, _until: float | None) -> None:
    """Do nothing: for work without effects in a sandbox."""


async def while_held(
    store: LeaseStore,
    clock: Clock,
    lease: Lease,
    work: Coroutine[None, None, Result],
    allow: Allow = nothing_to_end,
) -> Result:
    """Do ``work`` while the lease is renewed in the background.

    If renewal fails, the work is ended first, and then ``LeaseLost`` is raised where another process has the lease, or
    ``StoreUnavailable`` where the store could not renew it. Cancelling this, once or more often, cancels the work once
    and waits for its end: until then the lease is not given back.
    """
    task = asyncio.create_task(work, name=f"execution in {lease.thread}")
    keeper = asyncio.create_task(_keep(store, clock, lease, allow), name=f"lease of {lease.thread}")
    try:
        await asyncio.wait((task, keeper), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        await ended(task)
        failure = keeper.result()
        if failure is not None:
            raise StoreUnavailable(f"the lease of thread {lease.thread} could not be renewed: {failure}") from failure
        raise LeaseLost(f"the lease of thread {lease.thread} is no longer held")
    finally:
        try:
            await ended(task, keeper)
        finally:
            allow(lease.thread, None)


async def _keep(store: LeaseStore, clock: Clock, lease: Lease, allow: Allow) -> Exception | None:
    """Renew until it fails for good or the local deadline is near; returns the store's error, or None if the lease is
    lost.
    """
    deadline = clock.monotonic() + LEASE_SECONDS - SAFETY_SECONDS
    allow(lease.thread, deadline)
    failure: Exception | None = None
    while clock.monotonic() < deadline:
        await clock.sleep(min(RENEW_SECONDS, max(deadline - clock.monotonic(), 0.05)))
        asked = clock.monotonic()
        if asked >= deadline:
            break
        try:
            async with asyncio.timeout(deadline - asked):
                if not await store.renew(lease, LEASE_SECONDS):
                    return None
        except (StoreError, TimeoutError) as error:
            log.warning("the lease of thread %s could not be renewed: %s", lease.thread, error)
            failure = error if str(error) else StoreUnavailable("the store did not answer in time")
            await clock.sleep(0.2)
        else:
            deadline = asked + LEASE_SECONDS - SAFETY_SECONDS
            allow(lease.thread, deadline)
            failure = None
    return failure
