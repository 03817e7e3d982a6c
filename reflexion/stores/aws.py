"""Lessons of many processes: the rows stand in the table, and each process works on a copy of them in a file of its own.

Finding lessons, merging them and telling their lives needs words, counts and neighbours of a whole place within one
transaction. That is what SQLite does, so it does it here too, by the very same statements. A transaction runs on the copy
first. The rows that it changed are then written to the table, under the condition that nobody changed anything since the
copy was brought up to date, and only then it counts here. Whoever was overtaken undoes it, takes in what the others did,
and does it again.

So all changes stand in one order, as they do in one file, and copies that took in the same changes hold the same rows under
the same numbers. Before each question a copy takes in what is new, which is one strongly consistent query.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import apsw

from agentic.aws.aws_place import AwsPlace
from agentic.aws.clients import Clients
from agentic.ports.errors import StoreError
from agentic.ports.failpoints import reach
from agentic.stores.aws.table import Table
from agentic.stores.own_file import own_file
from agentic.stores.sqlite.file.connection import Connection
from reflexion.errors import LessonStoreTooNew, LessonStoreUnavailable
from reflexion.stores import replica
from reflexion.stores.lesson_items import KEPT, Head, LessonItems, VersionConflict
from reflexion.stores.replica import COLUMNS, Change
from reflexion.stores.schema import MIGRATIONS
from reflexion.stores.sqlite import SQLiteLessonStore, opened

T = TypeVar("T")

ATTEMPTS = 30
"""So often a transaction that others overtook is done again."""
SECONDS = 120.0
"""What one call may take: a first copy is made in it."""
A_PART = 90
"""Rows that are written to the table in one transaction, which takes 100 items."""
_COPY = """
    CREATE TABLE IF NOT EXISTS copy (
        one INTEGER PRIMARY KEY CHECK (one = 1), store TEXT NOT NULL, version INTEGER NOT NULL
    ) STRICT
"""


class AwsLessonStore(SQLiteLessonStore):
    """Keeps lessons in the table; its copy stands in ``folder``, or for None goes with the process."""

    def __init__(self, clients: Clients, folder: Path | None = None) -> None:
        super().__init__(folder or Path("lessons"))
        self._clients = clients
        self._items = LessonItems(Table(clients))
        self._folder = folder
        self._stack = ExitStack()
        self._copy: Path | None = None
        self._turn = asyncio.Lock()
        """One question or transaction of this process at a time: they share the copy."""
        self._crowded = False
        """Others write at the same time, so that each takes its turn."""

    @classmethod
    def open(cls, place: AwsPlace) -> AwsLessonStore:
        """The lessons of this place; nothing is asked until something is needed."""
        return cls(Clients(place), place.copies)

    async def close(self) -> None:
        """Let go of the copy and of all connections."""
        await super().close()
        await asyncio.to_thread(self._stack.close)
        await self._clients.close()

    async def _do(self, work: Callable[[Connection], T]) -> T:
        async def ask() -> T:
            await self._follow()
            return await self._here(work)

        return await self._in_turn(ask)

    async def _write(self, work: Callable[[Connection], T]) -> T:
        async def attempt() -> T:
            for _ in range(ATTEMPTS):
                if self._crowded:
                    self._crowded = await self._items.take_turn()
                head = await self._follow()
                result, change = await self._here(lambda db: _tried(db, work))
                try:
                    reach("lessons.commit.before")
                    head = await self._commit(head, change)
                    reach("lessons.commit.after")
                except VersionConflict:
                    self._crowded = True
                    continue
                await self._here(lambda db, head=head: _counts(db, head))
                return result
            raise LessonStoreUnavailable("others changed lessons at the same moments again and again: try it later")

        return await self._in_turn(attempt)

    async def _in_turn(self, call: Callable[[], Awaitable[T]]) -> T:
        try:
            async with asyncio.timeout(SECONDS), self._turn:
                return await call()
        except TimeoutError as error:
            raise LessonStoreUnavailable(f"the table of lessons did not answer within {SECONDS:.0f} s") from error
        except StoreError as error:
            raise LessonStoreUnavailable(f"the table of lessons cannot be used: {error}") from error

    async def _here(self, work: Callable[[Connection], T]) -> T:
        """On the copy."""
        return await super()._do(work)

    async def _commit(self, head: Head, change: Change) -> Head:
        """All of it at once; what is more than the table takes at once, in parts: each leaves rows that hold together."""
        rows = iter(change.items())
        while part := dict(islice(rows, A_PART)):
            head = await self._items.commit(head, part)
        return head

    async def _follow(self) -> Head:
        """Bring the copy up to date."""
        here = await self._here(_stands)
        head, changes = await self._items.since(here.version)
        if head.schema > len(MIGRATIONS):
            raise LessonStoreTooNew(
                f"the lessons were written by a newer version of Threadwright (schema {head.schema}, this one knows"
                f" {len(MIGRATIONS)}): update Threadwright"
            )
        if head.store != here.store or not 0 <= head.version - here.version < KEPT:
            here = await self._load(head)
            _, changes = await self._items.since(here.version)
        if changes:
            here = Head(head.store, here.version + len(changes), head.schema)
            rows = await self._items.rows({key for keys in changes for key in keys})
            await self._here(lambda db: _take_in(db, rows, here))
        return here

    async def _load(self, head: Head) -> Head:
        """A new copy."""
        await self._here(lambda _: self._discard())
        for table in COLUMNS:
            async for page in self._items.all_rows(table):
                await self._here(lambda db, page=page: _take_in(db, page, None))
        await self._here(lambda db: _take_in(db, {}, head))
        return head

    def _open(self) -> Connection:
        if self._copy is None:
            folder = self._folder or Path(self._stack.enter_context(TemporaryDirectory(prefix="lessons-")))
            self._copy, let_go = own_file(folder, "lessons")
            self._stack.callback(let_go)
        try:
            connection = opened(self._copy, synchronous="NORMAL")
        except (apsw.Error, LessonStoreTooNew):
            self._delete()
            connection = opened(self._copy, synchronous="NORMAL")
        connection.execute(_COPY)
        return connection

    def _discard(self) -> None:
        self._let_go()
        self._delete()

    def _delete(self) -> None:
        if self._copy is not None:
            for suffix in ("", "-wal", "-shm"):
                self._copy.with_name(self._copy.name + suffix).unlink(missing_ok=True)


def _stands(db: Connection) -> Head:
    """How far the copy is; a transaction that did not come to its end is undone."""
    if db.in_transaction:
        db.execute("ROLLBACK")
    store, version = db.execute("SELECT store, version FROM copy").fetchone() or ("", 0)
    return Head(str(store), int(str(version)), len(MIGRATIONS))


def _tried(db: Connection, work: Callable[[Connection], T]) -> tuple[T, Change]:
    """What comes of it and the rows it changes, in a transaction that stays open."""
    db.execute("BEGIN IMMEDIATE")
    with replica.noting(db) as keys:
        result = work(db)
    return result, {key: replica.row(db, key) for key in replica.in_order(keys)}


def _counts(db: Connection, head: Head) -> None:
    _stand_at(db, head)
    db.execute("COMMIT")


def _take_in(db: Connection, rows: Change, head: Head | None) -> None:
    db.execute("BEGIN IMMEDIATE")
    replica.bring_in(db, rows)
    if head is not None:
        _stand_at(db, head)
    db.execute("COMMIT")


def _stand_at(db: Connection, head: Head) -> None:
    db.execute("INSERT OR REPLACE INTO copy VALUES (1, ?, ?)", (head.store, head.version))
