"""What the SQLite lesson store does inside one transaction: statements here, decisions in the pure functions it asks."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import TypeVar

from agentic.stores.sqlite.file.connection import Connection, Value
from reflexion.lessons.changes import (
    added,
    amended,
    lived_through,
    long_unused,
    revised,
    settled,
    told_again,
)
from reflexion.lessons.contradictions import reconciled
from reflexion.lessons.deduplication import placed
from reflexion.lessons.lesson import (
    Lesson,
    LessonStatus,
    Reflection,
    Verdict,
    unheard,
)
from reflexion.lessons.lifecycle import Showing
from reflexion.stores import search_index
from reflexion.stores.schema import IN_PLACE_OF
from reflexion.stores.search_index import REACH
from reflexion.text.words import words_of

Row = TypeVar("Row", Lesson, Reflection, Showing, Verdict)
NEIGHBOURS = 60
"""So many lessons that share words with another are compared with it."""
CONTRADICTED = "contradicted"
"""In the column of the status: it waits for a decision between two, which need not share a word."""
_WORDS = 12


def read(kind: type[Row], rows: Iterable[Sequence[Value]]) -> tuple[Row, ...]:
    """The bodies in the first column."""
    return tuple(kind.model_validate_json(str(row[0])) for row in rows)


def find(db: Connection, id: str) -> Lesson | None:
    """A lesson, whoever it belongs to: for work inside the store alone."""
    found = read(Lesson, db.execute("SELECT body FROM lesson WHERE id = ?", (id,)))
    return found[0] if found else None


def reflections_of(db: Connection, executions: Collection[str]) -> int:
    """Reflections of these executions."""
    of = "SELECT count(*) FROM reflection WHERE body ->> '$.execution' IN (SELECT value FROM json_each(?))"
    return int(str(db.execute(of, (json.dumps([*executions]),)).get))


def erase_reflections(db: Connection, executions: Collection[str], said: Collection[str]) -> int:
    """Delete them, and take words out of what others heard."""
    number = reflections_of(db, executions)
    of = "DELETE FROM reflection WHERE body ->> '$.execution' IN (SELECT value FROM json_each(?))"
    db.execute(of, (json.dumps([*executions]),))
    heard = "SELECT body FROM reflection WHERE EXISTS (SELECT 1 FROM json_each(body, '$.said') WHERE value IN {words})"
    words = "(SELECT value FROM json_each(?))"
    for each in read(Reflection, list(db.execute(heard.format(words=words), (json.dumps([*said]),)))):
        db.execute("UPDATE reflection SET body = ? WHERE id = ?", (unheard(each, said).model_dump_json(), each.id))
    search_index.forget_words(db)
    return number


def propose(db: Connection, lesson: Lesson, *, verified: bool) -> Lesson:
    """Add it, or merge it into what says the same."""
    lesson = added(lesson)
    placement = placed(lesson, neighbours(db, lesson), verified=verified)
    _save_all(db, placement.saved)
    return placement.stands


def amend(db: Connection, lesson: Lesson) -> Lesson:
    """Replace a lesson by its changed copy, or add it; what it says the opposite of follows from that."""
    known = find(db, lesson.id)
    now = added(lesson) if known is None else amended(known, lesson)
    save(db, now)
    return _reconcile(db, now)


def record(db: Connection, verdict: Verdict, showings: Sequence[Showing]) -> tuple[Lesson, ...]:
    """Keep how an execution went and what that says of lessons."""
    known = read(Verdict, db.execute("SELECT body FROM verdict WHERE execution = ?", (verdict.execution,)))
    kept = verdict.model_copy(update={"at": known[0].at}) if known else verdict
    db.execute("INSERT INTO verdict (execution, guild, body) VALUES (?, ?, ?)"
               " ON CONFLICT (execution) DO UPDATE SET body = excluded.body",
               (kept.execution, kept.guild, kept.model_dump_json()))  # fmt: skip
    told = db.execute("SELECT body FROM showing WHERE execution = ?", (verdict.execution,))
    before = {each.lesson: each for each in read(Showing, told)}
    now = {each.lesson: each for each in showings if _within(find(db, each.lesson), verdict.guild)}
    for id in before.keys() - now.keys():
        db.execute("DELETE FROM showing WHERE execution = ? AND lesson = ?", (verdict.execution, id))
    for id, showing in now.items():
        showing = told_again(before.get(id), showing)
        db.execute("INSERT INTO showing (lesson, execution, guild, body) VALUES (?, ?, ?, ?)"
                   " ON CONFLICT (lesson, execution) DO UPDATE SET body = excluded.body",
                   (id, showing.execution, showing.guild, showing.model_dump_json()))  # fmt: skip
    touched = dict.fromkeys((*before, *now))
    return _settle(db, touched, verdict.at, verified=verdict.verifier != "none")


def sweep(db: Connection, now: datetime) -> tuple[Lesson, ...]:
    """Let what was hardly ever shown expire; of the others not even the bodies are read."""
    used = "max(created, coalesce(body ->> '$.renewed', ''), coalesce(body ->> '$.life.last_shown', ''))"
    living = "status NOT IN ('retired', 'quarantined')"
    rows = db.execute(f"SELECT body FROM lesson WHERE {living} AND {used} < ?", (long_unused(now).isoformat(),))
    moved: list[Lesson] = []
    for lesson in read(Lesson, rows):
        settles = settled(lesson, now=now, verified=False)
        if settles != lesson:
            save(db, settles)
            _reconcile(db, settles)
            moved.append(settles)
    return tuple(moved)


def neighbours(db: Connection, lesson: Lesson) -> tuple[Lesson, ...]:
    """Lessons in the reach of this one that have its id, its error signature, or words of it, or wait for a decision."""
    scope = lesson.scope
    reach = (
        "(scope = 'global' OR (guild = :guild AND (scope = 'guild' OR thread = :thread)))"
        if scope.kind != "global"
        else "scope = 'global'"
    )
    asked: dict[str, Value] = {
        "guild": scope.guild, "thread": scope.thread, "signature": lesson.error_signature, "id": lesson.id,
        "supersedes": lesson.supersedes,
    }  # fmt: skip
    # One index for each way to be alike: joined by OR they would read all lessons.  Words are looked for within the
    # reach alone, so that the most alike are the most alike of it, however many others hold the same words.
    alike = (
        "SELECT number FROM lesson WHERE id IN (:id, :supersedes)"
        " UNION SELECT number FROM lesson WHERE signature = :signature AND :signature != ''"
        f" UNION SELECT number FROM lesson WHERE status = '{CONTRADICTED}' AND guild IN (:guild, '')"
        f" UNION SELECT number FROM lesson WHERE {IN_PLACE_OF} = :id AND {IN_PLACE_OF} != ''"
    )
    rows = db.execute(f"SELECT body FROM lesson WHERE number IN ({alike}) AND {reach}", asked)
    found = {each.id: each for each in read(Lesson, rows)}
    worded = search_index.worded_alike(db, lesson, _longest(f"{lesson.trigger} {lesson.action}"), NEIGHBOURS)
    found |= {each.id: each for each in read(Lesson, worded) if each.id not in found}
    return tuple(found.values())


def save(db: Connection, lesson: Lesson) -> None:
    """Write a lesson as it stands, and let it be found."""
    scope = lesson.scope
    waits = lesson.contradicts and lesson.status not in ("retired", "quarantined")
    status = CONTRADICTED if waits else lesson.status
    row = (
        lesson.id, scope.kind, scope.guild, scope.thread, lesson.error_signature, status, lesson.created.isoformat(),
        lesson.model_dump_json(),
    )  # fmt: skip
    upsert = (
        "INSERT INTO lesson (id, scope, guild, thread, signature, status, created, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET signature = excluded.signature, status = excluded.status, body = excluded.body"
        " RETURNING number"
    )
    let_be_found(db, int(str(db.execute(upsert, row).get)), lesson)


def let_be_found(db: Connection, number: int, lesson: Lesson) -> None:
    """What is made from a lesson's row, as it stands now: the executions it was seen in, and its words."""
    _note_seen(db, number, lesson.executions)
    search_index.index(db, number, lesson)


