"""Copies of what stood in threads that are no more: they are deleted, also where the thread went while nobody listened.

Undo and checkpoints need the copies of a workspace as long as its thread is there.  Discord tells of a deleted thread
only who listens in that moment, so at each start some of the threads of which there are copies are asked for, those first
that were used longest ago.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from bot.posting import Gone, Held, Unfit
from bot.tending import UNKNOWN_CHANNEL

if TYPE_CHECKING:
    from bot.client import ThreadwrightBot

ASKED_FOR = 100
"""So many threads are asked for at a start."""
PAUSE = 1.0
"""Seconds between two of them: whoever waits for an answer goes first."""

log = logging.getLogger(__name__)


class Sweeping:
    """Deletes the copies of threads that are no more, for as long as ``run`` runs."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self._bot = bot
        self._gone: asyncio.Queue[str] = asyncio.Queue()

    def gone(self, thread: str) -> None:
        """A thread was deleted."""
        self._gone.put_nowait(thread)

    async def run(self) -> None:
        """Until cancelled."""
        looking = asyncio.create_task(self._look(), name="looking for deleted threads")
        try:
            while True:
                await self._forget(await self._gone.get())
        finally:
            looking.cancel()

    async def _forget(self, thread: str) -> None:
        """Once nothing runs there, for an end keeps a copy too."""
        if self._bot.backstage.forget is None:
            return
        try:
            await self._bot.backstage.forget(thread)
        except OSError as error:
            log.warning("the copies of thread %s could not be deleted: %s", thread, error)

    async def _look(self) -> None:
        workshop = self._bot.backstage.workshop
        if workshop is None or workshop.snapshots is None:
            return
        await self._bot.wait_until_ready()
        for thread in (await workshop.snapshots.threads())[:ASKED_FOR]:
            if await self._is_gone(thread):
                log.info("thread %s was deleted while nobody listened", thread)
                self.gone(thread)

    async def _is_gone(self, thread: str) -> bool:
        """Whether Discord says so; a thread that is only not to be seen now is there."""
        row = await self._bot.store.session(thread)
        guild = self._bot.get_guild(int(row.guild)) if row is not None and row.guild else None
        if guild is None or guild.unavailable or guild.get_thread(int(thread)) is not None:
            return False
        await asyncio.sleep(PAUSE)
        try:
            await self._bot.desk.look(thread, lambda _: self._bot.fetch_channel(int(thread)))
        except Held as held:
            return held.code == UNKNOWN_CHANNEL and await self._bot.board.stands_in(thread)
        except (Gone, Unfit):
            return False
        return False
