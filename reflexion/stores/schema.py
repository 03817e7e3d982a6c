"""The tables of the lesson store, and how an older file becomes a newer one.

A migration is one entry of ``MIGRATIONS``; the file's ``user_version`` says how many it has seen.  All that are
missing run in one transaction, so a process killed in the middle leaves the file as it was.  The body of a row is
JSON that ignores what it does not know; columns are only what queries ask for.
"""

from __future__ import annotations

from agentic.stores.sqlite.file.connection import Connection
from reflexion.errors import LessonStoreTooNew

UNAIDED = "json_extract(body, '$.lessons_shown') = 0 AND json_extract(body, '$.ok') IS NOT NULL"
"""Verdicts that say how tasks go without lessons; written as the index has it, or the index is not used."""

IN_PLACE_OF = "json_extract(body, '$.supersedes')"
"""The lesson in whose place one came; '' for most."""

JUDGED_BY, SHARE, RIGHT = (f"json_extract(body, '$.{name}')" for name in ("judge_model", "judge", "right"))
LABELLED = f"{SHARE} IS NOT NULL AND {RIGHT} IS NOT NULL"
"""Readings of a judge of which it is known whether the execution was right; the index holds all that is asked of them."""

MIGRATIONS: tuple[str, ...] = (
    """
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
    """,
    """
    CREATE TABLE verdict (
        number INTEGER PRIMARY KEY AUTOINCREMENT, execution TEXT NOT NULL UNIQUE, guild TEXT NOT NULL, body TEXT NOT NULL
    ) STRICT;
    CREATE INDEX verdict_of_guild ON verdict (guild, number);
    CREATE TABLE showing (
        number INTEGER PRIMARY KEY AUTOINCREMENT, lesson TEXT NOT NULL, execution TEXT NOT NULL, guild TEXT NOT NULL,
        body TEXT NOT NULL, UNIQUE (lesson, execution)
    ) STRICT;
    CREATE INDEX showing_of_execution ON showing (execution);
    CREATE INDEX showing_of_guild ON showing (guild, number);
    """,
    f"""
    CREATE INDEX lesson_of_signature ON lesson (signature);
    CREATE VIRTUAL TABLE lesson_text USING fts5(words, tokenize = 'porter unicode61');
    INSERT INTO lesson_text (rowid, words)
        SELECT number, json_extract(body, '$.trigger') || ' ' || json_extract(body, '$.action') FROM lesson;
    CREATE INDEX verdict_unaided ON verdict (guild, number) WHERE {UNAIDED};
    """,
    f"""
    CREATE INDEX lesson_of_status ON lesson (status, guild, created);
    CREATE INDEX lesson_in_place ON lesson ({IN_PLACE_OF}) WHERE {IN_PLACE_OF} != '';
    CREATE TABLE lesson_seen (
        execution TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (execution, number)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX lesson_seen_of ON lesson_seen (number);
    INSERT OR IGNORE INTO lesson_seen SELECT value, number FROM lesson, json_each(body, '$.executions');
    """,
    f"""
    DROP TABLE lesson_text;
    CREATE INDEX verdict_labelled ON verdict ({JUDGED_BY}, number, execution, {SHARE}, {RIGHT}) WHERE {LABELLED};
    """,
    """
    CREATE TABLE fact (
        number INTEGER PRIMARY KEY AUTOINCREMENT, guild TEXT NOT NULL, thread TEXT NOT NULL, repository TEXT NOT NULL,
        id TEXT NOT NULL, body TEXT NOT NULL, UNIQUE (guild, thread, repository, id)
    ) STRICT;
    """,
)


def migrate(connection: Connection, migrations: tuple[str, ...] = MIGRATIONS) -> None:
    """Bring a file to the newest schema in one transaction; refuses one that is newer still."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statements in migrations[version_of(connection, migrations) :]:
            connection.execute(statements)
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def version_of(connection: Connection, migrations: tuple[str, ...] = MIGRATIONS) -> int:
    """How many migrations a file has seen; raises ``LessonStoreTooNew`` where those are more than this version knows."""
    version = int(str(connection.execute("PRAGMA user_version").get))
    if version > len(migrations):
        raise LessonStoreTooNew(
            f"the lessons were written by a newer version of Threadwright (schema {version}, this one knows"
            f" {len(migrations)}): update Threadwright, or move the file away to begin without lessons"
        )
    return version
