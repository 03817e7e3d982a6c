"""Summaries of many tasks, each worked out once and again when its log has grown.

Reading a log costs milliseconds, and there may be thousands: they are worked out one after the other beside the pages,
those that a page shows first, so that a page shows what is known and is completed by its next update.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from agentic.core.events.execution_events import Envelope
from agentic.core.events.ids import is_child
from agentic.core.fold.fold import evolve
from agentic.core.state.execution import Execution
from agentic.ports.errors import AgenticError, StoreUnavailable
from agentic.ports.runtime import ExecutionRow, Store
from bot.console.logs.log_cache import LogCache
from bot.console.overall.figures.task_summary import TaskSummary, summary_of
from bot.console.overall.remembered import Remembered
from bot.history.cost_summary import PriceOf

MOST = 20_000
"""Summaries that are kept, and tasks that wait for theirs."""
AT_ONCE = 100
"""Events that are taken in before pages have their turn."""
LEARNING = timedelta(minutes=10)
"""So long after its end a task may still cost something, since lessons are drawn from it."""
AGAIN = timedelta(seconds=30)
ROWS_SECONDS = 8.0
"""So long the list of a time is taken as it was."""

log = logging.getLogger(__name__)


class TaskSummaries:
    """Works them out while somebody asks for them."""

    def __init__(self, store: Store, logs: LogCache, price: PriceOf) -> None:
        self._store, self._logs, self._price = store, logs, price
        self._known: OrderedDict[str, tuple[tuple[int, str], datetime, TaskSummary]] = OrderedDict()
        self._wanted: OrderedDict[str, ExecutionRow] = OrderedDict()
        self._worker: asyncio.Task[None] | None = None
        self._progress = asyncio.Condition()
        self._since = Remembered[list[ExecutionRow]](ROWS_SECONDS)
        self._mark = logs.mark
        """The last erasure that these were worked out after."""

    def known(self, row: ExecutionRow) -> TaskSummary | None:
        """A summary that is up to date, None where it has to be worked out."""
        found = self._known.get(row.execution)
        if found is None or found[0][0] < row.head or found[0][1] != (row.finished or found[0][1]):
            return None
        _, read, summary = found
        learning = bool(row.finished) and summary.since is not None and read - summary.since < LEARNING
        return None if learning and datetime.now(UTC) - read > AGAIN else summary

    def latest(self, execution: str) -> TaskSummary | None:
        """A summary that may be a few events behind."""
        found = self._known.get(execution)
        return found[2] if found is not None else None

    async def read(self, rows: Sequence[ExecutionRow], seconds: float) -> int:
        """Work out what is not up to date of these tasks, the first one first.

        Returns of how many nothing is known after so many seconds.
        """
        if self._mark != self._logs.mark:
            self._known.clear()
            self._mark = self._logs.mark
        missing = {row.execution: row for row in rows if self.known(row) is None}
        for name, row in reversed(missing.items()):
            self._wanted[name] = row
            self._wanted.move_to_end(name, last=False)
        while len(self._wanted) > MOST:
            self._wanted.popitem()
        if missing and (self._worker is None or self._worker.done()):
            self._worker = asyncio.create_task(self._work(), name="console reads tasks")
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._progress:
                await self._progress.wait_for(lambda: not missing.keys() & self._wanted.keys())
        return sum(name not in self._known for name in missing)

    async def since(self, begin: datetime) -> list[ExecutionRow]:
        """The tasks that began since then, and older ones that are open, the newest first. Raises ``StoreError``."""
        key = begin, self._logs.mark
        if (known := self._since.get(key)) is not None:
            return known
        limit = 256
        while True:
            rows = await self._store.newest_executions(limit)
            first = rows[0].started_at if rows else None
            if len(rows) < limit or limit >= MOST or (first is not None and first < begin):
                break
            limit = min(limit * 4, MOST)
        young = [row for row in reversed(rows) if row.started_at is None or row.started_at >= begin]
        known_names = {row.execution for row in young}
        old = [row for row in await self._store.open_executions() if row.execution not in known_names]
        return self._since.put(key, [*young, *(row for row in old if not is_child(row.execution))])

    async def close(self) -> None:
        """Work out nothing more."""
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.gather(self._worker, return_exceptions=True)

    async def _work(self) -> None:
        while self._wanted:
            name, row = next(iter(self._wanted.items()))
            mark = self._logs.mark
            try:
                summary = await self._summary(row)
                if mark != self._logs.mark:
                    continue  # it is worked out once more
                self._known[name] = (max(summary.head, row.head), row.finished), datetime.now(UTC), summary
                self._known.move_to_end(name)
                if len(self._known) > MOST:
                    self._known.popitem(last=False)
            except StoreUnavailable as error:
                log.warning("task %s cannot be read now: %s", name, error)
            finally:
                if self._wanted.get(name) is row:
                    del self._wanted[name]
                async with self._progress:
                    self._progress.notify_all()

    async def _summary(self, row: ExecutionRow) -> TaskSummary:
        session = await self._store.session(row.thread)
        guild = session.guild if session is not None else ""
        name = row.execution, row.thread, guild
        try:
            if not row.finished:
                task = await self._logs.task(row.execution)
                if task is None:
                    return TaskSummary(*name, head=row.head)
                return summary_of(name, task.events, (), task.folded, self._price)
            events: list[Envelope] = []
            folded = Execution()
            async for envelope in self._store.read(row.execution):
                events.append(envelope)
                folded = evolve(folded, envelope)
                if len(events) % AT_ONCE == 0:
                    await asyncio.sleep(0)
            await asyncio.sleep(0)
            return summary_of(name, events, await self._store.read_outcome(row.execution), folded, self._price)
        except StoreUnavailable:
            raise
        except AgenticError as error:  # damaged, or too new: it stays so
            log.warning("task %s cannot be read: %s", row.execution, error)
            return TaskSummary(*name, head=row.head)
