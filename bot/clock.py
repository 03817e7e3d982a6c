"""The machine's clocks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from agentic.stores.owners import seconds_since_boot


def _wall() -> datetime:
    return datetime.now(UTC)


class SystemClock:
    """Wall time in UTC, and time that never runs backwards.

    The wall clock is read once: from then on the present is counted by the seconds since boot, so that whoever sets the
    machine's clock while it runs ends no cap, expires no approval and puts no event before its cause.
    """

    def __init__(
        self,
        wall: Callable[[], datetime] = _wall,
        since_boot: Callable[[], float] = seconds_since_boot,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._since_boot, self._monotonic = since_boot, monotonic
        self._began, self._at_boot = wall(), since_boot()

    def now(self) -> datetime:
        """The present, with time zone UTC."""
        return self._began + timedelta(seconds=self._since_boot() - self._at_boot)

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        return self._monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
