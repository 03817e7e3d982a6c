"""The words of all logs in a file of this process: what DynamoDB cannot find. It may be lost, and is then made anew."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

import apsw

from agentic.ports.lookup import Wanted
from agentic.stores.own_file import own_file
from agentic.stores.sqlite.file.connection import Connection, connect
from agentic.stores.sqlite.file.sqlite_errors import plainly
from agentic.stores.sqlite.tables.search import matching, named_threads
from agentic.text.word_query import WordQuery

T = TypeVar("T")

_NEWEST = 2**63 - 1
_VERSION = 1
"""Raised whenever words are cut or kept differently than before."""
_TABLES = """
    CREATE TABLE IF NOT EXISTS copy (
        one INTEGER PRIMARY KEY CHECK (one = 1), place TEXT NOT NULL, changed INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS logs (
        number INTEGER PRIMARY KEY, execution TEXT NOT NULL UNIQUE, thread TEXT NOT NULL, guild TEXT, seq INTEGER NOT NULL,
        open INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS seen (change TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS places (position INTEGER PRIMARY KEY, log INTEGER NOT NULL, seq INTEGER NOT NULL) STRICT;
    CREATE INDEX IF NOT EXISTS places_of_log ON places (log);
    CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (text, tokenize = 'unicode61 remove_diacritics 2');
    INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
"""
_FOUND = """
    SELECT words.rowid, execution, thread, places.seq FROM words
    CROSS JOIN places ON places.position = words.rowid
    CROSS JOIN logs ON logs.number = places.log
    WHERE words MATCH :words AND words.rowid < :before
        AND (:guild IS NULL OR guild = :guild) AND (:thread = '' OR thread = :thread)
        AND (:threads IS NULL OR thread IN (SELECT value FROM json_each(:threads)))
    ORDER BY words.rowid DESC LIMIT :most
"""


@dataclass(frozen=True, slots=True)
class Log:
    """How far a log was taken in."""

    execution: str
    thread: str
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Words:
    """The words of an event, under a position that every process gives it."""

    position: int
    seq: int
    text: str


@dataclass(frozen=True, slots=True)
class WordPlace:
    """Where words stand."""

    position: int
    execution: str
    thread: str
    seq: int


class WordsCopy:
    """One piece of work at a time, in a thread of its own: one that nobody waits for any more still comes to its end first."""

    def __init__(self, folder: Path | None, place: str) -> None:
        self._folder, self._place = folder, place
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="words")
        self._stack = ExitStack()
        self._connection: Connection | None = None
        self._closed = False

    async def close(self) -> None:
        """Let go of the file, once."""
        if self._closed:
            return
        self._closed = True
        await asyncio.get_running_loop().run_in_executor(self._thread, self._stack.close)
        self._thread.shutdown(wait=False)

    async def do(self, work: Callable[[Connection], T]) -> T:
        """A piece of work in a transaction; the file is opened by the first."""

        def transaction() -> T:
            with plainly():
                connection = self._opened()
                connection.execute("BEGIN IMMEDIATE")
                try:
                    result = work(connection)
                    connection.execute("COMMIT")
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                return result

        return await asyncio.get_running_loop().run_in_executor(self._thread, transaction)

    def _opened(self) -> Connection:
        if self._connection is None:
            folder = self._folder or Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="words-")))
            path, let_go = own_file(folder, "words")
            self._stack.callback(let_go)
            self._connection = _made(path, f"{_VERSION} {self._place}")
            self._stack.callback(self._connection.close)
        return self._connection


def _made(path: Path, place: str) -> Connection:
    """The copy of this place; a file that is another's, or is damaged, is none."""
    connection = connect(str(path))
    try:
        for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "secure_delete = ON"):
            connection.execute(f"PRAGMA {pragma}").fetchone()
        connection.execute(_TABLES)
        if connection.execute("SELECT place FROM copy").get in (None, place):
            connection.execute("INSERT OR IGNORE INTO copy VALUES (1, ?, 0)", (place,))
            return connection
    except apsw.Error:
        pass
    connection.close(force=True)
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    return _made(path, place)


# --- what is known of logs ---


def changed_until(connection: Connection) -> int:
    """Up to which moment changes were followed; 0 for a copy that is new."""
    return cast(int, connection.execute("SELECT changed FROM copy").get)


def follow(connection: Connection, changes: Sequence[tuple[str, Log]], until: int) -> None:
    """Take in logs that began, and take those anew that went or were rewritten; each change counts once."""
    for change, log in changes:
        connection.execute("INSERT OR IGNORE INTO seen VALUES (?)", (change,))
        if connection.changes():
            forget(connection, log.execution)
            connection.execute(
                "INSERT INTO logs (execution, thread, seq, open) VALUES (?, ?, 0, 1)", (log.execution, log.thread)
            )
    connection.execute("UPDATE copy SET changed = ?", (until,))


def prune(connection: Connection, before: str) -> None:
    """Changes that are not asked for again need not be known."""
    connection.execute("DELETE FROM seen WHERE change < ?", (before,))


def clear(connection: Connection) -> None:
    """Begin anew."""
    connection.execute(
        "DELETE FROM words; DELETE FROM places; DELETE FROM logs; DELETE FROM seen; UPDATE copy SET changed = 0"
    )


def open_logs(connection: Connection) -> list[Log]:
    """Those that may grow, or were not taken in."""
    rows = connection.execute("SELECT execution, thread, seq FROM logs WHERE open = 1 ORDER BY number")
    return [Log(cast(str, execution), cast(str, thread), cast(int, seq)) for execution, thread, seq in rows]


def forget(connection: Connection, execution: str) -> None:
    """Take out a log with all its words."""
    number = connection.execute("SELECT number FROM logs WHERE execution = ?", (execution,)).get
    if number is not None:
        connection.execute("DELETE FROM words WHERE rowid IN (SELECT position FROM places WHERE log = ?)", (number,))
        connection.execute("DELETE FROM places WHERE log = ?", (number,))
        connection.execute("DELETE FROM logs WHERE number = ?", (number,))


def take_in(
    connection: Connection, log: Log, words: Iterable[Words], seq: int, *, grows: bool, guild: str | None
) -> None:
    """Add words of a log, which was read up to ``seq``, unless it is another by now."""
    known = connection.execute("SELECT number FROM logs WHERE execution = ? AND seq = ?", (log.execution, log.seq)).get
    if known is None:
        return
    for each in words:
        free = _free(connection, each.position)
        connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (free, each.text))
        connection.execute("INSERT INTO places VALUES (?, ?, ?)", (free, known, each.seq))
    connection.execute(
        "UPDATE logs SET seq = ?, open = ?, guild = coalesce(?, guild) WHERE number = ?",
        (seq, int(grows), guild, known),
    )


def _free(connection: Connection, position: int) -> int:
    """The position, or the next one where two processes gave the same to two events."""
    while connection.execute("SELECT 1 FROM places WHERE position = ?", (position,)).get is not None:
        position += 1
    return position


def found(connection: Connection, query: WordQuery, wanted: Wanted) -> list[WordPlace]:
    """Where these words stand, the newest first."""
    bindings = {
        "words": matching(query), "before": wanted.before or _NEWEST, "guild": wanted.guild, "thread": wanted.thread,
        "most": wanted.most, "threads": named_threads(wanted),
    }  # fmt: skip
    return [WordPlace(*cast("tuple[int, str, str, int]", row)) for row in connection.execute(_FOUND, bindings)]
