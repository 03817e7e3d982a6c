"""What a task goes on from, and which tasks go on from it: attempts at the same one and forks, in other threads too."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from agentic.core.events.execution_events import Started
from agentic.core.events.ids import is_child
from agentic.ports.errors import StoreError
from agentic.ports.runtime import ExecutionRow
from bot.console.access.viewer import Viewer
from bot.console.console_context import LIST_SECONDS, Console
from bot.console.logs.task_log import TaskLog

LOOKED_AT, SHOWN = 200, 12
"""So many of the newest tasks are looked at, and so many of these and of those of its thread are read."""


@dataclass(frozen=True, slots=True)
class Relative:
    """A task that another one began from, or the other way round; ``path`` is '' where it may not be seen."""

    how: str
    """How it is related, before its name."""
    name: str
    path: str = ""
    compared: str = ""
    """The path of the two beside each other."""


async def relatives(console: Console, viewer: Viewer, log: TaskLog) -> list[Relative]:
    """What it goes on from first, then what goes on from it, among the newest tasks and those of its thread."""
    started = log.folded.started
    if started is None or started.side or is_child(log.execution):
        return []
    found = [one async for one in _origins(console, viewer, log, started)]
    here, newest = await console.store.executions(log.row.thread), await console.store.newest_executions(LOOKED_AT)
    alike = {row.execution: row for row in (*_alike(here, log), *_alike(newest, log))}.values()
    await console.among(viewer, [row.thread for row in alike], LIST_SECONDS)  # all with one question
    for row in alike:
        begun = await started_of(console, row.execution)
        if (
            begun is None
            or log.execution not in sources_of(begun)
            or await console.listed(viewer, row.execution) is None
        ):
            continue
        if begun.trial_of == log.execution:
            how, name = "Tried again", f"attempt {begun.attempt}"
        else:
            how, name = ("Continued", "a later task") if row.thread == log.row.thread else ("Forked", "")
        found.append(await _named(console, how, name, row, f"/compare/{log.execution}/{row.execution}"))
    return found


def _alike(rows: Sequence[ExecutionRow], log: TaskLog) -> list[ExecutionRow]:
    """The newest tasks with the same words: whatever goes on from a task begins with them."""
    return [row for row in rows if row.task == log.said and row.execution != log.execution][-SHOWN:]


async def started_of(console: Console, execution: str) -> Started | None:
    """How a task began; None where that cannot be read."""
    try:
        async for envelope in console.store.read(execution):
            return envelope.event if isinstance(envelope.event, Started) else None
    except StoreError:
        pass
    return None


def sources_of(started: Started) -> tuple[str, ...]:
    """The tasks that one goes on from: the first attempt, what it was copied from."""
    copied = (started.forked_from[0],) if started.forked_from is not None else ()
    return (*filter(None, (started.trial_of,)), *copied)


async def _origins(console: Console, viewer: Viewer, log: TaskLog, started: Started) -> AsyncIterator[Relative]:
    for source in dict.fromkeys(sources_of(started)):
        row = await console.listed(viewer, source)
        if source == started.trial_of:
            how, name = f"Attempt {started.attempt} after", "the first attempt"
        else:
            how, name = ("Continues", "an earlier task") if row and row.thread == log.row.thread else ("Fork of", "")
        if row is None:
            yield Relative(how, name or "another task")
        else:
            yield await _named(console, how, name, row, f"/compare/{source}/{log.execution}")


async def _named(console: Console, how: str, name: str, row: ExecutionRow, compared: str) -> Relative:
    if not name:
        session = await console.store.session(row.thread)
        name = console.discretion.text(session.title)[:80] if session is not None else ""
    return Relative(how, name or "another thread", f"/t/{row.thread}/{row.execution}", compared)
