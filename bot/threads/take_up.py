"""How a process comes to the work that others store: it is told by the doorbell, and it looks by itself.

  doorbell ──ring──> the thread is free: take it up    ┐ while there is room
  every few seconds: what nobody has is taken up       ┘
  every 1.2 seconds: the inboxes of the threads this process works on; so a stop, wherever it was given, is obeyed at once

A ring is acknowledged when its thread rests, waits for a person or is somebody else's. Until then it stays with this process,
for what is in flight is what a queue reads a noisy guild by, and what it gives to another process when this one dies.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable

from agentic.doorbells.doorbell import Doorbell, Ring
from agentic.ports.errors import AgenticError, DoorbellSilent
from agentic.ports.runtime import Clock, Store
from bot.threads.registry import Threads

HEAR_SECONDS = 1.2
"""How often the inboxes of threads at work are looked into: a stop is to be obeyed within two seconds, and ends what runs in
a moment once it is heard; a look is most of what a thread at work asks for.
"""
SWEEP_SECONDS = 5.0
"""How often work is looked for that nobody does: so long a lost ring costs."""
LOOKED_AT = 50
"""So many threads in which something is open are looked at each time, from where the last look came to, where a look costs."""
RARELY = 12
"""So many looks for work apart those are at what only waits, while the doorbell rings."""
SILENT_SECONDS = 5.0
"""How long a doorbell that fails is left alone."""

log = logging.getLogger(__name__)


class TakeUp:
    """Brings work to the sessions of a process for as long as ``run`` runs; ``room`` is how many may be at work."""

    def __init__(
        self, threads: Threads, store: Store, doorbell: Doorbell, clock: Clock, room: int, used: Callable[[str], None]
    ) -> None:
        self._threads, self._store, self._doorbell, self._clock = threads, store, doorbell, clock
        self._room, self._used = room, used
        """``used`` is told of each thread that somebody used."""
        self._rings: dict[str, list[Ring]] = {}
        """What was taken up, with its rings, until it rests."""
        self._looking = frozenset[str]()
        """Threads whose rings were heard and that are being looked at: it is not known yet whether they need this process."""
        self._heard_at = -SWEEP_SECONDS
        """When a ring came last, or there was no room for one, by the monotonic clock."""
        self._sweeps, self._after = 0, ""

    async def run(self) -> None:
        """Work until cancelled; then what waits here is shown to others again."""
        loops = (self._listen, self._sweep, self._hear)
        async with asyncio.TaskGroup() as group:
            for each in loops:
                group.create_task(self._kept_up(each), name=each.__name__.strip("_"))

    async def _kept_up(self, look: Callable[[], Awaitable[float]]) -> None:
        """Look again and again; ``look`` says after how many seconds."""
        while True:
            try:
                pause = await look()
            except DoorbellSilent as silent:
                log.warning("%s", silent)
                pause = SILENT_SECONDS
            except AgenticError as error:
                log.warning("what others stored cannot be looked at now: %s", error)
                pause = SILENT_SECONDS
            except Exception:  # a fault with one thread must not keep this process from all others
                log.exception("a fault of ours while looking for work")
                pause = SILENT_SECONDS
            if pause:
                await self._clock.sleep(pause)

    async def _listen(self) -> float:
        heard = await self._doorbell.heard(await self._roomy())
        for ring in heard:
            self._heard_at = self._clock.monotonic()
            rings = self._rings.setdefault(ring.thread, [])
            if ring.receipt:
                rings.append(ring)
        self._looking = frozenset(ring.thread for ring in heard)
        try:
            for thread in dict.fromkeys(ring.thread for ring in heard):
                if await self._threads.look(thread):
                    self._used(thread)
        except BaseException:
            self._sweeps = -1  # their rings are let go of, so the next sweep looks at what waits
            raise
        finally:
            self._looking = frozenset[str]()
        await self._let_go()
        return 0.0

    async def _sweep(self) -> float:
        """Take up what nobody has; first what was begun, in an order of this process's own, then what waits.

        Where a doorbell keeps a line not all that is open each time: much of it waits for a person, for days, and what a
        dead process leaves is rung for as well, by the queue that shows its rings again.

        Of two that go the same way the second one catches up with the first, and then both want each thread at once.

        While the doorbell rings, what waits is looked at rarely: it may have its turn in a line that this would jump.
        """
        self._sweeps += 1
        silent = self._clock.monotonic() - self._heard_at >= SWEEP_SECONDS
        opened, after = await self._opened()
        random.shuffle(opened)
        waiting = await self._store.pending_threads() if silent or self._sweeps % RARELY == 0 else []
        for thread in dict.fromkeys((*opened, *waiting)):
            if len(self._rings) >= self._room:
                return SWEEP_SECONDS
            if thread not in self._rings:
                await self._threads.look(thread)
                if self._threads.works_on(thread):
                    log.info("thread %s was found without anybody who works on it", thread)
                    self._rings[thread] = []
        self._after = after
        return SWEEP_SECONDS

    async def _opened(self) -> tuple[list[str], str]:
        """Threads to look at, and from where the next look goes on."""
        page = await self._store.open_threads(LOOKED_AT, self._after)
        found = [thread for thread, _ in page]
        while len(page) == LOOKED_AT and not self._doorbell.keeps_line:
            page = await self._store.open_threads(LOOKED_AT, page[-1][1])
            found += [thread for thread, _ in page]
        return found, page[-1][1] if len(page) == LOOKED_AT else ""

    async def _hear(self) -> float:
        await self._threads.hear()
        await self._let_go()
        return HEAR_SECONDS

    async def _roomy(self) -> int:
        """Wait until there is room, and return how much."""
        while len(self._rings) >= self._room:
            self._heard_at = self._clock.monotonic()  # who is full listens to nothing, which is no silence of the bell
            self._threads.rested.clear()
            await self._let_go()
            if len(self._rings) < self._room:
                break
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(HEAR_SECONDS):
                    await self._threads.rested.wait()
        return self._room - len(self._rings)

    async def _let_go(self) -> None:
        """Acknowledge the rings of threads that need this process no more, or not now."""
        idle = [each for each in self._rings if each not in self._looking and not self._threads.works_on(each)]
        # All at once: while the bell is told, another loop here may let go as well, or hear of a thread anew.
        for ring in [ring for thread in idle for ring in self._rings.pop(thread)]:
            await self._doorbell.acknowledge(ring)
