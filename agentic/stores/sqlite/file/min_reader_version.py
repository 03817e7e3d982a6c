"""Which version may take up what is stored here: the oldest reader that misreads none of it.

Raised in the transaction that writes the first event an older version would misread, or by the migration after which it
would; looked at in the transaction that takes a lease.  So a process that was left running over an update ends what it
holds, and takes up nothing more.
"""

from __future__ import annotations

from typing import cast

from agentic.stores.checks import MIN_READER, check_reader
from agentic.stores.sqlite.file.connection import Connection


def check(connection: Connection, reader: int) -> None:
    """Raise ``StoreTooNew`` if ``reader`` would misread something in it."""
    check_reader(
        cast(str | None, connection.execute("SELECT value FROM facts WHERE key = ?", (MIN_READER,)).get), reader
    )


def require(connection: Connection, reader: int) -> None:
    """From now on only readers from this one on take leases."""
    connection.execute(
        "INSERT INTO facts (key, value) VALUES (?1, ?2)"
        " ON CONFLICT (key) DO UPDATE SET value = max(CAST(value AS INTEGER), ?2)",
        (MIN_READER, reader),
    )
