"""What only a file can get wrong."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from agentic.stores.sqlite.file.connection import connect
from reflexion.errors import LessonStoreError, LessonStoreTooNew, LessonStoreUnavailable
from reflexion.lessons.lifecycle import Life
from reflexion.stores import schema, sqlite
from reflexion.stores.sqlite import SQLiteLessonStore
from tests.integration.reflexion.conftest import went
from tests.integration.reflexion.test_lesson_stores import lesson, reflection


async def test_what_was_kept_is_there_in_another_process(tmp_path: Path) -> None:
    path = tmp_path / "lessons.db"
    store = SQLiteLessonStore(path)
    await store.keep_reflection(reflection(1))
    await store.amend(lesson("l"))
    read = (
        "import asyncio, sys; from reflexion.stores.sqlite import SQLiteLessonStore\n"
        "store = SQLiteLessonStore(sys.argv[1])\n"
        "async def look():\n"
        "    print((await store.reflections('g1', '900', 3))[0].id, (await store.search('g1', '', ['parser'], 1))[0].id)\n"
        "    await store.close()\n"
        "asyncio.run(look())"
    )
    done = subprocess.run([sys.executable, "-c", read, path], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["rg19001", "l"]
    await store.close()


async def test_only_its_owner_may_read_the_file(tmp_path: Path) -> None:
    store = SQLiteLessonStore(tmp_path / "state" / "lessons.db")
    await store.amend(lesson("l"))
    assert (tmp_path / "state" / "lessons.db").stat().st_mode & 0o077 == 0
    await store.close()


async def test_every_commit_reaches_the_disk(tmp_path: Path) -> None:
    store = SQLiteLessonStore(tmp_path / "lessons.db")
    modes = await store._do(  # pyright: ignore[reportPrivateUsage] - what its own connection is set to
        lambda db: (db.execute("PRAGMA journal_mode").get, db.execute("PRAGMA synchronous").get)
    )
    assert modes == ("wal", 2)
    await store.close()


async def test_a_file_of_a_newer_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    """Row 86."""
    path = tmp_path / "lessons.db"
    newer = connect(str(path))
    newer.execute("CREATE TABLE later (x); PRAGMA user_version = 99")
    newer.close()
    store = SQLiteLessonStore(path)
    with pytest.raises(LessonStoreTooNew, match="update Threadwright"):
        await store.reflections("g1", "900", 3)
    await store.close()
    after = connect(str(path))
    assert [row[0] for row in after.execute("SELECT name FROM sqlite_schema")] == ["later"]
    after.close()


def test_a_migration_that_fails_in_the_middle_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    """Row 86."""
    db = connect(str(tmp_path / "lessons.db"))
    schema.migrate(db)
    with pytest.raises(apsw.SQLError):
        schema.migrate(db, (*schema.MIGRATIONS, "CREATE TABLE extra (x); CREATE TABLE lesson (x);"))
    assert db.execute("PRAGMA user_version").get == len(schema.MIGRATIONS)
    assert db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'extra'").get == 0
    schema.migrate(db, (*schema.MIGRATIONS, "CREATE TABLE extra (x);"))
    assert db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'extra'").get == 1
    db.close()


FIRST_SCHEMA = """
    CREATE TABLE reflection (
        number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, guild TEXT NOT NULL, thread TEXT NOT NULL,
        body TEXT NOT NULL
    ) STRICT;
    CREATE INDEX reflection_of_thread ON reflection (guild, thread, number);
    CREATE TABLE lesson (
        number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, scope TEXT NOT NULL, guild TEXT NOT NULL,
        thread TEXT NOT NULL, signature TEXT NOT NULL, status TEXT NOT NULL, created TEXT NOT NULL, body TEXT NOT NULL
    ) STRICT;
    CREATE INDEX lesson_in_reach ON lesson (guild, scope, created);
    CREATE VIRTUAL TABLE lesson_words USING fts5(words, tokenize = 'porter unicode61');
    PRAGMA user_version = 1;
