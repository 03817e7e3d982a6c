"""The tables, how a file becomes one of ours, and how it moves to a newer version.

Events are appended to a rowid table in the order they were committed, with an index by (execution, seq): rows stand in
full pages whatever executions run beside each other, where a table ordered by (execution, seq) splits pages in the
middle, and one without rowid wastes half an overflow page for each row above 1 kB.
"""

from __future__ import annotations

from pathlib import Path
from typing import cast

from agentic.ports.errors import StoreCorrupt, StoreTooNew
from agentic.stores.sqlite.file.connection import Connection
from agentic.stores.sqlite.file.copy import keep_copy

APPLICATION_ID = 0x54687264
"""'Thrd' in the file's header: a database of ours."""

PAGE_BYTES = 2048
"""Small pages waste less on rows of some kB, and a commit writes less."""

BURIED, CLEARED, FORGOTTEN = 1, 2, 3
"""Values of ``executions.gone``, which is 0 for what is there (``retention.py``)."""

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE executions (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        thread TEXT NOT NULL,
        task TEXT NOT NULL,
        started_at INTEGER NOT NULL,
        finished TEXT NOT NULL DEFAULT ''
    );
    CREATE INDEX executions_by_thread ON executions (thread);
    CREATE INDEX executions_open ON executions (id) WHERE finished = '';
    CREATE TABLE events (
        position INTEGER PRIMARY KEY,
        execution INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        at INTEGER NOT NULL,
        fence INTEGER NOT NULL,
        version INTEGER NOT NULL,
        checksum INTEGER NOT NULL,
        cause TEXT NOT NULL,
        build TEXT NOT NULL,
        event TEXT NOT NULL
    );
    CREATE UNIQUE INDEX events_by_execution ON events (execution, seq);
    CREATE TABLE outcomes (
        position INTEGER PRIMARY KEY,
        execution INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        at INTEGER NOT NULL,
        fence INTEGER NOT NULL,
        version INTEGER NOT NULL,
        checksum INTEGER NOT NULL,
        cause TEXT NOT NULL,
        build TEXT NOT NULL,
        event TEXT NOT NULL
    );
    CREATE UNIQUE INDEX outcomes_by_execution ON outcomes (execution, seq);
    CREATE TABLE blobs (
        id INTEGER PRIMARY KEY,
        sha BLOB NOT NULL UNIQUE,
        content BLOB
    );
    CREATE TABLE leases (
        thread TEXT PRIMARY KEY,
        fence INTEGER NOT NULL,
        owner TEXT NOT NULL,
        until REAL NOT NULL,
        process TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE inbox (
        position INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        thread TEXT NOT NULL,
        at INTEGER NOT NULL,
        item TEXT
    );
    CREATE INDEX inbox_waiting ON inbox (thread, at, position) WHERE item IS NOT NULL;
    CREATE TABLE outbox (
        position INTEGER PRIMARY KEY AUTOINCREMENT,
        key TEXT NOT NULL UNIQUE,
        thread TEXT NOT NULL,
        item TEXT NOT NULL,
        delivered TEXT
    );
    CREATE INDEX outbox_waiting ON outbox (thread, position) WHERE delivered IS NULL;
    CREATE TABLE receipts (
        message TEXT PRIMARY KEY,
        item INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE sessions (
        thread TEXT PRIMARY KEY,
        channel TEXT NOT NULL,
        guild TEXT NOT NULL,
        title TEXT NOT NULL,
        created INTEGER,
        accessed INTEGER,
        confidence INTEGER NOT NULL,
        settings TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE facts (
        key TEXT PRIMARY KEY,
        value TEXT NOT NULL
    ) WITHOUT ROWID;
    """,
    """
    CREATE TABLE budgets (
        scope TEXT PRIMARY KEY,
        nanos INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE reservations (
        key TEXT NOT NULL,
        scope TEXT NOT NULL,
        nanos INTEGER NOT NULL,
        settled INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (key, scope)
    ) WITHOUT ROWID;
    """,
    """
    CREATE TABLE labels (
        position INTEGER PRIMARY KEY,
        execution TEXT NOT NULL UNIQUE,
        thread TEXT NOT NULL,
        guild TEXT NOT NULL,
        role TEXT NOT NULL,
        model TEXT NOT NULL,
        tier INTEGER NOT NULL,
        label INTEGER,
        source TEXT NOT NULL,
        weight REAL NOT NULL,
        final INTEGER NOT NULL,
        up INTEGER NOT NULL,
        down INTEGER NOT NULL,
        talk INTEGER NOT NULL,
        looks TEXT NOT NULL
    );
    CREATE INDEX labels_by_thread ON labels (thread);
    """,
    """
    ALTER TABLE executions ADD COLUMN gone INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX executions_gone ON executions (thread) WHERE gone IN (1, 3);
    CREATE INDEX outbox_by_thread ON outbox (thread, position);
    CREATE INDEX receipts_by_item ON receipts (item);
    CREATE TABLE outbox_ages (
        at INTEGER PRIMARY KEY,
        position INTEGER NOT NULL
    );
    CREATE TABLE sweep (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        events INTEGER NOT NULL,
        outcomes INTEGER NOT NULL,
        blobs INTEGER NOT NULL
    );
    CREATE TABLE marked (
        sha BLOB PRIMARY KEY
    ) WITHOUT ROWID;
    """,
    """
    CREATE INDEX sessions_by_age ON sessions (-coalesce(accessed, 0), thread);
    CREATE INDEX sessions_of_guild ON sessions (guild, -coalesce(accessed, 0), thread);
    CREATE INDEX sessions_in_channel ON sessions (channel, thread);
    CREATE INDEX reservations_open ON reservations (key) WHERE settled = 0;
    CREATE INDEX executions_ended ON executions (started_at) WHERE gone = 0 AND finished != '';
    """,
    """
    CREATE VIRTUAL TABLE search USING fts5 (text, tokenize = 'unicode61 remove_diacritics 2');
    INSERT INTO search (search, rank) VALUES ('secure-delete', 1);
    CREATE TABLE search_progress (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        position INTEGER NOT NULL
    );
    INSERT INTO search_progress (one, position) VALUES (1, 0);
    """,
    """
    CREATE TABLE schedules (
        position INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        guild TEXT NOT NULL,
        person TEXT NOT NULL,
        thread TEXT NOT NULL,
        due INTEGER,
        body TEXT NOT NULL,
        revision INTEGER NOT NULL
    );
    CREATE INDEX schedules_due ON schedules (due) WHERE due IS NOT NULL;
    CREATE INDEX schedules_of_thread ON schedules (thread) WHERE thread != '';
    """,
    """
    CREATE TABLE publications (
        target TEXT PRIMARY KEY,
        events INTEGER NOT NULL,
        outcomes INTEGER NOT NULL
    ) WITHOUT ROWID;
    """,
)
"""Each brings the schema from the version of its index to the next; a released one is never changed."""


def prepare(connection: Connection, path: Path, migrations: tuple[str, ...] = MIGRATIONS) -> None:
    """Make the file one of ours at the newest version, in one transaction; refuse what is not ours or newer."""
    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
    connection.execute("PRAGMA journal_mode = WAL")
    check(connection, path, len(migrations))
    version = _number(connection, "user_version")
    if version == len(migrations):
        return
    if version:
        keep_copy(connection, path, version)
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Read again: another process may have brought it up to date while we waited for the lock.
        for script in migrations[_number(connection, "user_version") :]:
            connection.execute(script)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def there(connection: Connection) -> str:
    """The condition for executions whose log is there, also in a file from before logs expired."""
    columns = [row[1] for row in connection.execute("PRAGMA table_info(executions)")]
    return "gone = 0" if "gone" in columns else "TRUE"


def check(connection: Connection, path: Path, newest: int = len(MIGRATIONS)) -> None:
    """Refuse a file that is not ours, or newer than we are."""
    version = _number(connection, "user_version")
    application = _number(connection, "application_id")
    empty = connection.execute("SELECT count(*) FROM sqlite_schema").get == 0
    if application != APPLICATION_ID and not empty:
        raise StoreCorrupt(f"{path} is a database of something else: choose another THREADWRIGHT_HOME")
    if version > newest:
        raise StoreTooNew(
            f"{path} was written by a newer Threadwright (schema {version}, this one knows {newest}):"
            " update Threadwright"
        )


def _number(connection: Connection, pragma: str) -> int:
    return cast(int, connection.execute(f"PRAGMA {pragma}").get)
