"""The rows of a lesson store as they are carried from one file to another, each under its table and its number.

What is made from them (words, places, executions that a lesson was seen in) is made anew where they arrive. A row keeps its
number wherever it goes, so that every copy tells rows in the same order, and finds the same among them.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from agentic.stores.sqlite.file.connection import Connection, Value
from reflexion.lessons.lesson import Lesson
from reflexion.stores import search_index, statements

Key = tuple[str, int]
"""A table, and the number of a row in it."""
Row = Mapping[str, Value]
Change = Mapping[Key, Row | None]
"""Rows as they stand now; None for one that is gone."""

COLUMNS: dict[str, tuple[str, ...]] = {
    "reflection": ("id", "guild", "thread", "body"),
    "lesson": ("id", "scope", "guild", "thread", "signature", "status", "created", "body"),
    "lesson_vector": ("model", "revision", "vector"),
    "verdict": ("execution", "guild", "body"),
    "showing": ("lesson", "execution", "guild", "body"),
    "fact": ("guild", "thread", "repository", "id", "body"),
}
"""Of each table, in the order in which rows are brought in: a vector is kept only of a lesson that is there."""
_ORDER = {table: at for at, table in enumerate(COLUMNS)}


@contextmanager
def noting(db: Connection) -> Generator[set[Key]]:
    """The keys of all rows that change meanwhile."""
    changed = set[Key]()

    def note(_how: int, _database: str, table: str, number: int) -> None:
        if table in COLUMNS:
            changed.add((table, number))

    db.set_update_hook(note)
    try:
        yield changed
    finally:
        db.set_update_hook(None)


def in_order(keys: set[Key]) -> list[Key]:
    """Keys in the order in which their rows are brought in."""
    return sorted(keys, key=lambda key: (_ORDER[key[0]], key[1]))


def row(db: Connection, key: Key) -> Row | None:
    """A row as it stands."""
    table, number = key
    names = COLUMNS[table]
    found = db.execute(f"SELECT {', '.join(names)} FROM {table} WHERE number = ?", (number,)).fetchone()
    return None if found is None else dict(zip(names, found, strict=True))


def bring_in(db: Connection, change: Change) -> None:
    """Let rows stand here as they stand where they come from."""
    for key in in_order(set(change)):
        _bring_in(db, key, change[key])
    if any(each is None for each in change.values()):
        search_index.forget_words(db)


def _bring_in(db: Connection, key: Key, row: Row | None) -> None:
    table, number = key
    if row is None:
        db.execute(f"DELETE FROM {table} WHERE number = ?", (number,))
        return
    names = COLUMNS[table]
    insert = f"INSERT OR REPLACE INTO {table} (number, {', '.join(names)}) VALUES (?{', ?' * len(names)})"
    db.execute(insert, (number, *(row[name] for name in names)))
    if table == "lesson":
        statements.let_be_found(db, number, Lesson.model_validate_json(str(row["body"])))
