"""Lessons in one SQLite file, found by full text.

Every call runs in the store's own thread, so that the event loop never waits for a disk; a file that does not answer
in time is an error the caller can do without.  The file is opened by the first call, and again after a failure: a
broken one costs its lessons, not the bot.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import apsw
from pydantic import ValidationError

from agentic.ports.failpoints import reach
from agentic.stores.sqlite.file.connection import Connection, connect
from reflexion.errors import LessonStoreUnavailable
from reflexion.lessons.fact import Fact, FactScope
from reflexion.lessons.judge_trust import Reading
from reflexion.lessons.lesson import (
    Lesson,
    LessonStatus,
    Reflection,
    Verdict,
)
from reflexion.lessons.lifecycle import Showing
from reflexion.ports import FactsChange
from reflexion.stores import fact_rows, search_index, statements
from reflexion.stores.schema import JUDGED_BY, LABELLED, RIGHT, SHARE, UNAIDED, migrate
from reflexion.stores.search_index import REACH
from reflexion.stores.statements import read

T = TypeVar("T")
SECONDS = 5.0
"""A call that takes longer is given up."""
_BUSY_MILLISECONDS = 2_000
_SHOWN_IN = "(SELECT body ->> '$.thread' FROM verdict WHERE verdict.execution = showing.execution) = :thread"
_BROKEN = (apsw.CorruptError, apsw.NotADBError, apsw.IOError, apsw.CantOpenError, apsw.ReadOnlyError)


class SQLiteLessonStore:
    """Keeps reflections and lessons durably; a write has reached the disk when its call returns."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="lessons")
        self._connection: Connection | None = None
        self._closed = False

    async def keep_reflection(self, reflection: Reflection) -> None:
        """Keep it; one that is known under this id is left as it is."""
        row = (reflection.id, reflection.guild, reflection.thread, reflection.model_dump_json())
        insert = "INSERT INTO reflection (id, guild, thread, body) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
        await self._write(lambda db: list(db.execute(insert, row)))

    async def hear(self, guild: str, reflection: str, said: Sequence[str]) -> None:
        """Let a reflection hold what people said was wrong."""
        row = (json.dumps([*said]), reflection, guild)
        update = "UPDATE reflection SET body = json_set(body, '$.said', json(?)) WHERE id = ? AND guild = ?"
        await self._write(lambda db: list(db.execute(update, row)))

    async def reflections(self, guild: str, thread: str, limit: int) -> tuple[Reflection, ...]:
        """The last ones of a thread, newest first."""
        select = "SELECT body FROM reflection WHERE guild = ? AND thread = ? ORDER BY number DESC LIMIT ?"
        return await self._do(lambda db: read(Reflection, db.execute(select, (guild, thread, limit))))

    async def reflections_of(self, executions: Collection[str]) -> int:
        """How many reflections of these executions there are."""
        return await self._do(lambda db: statements.reflections_of(db, executions))

    async def erase_reflections(self, executions: Collection[str], said: Collection[str]) -> int:
        """Delete the reflections of these executions, and take these words out of what others heard."""
        return await self._write(lambda db: statements.erase_reflections(db, executions, said))

    async def propose(self, lesson: Lesson, *, verified: bool) -> Lesson:
        """Add a lesson, or merge it into the one that says the same, in one transaction."""
        return await self._write(lambda db: statements.propose(db, lesson, verified=verified))

    async def amend(self, lesson: Lesson) -> Lesson:
        """Replace one lesson by its changed copy, or add it."""
        return await self._write(lambda db: statements.amend(db, lesson))

    async def lesson(self, guild: str, id: str) -> Lesson | None:
        """One lesson within the guild's reach."""
        select = f"SELECT body FROM lesson WHERE id = :id AND {REACH}"
        found = await self._do(lambda db: read(Lesson, db.execute(select, {"id": id, "guild": guild})))
        return found[0] if found else None

    async def lessons(self, guild: str | None) -> tuple[Lesson, ...]:
        """All lessons within the guild's reach, newest first."""
        select = f"SELECT body FROM lesson WHERE :guild IS NULL OR {REACH} ORDER BY created DESC, number DESC"
        return await self._do(lambda db: read(Lesson, db.execute(select, {"guild": guild})))

    async def seen_in(self, guild: str, execution: str, limit: int) -> tuple[Lesson, ...]:
        """Lessons that were seen in this execution, newest first."""
        return await self._do(lambda db: statements.seen_in(db, guild, execution, limit))

    async def of_status(self, guild: str, status: LessonStatus, limit: int) -> tuple[Lesson, ...]:
        """Lessons of the guild itself that have this status, newest first."""
        return await self._do(lambda db: statements.of_status(db, guild, status, limit))

    async def guilds_with(self, status: LessonStatus) -> tuple[str, ...]:
        """Guilds with lessons of this status."""
        return await self._do(lambda db: statements.guilds_with(db, status))

    async def search(self, guild: str, thread: str, words: Sequence[str], limit: int) -> tuple[Lesson, ...]:
        """Lessons that may be shown and hold one of the words, by full-text rank."""
        return await self._do(lambda db: read(Lesson, search_index.matching(db, guild, thread, words, limit)))

    async def embedded(self, guild: str, thread: str, model: str) -> bool:
        """Whether any lesson that may be shown here has a vector."""
        return await self._do(lambda db: search_index.embedded(db, guild, thread, model))

    async def unembedded(
        self, model: str, limit: int, *, guild: str | None = None, thread: str = ""
    ) -> tuple[Lesson, ...]:
        """Lessons that may be shown and have no vector of this model, the newest first."""
        return await self._do(lambda db: read(Lesson, search_index.unembedded(db, model, limit, guild, thread)))

    async def keep_vectors(self, model: str, vectors: Sequence[tuple[str, str, bytes]]) -> None:
        """Keep (lesson, revision of its text, vector), in one transaction."""
        await self._write(lambda db: search_index.keep_vectors(db, model, vectors))

    async def nearest(
        self, guild: str, thread: str, model: str, vector: bytes, limit: int, also: Collection[str] = ()
    ) -> tuple[tuple[Lesson, float], ...]:
        """The lessons nearest to a vector, and those of ``also``, with their likeness, best first."""
        return await self._do(lambda db: search_index.nearest(db, guild, thread, model, vector, limit, also))

    async def record(self, verdict: Verdict, showings: Sequence[Showing]) -> tuple[Lesson, ...]:
        """Keep how an execution went and what that says of lessons, in one transaction."""
        return await self._write(lambda db: statements.record(db, verdict, showings))

    async def sweep(self, now: datetime) -> tuple[Lesson, ...]:
        """Let time do what it does to lessons, in one transaction."""

        def swept(db: Connection) -> tuple[Lesson, ...]:
            fact_rows.sweep(db, now)
            return statements.sweep(db, now)

        return await self._write(swept)

    async def facts_in(self, scope: FactScope) -> tuple[Fact, ...]:
        """All facts of one scope, oldest first."""
        return await self._do(lambda db: fact_rows.facts_in(db, scope))

    async def facts(self, guild: str | None) -> tuple[Fact, ...]:
        """All facts of a guild, or of all."""
        return await self._do(lambda db: fact_rows.facts(db, guild))

    async def change_facts(self, scope: FactScope, change: FactsChange) -> tuple[Fact, ...]:
        """Make of the facts of one scope what ``change`` says, in one transaction."""
        return await self._write(lambda db: fact_rows.change_facts(db, scope, change))

    async def showings(self, guild: str | None, lesson: str = "", *, thread: str = "") -> tuple[Showing, ...]:
        """Of one lesson, or of all, in the order in which they were recorded."""
        asked = [name for name, value in (("guild", guild), ("lesson", lesson or None)) if value is not None]
        wanted = [*(f"{name} = :{name}" for name in asked), *([_SHOWN_IN] if thread else [])]
        select = f"SELECT body FROM showing WHERE {' AND '.join(wanted) or 'TRUE'} ORDER BY number"
        values = {"guild": guild, "lesson": lesson, "thread": thread}
        return await self._do(lambda db: read(Showing, db.execute(select, values)))

    async def verdicts(self, guild: str | None = None) -> tuple[Verdict, ...]:
        """Of one guild or of all, in the order in which they were first recorded."""
        select = "SELECT body FROM verdict WHERE :guild IS NULL OR guild = :guild ORDER BY number"
        return await self._do(lambda db: read(Verdict, db.execute(select, {"guild": guild})))

    async def readings(self, model: str, *, without: str, limit: int) -> tuple[Reading, ...]:
        """The newest labelled readings of one judge, newest first."""
        select = (
            f"SELECT {SHARE}, {RIGHT} FROM verdict WHERE {JUDGED_BY} = ? AND {LABELLED} AND execution != ?"
            " ORDER BY number DESC LIMIT ?"
        )
        rows = await self._do(lambda db: list(db.execute(select, (model, without, limit))))
        return tuple(Reading(float(str(share)), bool(right)) for share, right in rows)

    async def unaided(self, guild: str, limit: int, *, thread: str = "") -> tuple[Verdict, ...]:
        """The last verdicts of a guild that are known and rest on no lesson, newest first."""
        here = "(:thread = '' OR body ->> '$.thread' = :thread)"
        select = (
            f"SELECT body FROM verdict WHERE guild = :guild AND {UNAIDED} AND {here} ORDER BY number DESC LIMIT :limit"
        )
        values = {"guild": guild, "thread": thread, "limit": limit}
        return await self._do(lambda db: read(Verdict, db.execute(select, values)))

    async def close(self) -> None:
        """Close the file, once; the last one to close it leaves no log file behind."""
        if self._closed:
            return
        self._closed = True
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
                self._connection = self._open()
            try:
                return work(self._connection)
            except _BROKEN:
                self._let_go()  # what is open is of a file that may be repaired meanwhile
                raise

        try:
            async with asyncio.timeout(SECONDS):
                return await asyncio.get_running_loop().run_in_executor(self._thread, run)
        except TimeoutError as error:
            raise LessonStoreUnavailable(f"{self._path} did not answer within {SECONDS:.0f} s") from error
        except (apsw.Error, OSError, ValidationError) as error:
            raise LessonStoreUnavailable(f"{self._path} cannot be used: {error}") from error

    def _open(self) -> Connection:
        return opened(self._path)

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def opened(path: Path, *, synchronous: str = "FULL") -> Connection:
    """The file at the newest schema, made where it is missing."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(mode=0o600)
    connection = connect(str(path))
    try:
        connection.set_busy_timeout(_BUSY_MILLISECONDS)
        for pragma in ("journal_mode = WAL", f"synchronous = {synchronous}", "secure_delete = ON"):
            connection.execute(f"PRAGMA {pragma}").fetchone()  # each alone: what follows a row is run when that is read
        migrate(connection)
        search_index.prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection
