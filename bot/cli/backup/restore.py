"""Bringing a backup back into an empty home: all of it, or nothing.

Everything is unpacked and checked below a hidden folder of the home, which is locked meanwhile as by a running bot.  Then it
is moved to its places, the database last.  Who is killed before leaves the hidden folder and nothing else; who is killed
while it is moved leaves a mark that says that a database must be there, so that no bot begins afresh on half of it.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

from agentic.ports.errors import StoreCorrupt
from agentic.stores.factory import database_maintenance, store_maintenance
from bot.cli.backup.archive import (
    ArchiveRefused,
    Contents,
    Told,
    read,
)
from bot.cli.backup.archive_paths import DATABASES, SETTINGS
from bot.cli.backup.create import places
from bot.config.home import DATABASE
from bot.config.settings_sources import ENV_FILE

HIDDEN = ".importing"
LOCK = "run.lock"
RESTORED = "settings-of-the-backup.txt"
"""What was set when it was made, to be read by a person: a backup sets nothing."""
_FRESH = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class NotEmpty(Exception):
    """Something is in the home already."""


def restore(archive: Path, home: Path, told: Told) -> Contents:
    """Unpack into the home, whose lock the caller holds.

    Raises ``ArchiveRefused``, ``NotEmpty``, ``StoreTooNew`` and ``OSError``; the home is empty then as it was.
    """
    clear_unfinished(home)
    if found := sorted(path.name for path in home.iterdir() if path.name not in (LOCK, ENV_FILE)):
        raise NotEmpty(", ".join(found[:5]))
    staging = home / HIDDEN
    staging.mkdir(mode=0o700)
    try:
        contents = read(archive, _Unpacking(staging), told, most=shutil.disk_usage(home).free * 9 // 10)
        _make_ours(staging, archive)
        os.sync()
        _move(staging, home)
    except BaseException:
        clear_unfinished(home)
        raise
    return contents


def clear_unfinished(home: Path) -> None:
    """Remove what an import left that was killed; only what that import itself had brought."""
    staging = home / HIDDEN
    try:
        moved = cast(list[str], json.loads((staging / "moved.json").read_text(encoding="utf-8")))
    except (OSError, ValueError):
        moved = []
    if (home / DATABASE).exists():  # it is moved last: all of it is there, and a bot may have worked on it since
        moved = []
    for name in [*moved, HIDDEN]:
        path = home / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


class _Unpacking:
    """Files in fresh folders of ours; links come when nothing more is written."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def folder(self, name: str, mode: int) -> None:
        path = self._place(name)
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(mode | 0o700)

    def file(self, name: str, mode: int, at: float) -> BinaryIO:
        path = self._place(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        opened = os.fdopen(os.open(path, _FRESH, 0o600), "wb")
        os.fchmod(opened.fileno(), mode | 0o600)
        return _Dated(opened, at)  # pyright: ignore[reportReturnType]  # it writes and closes

    def link(self, name: str, target: str) -> None:
        path = self._place(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)

    def _place(self, name: str) -> Path:
        return self._root / (RESTORED if name == SETTINGS else name)


class _Dated:
    """A file that bears its old time when it is closed."""

    def __init__(self, file: BinaryIO, at: float) -> None:
        self._file, self._at = file, at
        self.write: Callable[[bytes], int] = file.write

    def close(self) -> None:
        self._file.flush()
        os.utime(self._file.fileno(), (self._at, self._at))
        self._file.close()


def _make_ours(staging: Path, archive: Path) -> None:
    """Check that we can read it, and give back all leases: whoever held them works on another home."""
    if not any((place / DATABASE).is_file() for _, place in places(staging)):
        raise ArchiveRefused(f"{archive} contains no {DATABASE}. Use another backup.")
    for _, place in places(staging):
        for name in DATABASES:
            if (place / name).is_file() and database_maintenance(place / name).acts_by_itself():
                raise ArchiveRefused(
                    f"The database {name} in it contains more than rows, which no backup does. Not used."
                )
        path = place / DATABASE
        if not path.is_file():
            continue
        try:
            store_maintenance(path).move_in()
        except StoreCorrupt as corrupt:
            if place == staging:
                raise ArchiveRefused(
                    f"{archive} contains a damaged database ({corrupt}). Use another backup."
                ) from corrupt


def _move(staging: Path, home: Path) -> None:
    names = sorted((path.name for path in staging.iterdir()), key=lambda name: (name == DATABASE, name))
    marked = f"{DATABASE}-mark"
    (staging / "moved.json").write_text(json.dumps([marked, *names]), encoding="utf-8")
    os.sync()
    if DATABASE in names:
        store_maintenance(home / DATABASE).promise()
    for name in names:
        (staging / name).rename(home / name)
    (staging / "moved.json").unlink()
    os.sync()
    shutil.rmtree(staging)
