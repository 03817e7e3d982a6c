"""What a process looks like from outside, sampled now and then: the loop, the outbox, the threads, the leases."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

from agentic.ports.errors import StoreError
from agentic.ports.runtime import Clock, Outbox
from bot.telemetry import names
from bot.telemetry.execution_spans import Value
from bot.telemetry.names import Metric

EVERY_SECONDS = 15.0
READ_SECONDS = 10.0
MINUTE = 60.0
Values = Sequence[tuple[float, Mapping[str, Value]]]

log = logging.getLogger(__name__)


class ProcessState:
    """Holds the last sample, which the threads that send metrics read."""

    def __init__(
        self, outbox: Outbox, clock: Clock, stall: Callable[[float], float], sessions: Callable[[], Mapping[str, int]]
    ) -> None:
        self._outbox, self._clock, self._stall, self._sessions = outbox, clock, stall, sessions
        self._waiting: dict[str, float] = {}
        """Since when each message was seen to wait."""
        self.outbox_age = 0.0
        self.lease_conflicts = 0
        self.by_state: Mapping[str, int] = {}

    @property
    def waiting(self) -> int:
        """Messages that waited to be posted."""
        return len(self._waiting)

    def lease_lost(self) -> None:
        """Another owner has a thread that this process worked on, or wanted to."""
        self.lease_conflicts += 1

    async def run(self) -> None:
        """Look at everything again and again, until cancelled."""
        while True:
            await self.sample()
            await self._clock.sleep(EVERY_SECONDS)

    async def sample(self) -> None:
        """Look once; what cannot be looked at is as it was."""
        self.by_state = self._sessions()
        try:
            async with asyncio.timeout(READ_SECONDS):
                rows = await self._outbox.undelivered()
        except (StoreError, TimeoutError) as error:
            log.info("what waits to be posted cannot be counted now: %s", error or "it takes too long")
            return
        now, before = self._clock.monotonic(), self._waiting
        self._waiting = {row.item.key: before.get(row.item.key, now) for row in rows}
        self.outbox_age = now - min(self._waiting.values(), default=now)

    def observed(self) -> Mapping[Metric, Callable[[], Values]]:
        """What metrics read of it, in a thread of theirs."""
        return {
            names.LOOP_LAG: lambda: [(self._stall(MINUTE), {})],
            names.OUTBOX_AGE: lambda: [(self.outbox_age, {})],
            names.OUTBOX_ITEMS: lambda: [(self.waiting, {})],
            names.LEASE_CONFLICTS: lambda: [(self.lease_conflicts, {})],
            names.SESSIONS: lambda: [(count, {names.STATE: state}) for state, count in self.by_state.items()],
        }
