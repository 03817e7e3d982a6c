"""The machine's clocks."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from agentic.stores.process_identity import seconds_since_boot

SET = timedelta(minutes=1)
"""A clock that goes wrong by more than this between two looks was set by somebody."""

log = logging.getLogger(__name__)


def _wall() -> datetime:
    return datetime.now(UTC)


class SystemClock:
    """Wall time in UTC, and time that never runs backwards.

    The wall clock is read each time, so that a start before the network told the time does not keep wrong days for good; a
    log counts on from where it was taken up (``Recorder``), whatever is set meanwhile.
    """

    def __init__(
        self,
        wall: Callable[[], datetime] = _wall,
        since_boot: Callable[[], float] = seconds_since_boot,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall, self._since_boot, self._monotonic = wall, since_boot, monotonic
        self._started = wall() - timedelta(seconds=since_boot())

    def now(self) -> datetime:
        """The present, with time zone UTC."""
        now = self._wall()
        started = now - timedelta(seconds=self._since_boot())
        if abs(step := started - self._started) > SET:
            how = f"{timedelta(seconds=round(abs(step).total_seconds()))} {'ahead' if step > timedelta(0) else 'back'}"
            log.warning("the machine's clock was set %s; days and times follow it, tasks that run keep theirs", how)
        self._started = started
        return now

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        return self._monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
