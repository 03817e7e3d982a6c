"""The part of apsw that is used here, with its types in full."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, cast

import apsw

Value = None | int | float | str | bytes


class Rows(Protocol):
    """What a statement gives."""

    def __iter__(self) -> Iterator[tuple[Value, ...]]: ...

    def __next__(self) -> tuple[Value, ...]: ...

    def fetchone(self) -> tuple[Value, ...] | None:
        """The next row, or None."""
        ...

    def close(self, force: bool = False) -> None:
        """No more rows are read."""
        ...

    @property
    def get(self) -> Value:
        """The first column of the first row, or None."""
        ...


class Connection(Protocol):
    """An open database; errors are apsw's (``faults.plainly`` makes them ours)."""

    def execute(self, statements: str, bindings: Sequence[Value] | Mapping[str, Value] = ()) -> Rows:
        """Run statements."""
        ...

    def changes(self) -> int:
        """Rows that the last statement changed."""
        ...

    def last_insert_rowid(self) -> int:
        """The id of the row that was inserted last."""
        ...

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        ...

    def config(self, op: int, *args: int) -> int:
        """Set one of the connection's options."""
        ...

    def set_busy_timeout(self, milliseconds: int) -> None:
        """How long to wait for another writer."""
        ...

    def set_wal_hook(self, callable: Callable[[Connection, str, int], int] | None) -> None:  # noqa: A002  # apsw's name
        """Be told the WAL's pages after each commit, instead of automatic checkpoints."""
        ...

    def set_update_hook(self, callable: Callable[[int, str, str, int], None] | None) -> None:  # noqa: A002  # apsw's name
        """Be told of each row that changes: how, in which database and table, and its number."""
        ...

    def wal_checkpoint(self, dbname: str | None = None, mode: int = 0) -> tuple[int, int]:
        """Copy the WAL into the database."""
        ...

    def wal_autocheckpoint(self, n: int) -> None:
        """Pages after which SQLite does that by itself."""
        ...

    def close(self, force: bool = False) -> None:
        """Let go of the file; with ``force`` whatever the disk says to that."""
        ...


def connect(path: str, flags: int = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE) -> Connection:
    """Open a database file."""
    return cast(Connection, apsw.Connection(path, flags=flags))
