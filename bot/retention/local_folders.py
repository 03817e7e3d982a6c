"""Folders of deleted threads on the disks of machines that were not told of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from agentic.ports.errors import AgenticError
from agentic.ports.stores import Sessions

EVERY_SECONDS = 3_600.0

log = logging.getLogger(__name__)


class LocalFolders:
    """Looks from time to time whether the threads that have a folder here are still there, and forgets those that are not."""

    def __init__(
        self, threads: Callable[[], Sequence[str]], sessions: Sessions, forget: Callable[[str], Awaitable[None]]
    ) -> None:
        self._threads, self._sessions, self._forget = threads, sessions, forget

    async def run(self) -> None:
        """Look, until cancelled."""
        while True:
            await asyncio.sleep(EVERY_SECONDS)
            try:
                await self.round()
            except (AgenticError, OSError) as error:
                log.warning("folders of deleted threads stay for now: %s", error)

    async def round(self) -> None:
        """Forget what belongs to deleted threads. Raises ``StoreError`` and ``OSError``."""
        for thread in await asyncio.to_thread(self._threads):
            if await self._sessions.session(thread) is None:
                await self._forget(thread)
                log.info("what was kept here of the deleted thread %s is gone", thread)
