"""Which tasks home shows to somebody, and what the tasks cost that they may see."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from agentic.core.events.ids import is_child
from agentic.ports.runtime import ExecutionRow, SessionRow
from bot.console.access.viewer import Viewer
from bot.console.console_context import Console
from bot.console.overall.figures.spend_report import SpendingReport, monday_of, spending_of
from bot.console.overall.figures.task_summary import TaskSummary

FINISHED = 50
"""Tasks on a page."""
OPEN = 200
"""Open tasks that are looked at."""
LOOKED_THROUGH = 3_000
"""Tasks that are looked at for somebody who may not see all of them."""
WAIT_SECONDS = 0.15
"""So long a page waits for figures; the next update has the others."""
SLACK = timedelta(days=14)
"""A task that began so long before the week, and ended in it, still counts in the week."""
TITLE = 160


@dataclass(frozen=True, slots=True)
class ListedTask:
    """A line of a list; ``summary`` is None until it was worked out."""

    execution: str
    thread: str
    title: str
    where: str
    """The thread's title where that is not the task's own words, and the server."""
    began: datetime | None
    finished: str
    summary: TaskSummary | None

    @property
    def state(self) -> str:
        """A word for the style."""
        return self.summary.state if self.summary is not None else self.finished or "running"

    @property
    def words(self) -> str:
        """What it does, in words."""
        return self.summary.words if self.summary is not None else self.state.replace("_", " ").capitalize()


@dataclass(frozen=True, slots=True)
class HomeLists:
    """The lists of home. ``more`` open tasks are not shown; ``older``: there is another page of what has finished."""

    needs: tuple[ListedTask, ...]
    running: tuple[ListedTask, ...]
    finished: tuple[ListedTask, ...]
    more: int
    older: bool
    missing: int
    """Tasks whose figures are being worked out."""
    guilds: frozenset[str]
    """The servers of these tasks, '' for direct messages."""


class VisibleThreads:
    """What somebody sees, asked once a thread."""

    def __init__(self, console: Console, viewer: Viewer) -> None:
        self._console, self._viewer = console, viewer
        self._seen: dict[str, bool] = {}
        self.sessions: dict[str, SessionRow | None] = {}

    async def __call__(self, thread: str) -> bool:
        """Whether they see a thread."""
        if thread not in self._seen:
            self.sessions[thread] = session = await self._console.store.session(thread)
            self._seen[thread] = await self._console.sees(self._viewer, session)
        return self._seen[thread]


async def home_lists(console: Console, viewer: Viewer, page: int = 0) -> HomeLists:
    """The tasks that somebody may see; ``page`` 0 has those that finished last. Raises ``StoreError``."""
    sees = VisibleThreads(console, viewer)
    rows = [row for row in reversed(await console.store.open_executions()) if not is_child(row.execution)]
    seen, unknown = await seen_of(console, viewer, [row.thread for row in rows])
    rows = [row for row in rows if row.thread in seen]
    opened, more = [row for row in rows[:OPEN] if await sees(row.thread)], max(len(rows) - OPEN, 0)
    ended, older = await _finished(console, viewer, sees, page)
    missing = await console.summaries.read([*opened, *ended], WAIT_SECONDS)
    listed = [_listed(console, row, sees.sessions[row.thread]) for row in opened]
    needs = [task for task in listed if task.summary is not None and task.summary.needs]
    return HomeLists(
        needs=tuple(sorted(needs, key=lambda task: task.summary.since or _NEVER if task.summary else _NEVER)),
        running=tuple(task for task in listed if task not in needs),
        finished=tuple(
            sorted((_listed(console, row, sees.sessions[row.thread]) for row in ended), key=_ended_at, reverse=True)
        ),
        more=more,
        older=older,
        missing=missing + len(unknown),
        guilds=frozenset(each.guild for row in (*opened, *ended) if (each := sees.sessions[row.thread]) is not None),
    )


_NEVER = datetime.max.replace(tzinfo=UTC)


def _ended_at(task: ListedTask) -> datetime:
    """When a task ended, or began, where its end is not known yet: the time that its line shows."""
    return (task.summary.since if task.summary is not None else None) or task.began or _NEVER


async def _finished(
    console: Console, viewer: Viewer, sees: VisibleThreads, page: int
) -> tuple[list[ExecutionRow], bool]:
    """A page of tasks that have finished, the last to begin first, and whether there is another."""
    wanted, limit, looked = (page + 1) * FINISHED, (page + 2) * FINISHED, 0
    found: list[ExecutionRow] = []
    while True:
        rows = await console.store.newest_executions(limit)
        unseen = rows[: len(rows) - looked][::-1]
        found += [row for row in unseen if row.finished and await sees(row.thread)]
        looked = len(rows)
        if len(found) > wanted or looked < limit or (not viewer.everything and looked >= LOOKED_THROUGH):
            return found[page * FINISHED : wanted], len(found) > wanted
        limit *= 2


def _listed(console: Console, row: ExecutionRow, session: SessionRow | None) -> ListedTask:
    said = " ".join(console.discretion.text(row.task[:2_000]).split())
    named = console.discretion.text(session.title) if session is not None else ""
    server = f"server {session.guild}" if session is not None and session.guild else "direct messages"
    where = f"{named[:80]} · {server}" if named and not said.startswith(named.rstrip("…. ")) else server
    title = said if len(said) <= TITLE else f"{said[:TITLE].rstrip()}…"
    return ListedTask(
        row.execution, row.thread, title or named or "(no words)", where, row.started_at, row.finished,
        console.summaries.known(row) or console.summaries.latest(row.execution),
    )  # fmt: skip


async def seen_of(console: Console, viewer: Viewer, threads: Iterable[str]) -> tuple[set[str], set[str]]:
    """Of these threads those that somebody sees, and those that were not looked at yet: for sums. Raises ``StoreError``."""
    wanted = set(threads)
    if viewer.everything:
        return wanted, set()
    return await console.sight.among(viewer.person, wanted, WAIT_SECONDS)


async def spending(console: Console, viewer: Viewer) -> tuple[SpendingReport, int]:
    """What tasks that somebody may see cost this week, and how many tasks are not in it yet. Raises ``StoreError``."""
    now = datetime.now(UTC)
    key = viewer.person.id, viewer.everything, now.date(), console.logs.mark
    if (known := console.sums.get(key)) is not None:
        return known, 0
    rows = await console.summaries.since(datetime.combine(monday_of(now.date()), time(), UTC) - SLACK)
    missing = await console.summaries.read(rows, WAIT_SECONDS)
    found = [each for row in rows if (each := console.summaries.latest(row.execution)) is not None]
    seen, left = await seen_of(console, viewer, (each.thread for each in found))
    report = await asyncio.to_thread(spending_of, [each for each in found if each.thread in seen], now.date())
    if not missing and not left:
        console.sums.put(key, report)
    return report, missing + len(left)
