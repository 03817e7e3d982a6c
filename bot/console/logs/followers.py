"""Tasks that somebody watches: each is looked at by one follower, however many watch it.

Each view of a task is rendered once for all who watch it; a watcher that does not keep up is let go, and its browser
comes back for what it has missed.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from agentic.ports.errors import AgenticError
from bot.console.logs.log_cache import LogCache
from bot.console.logs.task_log import TaskLog

PAGES, PAGES_OF_ONE = 400, 250
"""Open pages that are kept up to date at once: all, and of one person. Fewer than connections, so that pages still open."""
WAITING = 64
"""Updates that wait for a watcher at most."""
RESTED_SECONDS = 2.0
"""How often a task is looked at that has ended, for what follows the end, or that cannot be read."""

WRITING, WRITING_SECONDS = ("thoughts", "terminal"), 1.0
"""Views that show what is being written just now, and how often it is asked for, once for all of them."""

LINE_END = re.compile(r"\r\n|\r|\n")
"""What ends a line of an event stream: a text of a log must not begin a field of its own."""

CHANGED = "What is kept of this task was erased or changed. The page was loaded again."
RELOAD = (
    '<hx-partial hx-target="#live-state" hx-swap="outerHTML">'
    f'<p id="live-state" role="status" data-reload="{CHANGED}">{CHANGED}</p></hx-partial>'
)
"""What an open page is told once it shows what is no more."""

Newest = Callable[[str], Awaitable[str]]
"""What an execution's command or model is writing just now, which is in no log yet, as a partial."""
Update = Callable[[TaskLog, int], str]
"""What is new on a page since so many events, as partials; '' for nothing."""

log = logging.getLogger(__name__)


class TooManyPages(Exception):
    """As many pages are kept up to date as may be."""


@dataclass(slots=True)
class Watcher:
    """One open page. ``updates`` ends with None once it cannot be kept up to date, or its session or task is no more."""

    session: str
    """The session of its browser; '' for none."""
    view: str
    since: int
    """Events of the log that the page has."""
    told: tuple[int, int] = (-1, 0)
    """Events and outcomes that it was told of last."""
    mark: str = ""
    """The mark of the log that the page shows."""
    due: float = 0.0
    """When it may be told again."""
    updates: asyncio.Queue[bytes | None] = field(default_factory=lambda: asyncio.Queue[bytes | None](WAITING + 2))

    def tell(self, update: bytes) -> bool:
        """Hand an update over; False where too many wait already."""
        if self.updates.qsize() >= WAITING:
            self.updates.put_nowait(None)
            return False
        self.updates.put_nowait(update)
        return True

    def end(self) -> None:
        """Have the page loaded again."""
        self.updates.put_nowait(event_of(RELOAD, 0))
        self.updates.put_nowait(None)


@dataclass(slots=True)
class _Followed:
    watchers: list[Watcher]
    tasks: Sequence[asyncio.Task[None]]
    ended: bool = False
    writing: bytes = b""
    """What is being written just now, as it was told last."""