def seen_in(db: Connection, guild: str, execution: str, limit: int) -> tuple[Lesson, ...]:
    """Lessons within the guild's reach that were seen in an execution, newest first."""
    select = (
        f"SELECT body FROM lesson_seen CROSS JOIN lesson USING (number) WHERE execution = :execution AND {REACH}"
        " ORDER BY created DESC, number DESC LIMIT :limit"
    )
    return read(Lesson, db.execute(select, {"guild": guild, "execution": execution, "limit": limit}))


def guilds_with(db: Connection, status: LessonStatus) -> tuple[str, ...]:
    """Guilds with lessons of this status, or with some of which others say the opposite."""
    select = f"SELECT DISTINCT guild FROM lesson WHERE status IN (?, '{CONTRADICTED}') ORDER BY guild"
    return tuple(str(row[0]) for row in db.execute(select, (status,)))


def of_status(db: Connection, guild: str, status: LessonStatus, limit: int) -> tuple[Lesson, ...]:
    """Lessons of the guild itself that have this status, newest first."""
    select = (
        f"SELECT body FROM lesson WHERE status IN (:status, '{CONTRADICTED}') AND guild = :guild AND scope != 'global'"
        " AND body ->> '$.status' = :status ORDER BY created DESC, number DESC LIMIT :limit"
    )
    return read(Lesson, db.execute(select, {"guild": guild, "status": status, "limit": limit}))


