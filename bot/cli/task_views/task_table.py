"""`threadwright top`: every task that has not ended, those that wait for a person first, kept up to date."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from agentic.aws.aws_place import AwsPlace
from agentic.core.events.execution_events import Asked, Started
from agentic.core.events.ids import is_child
from agentic.core.fold.people import MACHINE
from agentic.ports.errors import StoreError
from agentic.ports.runtime import Store
from agentic.stores.factory import open_store
from bot.cli.console import note, say
from bot.cli.task_views.named_task import LOOK_AFAR_SECONDS
from bot.config.log_format import one_line
from bot.config.settings import Settings
from bot.console.logs.log_cache import LogCache
from bot.console.logs.task_log import TaskLog
from bot.console.page_templates import seconds, usd
from bot.console.views.task_status import status_of
from bot.rendering.secrets import Discretion

if TYPE_CHECKING:
    from rich.table import Table

EACH_SECONDS = 1.0
STORES = 8
"""The bot's own store and those of the newest `threadwright task`, which are looked at."""
WIDTH = 160
"""Columns where there is no terminal."""
WIDE, WIDER = 100, 120
"""From so many columns on, turns and tiers have columns; threads, and states a line."""
TITLE = 100
NO_TERMINAL = (
    "`threadwright top` redraws its table, for which it needs a terminal. `threadwright top --once` prints it once."
)
NOTHING = "No task runs, and none waits."
MISTAKEN = 64


@dataclass(frozen=True, slots=True)
class RunningTask:
    """A task that has not ended, in a line."""

    execution: str
    thread: str
    title: str
    state: str
    needs: bool
    """It waits for a person."""
    waits_for: str
    turn: int
    tier: int
    usd: float
    quiet: float
    """Seconds since its last event."""


async def top(settings: Settings, *, once: bool) -> int:
    """Print the table, once or until Ctrl-C."""
    if not once and not sys.stdout.isatty():
        note(NO_TERMINAL)
        return MISTAKEN
    from rich.console import Console as RichConsole
    from rich.live import Live

    terminal = sys.stdout.isatty()
    screen = RichConsole(highlight=False, force_terminal=terminal, width=None if terminal else WIDTH)
    looks = _Looks(settings)
    try:
        if once:
            rows = await looks.rows()
            with screen.capture() as printed:
                screen.print(table(rows, screen.width) if rows else NOTHING)
            say("\n".join(line.rstrip() for line in printed.get().splitlines()))
            return 0
        with Live(console=screen, auto_refresh=False, vertical_overflow="crop") as live:
            while True:
                rows = await looks.rows()
                live.update(table(rows, screen.width) if rows else NOTHING, refresh=True)
                await asyncio.sleep(LOOK_AFAR_SECONDS if settings.aws_place else EACH_SECONDS)
    finally:
        await looks.close()


class _Looks:
    """Looks at every store that may have running tasks; a log is read once, and then what is new."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._discretion = Discretion(settings.secrets)
        self._open: dict[Path | AwsPlace, tuple[Store, LogCache]] = {}
        self._unread: dict[str, str] = {}

    async def rows(self) -> list[RunningTask]:
        """The tasks that have not ended, in the order in which they are shown."""
        now = datetime.now(UTC)
        found: list[RunningTask] = []
        for place in self._settings.stores()[:STORES]:
            try:
                if place not in self._open:
                    store = open_store(place)
                    self._open[place] = store, LogCache(store, self._discretion)
                store, logs = self._open[place]
                names = [row.execution for row in await store.open_executions() if not is_child(row.execution)]
                tasks = [await logs.task(name) for name in names]
                found += [row_of(log, now) for log in tasks if log is not None and log.events]
                self._unread.pop(str(place), None)
            except StoreError as error:
                if self._unread.get(str(place)) != str(error):
                    self._unread[str(place)] = str(error)
                    note(f"{one_line(place)} cannot be read: {one_line(error)}")
        return sorted(found, key=lambda each: (not each.needs, -each.quiet, each.execution))

    async def close(self) -> None:
        """Close the stores."""
        for store, _ in self._open.values():
            await store.close()


def row_of(log: TaskLog, now: datetime) -> RunningTask:
    """What is shown of a task."""
    status, first = status_of(log), log.events[0].event
    quiet = max((now - log.events[-1].at).total_seconds(), 0.0)
    title = " ".join(first.task.split()) if isinstance(first, Started) else ""
    waits = _waits_for(log)
    words = "Set aside" if status.state == "set_aside" else status.words
    return RunningTask(
        log.execution, log.row.thread, title[:TITLE], words, bool(waits), waits, status.turn, status.tier, status.usd,
        quiet,
    )  # fmt: skip


def _waits_for(log: TaskLog) -> str:
    """Who has to do something before it can go on; '' for nobody."""
    task = log.folded
    if task.quarantined is not None:
        return "anybody"
    if task.question is not None:
        return _answers(task.question, log)
    if task.paused is not None and task.paused.author.id != MACHINE.id:
        return task.paused.author.name
    return ""


def _answers(question: Asked, log: TaskLog) -> str:
    first = log.events[0].event
    if question.sort == "question" and isinstance(first, Started):
        return first.requester.name
    return f"{'an' if question.who_may[0] in 'aeiou' else 'a'} {question.who_may}"


def table(rows: Sequence[RunningTask], width: int) -> Table:
    """The rows as a table of so many columns; what people and models wrote steers no terminal."""
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, expand=True)
    shown.add_column("Task", overflow="ellipsis", no_wrap=True, ratio=1)
    shown.add_column("State", width=24 if width >= WIDER else 16)
    shown.add_column("Waits for", width=12)
    if width >= WIDER:
        shown.add_column("Thread", width=19)
    figures = [("Turn", 4), ("Tier", 4)] if width >= WIDE else []
    for name, columns in (*figures, ("Cost", 7), ("Quiet for", 12)):
        shown.add_column(name, justify="right", width=columns)
    for row in rows:
        words = (row.title, row.state, row.waits_for, *([row.thread] if width >= WIDER else []))
        place = (str(row.turn), str(row.tier)) if width >= WIDE else ()
        told = (*words, *place, usd(row.usd), seconds(row.quiet))
        shown.add_row(*(Text(one_line(word)) for word in told), style="yellow" if row.needs else "")
    return shown
