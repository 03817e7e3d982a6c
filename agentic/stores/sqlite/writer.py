"""All writes of a process go through here, in groups.

A commit costs a sync of the disk, so transactions share it: those asked for in one turn of the event loop, and all
that wait while one is being written.  Nobody is told anything before the commit is on disk.

A thread does it, so that a slow disk never stops the event loop.  Waking a thread and being woken by it costs about as much
as a commit on a fast disk, though; so a small group is written where it is asked for, while commits are fast, no
other process is writing, and the thread has nothing to do.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Generic, TypeVar

import apsw

from agentic.core.lazy_dataclass import dataclass
from agentic.errors import StoreUnavailable
from agentic.failpoints import reach
from agentic.stores.sqlite.connection import Connection
from agentic.stores.sqlite.group import Counters, Group

T = TypeVar("T")

CHECKPOINT_PAGES = 500
"""Pages in the WAL after which it is copied into the database, when nobody waits for it."""

FAST_SECONDS = 0.001
"""Commits slower than this are left to the thread."""

REMEMBERED_SECONDS = 0.004
"""A slower commit counts as this slow: the thread then writes the next half a dozen, however long that one took."""

SMALL_GROUP = 4
"""Larger groups are left to the thread."""


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

    def __init__(self, connection: Connection, busy_milliseconds: int, copied: Callable[[], None]) -> None:
        self._connection = connection
        self._copied = copied
        self._group = Group(connection, busy_milliseconds)
        self._asked: list[_Asked[object]] = []
        self._queue: queue.SimpleQueue[_Batch | None] = queue.SimpleQueue()
        self._using = threading.Lock()
        self._closed = False
        self._wal_pages = 0
        self._seconds = 0.0
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
            loop.call_soon(self._flush, loop)
        return await asked.future

    async def close(self) -> None:
        """Write what waits, copy the WAL into the database and end the thread."""
        if self._closed:
            return
        self._closed = True
        self._hand_over(asyncio.get_running_loop())
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    # --- in the event loop ---

    def _flush(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._asked and not self._write_here():
            self._hand_over(loop)

    def _write_here(self) -> bool:
        asked = self._asked
        if len(asked) > SMALL_GROUP or self._seconds > FAST_SECONDS or self._wal_pages >= CHECKPOINT_PAGES:
            return False
        if not self._queue.empty() or not self._using.acquire(blocking=False):
            return False
        try:
            if not self._write(asked, wait=False):
                return False
        finally:
            self._using.release()
        self._asked = []
        _tell(asked)
        return True

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
            with self._using:
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
            self._write(asked, wait=True)
        for loop, batch in batches:
            with suppress(RuntimeError):  # that loop was closed: nobody waits there any more
                loop.call_soon_threadsafe(_tell, batch)

    def _checkpoint(self) -> None:
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

    # --- in either, while ``_using`` is held ---

    def _write(self, asked: Sequence[_Asked[object]], *, wait: bool) -> bool:
        began = perf_counter()
        written = self._group.write(asked, wait=wait)
        self._seconds = max(min(perf_counter() - began, REMEMBERED_SECONDS), self._seconds * 0.8)
        return written

    def _note_wal(self, _connection: Connection, _name: str, pages: int) -> int:
        self._wal_pages = pages
        return apsw.SQLITE_OK


def _tell(asked: Sequence[_Asked[object]]) -> None:
    for one in asked:
        one.tell()
