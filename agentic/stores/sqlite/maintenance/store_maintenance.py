"""Maintenance of SQLite files: of any database of a home, and of the store of executions."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from agentic.core.events.execution_events import Envelope
from agentic.ports.errors import StoreError
from agentic.ports.maintenance import (
    SESSION_FIELDS,
    Damage,
    DatabaseMaintenance,
    Row,
    StoredExecution,
    StoreExport,
    StoreImport,
    StoreMaintenance,
    Told,
)
from agentic.ports.retention import Kept
from agentic.ports.stores import LabelRow
from agentic.stores.sqlite.file.connection import Connection, connect
from agentic.stores.sqlite.file.copy import copy, open_quietly
from agentic.stores.sqlite.file.presence_file import mark_closed
from agentic.stores.sqlite.file.schema import check
from agentic.stores.sqlite.file.sqlite_errors import plainly
from agentic.stores.sqlite.maintenance import deletion, integrity, transfer
from agentic.stores.sqlite.tables import blobs, labels
from agentic.stores.stored_executions import problems, streams


class SQLiteFile(DatabaseMaintenance):
    """A database file, whatever is kept in it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def damage(self, *, thoroughly: bool = False) -> tuple[Damage, ...]:
        """What SQLite finds wrong with its pages."""
        return integrity.pages(self._path, thoroughly=thoroughly)

    def copy(self, target: Path, told: Told = lambda _: None) -> None:
        """Write it as it is at this moment to a new file."""
        copy(self._path, target, told)

    def acts_by_itself(self) -> bool:
        """Whether it has triggers or views, which ours have not."""
        acting = "SELECT count(*) FROM sqlite_schema WHERE type IN ('trigger', 'view')"
        with closing(connect(str(self._path))) as connection:
            try:
                return bool(connection.execute(acting).get)
            except apsw.Error:
                return False


class SQLiteMaintenance(SQLiteFile, StoreMaintenance):
    """The file of the store of executions."""

    def unreadable(self, home: Path | None = None) -> tuple[Damage, ...]:
        """What of its rows and contents is not what was written."""
        return integrity.rows(self._path, home)

    def kept(self) -> Kept:
        """How much there is."""
        with plainly(), closing(open_quietly(self._path)) as connection:
            return deletion.kept(connection, self._path)

    def move_in(self) -> None:
        """Check that it can be read, and give back all leases."""
        with plainly(), closing(connect(str(self._path))) as connection:
            check(connection, self._path)
            connection.execute("UPDATE leases SET owner = ''")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def promise(self) -> None:
        """The mark beside the database says that there must be one."""
        mark_closed(self._path)

    def streams(self, stored: StoredExecution) -> tuple[list[Envelope], list[Envelope]]:
        """Its log and its outcome."""
        return streams(stored)

    def problems(self, stored: StoredExecution) -> list[StoreError]:
        """Events that do not match their checksum, and places that are empty."""
        return problems(stored)

    @contextmanager
    def exporting(self) -> Generator[StoreExport]:
        """Look at it; nothing is changed."""
        with plainly(), closing(open_quietly(self._path)) as connection:
            yield _Export(connection, self._path.parent / "blobs")

    @contextmanager
    def importing(self) -> Generator[StoreImport]:
        """Add to it in one transaction, which is durable afterwards, or as if it had not been."""
        with transfer.opened(self._path) as connection:
            yield _Import(connection, self._path.parent / "blobs")


class _Export(StoreExport):
    def __init__(self, connection: Connection, contents: Path) -> None:
        self._connection, self._contents = connection, contents

    def names(self, thread: str) -> list[str]:
        return transfer.names(self._connection, thread)

    def execution(self, name: str) -> StoredExecution | None:
        return transfer.stored(self._connection, name)

    def was_deleted(self, name: str) -> bool:
        return transfer.was_deleted(self._connection, name)

    def session(self, thread: str) -> Row | None:
        return transfer.session(self._connection, thread)

    def content(self, sha: str) -> bytes | None:
        return blobs.get(self._connection, self._contents, sha)


class _Import(StoreImport):
    def __init__(self, connection: Connection, contents: Path) -> None:
        self._connection, self._contents = connection, contents

    def execution(self, coming: StoredExecution) -> bool:
        return transfer.bring_in(self._connection, coming)

    def session(self, row: Row) -> None:
        transfer.bring_in_session(self._connection, row)

    def guild(self, thread: str) -> str:
        row = transfer.session(self._connection, thread)
        return str(row[SESSION_FIELDS.index("guild")]) if row is not None else ""

    def content(self, sha: str, content: bytes) -> None:
        blobs.insert(self._connection, [blobs.keep_by_hash(self._contents, sha, content)])

    def label(self, row: LabelRow) -> None:
        labels.put(self._connection, row)
