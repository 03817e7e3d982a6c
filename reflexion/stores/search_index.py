"""Finding lessons: the full-text index over them, and the vectors of what they mean.

Both are made from the lessons and can be made again from them, so they have no migration: a file whose index was cut
into words by other rules is indexed anew when it is opened.  Triggers, actions and error signatures are columns of
their own, because a task that reads like a lesson's trigger says more than one that shares words with its advice.

A lesson's place is its server, its thread, or everywhere.  Each word stands in the index with the place that it stands
in, so whatever is counted (how rare a word is, how many lessons there are, how long they are) is counted over those
places alone that the question is asked for: what others hold changes neither what is found nor its order.  FTS5's own
``bm25()`` counts over the whole table; the same formula stands here, over the places.

A word that stands in a fifth of 10,000 lessons finds 2,000 of them, and ranking those is what takes the time.  So the
rarest words of a task choose which lessons are ranked, until ``RANKED`` of them are found, and a few more rank them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from agentic.ports.lookup import likenesses
from agentic.stores.sqlite.file.connection import Connection, Value
from reflexion.lessons.changes import may_be_shown
from reflexion.lessons.lesson import Lesson, Scope, ScopeKind
from reflexion.retrieval.embedding import revision_of
from reflexion.text.words import error_text, terms_of, weight

REACH = "(guild = :guild OR scope = 'global')"
INDEX = 4
"""Raised whenever words are cut or kept differently than before."""
RANKED = 250
RANKING_WORDS = 8
"""The rarest of a task; the others say next to nothing once these are known."""
COUNTED_WORDS = 10
"""Of a longer task those are counted first that not every task has."""
COUNTED = 400
"""A word of more lessons of a place than this is common, however many they are."""
_RANK = "worth * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * words / :usual))"
"""Okapi BM25 with the numbers of FTS5; a word in the trigger counts for two."""
_ALL = 1_000_000
_REACHED: dict[ScopeKind, tuple[tuple[ScopeKind, bool, bool], ...]] = {
    "global": (("global", False, False),),
    "guild": (("global", False, False), ("guild", True, False)),
    "thread": (("global", False, False), ("guild", True, False), ("thread", True, True)),
}
"""The places within the reach of a scope, its own last: which kind, and whether guild and thread name it."""
_HERE = f"{REACH} AND (scope != 'thread' OR thread = :thread)"
_TABLES = """
    DROP TABLE IF EXISTS lesson_held;
    DROP TABLE IF EXISTS lesson_words;
    DROP TABLE IF EXISTS lesson_place;
    DROP TABLE IF EXISTS lesson_length;
    DROP TABLE IF EXISTS lesson_shown;
    DROP TABLE IF EXISTS lesson_index;
    CREATE TABLE lesson_index (version INTEGER NOT NULL) STRICT;
    CREATE VIRTUAL TABLE lesson_words USING fts5(trigger, action, signature, tokenize = "ascii tokenchars ':'");
    CREATE VIRTUAL TABLE lesson_held USING fts5vocab(lesson_words, instance);
    CREATE TABLE lesson_place (
        place INTEGER PRIMARY KEY, scope TEXT NOT NULL, guild TEXT NOT NULL, thread TEXT NOT NULL,
        lessons INTEGER NOT NULL, words INTEGER NOT NULL, UNIQUE (guild, scope, thread)
    ) STRICT;
    CREATE TABLE lesson_length (number INTEGER PRIMARY KEY, place INTEGER NOT NULL, words INTEGER NOT NULL) STRICT;
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
    scope = lesson.scope
    _forget(db, number)
    place = _place_of(db, scope)
    columns = [terms_of(text) for text in (lesson.trigger, lesson.action, error_text(lesson.error_signature))]
    insert = "INSERT INTO lesson_words (rowid, trigger, action, signature) VALUES (?, ?, ?, ?)"
    db.execute(insert, (number, *(" ".join(_word(place, term) for term in terms) for terms in columns)))
    words = sum(map(len, columns))
    db.execute("INSERT INTO lesson_length VALUES (?, ?, ?)", (number, place, words))
    db.execute("UPDATE lesson_place SET lessons = lessons + 1, words = words + ? WHERE place = ?", (words, place))
    if may_be_shown(lesson):
        db.execute("INSERT INTO lesson_shown VALUES (?, ?, ?, ?)", (number, scope.kind, scope.guild, scope.thread))
    db.execute("DELETE FROM lesson_vector WHERE number = ? AND revision != ?", (number, revision_of(lesson)))


