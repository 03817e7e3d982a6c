"""The task that a person names, in whichever store of a home it is."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from agentic.core.events.ids import is_child
from agentic.ports.runtime import Store
from agentic.stores.factory import open_store
from bot.config.settings import Settings
from bot.history.run_history import newest_task
from bot.history.task_names import names_in

LOOK_SECONDS, LOOK_AFAR_SECONDS = 0.25, 2.0
"""How often the store is looked at: here, and where each look costs money."""


@dataclass(frozen=True, slots=True)
class FoundTask:
    """Where a task is; ``execution`` is '' for a thread in which none has begun."""

    store: Store
    thread: str
    execution: str
    at_once: float
    """Seconds between looks at its store."""

    @property
    def is_child(self) -> bool:
        """Whether it is a helper, which no other task of the thread follows."""
        return is_child(self.execution)


@dataclass(frozen=True, slots=True)
class NotFound:
    """Nothing has this name; ``deleted`` is the task's id where there was one."""

    deleted: str = ""


@asynccontextmanager
async def found(settings: Settings, text: str) -> AsyncGenerator[FoundTask | NotFound]:
    """The task that somebody names, or the newest one of the thread. Raises ``StoreError``."""
    names = names_in(text)
    gone = ""
    for place in settings.stores():
        store = open_store(place)
        try:
            for name in names:
                if (
                    task := await _of(store, name, LOOK_AFAR_SECONDS if settings.aws_place else LOOK_SECONDS)
                ) is not None:
                    yield task
                    return
                gone = gone or (name if await store.was_buried(name) is not None else "")
        finally:
            await store.close()
    yield NotFound(gone)


async def _of(store: Store, name: str, at_once: float) -> FoundTask | None:
    if (row := await store.execution(name)) is not None:
        return FoundTask(store, row.thread, name, at_once)
    if not name.isdecimal() or await store.session(name) is None:
        return None
    return FoundTask(store, name, await newest_task(store, name), at_once)
