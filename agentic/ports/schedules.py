"""What is to happen at a set time: rows that say when they want to be looked at, and what they hold is the reader's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

__all__ = ["ScheduleRow", "Schedules"]


@dataclass(frozen=True, slots=True)
class ScheduleRow:
    """A schedule; ``body`` is written and read by ``bot/schedules`` alone."""

    id: str
    guild: str
    person: str
    """Who made it."""
    thread: str
    """The thread that it belongs to, '' for none."""
    due: datetime | None
    """When it is to be looked at, None for not by itself."""
    body: str
    revision: int = 0
    """Counts the times it was kept; 0 for one that never was."""


class Schedules(Protocol):
    """Schedules, each changed only as it was read."""

    async def put_schedule(self, row: ScheduleRow) -> ScheduleRow | None:
        """Keep it in the place of the revision it was read at, and return it as it is now.

        None, and nothing is kept, where it was changed or deleted meanwhile; a new one, where its id is taken.
        """
        ...

    async def schedule(self, id: str) -> ScheduleRow | None:
        """One of them."""
        ...

    async def schedules(self, *, guild: str = "", person: str = "", thread: str = "") -> list[ScheduleRow]:
        """All of them, or a server's, a person's, a thread's, in the order in which they were made."""
        ...

    async def schedules_due(self, by: datetime) -> list[ScheduleRow]:
        """Those that are to be looked at by then, the earliest first."""
        ...

    async def delete_schedules(self, ids: Sequence[str]) -> None:
        """Forget them."""
        ...
