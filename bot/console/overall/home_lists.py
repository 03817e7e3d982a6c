"""Which tasks home shows to somebody, and what the tasks cost that they may see."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from time import monotonic

from agentic.core.events.ids import is_child
from agentic.ports.runtime import ExecutionRow, SessionRow
from bot.console.access.viewer import Viewer
from bot.console.console_context import LIST_SECONDS, Console
from bot.console.overall.figures.spend_report import SpendingReport, monday_of, spending_of
from bot.console.overall.figures.task_summary import TaskSummary
from bot.console.overall.place_rights import PlaceRights

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
    named: str
    """The thread's title where that is not the task's own words, else ''."""
    guild: str
    """Its server's id, '' for direct messages."""
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
    """What waits for somebody, and whoever looks may do it; ``others``: what they may not."""
    others: tuple[ListedTask, ...]
    running: tuple[ListedTask, ...]
    finished: tuple[ListedTask, ...]
    more: int
    older: bool
    missing: int
    """Tasks whose figures are being worked out."""
    waits: bool
    """Of some tasks it is not known now whether they may be seen."""
    guilds: frozenset[str]
    """The servers of these tasks, '' for direct messages."""


class VisibleThreads:
    """What somebody sees in a list, asked for many threads at once and within ``LIST_SECONDS`` in all.

    ``waits``: of some it is not known now, so they are not shown yet.
    """

    def __init__(self, console: Console, viewer: Viewer) -> None:
        self._console, self._viewer = console, viewer
        self._until = monotonic() + LIST_SECONDS
        self._sessions: dict[str, SessionRow | None] = {}
        self.waits = False

    async def of(self, threads: Iterable[str]) -> set[str]:
        """Those that they see. Raises ``StoreError``."""
        seen, complete = await self._console.among(self._viewer, threads, max(self._until - monotonic(), 0.0))
        self.waits = self.waits or not complete
        return seen

    async def session(self, thread: str) -> SessionRow | None:
        """A thread with its title and its server."""
        if thread not in self._sessions:
            self._sessions[thread] = await self._console.store.session(thread)
        return self._sessions[thread]


async def home_lists(console: Console, viewer: Viewer, page: int = 0) -> HomeLists:
    """The tasks that somebody may see; ``page`` 0 has those that finished last. Raises ``StoreError``."""
    sees = VisibleThreads(console, viewer)
    rows = [row for row in reversed(await console.store.open_executions()) if not is_child(row.execution)]
    seen = await sees.of(row.thread for row in rows)
    rows = [row for row in rows if row.thread in seen]
    ended, older = await _finished(console, viewer, sees, page)
    missing = await console.summaries.read([*rows[:OPEN], *ended], WAIT_SECONDS)
    opened = [await _listed(console, row, sees) for row in rows[:OPEN]]
    waiting = [task for task in opened if task.summary is not None and task.summary.needs]
    rights, mine, others = PlaceRights(console, viewer), list[ListedTask](), list[ListedTask]()
    for task in sorted(waiting, key=lambda task: task.summary.since or _NEVER if task.summary else _NEVER):
        (mine if await rights.may_answer(task.summary) else others).append(task)
    sessions = [await sees.session(row.thread) for row in (*rows[:OPEN], *ended)]
    return HomeLists(
        needs=tuple(mine),
        others=tuple(others),
        running=tuple(task for task in opened if task not in waiting),
        finished=tuple(sorted([await _listed(console, row, sees) for row in ended], key=_ended_at, reverse=True)),
        more=max(len(rows) - OPEN, 0),
        older=older,
        missing=missing,
        waits=sees.waits,
        guilds=frozenset(each.guild for each in sessions if each is not None),
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
        unseen = [row for row in rows[: len(rows) - looked][::-1] if row.finished]
        seen = await sees.of(row.thread for row in unseen)
        found += [row for row in unseen if row.thread in seen]
        looked = len(rows)
        if len(found) > wanted or looked < limit or (not viewer.everything and looked >= LOOKED_THROUGH):
            return found[page * FINISHED : wanted], len(found) > wanted
        limit *= 2


async def _listed(console: Console, row: ExecutionRow, sees: VisibleThreads) -> ListedTask:
    session = await sees.session(row.thread)
    said = " ".join(console.discretion.text(row.task[:2_000]).split())
    named = console.discretion.text(session.title) if session is not None else ""
    own = named[:80] if named and not said.startswith(named.rstrip("…. ")) else ""
    title = said if len(said) <= TITLE else f"{said[:TITLE].rstrip()}…"
    return ListedTask(
        row.execution, row.thread, title or named or "(no words)", own, session.guild if session is not None else "",
        row.started_at, row.finished,
        console.summaries.known(row) or console.summaries.latest(row.execution),
    )  # fmt: skip


async def spending(console: Console, viewer: Viewer) -> tuple[SpendingReport, int, bool]:
    """What tasks that somebody may see cost this week, how many of these are not in it yet, and whether more may be theirs.

    Raises ``StoreError``.
    """
    now = datetime.now(UTC)
    key = viewer.person.id, viewer.everything, now.date(), console.logs.mark
    if (known := console.sums.get(key)) is not None:
        return known, 0, False
    sees = VisibleThreads(console, viewer)
    rows = await console.summaries.since(datetime.combine(monday_of(now.date()), time(), UTC) - SLACK)
    seen = await sees.of(row.thread for row in rows)
    rows = [row for row in rows if row.thread in seen]
    missing = await console.summaries.read(rows, WAIT_SECONDS)
    found = [each for row in rows if (each := console.summaries.latest(row.execution)) is not None]
    report = await asyncio.to_thread(spending_of, found, now.date())
    if not missing and not sees.waits:
        console.sums.put(key, report)
    return report, missing, sees.waits
