"""All writes of a process go through here, in groups.

A commit costs a sync of the disk, so transactions share it: those asked for in one turn of the event loop, and all
that wait while one is being written.  Nobody is told anything before the commit is on disk.

A thread does it, always: a disk that was fast until now may take seconds for the next commit, and the event loop must not
stand for that.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

import apsw

from agentic.ports.errors import StoreUnavailable
from agentic.ports.failpoints import reach
from agentic.stores.sqlite.file.connection import Connection
from agentic.stores.sqlite.file.open import lay_out_wal
from agentic.stores.sqlite.group_commit import Counters, GroupCommit

T = TypeVar("T")

CHECKPOINT_PAGES = 500
"""Pages in the WAL after which it is copied into the database, when nobody waits for it."""


@dataclass(slots=True, eq=False)
class _Asked(Generic[T]):
    """A transaction somebody waits for."""

    change: Callable[[Connection], T]
    future: asyncio.Future[T]
    result: T | None = None
    error: BaseException | None = None

    def run(self, connection: Connection) -> None:
        self.result = self.change(connection)

    def tell(self) -> None:
        if self.future.done():
            return  # whoever waited was cancelled
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)  # pyright: ignore[reportArgumentType]  # set by run, whatever T is


_Batch = tuple[asyncio.AbstractEventLoop, "list[_Asked[object]]"]


class Writer:
    """Owns the connection that writes; used from one event loop at a time.

    ``copied`` is called at the end, when the database holds all that the WAL held.
    """

    def __init__(self, connection: Connection, copied: Callable[[], None]) -> None:
        self._connection = connection
        self._copied = copied
        self._group = GroupCommit(connection)
        self._asked: list[_Asked[object]] = []
        self._queue: queue.SimpleQueue[_Batch | None] = queue.SimpleQueue()
        self._closed = False
        self._wal_pages = 0
        self._emptying = self._emptied = False
        connection.set_wal_hook(self._note_wal)  # also turns SQLite's own checkpoints off
        self._thread = threading.Thread(target=self._serve, name="store-writer", daemon=True)
        self._thread.start()

    @property
    def counters(self) -> Counters:
        """What was done since the store was opened."""
        return self._group.counters

    async def commit(self, change: Callable[[Connection], T]) -> T:
        """Run ``change`` in a transaction and return its result once it is durable.

        ``change`` may run again after a roll-back, so it touches nothing but the connection.
        """
        if self._closed:
            raise StoreUnavailable("the store is closed")
        loop = asyncio.get_running_loop()
        asked = _Asked(change, loop.create_future())
        self._asked.append(asked)  # pyright: ignore[reportArgumentType]  # nobody looks at the result's type
        if len(self._asked) == 1:
            loop.call_soon(self._hand_over, loop)
        return await asked.future

    async def empty_wal(self) -> bool:
        """Copy the WAL into the database and cut it to nothing; False where somebody reads just now.  Nobody is waited for."""
        self._emptying, self._emptied = True, False
        await self.commit(_nothing)
        await self.commit(_nothing)  # between the two it is done
        return self._emptied

    async def close(self) -> None:
        """Write what waits, copy the WAL into the database and end the thread."""
        if self._closed:
            return
        self._closed = True
        self._hand_over(asyncio.get_running_loop())
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    # --- in the event loop ---

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._asked:
            self._queue.put((loop, self._asked))
            self._asked = []

    # --- in the thread ---

    def _serve(self) -> None:
        going = True
        while going:
            batches = [self._queue.get()]
            while not self._queue.empty():
                batches.append(self._queue.get())
            going = None not in batches
            self._serve_batches([batch for batch in batches if batch is not None])
            self._checkpoint()
        with suppress(apsw.Error, OSError):  # another process still reads: it, or the next one, will copy the WAL
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            self._copied()
        with suppress(apsw.Error):  # SQLite tries once more to copy the WAL
            self._connection.close(force=True)

    def _serve_batches(self, batches: Sequence[_Batch]) -> None:
        asked = [one for _, batch in batches for one in batch]
        if asked:
            self._group.write(asked)
        for loop, batch in batches:
            with suppress(RuntimeError):  # that loop was closed: nobody waits there any more
                loop.call_soon_threadsafe(_tell, batch)

    def _checkpoint(self) -> None:
        if self._emptying:
            self._empty_wal()
            return
        due = CHECKPOINT_PAGES if self._queue.empty() else 8 * CHECKPOINT_PAGES
        if self._wal_pages < due:
            return
        self._wal_pages = 0
        try:
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.Error:
            return  # the WAL is complete; the next commit will say what is wrong with the disk
        reach("wal.copied")
        self.counters.checkpoints += 1

    def _empty_wal(self) -> None:
        self._emptying = False
        connection = self._connection
        patience = connection.execute("PRAGMA busy_timeout").get
        connection.execute("PRAGMA busy_timeout = 0")
        try:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            self._wal_pages = 0
            lay_out_wal(connection)
            self._emptied = True
        except apsw.Error:
            return  # somebody reads or writes: what the WAL holds stays there for now
        finally:
            connection.execute(f"PRAGMA busy_timeout = {patience}")

    def _note_wal(self, _connection: Connection, _name: str, pages: int) -> int:
        self._wal_pages = pages
        return apsw.SQLITE_OK


def _nothing(_connection: Connection) -> None:
    """A transaction that changes nothing, and costs nothing."""


def _tell(asked: Sequence[_Asked[object]]) -> None:
    for one in asked:
        one.tell()
