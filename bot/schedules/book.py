"""The schedules that are kept: read, changed as they were read, and announced to whoever waits for them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agentic.ports.schedules import ScheduleRow, Schedules
from bot.schedules.schedule import ScheduledTask, as_row, from_row

TRIES = 5
"""So often a change is made anew because somebody else's came first."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Entry:
    """A schedule as it was read."""

    schedule: ScheduledTask
    revision: int


class ScheduleBook:
    """All schedules, over the store."""

    def __init__(self, store: Schedules) -> None:
        self._store = store
        self.changed = asyncio.Event()
        """Something was changed since whoever waits last looked."""

    async def add(self, schedule: ScheduledTask) -> bool:
        """Keep a new one; False where there is one with its id."""
        kept = await self._store.put_schedule(as_row(schedule))
        self.changed.set()
        return kept is not None

    async def entry(self, id: str) -> Entry | None:
        """One of them; None where there is none, or where it cannot be read."""
        row = await self._store.schedule(id)
        return _entry(row) if row is not None else None

    async def schedules(self, *, guild: str = "", person: str = "", thread: str = "") -> list[ScheduledTask]:
        """Those of a server, a person, a thread, in the order in which they were made."""
        rows = await self._store.schedules(guild=guild, person=person, thread=thread)
        return [entry.schedule for row in rows if (entry := _entry(row)) is not None]

    async def put(self, schedule: ScheduledTask, revision: int) -> Entry | None:
        """Keep a changed one; None where it was changed or deleted meanwhile."""
        row = await self._store.put_schedule(as_row(schedule, revision))
        return Entry(schedule, row.revision) if row is not None else None

    async def change(self, id: str, change: Callable[[ScheduledTask], ScheduledTask]) -> ScheduledTask | None:
        """Change one as it is now; None where it is gone."""
        for _ in range(TRIES):
            entry = await self.entry(id)
            if entry is None:
                return None
            kept = await self.put(change(entry.schedule), entry.revision)
            if kept is not None:
                self.changed.set()
                return kept.schedule
        return None

    async def delete(self, ids: Sequence[str]) -> None:
        """Forget them."""
        await self._store.delete_schedules(ids)
        self.changed.set()


def _entry(row: ScheduleRow) -> Entry | None:
    schedule = from_row(row)
    if schedule is None:
        log.error("schedule %s cannot be read: it is damaged, or of a newer version; it is left alone", row.id)
        return None
    return Entry(schedule, row.revision)


def entries(rows: Sequence[ScheduleRow]) -> list[Entry]:
    """Return those that can be read."""
    return [entry for row in rows if (entry := _entry(row)) is not None]
