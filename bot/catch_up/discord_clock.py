"""The present by Discord's clock, which the machine's own need not agree with.

Messages, commands and clicks carry the time of Discord's clock in their ids; a reaction carries none.  What is put in order
with them, or measured from them, goes by what the ids have told, never by the machine's clock: where that is minutes behind,
a 🛑 would else count as said before what it was to stop.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import discord

from agentic.ports.runtime import Store

_A_MOMENT = timedelta(microseconds=1)


def _awake_or_asleep() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class DiscordClock:
    """Never ahead of Discord's own clock, and never behind the id of anything that came over the gateway."""

    def __init__(self, elapsed: Callable[[], float] = _awake_or_asleep) -> None:
        self._elapsed = elapsed
        self._ahead: float | None = None
        """Seconds since 1970 by Discord's clock when ``elapsed`` was 0, as far as the newest of what came says."""

    def saw(self, snowflake: int) -> None:
        """Something was made and came over the gateway at once."""
        ahead = discord.utils.snowflake_time(snowflake).timestamp() - self._elapsed()
        self._ahead = ahead if self._ahead is None else max(ahead, self._ahead)

    def now(self) -> datetime:
        """The present; by the machine's clock until anything came."""
        if self._ahead is None:
            return datetime.now(UTC)
        return datetime.fromtimestamp(self._ahead + self._elapsed(), UTC)

    async def arrival(self, store: Store, thread: str, about: str) -> datetime:
        """The time of something that came without one: after all that came before it and waits in its thread.

        ``about`` is the message or thread it concerns.  Raises ``StoreError``.
        """
        known = [item.at + _A_MOMENT for item in await store.pending(thread)]
        known += [discord.utils.snowflake_time(int(about))] if about.isdecimal() else []
        if self._ahead is not None or not known:
            known.append(self.now())
        return max(known)
