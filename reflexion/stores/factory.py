"""Which store of lessons is used: the one place that knows what stores there are."""

from __future__ import annotations

from pathlib import Path

from reflexion.ports import LessonStore
from reflexion.stores.memory import MemoryLessonStore
from reflexion.stores.sqlite import SQLiteLessonStore


def open_lessons(database: Path | None) -> LessonStore:
    """The lessons in a file of their own, or a store that forgets: a broken file costs lessons, not executions."""
    return MemoryLessonStore() if database is None else SQLiteLessonStore(database)
