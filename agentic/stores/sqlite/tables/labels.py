"""Labels of executions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from pydantic import TypeAdapter, ValidationError

from agentic.ports.errors import StoreCorrupt
from agentic.ports.stores import LabelRow, LabelSource, Look
from agentic.stores.sqlite.file.connection import Connection

_LOOKS = TypeAdapter(tuple[Look, ...])
_NAMES = "execution, thread, guild, role, model, tier, label, source, weight, final, up, down, talk, looks"
"""In the order of ``LabelRow``."""
_ROW = f"SELECT {_NAMES} FROM labels"
_CHANGED = ", ".join(f"{name} = excluded.{name}" for name in _NAMES.split(", ")[1:])


def put(connection: Connection, row: LabelRow) -> None:
    """Create or replace; the row keeps its place."""
    connection.execute(
        f"INSERT INTO labels ({_NAMES}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        f" ON CONFLICT (execution) DO UPDATE SET {_CHANGED}",
        (
            row.execution, row.thread, row.guild, row.role, row.model, row.tier,
            None if row.label is None else int(row.label), row.source, row.weight, row.final, row.up, row.down,
            int(row.talk), _LOOKS.dump_json(row.looks).decode(),
        ),
    )  # fmt: skip


def rows(connection: Connection, thread: str | None, newest: int) -> list[LabelRow]:
    """All or a thread's, or the newest so many (below 0: all), in order."""
    which, bound = ("", (newest,)) if thread is None else ("WHERE thread = ?2", (newest, thread))
    found = list(connection.execute(f"{_ROW} {which} ORDER BY position DESC LIMIT ?1", bound))
    return [_row(values) for values in reversed(found)]


_KNOWN = "SELECT count(*) FROM labels WHERE label IS NOT NULL AND source != 'reason' AND NOT talk"


def count(connection: Connection) -> int:
    """Executions with a label."""
    return cast(int, connection.execute(_KNOWN).get)


def damaged(connection: Connection) -> Iterator[tuple[str, str]]:
    """(execution, what is wrong) of each row that cannot be read."""
    for values in list(connection.execute(_ROW)):
        try:
            _row(values)
        except StoreCorrupt as corrupt:
            yield cast(str, values[0]), str(corrupt)


def _row(values: object) -> LabelRow:
    execution, thread, guild, role, model, tier, label, source, weight, final, up, down, talk, looks = cast(
        tuple[str, str, str, str, str, int, int | None, LabelSource, float, int, int, int, int, str], values
    )
    try:
        seen = _LOOKS.validate_json(looks)
    except ValidationError as error:
        raise StoreCorrupt(
            f"the label of execution {execution} cannot be read: `threadwright calibration --rebuild` makes it anew"
        ) from error
    return LabelRow(
        execution, thread, guild, role, model, tier, None if label is None else bool(label), source, weight, final,
        up, down, bool(talk), seen,
    )  # fmt: skip
