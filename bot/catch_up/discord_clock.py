"""The present by Discord's clock, from which the machine's own may differ.

Messages, commands and clicks carry Discord's time in their ids; a reaction carries none. Whatever is ordered with them
or measured from them uses the time of these ids, never the machine's clock: were that minutes behind, a 🛑 would count
as given before the task that it was to stop.
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
    """A clock that is never ahead of Discord's own, and never behind the id of anything that arrived live."""

    def __init__(self, elapsed: Callable[[], float] = _awake_or_asleep) -> None:
        self._elapsed = elapsed
        self._ahead: float | None = None
        """Seconds since 1970 by Discord's clock when ``elapsed`` was 0, as far as the newest of what came says."""

    def saw(self, snowflake: int) -> None:
        """Note the id of an object that was created just before it arrived."""
        ahead = discord.utils.snowflake_time(snowflake).timestamp() - self._elapsed()
        self._ahead = ahead if self._ahead is None else max(ahead, self._ahead)

    def heard(self) -> datetime | None:
        """Return the present; None until anything arrived."""
        return None if self._ahead is None else datetime.fromtimestamp(self._ahead + self._elapsed(), UTC)

    def now(self) -> datetime:
        """Return the present; by the machine's clock until anything arrived."""
        return self.heard() or datetime.now(UTC)

    async def arrival(self, store: Store, thread: str, about: str) -> datetime:
        """Return the time of an event that came without one: after everything earlier that waits in its thread.

        ``about`` is the message or thread it concerns. Raises ``StoreError``.
        """
        known = [item.at + _A_MOMENT for item in await store.pending(thread)]
        known += [discord.utils.snowflake_time(int(about))] if about.isdecimal() else []
        if self._ahead is not None or not known:
            known.append(self.now())
        return max(known)