def forget_words(db: Connection) -> None:
    """Let the index hold no word that only a deleted or changed text held: else some stay until it is merged one day."""
    db.execute("INSERT INTO lesson_words (lesson_words) VALUES ('optimize')")


def matching(db: Connection, guild: str, thread: str, words: Sequence[str], limit: int) -> Iterator[tuple[Value, ...]]:
    """The bodies of lessons that may be shown and hold one of the words, best match first."""
    asked = asked_of(db, Scope(kind="thread", guild=guild, thread=thread), words)
    return _best(db, asked, limit, "lesson_shown USING (number) CROSS JOIN lesson_length")


def worded_alike(db: Connection, lesson: Lesson, words: Sequence[str], limit: int) -> Iterator[tuple[Value, ...]]:
    """The bodies of lessons in the reach of this one, shown or not, that hold one of the words, best match first."""
    return _best(db, asked_of(db, lesson.scope, words, ranked=_ALL), limit, "lesson_length")


def embedded(db: Connection, guild: str, thread: str, model: str) -> bool:
    """Whether any lesson that may be shown here has a vector."""
    select = f"SELECT 1 FROM lesson_vector JOIN lesson_shown USING (number) WHERE model = :model AND {_HERE} LIMIT 1"
    return db.execute(select, {"model": model, "guild": guild, "thread": thread}).fetchone() is not None


def unembedded(db: Connection, model: str, limit: int, guild: str | None, thread: str) -> Iterator[tuple[Value, ...]]:
    """The bodies of lessons that may be shown, here or for None anywhere, and have no vector of it, the newest first."""
    shown = f"SELECT number FROM lesson_shown WHERE :guild IS NULL OR ({_HERE})"
    select = (
        f"SELECT body FROM ({shown}) JOIN lesson USING (number) WHERE NOT EXISTS (SELECT 1 FROM lesson_vector"
        " WHERE lesson_vector.number = lesson.number AND model = :model) ORDER BY number DESC LIMIT :limit"
    )
    return iter(db.execute(select, {"model": model, "limit": limit, "guild": guild, "thread": thread}))


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


@dataclass(frozen=True, slots=True)
class Asked:
    """What is looked for, as the index has it: the words that choose, and how much each says that ranks them."""

    choosing: tuple[str, ...] = ()
    worth: tuple[tuple[str, float], ...] = ()
    usual: float = 1.0
    """How many words a lesson of these places has."""


def asked_of(db: Connection, scope: Scope, words: Sequence[str], *, ranked: int = RANKED) -> Asked:
    """The rarest words choose up to about ``ranked`` lessons; all that is counted is of the places in this reach."""
    places = _places(db, scope)
    counted: dict[str, dict[int, int]] = {}
    for term in sorted(
        dict.fromkeys(term for word in words for term in terms_of(word)), key=lambda term: -weight(term)
    ):
        counts = {place: _count(db, _word(place, term)) for place in places}
        if any(counts.values()):  # a word that no lesson has costs next to nothing
            counted[term] = counts
        if len(counted) == COUNTED_WORDS:
            break
    counts = {term: sum(each.values()) for term, each in counted.items()}
    known = sorted(counted, key=lambda term: counts[term])[:RANKING_WORDS]
    found, rare = 0, list[str]()
    for term in known:
        found += counts[term]
        if rare and found > ranked:
            break
        rare.append(term)
    of_all, length = (sum(each[at] for each in places.values()) for at in (0, 1))
    worth = {term: max(math.log((of_all - counts[term] + 0.5) / (counts[term] + 0.5)), 1e-6) for term in known}
    held = {term: [_word(place, term) for place in places if counted[term][place]] for term in known}
    return Asked(
        tuple(word for term in rare for word in held[term]),
        tuple((word, worth[term]) for term in known for word in held[term]),
        max(length, 1) / max(of_all, 1),
    )


