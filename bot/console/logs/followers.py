"""Tasks that somebody watches: each is looked at by one follower, however many watch it.

Each view of a task is rendered once for all who watch it; a watcher that does not keep up is let go, and its browser
comes back for what it has missed.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from agentic.ports.errors import AgenticError
from bot.console.logs.log_cache import LogCache
from bot.console.logs.task_log import TaskLog

WAITING = 64
"""Updates that wait for a watcher at most."""
RESTED_SECONDS = 2.0
"""How often a task is looked at that has ended, for what follows the end, or that cannot be read."""

LINE_END = re.compile(r"\r\n|\r|\n")
"""What ends a line of an event stream: a text of a log must not begin a field of its own."""

Update = Callable[[TaskLog, int], str]
"""What is new on a page since so many events, as partials; '' for nothing."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Watcher:
    """One open page. ``updates`` ends with None once it cannot be kept up to date, or its task was deleted."""

    view: str
    since: int
    """Events of the log that the page has."""
    told: tuple[int, int] = (-1, 0)
    """Events and outcomes that it was told of last."""
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


@dataclass(slots=True)
class _Followed:
    watchers: list[Watcher]
    task: asyncio.Task[None]


class Followers:
    """Looks at watched tasks every ``look_seconds`` seconds. ``clock``: seconds that never run backwards."""

    def __init__(self, logs: LogCache, look_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._logs, self._look_seconds, self._clock = logs, look_seconds, clock
        self._followed: dict[str, _Followed] = {}
        self._views: dict[str, Update] = {}
        self._rests: dict[str, float] = {}
        self._firsts: dict[str, tuple[tuple[str, int, int, int], bytes]] = {}
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
        return sum(len(each.watchers) for each in self._followed.values())

    @asynccontextmanager
    async def watching(self, execution: str, view: str, since: int) -> AsyncGenerator[Watcher]:
        """Follow a task; the first update has what is new since the event ``since``."""
        watcher = Watcher(view, since)
        task = await self._logs.task(execution)
        if task is not None:
            if first := self._missed(task, execution, view, since):
                watcher.tell(first)
            watcher.since, watcher.told = len(task.events), (len(task.events), len(task.outcome))
        else:
            watcher.updates.put_nowait(None)
        followed = self._followed.get(execution)
        if followed is None:
            following = asyncio.create_task(self._follow(execution), name=f"console follows {execution}")
            followed = self._followed[execution] = _Followed([], following)
        followed.watchers.append(watcher)
        try:
            yield watcher
        finally:
            if watcher in followed.watchers:
                followed.watchers.remove(watcher)
            if not followed.watchers and self._followed.get(execution) is followed:
                del self._followed[execution]
                followed.task.cancel()
                await asyncio.gather(followed.task, return_exceptions=True)

    async def close(self) -> None:
        """Follow nothing more; whoever watches is told."""
        for followed in self._followed.values():
            followed.task.cancel()
            for watcher in followed.watchers:
                watcher.updates.put_nowait(None)
        await asyncio.gather(*(each.task for each in self._followed.values()), return_exceptions=True)
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
            if task is None:  # it was deleted
                for watcher in self._followed[execution].watchers:
                    watcher.updates.put_nowait(None)
                return
            try:
                self._tell(execution, task)
            except Exception:  # of one view; whoever watches gets what comes next
                log.exception("a fault of ours: task %s cannot be shown as it is now", execution)
            await asyncio.sleep(RESTED_SECONDS if task.ended else self._look_seconds)

    def _missed(self, task: TaskLog, execution: str, view: str, since: int) -> bytes:
        """What a page lacks as it is opened: rendered once for all that open while nothing happens."""
        key = execution, since, len(task.events), len(task.outcome)
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


def event_of(update: str, seq: int) -> bytes:
    """An update as a server-sent event; its id is the last event of the log that it shows."""
    lines = "".join(f"data: {line}\n" for line in LINE_END.split(update))
    return f"id: {seq}\n{lines}\n".encode()
