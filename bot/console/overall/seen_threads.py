"""Whether somebody sees a thread, remembered for a minute: for sums over many tasks alone.

What a page shows of a single thread is always asked anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

REMEMBERED_SECONDS = 60.0
MOST = 50_000


class SeenThreads:
    """What was asked in the last minute."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], tuple[float, bool]] = {}

    async def among(
        self, person: str, threads: Iterable[str], ask: Callable[[str], Awaitable[bool]], seconds: float
    ) -> tuple[set[str], set[str]]:
        """Threads that a person sees, and those that there was no time to ask for within so many seconds."""
        clock = asyncio.get_running_loop().time
        end = clock() + seconds
        seen, left = set[str](), set[str]()
        if len(self._seen) > MOST:
            self._seen.clear()
        for thread in threads:
            asked, sees = self._seen.get((person, thread), (-REMEMBERED_SECONDS, False))
            if clock() - asked >= REMEMBERED_SECONDS:
                if clock() > end:
                    left.add(thread)
                    continue
                sees = await ask(thread)
                self._seen[person, thread] = clock(), sees
            if sees:
                seen.add(thread)
        return seen, left
