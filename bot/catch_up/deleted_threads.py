"""What is kept of threads that are no more: logs, files, copies, messages; also where a thread went while nobody listened.

Discord tells of a deleted thread only who listens in that moment, so at each start some threads are asked for, those after
the last that was asked for at the start before.  The session is the last that goes: a process that dies before that looks
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
from bot.outbound.progress_messages import ProgressMessages
from bot.retention.expiry import Retention

ASKED_FOR = 100
"""So many threads are asked for at a start."""
LOOKED = "sweeping: looked for"
"""The fact that names the thread that was asked for last."""
PAUSE = 1.0
"""Seconds between two of them: whoever waits for an answer goes first."""

log = logging.getLogger(__name__)


class Sweeping:
    """Deletes what is kept of threads that are no more, for as long as ``run`` runs."""

    def __init__(
        self, client: discord.Client, store: Store, desk: DiscordApi, board: ProgressMessages, retention: Retention,
        forget: Callable[[str], Awaitable[None]] | None,
    ) -> None:  # fmt: skip
        self._client, self._store, self._desk, self._board = client, store, desk, board
        self._retention, self._forget_workspace = retention, forget
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
        """The threads to be asked for now."""
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
        """Whether Discord says so; a thread that is only not to be seen now is there."""
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
