"""Delete what is kept of deleted threads (logs, files, copies, messages), also of those deleted while the bot was
offline.

Discord reports a deleted thread only to connected bots, so at each start some threads are asked for, continuing after
the last one asked for at the start before. The session row is deleted last: a process that ends before that tries
again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import discord

from agentic.ports.errors import AgenticError, StoreError
from agentic.ports.runtime import Store
from bot.catch_up.access_monitor import UNKNOWN_CHANNEL
from bot.outbound.discord_api import DiscordApi, Gone, Held, Unfit
from bot.outbound.live.progress_messages import ProgressMessages
from bot.retention.expiry import Retention

ASKED_FOR = 100
"""Number of threads to ask for at a start."""
LOOKED = "sweeping: looked for"
"""The stored fact that names the last thread asked for."""
PAUSE = 1.0
"""Seconds between two of these requests, so that people's requests go first."""

log = logging.getLogger(__name__)


class Sweeping:
    """Deletes what is kept of deleted threads while ``run`` runs."""

    def __init__(
        self, client: discord.Client, store: Store, desk: DiscordApi, board: ProgressMessages, retention: Retention,
        forget: Callable[[str], Awaitable[None]] | None,
    ) -> None:  # fmt: skip
        self._client, self._store, self._desk, self._board = client, store, desk, board
        self._retention, self._forget_workspace = retention, forget
        self._gone: asyncio.Queue[str] = asyncio.Queue()

    def gone(self, thread: str) -> None:
        """Note that a thread was deleted."""
        self._gone.put_nowait(thread)

    async def run(self) -> None:
        """Delete until cancelled."""
        looking = asyncio.create_task(self._look(), name="looking for deleted threads")
        try:
            while True:
                await self._forget(await self._gone.get())
        finally:
            looking.cancel()

    async def _forget(self, thread: str) -> None:
        """Delete a thread once nothing runs there, because an ending execution still writes."""
        if self._forget_workspace is None:
            return
        try:
            await self._forget_workspace(thread)
            self._retention.poke()
        except (AgenticError, OSError) as error:
            log.warning("what is kept of thread %s could not be deleted: %s", thread, error)

    async def _look(self) -> None:
        await self._client.wait_until_ready()
        try:
            for thread in await self._next():
                if await self._is_gone(thread):
                    log.info("thread %s was deleted while nobody listened", thread)
                    self.gone(thread)
                await self._store.set_fact(LOOKED, thread)
        except StoreError as error:
            log.warning("which threads were deleted is looked for at the next start: %s", error)

    async def _next(self) -> list[str]:
        """Return the threads to ask for now."""
        looked = await self._store.fact(LOOKED) or ""
        found: dict[str, None] = {}
        for after in (looked, ""):  # after the last one the first comes again
            async for row in self._store.sessions(after):
                if len(found) == ASKED_FOR or row.thread in found:
                    return [*found]
                if row.guild:
                    found[row.thread] = None
        return [*found]

    async def _is_gone(self, thread: str) -> bool:
        """Whether Discord says that the thread is deleted; one that only cannot be seen now is not."""
        row = await self._store.session(thread)
        guild = self._client.get_guild(int(row.guild)) if row is not None and row.guild else None
        if guild is None or guild.unavailable or guild.get_thread(int(thread)) is not None:
            return False
        await asyncio.sleep(PAUSE)
        try:
            await self._desk.look(thread, lambda _: self._client.fetch_channel(int(thread)))
        except Held as held:
            return held.code == UNKNOWN_CHANNEL and await self._board.stands_in(thread)
        except (Gone, Unfit):
            return False
        return False
