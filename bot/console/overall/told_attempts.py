"""Attempts that were told what an earlier one in their thread left, as their logs have it.

That is no exposure of a lesson: the next attempts in a thread are told of its failures before anything is a lesson for
others, and lessons are measured only by tasks that they fitted.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from agentic.core.events.execution_events import ModelAnswered, ModelRequested, Started, Triaged
from agentic.core.events.ids import is_child
from agentic.ports.runtime import Store
from bot.console.overall.home_lists import VisibleThreads
from reflexion.lessons.lesson import reflection_id, worked_id

LOGS, EVENTS = 60, 60
"""Logs of which the beginning is read, and events of each."""


async def told_attempts(
    store: Store, sees: VisibleThreads, executions: Iterable[str]
) -> list[tuple[str, datetime | None]]:
    """Attempts, with when they began, that were told what one of these left; those that somebody sees, the newest first."""
    about = [row for execution in executions if (row := await store.execution(execution)) is not None]
    left: dict[str, set[str]] = {thread: set() for thread in await sees.of(row.thread for row in about)}
    for row in about:
        if row.thread in left:
            left[row.thread].update((reflection_id(row.execution), worked_id(row.execution)))
    rows = [row for thread in left for row in await store.executions(thread) if not is_child(row.execution)]
    found = [row for row in rows[-LOGS:] if await _was_told(store, row.execution, left[row.thread])]
    return [(row.execution, row.started_at) for row in reversed(found)]


async def _was_told(store: Store, execution: str, left: set[str]) -> bool:
    """Whether a model answered a request of it that held one of these reflections; not in the task it was copied from."""
    copied, asked = 0, set[str]()
    async for envelope in store.read(execution):
        match envelope.event:
            case Started(lessons=lessons, forked_from=forked_from):
                copied = forked_from[1] if forked_from is not None else 0
                if not any(each.kind == "reflection" and each.id in left for each in lessons):
                    return False
            case ModelRequested(purpose="turn", request=request):
                asked.add(request)
            case ModelAnswered(request=request) if request in asked and envelope.seq > copied:
                return True
            case Triaged(talk=True):
                return False
            case _ if envelope.seq > copied + EVENTS:
                return False
            case _:
                pass
    return False
