"""Finding lessons: the full-text index over them, and the vectors of their words.

Both are made from the lessons and can be made again from them, so they have no migration: a file whose index was cut
into words by other rules is indexed anew when it is opened.  Triggers, actions and error signatures are columns of
their own, because a task that reads like a lesson's trigger says more than one that shares words with its advice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentic.stores.sqlite.connection import Connection, Rows, Value
from reflexion.lessons import SHOWN, Lesson
from reflexion.words import split_identifiers, words_of

REACH = "(guild = :guild OR scope = 'global')"
INDEX = 2
"""Raised whenever words are cut or kept differently than before."""
_WEIGHTS = (2.0, 1.0, 2.0)
"""Of trigger, action and error signature."""
_PLAIN = re.compile(r"[^\w]+")
_TABLES = """
    DROP TABLE IF EXISTS lesson_words;
    DROP TABLE IF EXISTS lesson_index;
    CREATE TABLE lesson_index (version INTEGER NOT NULL) STRICT;
    CREATE VIRTUAL TABLE lesson_words USING fts5(trigger, action, signature, tokenize = 'porter unicode61');
"""


def prepare(db: Connection) -> None:
    """Make the index where it is missing or of another version, in one transaction."""
    if _version(db) == INDEX:
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        if _version(db) != INDEX:  # another process may have been first
            db.execute(_TABLES)
            for number, body in list(db.execute("SELECT number, body FROM lesson")):
                index(db, int(str(number)), Lesson.model_validate_json(str(body)))
            db.execute("INSERT INTO lesson_index (version) VALUES (?)", (INDEX,))
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def index(db: Connection, number: int, lesson: Lesson) -> None:
    """Let a lesson be found by the words it has now."""
    columns = tuple(split_identifiers(text) for text in (lesson.trigger, lesson.action, lesson.error_signature))
    db.execute("DELETE FROM lesson_words WHERE rowid = ?", (number,))
    db.execute("INSERT INTO lesson_words (rowid, trigger, action, signature) VALUES (?, ?, ?, ?)", (number, *columns))


def matching(db: Connection, guild: str, thread: str, words: Sequence[str], limit: int) -> Rows | tuple[()]:
    """The bodies of lessons that may be shown and hold one of the words, best match first."""
    query = _query(words)
    if not query:
        return ()
    select = (
        "SELECT body FROM lesson_words JOIN lesson ON lesson.number = lesson_words.rowid"
        f" WHERE lesson_words MATCH :query AND {REACH} AND (scope != 'thread' OR thread = :thread)"
        f" AND status IN ({', '.join(repr(status) for status in SHOWN)})"
        f" ORDER BY bm25(lesson_words, {', '.join(map(str, _WEIGHTS))}) LIMIT :limit"
    )
    asked: dict[str, Value] = {"query": query, "guild": guild, "thread": thread, "limit": limit}
    return db.execute(select, asked)


def _version(db: Connection) -> int:
    if db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'lesson_index'").fetchone() is None:
        return 0
    return int(str(db.execute("SELECT version FROM lesson_index").get or 0))


def _query(words: Sequence[str]) -> str:
    """Any of the words, each quoted so that no sign of the query language is left in it."""
    plain = (_PLAIN.sub(" ", part).strip() for word in words for part in words_of(word))
    return " OR ".join(f'"{word}"' for word in dict.fromkeys(plain) if word)
