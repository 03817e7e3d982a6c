"""Which store of lessons is used: the one place that knows what stores there are."""

from __future__ import annotations

from pathlib import Path

from agentic.stores.aws.place import Place
from reflexion.ports import LessonStore
from reflexion.stores.memory import MemoryLessonStore
from reflexion.stores.sqlite import SQLiteLessonStore


def open_lessons(database: Path | None, place: Place | None = None) -> LessonStore:
    """The lessons in a file of their own, or a store that forgets: a broken file costs lessons, not executions.

    Where they are on AWS, the file holds a copy that is made again if it is lost.
    """
    if database is None:
        return MemoryLessonStore()
    if place is None:
        return SQLiteLessonStore(database)
    from agentic.stores.aws.clients import Clients  # with the SDK, which only those need whose store is there
    from reflexion.stores.aws import AWSLessonStore

    return AWSLessonStore(Clients(place), database)
