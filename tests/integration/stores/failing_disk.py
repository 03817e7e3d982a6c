"""A disk that fails or stands on demand: SQLite's own file layer with a fault in it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import apsw

STANDS_SECONDS = 60.0
"""A sync that nobody lets go on goes on by itself after that."""


@dataclass(slots=True)
class Disk:
    """Counts writes and syncs once armed; the one numbered ``fails_at`` and all after it fail with ``error``."""

    error: type[apsw.Error] | None = None
    fails_at: int = 0
    seen: int = 0
    failed: int = 0
    files: list[str] = field(default_factory=list)
    goes: threading.Event = field(default_factory=threading.Event)
    """Cleared: each sync stands."""
    standing: threading.Event = field(default_factory=threading.Event)
    """A sync stands now."""
    let_go: bool = True
    """Somebody let each sync that stood go on in time."""

    def __post_init__(self) -> None:
        self.goes.set()

    def arm(self, error: type[apsw.Error], fails_at: int) -> None:
        """From the ``fails_at``-th operation on (1 = the next), fail."""
        self.error, self.fails_at, self.seen, self.failed = error, fails_at, 0, 0

    def repair(self) -> None:
        """Work again."""
        self.error = None

    def touch(self, file: str) -> None:
        """One write or sync."""
        self.seen += 1
        if self.error is not None and self.seen >= self.fails_at:
            self.failed += 1
            self.files.append(file)
            raise self.error("the test's disk fails")


@contextmanager
def failing_disk() -> Iterator[Disk]:
    """While it lasts, databases are opened on this disk."""
    disk = Disk()
    before = apsw.vfs_names()[0]

    class File(apsw.VFSFile):
        def __init__(self, name: apsw.URIFilename | str | None, flags: list[int]) -> None:
            super().__init__(before, name, flags)
            self._name = name.filename() if isinstance(name, apsw.URIFilename) else str(name)

        def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
            disk.touch(self._name)
            super().xWrite(data, offset)

        def xSync(self, flags: int) -> None:  # noqa: N802
            if not disk.goes.is_set():
                disk.standing.set()
                disk.let_go &= disk.goes.wait(STANDS_SECONDS)
            disk.touch(self._name)
            super().xSync(flags)

    class Files(apsw.VFS):
        def xOpen(self, name: apsw.URIFilename | str | None, flags: list[int]) -> File:  # noqa: N802
            return File(name, flags)

    files = Files("failing", before)
    apsw.set_default_vfs("failing")
    try:
        yield disk
    finally:
        apsw.set_default_vfs(before)
        files.unregister()
