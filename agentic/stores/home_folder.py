"""Those files of a home that machines share, as they stand on this machine's disk, and what was last shared of them.

``shared-….json`` holds for each file the hash of what was the same here and there when both were last looked at.  So a file
that differs from it was changed here by hand or by a program, and one that is missing was deleted here.  Whoever shares
other parts of the same home has another one, so that none takes what it does not look at for deleted; it begins with what
one that shares more has noted.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import re
import stat
import time
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentic.stores.private_file import write_private

LOCK = "shared.lock"
MOST_BYTES = 5_000_000
"""Of one file: as much as a skill may have."""
MOST_FILES = 20_000
LOCK_SECONDS = 30.0
"""So long another process of this home may take."""
_LEFT_OUT = frozenset({".git", "__pycache__", ".DS_Store"})
_UNDER_WAY = re.compile(r"\.(?:.+\.)?[0-9a-f]{12}|\.[0-9a-f]{32}|[0-9a-f]{32}\.lock")
"""What is not whole yet, or held by a process."""


@dataclass(frozen=True, slots=True)
class HomeFile:
    """A file; ``runs``: it may be executed."""

    content: bytes
    runs: bool = False

    @property
    def sha(self) -> str:
        """Over both."""
        return hashlib.sha256((b"x" if self.runs else b"-") + self.content).hexdigest()


class SyncState(BaseModel):
    """What was shared when this machine last looked."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    of: str = ""
    """Where it is shared."""
    parts: tuple[str, ...] = ()
    """Which parts of the home were looked at."""
    version: int = 0
    files: dict[str, str] = Field(default_factory=dict[str, str])
    """Hashes by paths."""
    objects: dict[str, str] = Field(default_factory=dict[str, str])
    """Where large ones lie, by paths."""
    owed: tuple[str, ...] = ()
    """Paths of what is shared and could not be brought here yet."""


@dataclass(frozen=True, slots=True)
class Surveyed:
    """Hashes by paths, and why others are left out."""

    files: dict[str, str] = field(default_factory=dict[str, str])
    problems: dict[str, str] = field(default_factory=dict[str, str])


class HomeFolder:
    """Reads and writes them.  Blocks: for threads beside the loop.  ``parts`` are folders and files of the home."""

    def __init__(self, home: Path, parts: Collection[str]) -> None:
        self._home, self._parts = home, frozenset(parts)
        self._state = home / f"shared-{hashlib.sha256(' '.join(sorted(parts)).encode()).hexdigest()[:8]}.json"
        self._seen: dict[str, tuple[tuple[int, ...], str]] = {}
        """Of each path what its file looked like from outside, and its hash."""

    @asynccontextmanager
    async def locked(self) -> AsyncGenerator[None]:
        """No other process of this machine brings or shares files of this home meanwhile.  Raises ``OSError``."""
        self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self._home / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            until = time.monotonic() + LOCK_SECONDS
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > until:
                        raise
                await asyncio.sleep(0.05)
            yield
        finally:
            os.close(descriptor)

    def known(self, of: str) -> SyncState:
        """What was last shared there; nothing where that was elsewhere, or cannot be read."""
        newest = SyncState(of=of)
        for file in self._home.glob("shared-*.json"):
            try:
                state = SyncState.model_validate_json(file.read_bytes())
            except (FileNotFoundError, ValidationError):
                continue
            ours = file == self._state or self._parts <= set(state.parts)
            if ours and state.of == of and state.version > newest.version:
                newest = state
        files = {path: sha for path, sha in newest.files.items() if self.ours(path)}
        owed = tuple(path for path in newest.owed if self.ours(path))
        return newest.model_copy(update={"files": files, "owed": owed})

    def note(self, known: SyncState) -> None:
        """Know it from now on.  Raises ``OSError``."""
        write_private(self._state, known.model_copy(update={"parts": tuple(sorted(self._parts))}).model_dump_json())

    def survey(self) -> Surveyed:
        """All files as they are now.  Raises ``OSError`` where a folder cannot be read, or is too large."""
        found, seen = Surveyed(), dict[str, tuple[tuple[int, ...], str]]()
        for path in self._paths(self._parts):
            if len(seen) + len(found.problems) >= MOST_FILES:
                raise OSError(f"there are more than {MOST_FILES:,} files to share; take some away")
            with suppress(FileNotFoundError):
                status = (self._home / path).lstat()
                if not stat.S_ISREG(status.st_mode):
                    found.problems[path] = "it is a link, or no file at all; put the file itself there"
                elif status.st_size > MOST_BYTES:
                    found.problems[path] = f"it is larger than {MOST_BYTES // 1_000_000} MB; make it smaller"
                else:
                    looks = (status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_size, status.st_mode)
                    before = self._seen.get(path)
                    try:
                        sha = before[1] if before is not None and before[0] == looks else self.read(path).sha
                    except PermissionError:
                        found.problems[path] = "it cannot be read; let the bot's user read it"
                        continue
                    seen[path], found.files[path] = (looks, sha), sha
        self._seen = seen
        return found

    def contents(self, part: str) -> dict[str, HomeFile]:
        """The files of a part as they are now, but for what is not shared.  Raises ``OSError``."""
        found = dict[str, HomeFile]()
        for path in self._paths((part,)):
            with suppress(FileNotFoundError, PermissionError):
                if stat.S_ISREG((self._home / path).lstat().st_mode):
                    found[path] = self.read(path)
        return found

    def restore(self, part: str, before: Mapping[str, HomeFile]) -> None:
        """Put the files of a part back as they were.  Raises ``OSError``."""
        now = self.contents(part)
        for path in now.keys() - before.keys():
            self.remove(path)
        for path, file in before.items():
            if now.get(path) != file:
                self.write(path, file)

    def read(self, path: str) -> HomeFile:
        """One file.  Raises ``OSError``."""
        descriptor = os.open(self._home / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            return HomeFile(file.read(MOST_BYTES), bool(os.fstat(descriptor).st_mode & 0o100))

    def write(self, path: str, file: HomeFile) -> None:
        """Put a file in place of what is there.  Raises ``OSError``."""
        write_private(self._home / path, file.content, runs=file.runs)

    def remove(self, path: str) -> None:
        """Delete a file, and folders that are empty then.  Raises ``OSError``."""
        (self._home / path).unlink(missing_ok=True)
        for folder in list((self._home / path).parents)[: path.count("/")]:
            with suppress(OSError):
                folder.rmdir()

    def ours(self, path: str) -> bool:
        """Whether a path lies in a part that is shared."""
        parts = path.split("/")
        return parts[0] in self._parts and not any(part in ("", ".", "..") or _skipped(part) for part in parts)

    def _paths(self, parts: Collection[str]) -> Iterator[str]:
        def stop(error: OSError) -> None:
            if not isinstance(error, FileNotFoundError):
                raise error

        for part in sorted(parts):
            top = self._home / part
            if top.is_symlink() or not top.is_dir():
                if os.path.lexists(top):
                    yield part
                continue
            for folder, folders, files in os.walk(top, onerror=stop):
                folders[:] = sorted(name for name in folders if not _skipped(name))
                below = Path(folder).relative_to(self._home)
                yield from (str(below / name) for name in sorted(files) if not _skipped(name))
                yield from (str(below / name) for name in folders if Path(folder, name).is_symlink())


def _skipped(name: str) -> bool:
    return name in _LEFT_OUT or not name.isprintable() or _UNDER_WAY.fullmatch(name) is not None
