"""Lessons in one SQLite file, found by full text.

Every call runs in the store's own thread, so that the event loop never waits for a disk; a file that does not answer
in time is an error the caller can do without.  The file is opened by the first call, and again after a failure: a
broken one costs its lessons, not the bot.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import apsw
from pydantic import ValidationError

from agentic.failpoints import reach
from agentic.stores.sqlite.connection import Connection, Value, connect
from reflexion.errors import LessonStoreUnavailable
from reflexion.lessons import Lesson, Reflection, Verdict, lived_through, merged
from reflexion.lifecycle import Showing
from reflexion.stores import searching
from reflexion.stores.schema import migrate
from reflexion.stores.searching import REACH

T = TypeVar("T")
Row = TypeVar("Row", Lesson, Reflection, Showing, Verdict)
SECONDS = 5.0
"""A call that takes longer is given up."""
_BUSY_MILLISECONDS = 2_000


class SQLiteLessonStore:
    """Keeps reflections and lessons durably; a write has reached the disk when its call returns."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="lessons")
        self._connection: Connection | None = None

    async def keep_reflection(self, reflection: Reflection) -> None:
        """Keep it; one that is known under this id is left as it is."""
        row = (reflection.id, reflection.guild, reflection.thread, reflection.model_dump_json())
        insert = "INSERT INTO reflection (id, guild, thread, body) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
        await self._do(lambda db: list(db.execute(insert, row)))

    async def reflections(self, guild: str, thread: str, limit: int) -> tuple[Reflection, ...]:
        """The last ones of a thread, newest first."""
        select = "SELECT body FROM reflection WHERE guild = ? AND thread = ? ORDER BY number DESC LIMIT ?"
        return await self._do(lambda db: _read(Reflection, db.execute(select, (guild, thread, limit))))

    async def propose(self, lesson: Lesson, *, verified: bool) -> Lesson:
        """Add a lesson, or merge it into the one of the same id, in one transaction."""

        def work(db: Connection) -> Lesson:
            known = _lesson(db, lesson.id)
            now = lesson if known is None else merged(known, lesson, verified=verified)
            _save(db, now)
            return now

        return await self._write(work)

    async def amend(self, lesson: Lesson) -> None:
        """Replace one lesson by its id, or add it."""
        await self._write(lambda db: _save(db, lesson))

    async def lesson(self, guild: str, id: str) -> Lesson | None:
        """One lesson within the guild's reach."""
        select = f"SELECT body FROM lesson WHERE id = :id AND {REACH}"
        found = await self._do(lambda db: _read(Lesson, db.execute(select, {"id": id, "guild": guild})))
        return found[0] if found else None

    async def lessons(self, guild: str) -> tuple[Lesson, ...]:
        """All lessons within the guild's reach, newest first."""
        select = f"SELECT body FROM lesson WHERE {REACH} ORDER BY created DESC, number DESC"
        return await self._do(lambda db: _read(Lesson, db.execute(select, {"guild": guild})))

    async def search(self, guild: str, thread: str, words: Sequence[str], limit: int) -> tuple[Lesson, ...]:
        """Lessons that may be shown and hold one of the words, by full-text rank."""
        return await self._do(lambda db: _read(Lesson, searching.matching(db, guild, thread, words, limit)))

    async def record(self, verdict: Verdict, showings: Sequence[Showing]) -> tuple[Lesson, ...]:
        """Keep how an execution went and what that says of lessons, in one transaction."""

        def work(db: Connection) -> tuple[Lesson, ...]:
            row = (verdict.execution, verdict.guild, verdict.model_dump_json())
            db.execute("INSERT INTO verdict (execution, guild, body) VALUES (?, ?, ?)"
                       " ON CONFLICT (execution) DO UPDATE SET body = excluded.body", row)  # fmt: skip
            told = "SELECT DISTINCT lesson FROM showing WHERE execution = ?"
            before = [str(row[0]) for row in db.execute(told, (verdict.execution,))]
            reached = [each for each in showings if _within(_lesson(db, each.lesson), verdict.guild)]
            ids = [each.lesson for each in reached]
            for id in before:
                if id not in ids:
                    db.execute("DELETE FROM showing WHERE execution = ? AND lesson = ?", (verdict.execution, id))
            for each in reached:
                body = (each.lesson, each.execution, each.guild, each.model_dump_json())
                db.execute("INSERT INTO showing (lesson, execution, guild, body) VALUES (?, ?, ?, ?)"
                           " ON CONFLICT (lesson, execution) DO UPDATE SET body = excluded.body", body)  # fmt: skip
            return _live(db, dict.fromkeys((*before, *ids)))

        return await self._write(work)

    async def showings(self, guild: str, lesson: str = "") -> tuple[Showing, ...]:
        """Of one lesson, or of all within the guild's reach, in the order in which they were recorded."""
        select = (
            "SELECT showing.body FROM showing JOIN lesson ON lesson.id = showing.lesson"
            " WHERE (lesson.guild = :guild OR lesson.scope = 'global') AND (:lesson = '' OR lesson.id = :lesson)"
            " ORDER BY showing.number"
        )
        return await self._do(lambda db: _read(Showing, db.execute(select, {"guild": guild, "lesson": lesson})))

    async def verdicts(self, guild: str = "") -> tuple[Verdict, ...]:
        """Of one guild or of all, in the order in which they were first recorded."""
        select = "SELECT body FROM verdict WHERE :guild = '' OR guild = :guild ORDER BY number"
        return await self._do(lambda db: _read(Verdict, db.execute(select, {"guild": guild})))

    async def close(self) -> None:
        """Close the file; the last one to close it leaves no log file behind."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._let_go)
        self._thread.shutdown(wait=False)

    async def _write(self, work: Callable[[Connection], T]) -> T:
        def transaction(db: Connection) -> T:
            db.execute("BEGIN IMMEDIATE")
            try:
                result = work(db)
            except BaseException:
                db.execute("ROLLBACK")
                raise
            reach("lessons.commit.before")
            db.execute("COMMIT")
            reach("lessons.commit.after")
            return result

        return await self._do(transaction)

    async def _do(self, work: Callable[[Connection], T]) -> T:
        def run() -> T:
            if self._connection is None:
                self._connection = _opened(self._path)
            return work(self._connection)

        try:
            async with asyncio.timeout(SECONDS):
                return await asyncio.get_running_loop().run_in_executor(self._thread, run)
        except TimeoutError as error:
            raise LessonStoreUnavailable(f"{self._path} did not answer within {SECONDS:.0f} s") from error
        except (apsw.Error, OSError, ValidationError) as error:
            raise LessonStoreUnavailable(f"{self._path} cannot be used: {error}") from error

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _opened(path: Path) -> Connection:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(mode=0o600)
    connection = connect(str(path))
    try:
        connection.set_busy_timeout(_BUSY_MILLISECONDS)
        connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
        migrate(connection)
        searching.prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _read(kind: type[Row], rows: Iterable[Sequence[Value]]) -> tuple[Row, ...]:
    return tuple(kind.model_validate_json(str(row[0])) for row in rows)


def _lesson(db: Connection, id: str) -> Lesson | None:
    found = _read(Lesson, db.execute("SELECT body FROM lesson WHERE id = ?", (id,)))
    return found[0] if found else None


def _within(lesson: Lesson | None, guild: str) -> bool:
    return lesson is not None and (lesson.scope.kind == "global" or lesson.scope.guild == guild)


def _live(db: Connection, ids: Iterable[str]) -> tuple[Lesson, ...]:
    """Tell lives anew from all showings; returns the lessons whose status changed."""
    changed: list[Lesson] = []
    for id in ids:
        lesson = _lesson(db, id)
        if lesson is not None:
            rows = db.execute("SELECT body FROM showing WHERE lesson = ? ORDER BY number", (id,))
            now = lived_through(lesson, _read(Showing, rows))
            _save(db, now)
            changed += [now] if now.status != lesson.status else []
    return tuple(changed)


def _save(db: Connection, lesson: Lesson) -> None:
    scope = lesson.scope
    row = (
        lesson.id, scope.kind, scope.guild, scope.thread, lesson.error_signature, lesson.status,
        lesson.created.isoformat(), lesson.model_dump_json(),
    )  # fmt: skip
    upsert = (
        "INSERT INTO lesson (id, scope, guild, thread, signature, status, created, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET status = excluded.status, body = excluded.body RETURNING number"
    )
    number = int(str(db.execute(upsert, row).get))
    searching.index(db, number, lesson)
