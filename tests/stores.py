"""Stores for a test: SQLite in memory, each in a folder of its own that goes with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Generic, TypeVar, cast

from agentic.core.events.upcasting import READING, ReaderVersion
from agentic.stores.factory import passing_folder
from agentic.stores.process_identity import seconds_since_boot
from agentic.stores.sqlite.file.connection import Connection
from agentic.stores.sqlite.file.open import open_reader, open_writer
from agentic.stores.sqlite.group_commit import GroupCommit
from agentic.stores.sqlite.store import SQLiteStore
from reflexion.stores.sqlite import SQLiteLessonStore

T = TypeVar("T")
S = TypeVar("S", bound=SQLiteStore)
DATABASE = "threadwright.db"

_OPEN: list[tuple[SQLiteStore | SQLiteLessonStore, TemporaryDirectory[str]]] = []
"""What was opened and not closed, oldest first."""


def fresh_store(
    kind: type[S] = SQLiteStore, *, seconds: Callable[[], float] = seconds_since_boot, reading: ReaderVersion = READING
) -> S:
    """An empty store, which is closed when the test has ended."""
    folder = passing_folder()
    store = kind.open(Path(folder.name) / DATABASE, seconds, reading=reading)
    _OPEN.append((store, folder))
    return store


def fresh_inline_store(kind: type[S] = SQLiteStore, *, seconds: Callable[[], float] = seconds_since_boot) -> S:
    """The same, for a test whose clock goes on as soon as nobody has anything to do: nothing waits for a thread."""
    folder = passing_folder()
    store = kind(*inline(Path(folder.name) / DATABASE), seconds)
    _OPEN.append((store, folder))
    return store


def fresh_lessons() -> SQLiteLessonStore:
    """An empty store of lessons, which is closed when the test has ended."""
    folder = passing_folder()
    store = SQLiteLessonStore(Path(folder.name) / "lessons.db")
    _OPEN.append((store, folder))
    return store


@asynccontextmanager
async def passing_store() -> AsyncGenerator[SQLiteStore]:
    """An empty store, which is closed when the block has ended."""
    with passing_folder() as folder:
        async with kept_store(Path(folder) / DATABASE) as store:
            yield store


@asynccontextmanager
async def kept_store(path: Path) -> AsyncGenerator[SQLiteStore]:
    """The store in a file, which is closed when the block has ended."""
    store = SQLiteStore.open(path)
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def passing_lessons() -> AsyncGenerator[SQLiteLessonStore]:
    """An empty store of lessons, which is closed when the block has ended."""
    with passing_folder() as folder:
        store = SQLiteLessonStore(Path(folder) / "lessons.db")
        try:
            yield store
        finally:
            await store.close()


@contextmanager
def closing_fresh() -> Iterator[None]:
    """What the functions above open within it, for the test to close, is closed at its end."""
    before = len(_OPEN)
    try:
        yield
    finally:
        if len(_OPEN) > before:
            asyncio.run(_close(before))


async def _close(down_to: int) -> None:
    while len(_OPEN) > down_to:
        store, folder = _OPEN.pop()
        await store.close()
        folder.cleanup()


def inline(path: Path) -> tuple[InlineWriter, Connection, Path]:
    """What a store is made of that commits before anything else runs."""
    return InlineWriter(open_writer(path)), open_reader(path), path


@dataclass
class _Change(Generic[T]):
    change: Callable[[Connection], T]
    result: T | None = None
    error: BaseException | None = None

    def run(self, connection: Connection) -> None:
        self.result = self.change(connection)


class InlineWriter:
    """Commits each transaction where it is asked for, as the writer's thread would."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._group = connection, GroupCommit(connection)

    async def commit(self, change: Callable[[Connection], T]) -> T:
        """Durable, without having waited."""
        work = _Change(change)
        self._group.write([work])
        if work.error is not None:
            raise work.error
        return cast("T", work.result)

    async def close(self) -> None:
        """Close the file."""
        self.let_go()

    def let_go(self) -> None:
        """The same where no loop runs."""
        self._connection.close()
