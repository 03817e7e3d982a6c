"""What SQLite's errors mean to us, in plain words."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import apsw

from agentic.ports.errors import StoreCorrupt, StoreError, StoreUnavailable

_UNAVAILABLE: tuple[tuple[type[apsw.Error], str], ...] = (
    (apsw.FullError, "the disk is full: make room and try again"),
    (apsw.ReadOnlyError, "the state folder is read-only: make it writable for this user"),
    (apsw.PermissionsError, "the state folder may not be written: make it writable for this user"),
    (apsw.CantOpenError, "the state folder cannot be opened: check that it exists and is writable"),
    (apsw.BusyError, "another process keeps the store locked: stop it, or try again"),
    (apsw.LockedError, "another process keeps the store locked: stop it, or try again"),
    (apsw.IOError, "the disk reports an error: check it, then try again"),
    (apsw.NoMemError, "the machine is out of memory"),
    (apsw.ConnectionClosedError, "the store is closed"),
)

_CORRUPT = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError)


def translate(error: apsw.Error) -> StoreError | None:
    """The error as ours, or None where it is a bug of ours."""
    if isinstance(error, _CORRUPT):
        return StoreCorrupt(f"the database is damaged ({error}): restore it from a backup; nothing was overwritten")
    for kind, words in _UNAVAILABLE:
        if isinstance(error, kind):
            return StoreUnavailable(f"{words} ({error})")
    return None


@contextmanager
def plainly() -> Generator[None]:
    """Raise SQLite's errors as ours."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise StoreCorrupt(f"the database is damaged ({error}): restore it from a backup") from error
    except apsw.Error as error:
        ours = translate(error)
        if ours is None:
            raise
        raise ours from error