"""
FIRST_LESSON = (
    '{"id":"l1","scope":{"kind":"guild","guild":"g1","thread":""},"kind":"pitfall","trigger":"The parser met empty rows",'
    '"action":"Skip empty rows before parsing","error_signature":"shell: E  ValueError","evidence":["E  ValueError"],'
    '"executions":["x1","x2"],"author_trust":"model","status":"probation","note":"Seen in 2 executions.","shown":7,'
    '"shown_ok":5,"held_back":2,"held_back_ok":1,"model":"m","supersedes":"","created":"2026-11-01T09:00:00Z"}'
)
FIRST_REFLECTION = (
    '{"id":"r1","thread":"900","guild":"g1","execution":"x1","task":"t","cause":"c","insight":{"what_worked":"a",'
    '"what_failed":"b","root_cause":"c","strategy_change":"d","key_insight":"e"},"evidence":["E"],"error_signature":"E",'
    '"model":"m","score":32,"created":"2026-11-01T09:00:00Z"}'
)


async def test_a_file_of_the_first_schema_keeps_all_that_stands_in_it(tmp_path: Path) -> None:
    """Its counters go on as a life; what is counted from now on comes beside them, and its words are found."""
    path = tmp_path / "lessons.db"
    old = connect(str(path))
    old.execute(FIRST_SCHEMA)
    old.execute("INSERT INTO reflection (id, guild, thread, body) VALUES ('r1', 'g1', '900', ?)", (FIRST_REFLECTION,))
    insert = "INSERT INTO lesson (id, scope, guild, thread, signature, status, created, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    row = ("l1", "guild", "g1", "", "shell: E  ValueError", "probation", "2026-11-01T09:00:00+00:00", FIRST_LESSON)
    old.execute(insert, row)
    old.execute("INSERT INTO lesson_words (rowid, words) VALUES (1, 'parser met empty rows skip')")
    old.close()
    store = SQLiteLessonStore(path)
    (kept,) = await store.search("g1", "900", ["parser"], 5)
    assert kept.life == Life(shown=7, shown_ok=5, held_back=2, held_back_ok=1)
    assert (kept.executions, kept.note, kept.revision, kept.history) == (("x1", "x2"), "Seen in 2 executions.", 0, ())
    assert [each.id for each in await store.reflections("g1", "900", 3)] == ["r1"]
    await store.record(*went(["l1"], ok=True, execution="x3"))
    told = await store.lesson("g1", "l1")
    assert told is not None
    assert (told.life.shown, told.life.shown_ok, told.life.held_back) == (8, 6, 2)
    again = lesson("l9", "The parser meets empty rows", action="Skip empty rows before parsing", executions=("x4",))
    assert (await store.propose(again, verified=True)).id == "l1", "and it is compared with what comes now"
    await store.close()
    after = connect(str(path))
    assert after.execute("PRAGMA user_version").get == len(schema.MIGRATIONS)
    after.close()


@pytest.mark.parametrize("damage", ["garbage", "folder", "row"])
async def test_a_file_that_cannot_be_used_is_a_typed_error(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "lessons.db"
    if damage == "garbage":
        path.write_bytes(b"no database at all " * 400)
    elif damage == "folder":
        path.mkdir()
    else:
        good = SQLiteLessonStore(path)
        await good.amend(lesson("l"))
        await good.close()
        db = connect(str(path))
        db.execute("UPDATE lesson SET body = '{}'")
        db.close()
    store = SQLiteLessonStore(path)
    with pytest.raises(LessonStoreError):
        await store.record(*went(["l"], ok=True))
    with pytest.raises(LessonStoreError):
        await store.lessons("g1")
    await store.close()


async def test_a_store_that_was_broken_works_again_once_it_is_repaired(tmp_path: Path) -> None:
    path = tmp_path / "lessons.db"
    path.mkdir()
    store = SQLiteLessonStore(path)
    with pytest.raises(LessonStoreUnavailable):
        await store.lessons("g1")
    path.rmdir()
    await store.amend(lesson("l"))
    assert len(await store.lessons("g1")) == 1
    await store.close()


async def test_a_file_that_another_process_locks_never_stalls_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loop that stood still could not have the lock given back, for which the store waits."""
    monkeypatch.setattr(sqlite, "SECONDS", 60.0)
    monkeypatch.setattr(sqlite, "_BUSY_MILLISECONDS", 50_000)
    path = tmp_path / "lessons.db"
    store = SQLiteLessonStore(path)
    await store.amend(lesson("l"))
    other = connect(str(path))
    other.execute("BEGIN IMMEDIATE")
    waiting = asyncio.create_task(store.amend(lesson("m")))
    for _ in range(100):
        await asyncio.sleep(0)
    assert not waiting.done()
    other.execute("ROLLBACK")
    await waiting
    assert len(await store.lessons("g1")) == 2
    await store.close()
    monkeypatch.setattr(sqlite, "_BUSY_MILLISECONDS", 50)
    impatient = SQLiteLessonStore(path)
    assert len(await impatient.lessons("g1")) == 2
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LessonStoreUnavailable):
        await impatient.amend(lesson("n"))
    other.execute("ROLLBACK")
    other.close()
    assert len(await impatient.lessons("g1")) == 2
    await impatient.close()
