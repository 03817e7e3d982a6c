"""The titles that models offer for threads, each given once, and only in the place of a name that the bot itself gave.

A rename may have to wait for minutes, since Discord allows two in ten: so it goes beside all else that a thread says.  What is
still to be given is kept in the store, where the next process looks.
"""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import replace
from typing import cast

from agentic.ports.errors import StoreError
from agentic.ports.runtime import Store
from bot.outbound.discord_api import ARCHIVED, NO_RIGHT, PLAIN_TITLE, DiscordApi, Gone, Held, Unfit
from bot.ports.conversation import named_fact

DUE = "titles.due"
"""The fact with the titles that are still to be given, by thread."""
AGAIN_SECONDS = 30.0
"""How long at least a title waits that Discord or the store did not take."""
_FINAL = (NO_RIGHT, ARCHIVED)
"""Refusals that waiting does not change."""

log = logging.getLogger(__name__)


class ThreadTitles:
    """Gives threads their titles for as long as ``run`` runs."""

    def __init__(self, store: Store, desk: DiscordApi) -> None:
        self._store, self._desk = store, desk
        self._queue: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        self._noting = asyncio.Lock()

    async def expect(self, thread: str, title: str) -> None:
        """Keep a title that is to be given; a thread that had one already keeps that.  Raises ``StoreError``."""
        if await self._store.fact(named_fact(thread)) is not None:
            return
        await self._note(thread, title)
        await self._store.set_fact(named_fact(thread), title)
        self._queue.put_nowait((thread, title))

    async def run(self) -> None:
        """Give titles until cancelled; first those that an earlier process left."""
        try:
            for due in (await self._due()).items():
                self._queue.put_nowait(due)
        except StoreError as error:
            log.warning("which titles are to be given cannot be read: %s", error)
        async with asyncio.TaskGroup() as group:
            while True:
                thread, title = await self._queue.get()
                group.create_task(self._give(thread, title), name=f"title of {thread}")

    async def _give(self, thread: str, title: str) -> None:
        while True:
            try:
                await self._rename(thread, title)
                await self._note(thread, "")
            except Held as held:
                log.info("thread %s keeps its name for now: %s", thread, held)
                await asyncio.sleep(max(held.seconds, AGAIN_SECONDS))
            except StoreError as error:
                log.warning("the title of thread %s waits: %s", thread, error)
                await asyncio.sleep(AGAIN_SECONDS)
            else:
                return

    async def _rename(self, thread: str, title: str) -> None:
        """Rename it unless people did; raises ``Held`` where that is to be tried later."""
        session = await self._store.session(thread)
        if session is None:
            return
        given = {session.title, PLAIN_TITLE, await self._store.fact(f"titled: {thread}") or PLAIN_TITLE}
        try:
            done = await self._desk.rename(thread, title, given)
        except (Gone, Unfit) as problem:
            log.info("thread %s keeps its name: %s", thread, problem or "it is gone")
            return
        except Held as held:
            if held.code in _FINAL:
                log.info("thread %s keeps its name: %s", thread, held)
                return
            raise
        latest = await self._store.session(thread)
        if done and latest is not None:
            await self._store.save_session(replace(latest, title=title))

    async def _due(self) -> dict[str, str]:
        return cast("dict[str, str]", json.loads(await self._store.fact(DUE) or "{}"))

    async def _note(self, thread: str, title: str) -> None:
        """Keep that a title is to be given; '' that none is any more."""
        async with self._noting:
            due = {known: what for known, what in (await self._due()).items() if known != thread}
            await self._store.set_fact(DUE, json.dumps(due | {thread: title} if title else due))
