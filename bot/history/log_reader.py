"""Read the logs of threads for ``bot/history/summaries.py``; finished executions are read once, since they never
change.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterable

from agentic.core.events.execution_events import Envelope
from agentic.ports.errors import StoreError
from agentic.ports.runtime import ExecutionRow, Store
from bot.history.summaries import (
    Cost,
    Trend,
    cost_of,
    is_tour,
    trend,
    with_learning,
)

KEPT = 2_000
"""Number of executions whose costs stay in memory."""

log = logging.getLogger(__name__)


class Records:
    """Reads the logs of threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._costs: OrderedDict[str, Cost] = OrderedDict()

    async def log(self, execution: str) -> list[Envelope]:
        """Return one execution's events. Raises ``StoreError``."""
        return [envelope async for envelope in self._store.read(execution)]

    async def helper(self, child: str) -> list[Envelope]:
        """Return the events of a helper, [] where its log is damaged or deleted."""
        try:
            return await self.log(child)
        except StoreError as damaged:
            log.warning("helper %s is left out: %s", child, damaged)
            return []

    async def newest(self, thread: str) -> list[Envelope]:
        """Return the events of a thread's newest execution, [] where there was none. Raises ``StoreError``."""
        rows = await self._store.executions(thread)
        return await self.log(rows[-1].execution) if rows else []

    async def logs(self, thread: str) -> list[list[Envelope]]:
        """Return the log of every execution of a thread, oldest first; a damaged one is left out and reported in the
        program's log.
        """
        found: list[list[Envelope]] = []
        for row in await self._store.executions(thread):
            try:
                found.append(await self.log(row.execution))
            except StoreError as damaged:
                log.warning("execution %s is left out: %s", row.execution, damaged)
        return found

    async def streams(self, thread: str) -> tuple[list[list[Envelope]], list[list[Envelope]]]:
        """Return every execution's log and its outcome stream, oldest first, without tours."""
        logs = [log for log in await self.logs(thread) if log and not is_tour(log)]
        return logs, [await self._store.read_outcome(log[0].execution) for log in logs]

    async def costs(self, threads: Iterable[str], limit: int = 500) -> list[Cost]:
        """Return the costs of the newest executions of these threads, oldest first."""
        rows: list[ExecutionRow] = []
        for thread in threads:
            rows += await self._store.executions(thread)
        rows.sort(key=lambda row: row.started_at.timestamp() if row.started_at else 0.0)
        found = [await self._cost(row) for row in rows[-limit:]]
        return sorted((cost for cost in found if cost is not None), key=lambda cost: cost.at)

    async def trends(self, thread: str) -> list[Trend]:
        """Return the confidence of each execution of the thread, oldest first."""
        return [trend(log, outcome) for log, outcome in zip(*await self.streams(thread), strict=True)]

    async def _cost(self, row: ExecutionRow) -> Cost | None:
        try:
            cost = self._costs.get(row.execution) or cost_of(await self.log(row.execution))
            if cost is None or not row.finished:
                return cost
            self._costs[row.execution] = cost
            while len(self._costs) > KEPT:
                self._costs.popitem(last=False)
            return with_learning(cost, await self._store.read_outcome(row.execution))  # it may still grow
        except StoreError as damaged:
            log.warning("execution %s is left out: %s", row.execution, damaged)
            return None
