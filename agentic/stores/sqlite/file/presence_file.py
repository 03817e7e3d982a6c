"""A mark beside the database that says what must be there: without it, a lost file would look like a fresh start.

SQLite makes a missing database anew, and takes a missing write-ahead log for an empty one, so what was acknowledged would
be gone without a word.  The mark says that there is a database, and whether its last user closed it, after which there
need be no log.
"""

from __future__ import annotations

import os
from pathlib import Path

from agentic.ports.errors import StoreCorrupt

_OPEN = "open"
_CLOSED = "closed"


def check_present(path: Path) -> None:
    """Raise ``StoreCorrupt`` if what the mark promises is not there."""
    mark = _mark(path)
    try:
        state = mark.read_text(encoding="ascii", errors="replace")
    except OSError:
        return  # no mark: a new place, or a database from elsewhere
    afresh = f"restore it from a backup, or delete {mark.name} to go on without it"
    if not path.exists() or path.stat().st_size == 0:
        raise StoreCorrupt(f"{path} is gone or empty: {afresh}")
    wal = path.with_name(f"{path.name}-wal")
    if state == _OPEN and not wal.exists():
        raise StoreCorrupt(f"{wal} is gone, and with it what was written last: {afresh}")


def mark_open(path: Path) -> None:
    """From now on a log must be there; it is made durable before this is said."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    _write(path, _OPEN)


def mark_closed(path: Path) -> None:
    """All of the log was copied into the database."""
    _write(path, _CLOSED)


def _write(path: Path, state: str) -> None:
    mark = _mark(path)
    new = mark.with_name(f"{mark.name}.{os.getpid()}")
    new.write_text(state, encoding="ascii")
    new.chmod(0o600)
    new.replace(mark)


def _mark(path: Path) -> Path:
    return path.with_name(f"{path.name}-mark")
