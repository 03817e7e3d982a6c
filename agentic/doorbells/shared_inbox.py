"""The doorbell of one machine: nobody rings, whoever works looks into the inbox that all processes share.

A look costs a fraction of a millisecond, and there is nothing that could be lost.
"""

from __future__ import annotations

from agentic.doorbells.doorbell import Ring
from agentic.ports.errors import DoorbellSilent, StoreError
from agentic.ports.runtime import Clock, Inbox

LOOK_SECONDS = 0.2
"""Between two looks."""
AGAIN_SECONDS = 1.0
"""A thread for which something waits all the time is told again after this."""
LOOKS = 100
"""Without news in one wait."""


class SharedInbox:
    """Hears what waits in the inbox of a store."""

    def __init__(self, inbox: Inbox, clock: Clock) -> None:
        self._inbox, self._clock = inbox, clock
        self._told: dict[str, float] = {}
        """When each thread was told last, by the monotonic clock."""

    async def ring(self, thread: str, guild: str) -> None:
        """Do nothing: it is looked for."""

    async def heard(self, most: int) -> list[Ring]:
        """The threads for which something waits and that were not told just now."""
        for _ in range(LOOKS):
            now = self._clock.monotonic()
            self._told = {thread: at for thread, at in self._told.items() if now - at < AGAIN_SECONDS}
            try:
                waiting = await self._inbox.pending_threads()
            except StoreError as error:
                raise DoorbellSilent(f"the inbox cannot be read: {error}") from error
            if news := [thread for thread in waiting if thread not in self._told][:most]:
                self._told |= dict.fromkeys(news, now)
                return [Ring(thread) for thread in news]
            await self._clock.sleep(LOOK_SECONDS)
        return []

    async def acknowledge(self, ring: Ring) -> None:
        """Do nothing: what was taken out of the inbox rings no more."""

    async def close(self) -> None:
        """Do nothing: nothing is held."""