def _note_seen(db: Connection, number: int, executions: Sequence[str]) -> None:
    now: tuple[Value, ...] = (number, json.dumps(executions))
    db.execute("DELETE FROM lesson_seen WHERE number = ? AND execution NOT IN (SELECT value FROM json_each(?))", now)
    db.execute("INSERT OR IGNORE INTO lesson_seen (number, execution) SELECT ?, value FROM json_each(?)", now)


def _settle(db: Connection, ids: Iterable[str], now: datetime, *, verified: bool) -> tuple[Lesson, ...]:
    """Tell lives anew from all showings; returns the lessons whose status changed."""
    moved: list[Lesson] = []
    for id in ids:
        lesson = find(db, id)
        if lesson is not None:
            rows = db.execute("SELECT body FROM showing WHERE lesson = ? ORDER BY number", (id,))
            settles = settled(lived_through(lesson, read(Showing, rows)), now=now, verified=verified)
            save(db, settles)
            if settles.status != lesson.status:
                _reconcile(db, settles)
                moved.append(settles)
    return tuple(moved)


def _reconcile(db: Connection, lesson: Lesson) -> Lesson:
    around = {each.id: each for each in neighbours(db, lesson) if each.id != lesson.id}
    at = lesson.history[-1].at if lesson.history else lesson.created
    for each in reconciled(lesson, around.values(), at=at):
        known = around.get(each.id)
        save(db, each if known is None else revised(known, each))
        lesson = each if known is None else lesson
    return lesson


def _save_all(db: Connection, lessons: Iterable[Lesson]) -> None:
    for lesson in lessons:
        save(db, lesson)


def _within(lesson: Lesson | None, guild: str) -> bool:
    return lesson is not None and (lesson.scope.kind == "global" or lesson.scope.guild == guild)


def _longest(text: str) -> list[str]:
    """A text's longest words, which are its rarest."""
    return sorted(words_of(text), key=len, reverse=True)[:_WORDS]
