"""One owner a thread.

The fence of a thread is never forgotten, so a late writer can always be told from the present one.  A lease runs by the
seconds since boot, on which all processes of this machine agree whatever happens to the wall clock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from agentic.core.events.upcasting import READER
from agentic.ports.runtime import Lease
from agentic.stores.sqlite.file import min_reader_version
from agentic.stores.sqlite.file.connection import Connection


def acquire(
    connection: Connection,
    lease: tuple[str, str],
    until: float,
    now: float,
    process: str,
    dead: Callable[[str], bool],
    reader: int = READER,
) -> Lease | None:
    """Take (thread, owner) until then, if nobody alive holds it.  Raises ``StoreTooNew`` for a reader that is too old."""
    min_reader_version.check(connection, reader)
    thread, owner = lease
    row = connection.execute("SELECT fence, owner, until, process FROM leases WHERE thread = ?", (thread,)).fetchone()
    held = cast(tuple[int, str, float, str], row or (0, "", 0.0, ""))
    fence, holder, runs_out, holding = held
    if holder not in ("", owner) and runs_out > now and not dead(holding):
        return None
    connection.execute(
        "INSERT INTO leases (thread, fence, owner, until, process) VALUES (?1, ?2, ?3, ?4, ?5)"
        " ON CONFLICT (thread) DO UPDATE SET fence = ?2, owner = ?3, until = ?4, process = ?5",
        (thread, fence + 1, owner, until, process),
    )
    return Lease(thread, owner, fence + 1)


def holder(connection: Connection, thread: str, now: float, dead: Callable[[str], bool]) -> str:
    """Its owner, '' where nobody alive holds it."""
    row = connection.execute("SELECT owner, until, process FROM leases WHERE thread = ?", (thread,)).fetchone()
    owner, until, process = cast(tuple[str, float, str], row or ("", 0.0, ""))
    return owner if owner and until > now and not dead(process) else ""


def renew(connection: Connection, lease: Lease, until: float) -> bool:
    """Hold it until then; False if it was taken or given back."""
    connection.execute(
        "UPDATE leases SET until = ? WHERE thread = ? AND fence = ? AND owner = ?",
        (until, lease.thread, lease.fence, lease.owner),
    )
    return connection.changes() == 1


def release(connection: Connection, lease: Lease) -> None:
    """Give it back if it is still ours."""
    connection.execute(
        "UPDATE leases SET owner = '' WHERE thread = ? AND fence = ? AND owner = ?",
        (lease.thread, lease.fence, lease.owner),
    )