def _best(db: Connection, asked: Asked, limit: int, among: str) -> Iterator[tuple[Value, ...]]:
    if not asked.choosing:
        return iter(())
    select = (
        "WITH asked AS MATERIALIZED (SELECT value ->> 0 AS term, value ->> 1 AS worth FROM json_each(:worth)),"
        " near AS MATERIALIZED (SELECT number, words FROM (SELECT rowid AS number FROM lesson_words"
        f" WHERE lesson_words MATCH :choosing) CROSS JOIN {among} USING (number)),"
        " held AS (SELECT doc AS number, worth, sum(CASE col WHEN 'trigger' THEN 2.0 ELSE 1.0 END) AS often"
        " FROM asked CROSS JOIN lesson_held USING (term) WHERE doc IN (SELECT number FROM near) GROUP BY doc, term),"
        f" best AS (SELECT number, sum({_RANK}) AS score FROM held JOIN near USING (number)"
        " GROUP BY number ORDER BY score DESC, number LIMIT :limit)"
        # The bodies are fetched last, so that those of all matches are not sorted with them.
        " SELECT body FROM best JOIN lesson USING (number) ORDER BY score DESC, number"
    )
    choosing = " OR ".join(f'"{word}"' for word in asked.choosing)
    values: dict[str, Value] = {"worth": json.dumps(asked.worth), "usual": asked.usual}
    return iter(db.execute(select, {**values, "choosing": choosing, "limit": limit}))


def _places(db: Connection, scope: Scope) -> dict[int, tuple[int, int]]:
    """The places within a reach that hold any lesson, with how many and of how many words in all."""
    rows: list[tuple[Value, ...]] = []
    for kind, guild, thread in _REACHED[scope.kind]:
        asked = (kind, scope.guild if guild else "", scope.thread if thread else "")
        select = (
            "SELECT place, lessons, words FROM lesson_place WHERE scope = ? AND guild = ? AND thread = ? AND lessons"
        )
        rows += db.execute(select, asked)
    return {int(str(place)): (int(str(lessons)), int(str(words))) for place, lessons, words in rows}


def _place_of(db: Connection, scope: Scope) -> int:
    kind, guild, thread = _REACHED[scope.kind][-1]
    insert = (
        "INSERT INTO lesson_place (scope, guild, thread, lessons, words) VALUES (?, ?, ?, 0, 0)"
        " ON CONFLICT DO UPDATE SET lessons = lessons RETURNING place"
    )
    row = (kind, scope.guild if guild else "", scope.thread if thread else "")
    return int(str(db.execute(insert, row).get))


def _forget(db: Connection, number: int) -> None:
    """Take a lesson out of the index and out of what is counted of its place."""
    known = db.execute("DELETE FROM lesson_length WHERE number = ? RETURNING place, words", (number,)).fetchone()
    if known is not None:
        less = "UPDATE lesson_place SET lessons = lessons - 1, words = words - ? WHERE place = ?"
        db.execute(less, (known[1], known[0]))
    db.execute("DELETE FROM lesson_words WHERE rowid = ?", (number,))
    db.execute("DELETE FROM lesson_shown WHERE number = ?", (number,))


def _word(place: int, term: str) -> str:
    """A word of a place as the index has it; nothing in it is a sign of the query language once it is quoted."""
    return f"{place}:{term}"


def _count(db: Connection, word: str) -> int:
    held = "SELECT 1 FROM lesson_words WHERE lesson_words MATCH ? LIMIT ?"
    return int(str(db.execute(f"SELECT count(*) FROM ({held})", (f'"{word}"', COUNTED)).get))