class Followers:
    """Looks at watched tasks every ``look_seconds`` seconds. ``clock``: seconds that never run backwards."""

    def __init__(
        self, logs: LogCache, look_seconds: float, clock: Callable[[], float] = time.monotonic,
        newest: Newest | None = None,
    ) -> None:  # fmt: skip
        self._logs, self._look_seconds, self._clock, self._newest = logs, look_seconds, clock, newest
        self._followed: dict[str, _Followed] = {}
        self._views: dict[str, Update] = {}
        self._rests: dict[str, float] = {}
        self._open = Counter[str]()
        """How many pages each person has open."""
        self._firsts: dict[str, tuple[tuple[str, str, int, int, int], bytes]] = {}
        """What was rendered last of each view for a page that was just opened."""

    def add_view(self, name: str, update: Update, rest: float = 0.0) -> None:
        """Name what renders the updates of a view; ``rest``: seconds between two updates at least."""
        self._views[name], self._rests[name] = update, rest

    def knows(self, view: str) -> bool:
        """Whether there is a view of this name."""
        return view in self._views

    @property
    def watched(self) -> int:
        """How many pages are open."""
        return self._open.total()

    @asynccontextmanager
    async def watching(
        self, execution: str, view: str, since: int, mark: str | None = None, *, person: str = "", session: str = ""
    ) -> AsyncGenerator[Watcher]:
        """Follow a task for somebody; the first update has what is new since the event ``since``.

        ``mark`` is that of the log that the page shows: where something was erased since, all it gets is to load itself.
        Raises ``TooManyPages``, and ``StoreError`` where the task cannot be read now.
        """
        if self.watched >= PAGES or self._open[person] >= PAGES_OF_ONE:
            raise TooManyPages
        self._open[person] += 1
        try:
            async with self._watching(execution, Watcher(session, view, since), mark) as watcher:
                yield watcher
        finally:
            self._open[person] -= 1
            self._open += Counter[str]()  # forgets whoever has none

    @asynccontextmanager
    async def _watching(self, execution: str, watcher: Watcher, mark: str | None) -> AsyncGenerator[Watcher]:
        task = await self._logs.task(execution)
        if task is not None:
            watcher.mark = task.mark if mark is None else mark
        if task is None or _is_no_more(task, watcher):
            watcher.end()
            yield watcher
            return
        if first := self._missed(task, execution, watcher.view, watcher.since):
            watcher.tell(first)
        watcher.since, watcher.told = len(task.events), (len(task.events), len(task.outcome))
        followed = self._followed.get(execution)
        if followed is None:
            tasks = [asyncio.create_task(self._follow(execution), name=f"console follows {execution}")]
            followed = self._followed[execution] = _Followed([], tasks, task.ended)
            if self._newest is not None:
                hearing = self._hear(execution, followed, self._newest)
                tasks.append(asyncio.create_task(hearing, name=f"console hears {execution}"))
        followed.watchers.append(watcher)
        if followed.writing and watcher.view in WRITING:
            watcher.tell(followed.writing)
        try:
            yield watcher
        finally:
            if watcher in followed.watchers:
                followed.watchers.remove(watcher)
            if not followed.watchers and self._followed.get(execution) is followed:
                del self._followed[execution]
                for each in followed.tasks:
                    each.cancel()
                await asyncio.gather(*followed.tasks, return_exceptions=True)

    def end(self, session: str) -> None:
        """Follow nothing more for a session that has ended."""
        for followed in self._followed.values():
            for watcher in [each for each in followed.watchers if each.session == session]:
                followed.watchers.remove(watcher)
                watcher.updates.put_nowait(None)

    async def close(self) -> None:
        """Follow nothing more; whoever watches is told."""
        tasks = [task for followed in self._followed.values() for task in followed.tasks]
        for task in tasks:
            task.cancel()
        for followed in self._followed.values():
            for watcher in followed.watchers:
                watcher.updates.put_nowait(None)
        await asyncio.gather(*tasks, return_exceptions=True)
        self._followed.clear()

    async def _follow(self, execution: str) -> None:
        said = set[type[Exception]]()
        while True:
            try:
                task = await self._logs.task(execution)
                said.clear()
            except Exception as error:
                if type(error) not in said:  # once until it works again
                    said.add(type(error))
                    if isinstance(error, AgenticError):
                        log.warning("task %s cannot be read now: %s", execution, error)
                    else:
                        log.exception("a fault of ours: task %s cannot be read", execution)
                await asyncio.sleep(RESTED_SECONDS)
                continue
            followed = self._followed[execution]
            for watcher in tuple(followed.watchers):
                if _is_no_more(task, watcher):
                    watcher.end()
                    followed.watchers.remove(watcher)
                elif task is not None and not task.ended:
                    watcher.mark = task.mark  # only logs of tasks that ended are written anew
            if task is None:  # it was deleted
                return
            followed.ended = task.ended
            try:
                self._tell(execution, task)
            except Exception:  # of one view; whoever watches gets what comes next
                log.exception("a fault of ours: task %s cannot be shown as it is now", execution)
            await asyncio.sleep(RESTED_SECONDS if task.ended else self._look_seconds)

    async def _hear(self, execution: str, followed: _Followed, newest: Newest) -> None:
        """Tell of what is being written, which is in no log yet."""
        while True:
            if any(watcher.view in WRITING for watcher in followed.watchers):
                partial = await newest("" if followed.ended else execution)
                update = event_of(partial)
                told = [each for each in followed.watchers if each.view in WRITING and update != followed.writing]
                followed.writing = update
                for watcher in told:
                    if not watcher.tell(update):
                        followed.watchers.remove(watcher)
            await asyncio.sleep(WRITING_SECONDS)

    def _missed(self, task: TaskLog, execution: str, view: str, since: int) -> bytes:
        """What a page lacks as it is opened: rendered once for all that open while nothing happens."""
        key = execution, task.mark, since, len(task.events), len(task.outcome)
        if view not in self._firsts or self._firsts[view][0] != key:
            update = self._views[view](task, since)
            self._firsts[view] = key, event_of(update, len(task.events)) if update else b""
        return self._firsts[view][1]

    def _tell(self, execution: str, task: TaskLog) -> None:
        rendered: dict[tuple[str, int], bytes] = {}
        now, clock = (len(task.events), len(task.outcome)), self._clock()
        for watcher in tuple(self._followed[execution].watchers):
            if watcher.told == now or clock < watcher.due:
                continue
            rest = self._rests[watcher.view]
            watcher.told, watcher.due = now, (clock // rest + 1) * rest if rest else 0.0  # for all of a view at once
            key = watcher.view, watcher.since
            if key not in rendered:
                update = self._views[watcher.view](task, watcher.since)
                rendered[key] = event_of(update, len(task.events)) if update else b""
            watcher.since = len(task.events)
            if rendered[key] and not watcher.tell(rendered[key]):
                self._followed[execution].watchers.remove(watcher)


def _is_no_more(task: TaskLog | None, watcher: Watcher) -> bool:
    """Whether a page may show what was deleted, or erased since: the latter only of tasks that ended."""
    return task is None or (task.ended and task.mark != watcher.mark)


def event_of(update: str, seq: int | None = None) -> bytes:
    """An update as a server-sent event; its id is the last event of the log that it shows."""
    lines = "".join(f"data: {line}\n" for line in LINE_END.split(update))
    return (f"id: {seq}\n" if seq is not None else "").encode() + f"{lines}\n".encode()
