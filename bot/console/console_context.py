"""What every page of the console needs: the store, the logs, whoever looks, and how pages are written."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from time import monotonic
from urllib.parse import quote

from aiohttp import web

from agentic.core.events.execution_events import Level
from agentic.ports.errors import LogInvalid, StoreCorrupt, StoreError, StoreTooNew
from agentic.ports.runtime import ExecutionRow, SessionRow, Store
from bot.config.settings import Settings
from bot.console.access.browser_sessions import BrowserSessions
from bot.console.access.sight import Sight
from bot.console.access.viewer import Viewer
from bot.console.bot_channel import BotChannel
from bot.console.logs.file_versions import FileVersions
from bot.console.logs.followers import Followers
from bot.console.logs.log_cache import LogCache
from bot.console.logs.sent_requests import SentRequests
from bot.console.logs.task_log import TaskLog
from bot.console.overall.figures.spend_report import SpendingReport
from bot.console.overall.remembered import Remembered
from bot.console.overall.task_summaries import TaskSummaries
from bot.console.page_templates import Pages
from bot.console.place_names import PlaceNames
from bot.history.run_history import newest_task
from bot.rendering.secrets import Discretion
from reflexion.ports import LessonStore

Handler = Callable[["Console", web.Request, Viewer], Awaitable[web.StreamResponse]]
Route = tuple[str, str, Handler]
"""Method, path and what answers; the path in aiohttp's form."""

EXPORTS = 4
"""Files of whole tasks that are made at once."""
NO_THREAD = "0"
"""A thread that nobody has."""
LIST_SECONDS = 1.0
"""So long a list waits for what somebody may see; its next update has the rest."""
LISTS_SECONDS = 2.0
EVEN_SECONDS = 1.0
"""A refusal takes as long, or a multiple of it, whether or not Discord had to be asked."""
NO_TASK = "There is no such task, or you may not see it."


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """Passed to each handler."""

    settings: Settings
    store: Store
    lessons: LessonStore | None
    """None where lessons cannot be read."""
    logs: LogCache
    followers: Followers
    pages: Pages
    bot: BotChannel
    discretion: Discretion
    files: FileVersions
    sight: Sight
    sessions: BrowserSessions
    requests: SentRequests
    summaries: TaskSummaries
    names: PlaceNames
    sums: Remembered[SpendingReport]
    levels: Remembered[tuple[Level | None]]
    """What somebody may do in a server, by person and server."""
    lists: Remembered[str] = field(default_factory=lambda: Remembered(LISTS_SECONDS))
    """The lists of home as they were written for somebody a moment ago, however many pages of theirs are open."""
    exports: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(EXPORTS))
    """Taken by whatever makes a file of a whole task."""

    def rest(self, here: int, afar: int) -> int:
        """Seconds between two looks of an open page: here, and where each look costs money."""
        return afar if self.settings.aws_place else here

    async def sees(self, viewer: Viewer, session: SessionRow | None) -> bool:
        """Whether somebody may see what is said and done in a thread. Raises ``BotSilent``."""
        return viewer.everything or (session is not None and await self.sight.sees(viewer.person, session.thread))

    async def among(self, viewer: Viewer, threads: Iterable[str], seconds: float) -> tuple[set[str], bool]:
        """For lists: the threads of these that somebody sees, and whether that is known of all within so many seconds."""
        if viewer.everything:
            return set(threads), True
        return await self.sight.among(viewer.person, threads, seconds)

    async def row(self, viewer: Viewer, execution: str) -> ExecutionRow | None:
        """A task that somebody may see; None for any other, after the same work whether it is there or not.

        Raises ``BotSilent`` where that is not known now, whether it is there or not.
        """
        began = monotonic()
        row = await self.store.execution(execution)
        thread = row.thread if row is not None else NO_THREAD
        session = await self.store.session(thread)
        allowed = viewer.everything or (await self.sight.sees(viewer.person, thread) and session is not None)
        if not allowed:
            await self.evenly(viewer, began)
        return row if allowed else None

    async def listed(self, viewer: Viewer, execution: str) -> ExecutionRow | None:
        """A task that a list names to somebody; None also where it is not known now whether they may see it."""
        row = await self.store.execution(execution)
        seen = row is not None and (await self.among(viewer, [row.thread], LIST_SECONDS))[0]
        return row if seen else None

    async def session(self, request: web.Request, viewer: Viewer) -> SessionRow:
        """The thread in the path; one that somebody may not see answers as one that does not exist, after the same work."""
        began, thread = monotonic(), request.match_info["thread"]
        session = await self.store.session(thread)
        allowed = viewer.everything or await self.sight.sees(viewer.person, thread)
        if session is None or not allowed:
            await self.evenly(viewer, began)
            raise web.HTTPNotFound(text=NO_TASK)
        return session

    async def evenly(self, viewer: Viewer, began: float, parts: int = 1) -> None:
        """Wait until a whole second is over, or such a part of one.

        So somebody who may not see all learns nothing of the rest by the time it took.
        """
        if not viewer.everything and EVEN_SECONDS:
            step = EVEN_SECONDS / parts
            await asyncio.sleep(step - (monotonic() - began) % step)

    async def task(self, request: web.Request, viewer: Viewer) -> TaskLog:
        """The task in the path, or the newest one of its thread. Raises ``HTTPNotFound``, ``HTTPServiceUnavailable``."""
        session = await self.session(request, viewer)
        execution = request.match_info.get("execution", "")
        try:
            row = await self.store.execution(execution or await newest_task(self.store, session.thread))
            log = await self.logs.task(row.execution) if row is not None and row.thread == session.thread else None
        except StoreError as error:
            raise web.HTTPServiceUnavailable(text=unreadable(error)) from error
        if log is None or not log.events:
            raise web.HTTPNotFound(text=NO_TASK)
        log.session = replace(session, title=self.discretion.text(session.title))  # it may have got a title
        return log

    def page(self, name: str, viewer: Viewer, **values: object) -> web.Response:
        """A whole page from a template."""
        text = self.pages.render(name, viewer=viewer, **values)
        return web.Response(text=text, content_type="text/html")


def unreadable(error: Exception) -> str:
    """Say that something could not be read, and what to do."""
    if isinstance(error, StoreCorrupt | StoreTooNew | LogInvalid):
        return f"This can't be read: {error}."
    return f"The store doesn't answer now: {error}. Try again in a moment."


def task_path(log: TaskLog, tab: str = "") -> str:
    """The address of a task, or of a tab of it, on the console."""
    path = f"/t/{quote(log.row.thread)}/{quote(log.execution)}"
    return f"{path}/{tab}" if tab else path
