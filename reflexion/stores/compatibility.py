"""Whether a file of lessons can be read by this version; it only looks, so it can be asked while a bot works on the file."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from pydantic import ValidationError

from agentic.stores.sqlite.file.connection import Connection
from agentic.stores.sqlite.file.copy import open_quietly
from agentic.stores.sqlite.file.sqlite_errors import plainly
from reflexion.lessons.fact import Fact
from reflexion.lessons.lesson import Lesson, Reflection
from reflexion.stores.schema import version_of


def unreadable(path: Path, *, thoroughly: bool) -> str:
    """Why what stands in the file cannot be read, '' where it can or, unless ``thoroughly``, was not looked at.

    Raises ``LessonStoreTooNew``, and ``StoreError`` where the file cannot be read.
    """
    with plainly(), closing(open_quietly(path)) as connection:
        version_of(connection)
        return _rows(connection) if thoroughly else ""


def _rows(connection: Connection) -> str:
    bad = 0
    for table, kind in (("lesson", Lesson), ("reflection", Reflection), ("fact", Fact)):
        if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (table,)).fetchone() is not None:
            for row in connection.execute(f"SELECT body FROM {table}"):
                try:
                    kind.model_validate_json(str(row[0]))
                except ValidationError:
                    bad += 1
    return f"{bad} of its rows are not what was written" if bad else ""
