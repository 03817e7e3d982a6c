"""When a gateway may identify: Discord takes so many in five seconds, and so many a day, of all processes together.

Both are counted in facts that change only if nobody else changed them, so that no two processes count on the same start.
Whoever uses up the day's starts loses the token; so the last ones are left to people who look for what restarts all the time.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agentic.ports.runtime import Clock, Facts

PERIOD = 5.0
MARGIN = 0.3
"""Seconds by which clocks of machines may differ without two of them identifying at once."""
FLOOR_SHARE = 20
"""One in so many of a day's starts is never used."""
PATIENCE = 40.0
"""A turn that is farther away than this is not reserved: the connection that waits for it would be given up meanwhile."""
STARTS = "gateway.starts"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StartLimit:
    """What Discord says of session starts."""

    total: int
    remaining: int
    reset_seconds: float
    concurrency: int

    @property
    def floor(self) -> int:
        """Starts that are left over."""
        return max(1, self.total // FLOOR_SHARE)


class IdentifyBudget:
    """Lets one shard identify at a time in each bucket, while the day's starts last."""

    def __init__(self, facts: Facts, clock: Clock, ask: Callable[[], Awaitable[StartLimit]]) -> None:
        self._facts, self._clock, self._ask = facts, clock, ask

    async def wait(self, shard: int) -> None:
        """Return when this shard may identify now. Raises ``StoreError``, and what ``ask`` raises."""
        while True:
            limit = await self._ask()
            if (seconds := await self._reserved_start(limit)) > 0:
                log.error("the starts of today are used up but for %d; none is tried for %.0f s", limit.floor, seconds)
                await self._clock.sleep(seconds)
                continue
            while (seconds := await self._reserved_turn(shard % limit.concurrency)) > PATIENCE:
                await self._clock.sleep(PERIOD)
            await self._clock.sleep(seconds)
            return

    async def _reserved_start(self, limit: StartLimit) -> float:
        """Count one start; returns for how many seconds there is none."""
        now = self._clock.now().timestamp()
        while True:
            known = await self._facts.fact(STARTS)
            until, left = _starts_in(known)
            if until <= now:
                until, left = now + limit.reset_seconds, limit.remaining
            left = min(left, limit.remaining)
            if left <= limit.floor:
                return max(until - now, PERIOD)
            if await self._facts.swap_fact(STARTS, known, json.dumps([until, left - 1])):
                return 0.0

    async def _reserved_turn(self, bucket: int) -> float:
        """Take the next turn of a bucket, unless that is far away; returns in how many seconds it comes."""
        name = f"gateway.identify.{bucket}"
        while True:
            known = await self._facts.fact(name)
            now = self._clock.now().timestamp()
            last = float(known or 0.0)
            if last > now + PATIENCE + PERIOD:
                log.error("the clock of this machine or of another gateway's is wrong: one is %.0f s ahead", last - now)
                last = 0.0
            turn = max(now, last + PERIOD + MARGIN)
            if turn - now > PATIENCE:
                return turn - now
            if await self._facts.swap_fact(name, known, repr(turn)):
                return turn - now


def _starts_in(known: str | None) -> tuple[float, int]:
    until, left = json.loads(known) if known else (0.0, 0)
    return float(until), int(left)
