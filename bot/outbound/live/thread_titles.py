"""The titles that models offer for threads, each given once, and only in the place of a name that the bot itself gave.

A rename may have to wait for minutes, since Discord allows two in ten: so it goes beside all else that a thread says.  Which
threads wait for one is kept in the store, where the next process looks; the title itself stands in one place, the fact
``named``, so that who erases it there has erased it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import replace
from typing import cast

from agentic.core.audit.erasure import ERASED
from agentic.ports.errors import StoreError
from agentic.ports.runtime import SessionRow, Store
from bot.outbound.discord_api import PLAIN_TITLE, REFUSALS, DiscordApi, Gone, Held, Unfit
from bot.ports.conversation import named_fact

DUE = "titles.due"
"""The fact with the threads whose titles are still to be given."""
AGAIN_SECONDS = 30.0
"""How long at least a title waits that Discord or the store did not take; twice as long after each further time."""
TRIES = 8
"""So often a thread is renamed at most, over about an hour: then it keeps its name."""
AT_ONCE = 4
"""Threads that are renamed at the same time."""

log = logging.getLogger(__name__)


class ThreadTitles:
    """Gives threads their titles for as long as ``run`` runs."""

    def __init__(self, store: Store, desk: DiscordApi) -> None:
        self._store, self._desk = store, desk
        self._queue: asyncio.Queue[tuple[str, int]] = asyncio.Queue()
        """Threads, and how often each was tried."""
        self._noting = asyncio.Lock()

    async def wanted(self, session: SessionRow) -> bool:
        """Whether the bot made the thread, nobody named it, and no task had the chance to.  Raises ``StoreError``."""
        if not session.channel or await self._store.fact(named_fact(session.thread)) is not None:
            return False
        return self._desk.may_bear(session.thread, await self._given(session))

    async def expect(self, thread: str, title: str) -> None:
        """Keep a title that is to be given, or with '' that none came; what the thread had before stays.

        Raises ``StoreError``.  Whoever was interrupted in this may repeat it.
        """
        if await self._store.fact(named_fact(thread)) not in (None, title):
            return
        await self._store.set_fact(named_fact(thread), title)
        if title:
            await self._note(thread, due=True)
            self._queue.put_nowait((thread, 0))

    async def run(self) -> None:
        """Give titles until cancelled, also those that an earlier process left."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._inherit(), name="titles of an earlier process")
            for number in range(AT_ONCE):
                group.create_task(self._work(), name=f"titles, {number}")

    async def _inherit(self) -> None:
        while True:
            try:
                for thread in await self._due():
                    self._queue.put_nowait((thread, 0))
            except StoreError as error:
                log.warning("which titles are to be given cannot be read now: %s", error)
                await asyncio.sleep(AGAIN_SECONDS)
            else:
                return

    async def _work(self) -> None:
        while True:
            thread, tries = await self._queue.get()
            try:
                await self._give(thread, last=tries + 1 >= TRIES)
            except (Held, StoreError) as error:
                log.info("thread %s keeps its name for now: %s", thread, error)
                if tries + 1 < TRIES:
                    wait = max(error.seconds if isinstance(error, Held) else 0.0, AGAIN_SECONDS * 2**tries)
                    asyncio.get_running_loop().call_later(wait, self._queue.put_nowait, (thread, tries + 1))

    async def _give(self, thread: str, *, last: bool) -> None:
        try:
            await self._rename(thread)
        except (Gone, Unfit) as problem:
            log.info("thread %s keeps its name: %s", thread, problem or "it is gone")
        except Held as held:
            if held.code not in REFUSALS and not last:
                raise
            log.info("thread %s keeps its name: %s", thread, held)
        await self._note(thread, due=False)

    async def _rename(self, thread: str) -> None:
        """Rename it unless people did, or erased its title; raises ``Held`` where that is to be tried later."""
        session, title = await self._store.session(thread), await self._title(thread)
        if session is None or not title:
            return
        done = await self._desk.rename(thread, title, await self._given(session))
        latest = await self._store.session(thread)
        if not done or latest is None or await self._title(thread) != title:
            return
        await self._store.save_session(replace(latest, title=title))
        if await self._title(thread) != title:  # it was erased just now
            await self._store.save_session(replace(latest, title=ERASED))

    async def _title(self, thread: str) -> str:
        """The title that a thread is to have, '' for none."""
        title = await self._store.fact(named_fact(thread)) or ""
        return "" if title == ERASED else title

    async def _given(self, session: SessionRow) -> set[str]:
        """The names that the bot gave a thread."""
        return {session.title, PLAIN_TITLE, await self._store.fact(f"titled: {session.thread}") or PLAIN_TITLE}

    async def _due(self) -> list[str]:
        return _threads_in(await self._store.fact(DUE))

    async def _note(self, thread: str, *, due: bool) -> None:
        """Keep that a thread waits for its title, or that it does so no more."""
        async with self._noting:
            noted = False
            while not noted:  # another process may note something in this moment
                kept = await self._store.fact(DUE)
                others = [known for known in _threads_in(kept) if known != thread]
                after = json.dumps([*others, thread] if due else others)
                noted = await self._store.swap_fact(DUE, kept, after)


def _threads_in(kept: str | None) -> list[str]:
    return list(cast("list[str]", json.loads(kept or "[]")))
