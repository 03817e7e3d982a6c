"""Finding lessons: the full-text index over them, and the vectors of what they mean.

Both are made from the lessons and can be made again from them, so they have no migration: a file whose index was cut
into words by other rules is indexed anew when it is opened.  Triggers, actions and error signatures are columns of
their own, because a task that reads like a lesson's trigger says more than one that shares words with its advice.

A word that stands in a fifth of 10,000 lessons finds 2,000 of them, and ranking those is what takes the time.  So the
rarest words of a task choose which lessons are ranked, until ``RANKED`` of them are found, and a few more rank them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from agentic.stores.sqlite.connection import Connection, Value
from reflexion.amending import may_be_shown
from reflexion.embedding import likenesses, revision_of
from reflexion.lessons import Lesson
from reflexion.words import error_text, split_identifiers, stem, weight, words_of

REACH = "(guild = :guild OR scope = 'global')"
INDEX = 3
"""Raised whenever words are cut or kept differently than before."""
RANKED = 250
RANKING_WORDS = 8
"""The rarest of a task; the others say next to nothing once these are known."""
COUNTED_WORDS = 10
"""Of a longer task those are counted first that not every task has."""
COUNTED = 800
"""A word of more lessons than this is common, however many they are."""
_WEIGHTS = (2.0, 1.0, 1.0)
"""Of trigger, action and error signature."""
_HERE = f"{REACH} AND (scope != 'thread' OR thread = :thread)"
_PLAIN = re.compile(r"[^\w]+")
_TABLES = """
    DROP TABLE IF EXISTS lesson_words;
    DROP TABLE IF EXISTS lesson_shown;
    DROP TABLE IF EXISTS lesson_index;
    CREATE TABLE lesson_index (version INTEGER NOT NULL) STRICT;
    CREATE VIRTUAL TABLE lesson_words USING fts5(trigger, action, signature, tokenize = 'porter unicode61');
    CREATE TABLE lesson_shown (
        number INTEGER PRIMARY KEY, scope TEXT NOT NULL, guild TEXT NOT NULL, thread TEXT NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS lesson_vector (
        number INTEGER PRIMARY KEY, model TEXT NOT NULL, revision TEXT NOT NULL, vector BLOB NOT NULL
    ) STRICT;
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
    """Let a lesson be found by what it says now, and only while it may be shown."""
    texts = (lesson.trigger, lesson.action, error_text(lesson.error_signature))
    db.execute("DELETE FROM lesson_words WHERE rowid = ?", (number,))
    insert = "INSERT INTO lesson_words (rowid, trigger, action, signature) VALUES (?, ?, ?, ?)"
    db.execute(insert, (number, *map(split_identifiers, texts)))
    db.execute("DELETE FROM lesson_shown WHERE number = ?", (number,))
    if may_be_shown(lesson):
        scope = lesson.scope
        db.execute("INSERT INTO lesson_shown VALUES (?, ?, ?, ?)", (number, scope.kind, scope.guild, scope.thread))
    db.execute("DELETE FROM lesson_vector WHERE number = ? AND revision != ?", (number, revision_of(lesson)))


def matching(db: Connection, guild: str, thread: str, words: Sequence[str], limit: int) -> Iterator[tuple[Value, ...]]:
    """The bodies of lessons that may be shown and hold one of the words, best match first."""
    query = query_of(db, words)
    if not query:
        return iter(())
    best = (
        f"SELECT number, bm25(lesson_words, {', '.join(map(str, _WEIGHTS))}) AS score"
        " FROM lesson_words JOIN lesson_shown ON number = lesson_words.rowid"
        f" WHERE lesson_words MATCH :query AND {_HERE} ORDER BY score LIMIT :limit"
    )
    asked: dict[str, Value] = {"query": query, "guild": guild, "thread": thread, "limit": limit}
    # The bodies are fetched last, so that those of all matches are not sorted with them.
    return iter(db.execute(f"SELECT body FROM ({best}) JOIN lesson USING (number) ORDER BY score", asked))


def embedded(db: Connection, guild: str, thread: str, model: str) -> bool:
    """Whether any lesson that may be shown here has a vector."""
    select = f"SELECT 1 FROM lesson_vector JOIN lesson_shown USING (number) WHERE model = :model AND {_HERE} LIMIT 1"
    return db.execute(select, {"model": model, "guild": guild, "thread": thread}).fetchone() is not None


def unembedded(db: Connection, model: str, limit: int) -> Iterator[tuple[Value, ...]]:
    """The bodies of lessons that may be shown and have no vector of this model, the newest first."""
    select = (
        "SELECT body FROM lesson_shown JOIN lesson USING (number) WHERE NOT EXISTS (SELECT 1 FROM lesson_vector"
        " WHERE lesson_vector.number = lesson.number AND model = ?) ORDER BY number DESC LIMIT ?"
    )
    return iter(db.execute(select, (model, limit)))


def keep_vectors(db: Connection, model: str, vectors: Sequence[tuple[str, str, bytes]]) -> None:
    """Keep (lesson, revision of its text, vector), unless the lesson says something else by now."""
    for id, revision, vector in vectors:
        row = db.execute("SELECT number, body FROM lesson WHERE id = ?", (id,)).fetchone()
        if row is not None and revision_of(Lesson.model_validate_json(str(row[1]))) == revision:
            db.execute("INSERT OR REPLACE INTO lesson_vector VALUES (?, ?, ?, ?)", (row[0], model, revision, vector))


def nearest(
    db: Connection, guild: str, thread: str, model: str, vector: bytes, limit: int, also: Collection[str]
) -> tuple[tuple[Lesson, float], ...]:
    """The lessons nearest to a vector, and those of ``also``, with their likeness, best first."""
    select = (
        "SELECT number, vector FROM lesson_shown JOIN lesson_vector USING (number)"
        f" WHERE model = :model AND length(vector) = :length AND {_HERE}"
    )
    asked: dict[str, Value] = {"model": model, "guild": guild, "thread": thread, "length": len(vector)}
    rows = [(int(str(number)), other) for number, other in db.execute(select, asked) if isinstance(other, bytes)]
    found = sorted(zip(likenesses(vector, [other for _, other in rows]), rows, strict=True), reverse=True)
    asked_for = {_number(db, id) for id in also}
    kept = [(number, likeness) for at, (likeness, (number, _)) in enumerate(found) if at < limit or number in asked_for]
    body = "SELECT body FROM lesson WHERE number = ?"
    return tuple(
        (Lesson.model_validate_json(str(db.execute(body, (number,)).get)), likeness) for number, likeness in kept
    )


def _number(db: Connection, id: str) -> Value:
    return db.execute("SELECT number FROM lesson WHERE id = ?", (id,)).get


def _version(db: Connection) -> int:
    if db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'lesson_index'").fetchone() is None:
        return 0
    return int(str(db.execute("SELECT version FROM lesson_index").get or 0))


def query_of(db: Connection, words: Sequence[str]) -> str:
    """For lessons with one of the rarest words; each is quoted, so that no sign of the query language is left in it."""
    plain = dict.fromkeys(_PLAIN.sub(" ", part).strip() for word in words for part in words_of(word))
    counted: dict[str, int] = {}
    for word in sorted((word for word in plain if word), key=lambda word: -weight(stem(word))):
        count = _count(db, f'"{word}"')
        if count:  # a word that no lesson has costs next to nothing
            counted[f'"{word}"'] = count
        if len(counted) == COUNTED_WORDS:
            break
    known = sorted(counted, key=lambda word: counted[word])[:RANKING_WORDS]
    found, rare = 0, list[str]()
    for word in known:
        found += counted[word]
        if rare and found > RANKED:
            break
        rare.append(word)
    if len(rare) == len(known):
        return " OR ".join(known)
    return f"({' OR '.join(rare)}) AND ({' OR '.join(known)})"


def _count(db: Connection, quoted: str) -> int:
    held = "SELECT 1 FROM lesson_words WHERE lesson_words MATCH ? LIMIT ?"
    return int(str(db.execute(f"SELECT count(*) FROM ({held})", (quoted, COUNTED)).get))
