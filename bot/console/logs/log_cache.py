"""Logs that were read stay in memory, the latest used ones, so that a page costs what is new."""

from __future__ import annotations

import asyncio
import gc
import time
from collections import OrderedDict
from dataclasses import replace
from weakref import WeakValueDictionary

from agentic.core.events.execution_events import Envelope
from agentic.ports.runtime import SessionRow, Store
from bot.console.logs.task_log import TaskLog, without_secrets
from bot.history.erasure_mark import erasure_mark
from bot.rendering.secrets import Discretion

EVENTS_KEPT = 80_000
"""Events of all logs together that stay in memory, besides the log that was used last."""
CHARACTERS_KEPT = 150_000_000
"""Characters of the texts in them, likewise."""
AT_ONCE = 100
"""So many events are taken in before others have their turn."""
FROZEN = 5_000
"""After so many events, what was read is kept out of the collector's sight: its look through all of a long log would halt
every page for half a second, and events, which have no cycles, go without it."""


class LogCache:
    """Reads logs of tasks, each once, and what was added since. A log that somebody holds is not read anew, kept or not.

    After an erasure all are read anew. ``rest``: seconds between two looks for one, where a look costs money.
    """

    def __init__(self, store: Store, discretion: Discretion, rest: float = 0.0) -> None:
        self._store, self._discretion, self._rest = store, discretion, rest
        self.mark = ""
        """The mark of the last erasure that is known: what was kept before is not shown."""
        self._looked = -rest
        self._logs: OrderedDict[str, TaskLog] = OrderedDict()
        self._held = WeakValueDictionary[str, TaskLog]()
        self._reading = WeakValueDictionary[str, asyncio.Lock]()

    async def look(self) -> str:
        """Let go of all logs where something was erased since the last look; the mark. Raises ``StoreError``."""
        now = time.monotonic()
        if now - self._looked >= self._rest:
            mark = await erasure_mark(self._store)
            self._looked = now
            if mark != self.mark:
                self.mark = mark
                self._logs.clear()
                self._held.clear()
        return self.mark

    async def task(self, execution: str) -> TaskLog | None:
        """A task's log as it is now; None where there is none. Raises ``StoreError``."""
        lock = self._reading.setdefault(execution, asyncio.Lock())  # kept by whoever waits for it
        async with lock:
            return await self._read(execution)

    async def _read(self, execution: str) -> TaskLog | None:
        mark = await self.look()
        row = await self._store.execution(execution)
        if row is None:
            self._logs.pop(execution, None)
            self._held.pop(execution, None)
            return None
        log = self._held.get(execution)
        if log is None or log.mark != mark:
            log = TaskLog(row, await self._session(row.thread), mark=mark)
        self._logs[execution] = self._held[execution] = log  # a reading that is broken off is continued by the next one
        if row.head > len(log.events):
            batch: list[Envelope] = []
            taken = 0
            async for envelope in self._store.read(execution, len(log.events)):
                batch.append(envelope)
                if len(batch) == AT_ONCE:
                    self._take(log, batch)
                    batch.clear()
                    taken += AT_ONCE
                    if taken % FROZEN == 0:
                        gc.collect(1)
                        gc.freeze()
                    await asyncio.sleep(0)
            self._take(log, batch)
        log.row = replace(row, task=log.row.task if row.task == log.said else self._discretion.text(row.task))
        log.said = row.task
        if row.finished:
            outcome = await self._store.read_outcome(execution)
            log.outcome = [without_secrets(envelope, self._discretion) for envelope in outcome]
        if mark != self.mark:  # something was erased meanwhile
            return log
        self._logs[execution] = log
        self._logs.move_to_end(execution)
        while len(self._logs) > 1 and self._too_much():
            self._logs.popitem(last=False)
        return log

    def _take(self, log: TaskLog, batch: list[Envelope]) -> None:
        try:
            log.take(batch, self._discretion)
        except Exception:  # it may be half taken in: nothing is added to such a log
            self._logs.pop(log.execution, None)
            self._held.pop(log.execution, None)
            raise

    def _too_much(self) -> bool:
        kept = self._logs.values()
        return sum(len(each.events) for each in kept) > EVENTS_KEPT or sum(each.size for each in kept) > CHARACTERS_KEPT

    async def _session(self, thread: str) -> SessionRow | None:
        session = await self._store.session(thread)
        return replace(session, title=self._discretion.text(session.title)) if session is not None else None
