"""`threadwright backup [PLACE]`: everything in one file, also while a bot works on it.

It is written under a hidden name, read back and held against its hashes, and only then given its name, which must be free.

What of a home goes into a backup, while a bot may be working on it.

The databases come first, each as it was at one moment; then what they refer to, which is never changed once it is named:
large contents, and checkpoints, held open under their thread's lock so that none is cleared away meanwhile.  Workspaces
are read by descriptor and following no link, as they stand, without what ``.aiignore`` hides in them.  Sandboxes are not
kept: they are made again.  What does not belong to a home is left out.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import BinaryIO, cast
from urllib.parse import urlsplit

from pydantic import SecretStr

from agentic.ports.errors import PathRefused, StoreCorrupt, StoreError
from agentic.sandbox.aiignore import IgnoreFile
from agentic.stores.factory import database_maintenance, store_maintenance
from bot.cli.backup.archive import (
    ArchiveRefused,
    Contents,
    Told,
    Writing,
    read,
)
from bot.cli.backup.archive_paths import (
    DATABASES,
    IGNORED,
    SETTINGS,
    TREES,
    Kind,
    belongs,
)
from bot.cli.console import (
    NO_FOLDER,
    fail,
    not_written,
    note,
    say,
)
from bot.config.home import CHECKPOINTS, DATABASE, TASKS, databases
from bot.config.settings import PREFIX, Settings
from bot.rendering.secrets import Discretion, secrets_of

DEPTH = 64
HIDDEN = "hidden by .aiignore"
_KINDS: dict[int, Kind] = {stat.S_IFLNK: "link", stat.S_IFDIR: "folder", stat.S_IFREG: "file"}
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def places(home: Path) -> Iterator[tuple[str, Path]]:
    """The home itself, and those of `threadwright task`, each with how its names begin."""
    yield "", home
    for task in sorted((home / TASKS).glob("*/")):
        if not task.is_symlink():
            yield f"{TASKS}/{task.name}/", task


def size_of(home: Path) -> int:
    """About how many bytes there are to read."""
    total = 0
    for _, place in places(home):
        for part in (*DATABASES, *TREES, CHECKPOINTS):
            total += sum(_sizes(place / part))
    return total


def _sizes(path: Path) -> Iterator[int]:
    if path.is_file():
        yield path.stat().st_size
    for folder, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(OSError):
                yield Path(folder, name).lstat().st_size


@dataclass(slots=True)
class Gathering:
    """Puts a home into an archive."""

    archive: Writing
    staging: Path
    """A folder for copies of databases; they are removed again."""
    told: Told
    damaged: list[str] = field(default_factory=list[str])
    """What is not as it was once written; it is kept as far as it can be read."""
    left_out: dict[str, str] = field(default_factory=dict[str, str])
    _hidden: frozenset[str] = frozenset()

    def gather(self, home: Path) -> None:
        """All of it."""
        for prefix, place in places(home):
            for name in DATABASES:
                if (place / name).is_file():
                    self._database(place / name, f"{prefix}{name}")
            self._hidden = frozenset(self._told_to_hide(place, prefix))
            for name in (*TREES, IGNORED):
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    self._tree(os.open(place / name, _FOLDER), f"{prefix}{name}")
            for thread in sorted((place / CHECKPOINTS).glob("*/")):
                self._checkpoints(thread, f"{prefix}{CHECKPOINTS}/{thread.name}")

    def _told_to_hide(self, place: Path, prefix: str) -> Iterator[str]:
        """Names in the archive of what people hid in a home's workspaces; a whole workspace where that cannot be told."""
        for workspace in sorted((place / "workspaces").glob("*/")):
            name = f"{prefix}workspaces/{workspace.name}"
            kept = self.staging / "ignored.json"
            kept.unlink(missing_ok=True)
            with contextlib.suppress(FileNotFoundError):
                kept.write_bytes((place / IGNORED / f"{workspace.name}.json").read_bytes())
            try:
                yield from (f"{name}/{path}" for path in IgnoreFile(workspace, kept).hidden())
            except PathRefused:
                yield name

    def _database(self, path: Path, name: str) -> None:
        copied = self.staging / "copy.sqlite"
        try:
            database_maintenance(path).copy(copied, self.told)
            ours = path.name == DATABASE
            found = database_maintenance(copied).damage(thoroughly=True)
            found = found or (store_maintenance(copied).unreadable(path.parent) if ours else ())
            self.damaged += [f"{name}: {damage.what}" for damage in found]
            with copied.open("rb") as file:
                self.archive.file(name, file, os.fstat(file.fileno()))
        except StoreCorrupt as error:
            if name == DATABASE:
                raise  # without it there is no backup
            self.damaged.append(f"{name}: {error}")
        finally:
            copied.unlink(missing_ok=True)

    def _tree(self, folder: int, name: str, depth: int = 0) -> None:
        try:
            if belongs(name, "folder"):
                self.archive.folder(name, os.fstat(folder).st_mode)
            for entry in sorted(os.listdir(folder)):
                self._entry(folder, entry, f"{name}/{entry}", depth)
        except PermissionError as error:
            self.left_out[name] = error.strerror or str(error)
        finally:
            os.close(folder)

    def _entry(self, folder: int, entry: str, name: str, depth: int) -> None:
        try:
            status = os.stat(entry, dir_fd=folder, follow_symlinks=False)
            sort = stat.S_IFMT(status.st_mode)
            kind = _KINDS.get(sort)
            if name in self._hidden:
                self.left_out[name] = HIDDEN
                return
            if kind is not None and not belongs(name, kind):
                self.left_out[name] = "no bot wrote it there"
                return
            if kind == "link":
                self.archive.link(name, os.readlink(entry, dir_fd=folder))
                return
            if kind is None or depth == DEPTH:
                self.left_out[name] = "neither a file nor a folder" if kind is None else "too deep"
                return
            opened = os.open(entry, _FOLDER if kind == "folder" else _PLAIN, dir_fd=folder)
        except FileNotFoundError:
            return  # deleted meanwhile
        except OSError as error:
            self.left_out[name] = error.strerror or str(error)
            return
        if kind == "folder":
            self._tree(opened, name, depth + 1)
        else:
            with os.fdopen(opened, "rb") as file:
                self._file(name, file)

    def _file(self, name: str, file: BinaryIO) -> None:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            return
        if trouble := self.archive.file(name, file, status, self.told):
            self.damaged.append(f"{name}: {trouble}")

    def _checkpoints(self, thread: Path, name: str) -> None:
        with contextlib.ExitStack() as stack:
            held: list[tuple[str, BinaryIO]] = []
            with _locked(thread):
                found = sorted((*(thread / "packs").glob("*"), *(thread / "manifests").glob("*")))
                held += [
                    (f"{name}/{path.parent.name}/{path.name}", stack.enter_context(path.open("rb")))
                    for path in found
                    if belongs(f"{name}/{path.parent.name}/{path.name}", "file")
                    and path.is_file()
                    and not path.is_symlink()
                ]
            for each, file in held:
                self._file(each, file)


@contextlib.contextmanager
def _locked(thread: Path) -> Generator[None]:
    """Nothing is added to a thread's checkpoints or cleared away."""
    try:
        lock = os.open(thread / "lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        yield
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


_HIDDEN = ".threadwright-backup-"
_HIDDEN_TOO = "files that .aiignore hides (copy them yourself if you need them), "
_EVERY = 2.0
SHOWN = 10


@dataclass(slots=True)
class BackupProgress:
    """Says now and then how far something long is."""

    what: str
    total: int
    _done: int = 0
    _said: float = field(default_factory=monotonic)

    def __call__(self, more: int) -> None:
        """So many bytes more."""
        self._done += more
        if monotonic() - self._said >= _EVERY:
            self._said = monotonic()
            note(f"{self.what}: {self._done / 1e6:.0f} of about {max(self.total, self._done) / 1e6:.0f} MB")


def backup(settings: Settings, where: Path | None, build: str) -> int:
    """Write the archive and say where it is; 1 if there is none, or what it was taken from is damaged."""
    if not databases(settings.home):
        return fail(f"There is nothing to back up in {settings.home}: no bot has run there.")
    now = datetime.now().astimezone()
    named = where is not None and not where.is_dir()
    target = where if where is not None and named else (where or Path()) / f"threadwright-{now:%Y%m%d-%H%M%S}.tar.gz"
    if target.exists():
        return fail(f"{target} is there already, and nothing is overwritten. Name another file, or a folder.")
    if not target.absolute().parent.is_dir():
        return fail(NO_FOLDER.format(folder=target.absolute().parent))
    try:
        with _hidden(target.absolute().parent) as staging:
            gathered = _write(settings, staging, build, now)
            contents = read(staging / "archive", None, BackupProgress("Checking", size_of(settings.home)))
            _publish(staging / "archive", target)
    except FileExistsError:
        return fail(f"{target} is there already, and nothing is overwritten. Name another file, or a folder.")
    except StoreError as error:
        return fail(f"No backup was made: {error}.")
    except ArchiveRefused as refused:
        return fail(
            f"No backup was made: what was written could not be read back. {refused} Name a folder on another disk."
        )
    except OSError as error:
        return fail(f"No backup was made: {not_written(target, error)}")
    return _tell(target, contents, gathered)


def _write(settings: Settings, staging: Path, build: str, now: datetime) -> Gathering:
    with (staging / "archive").open("wb") as out:
        archive = Writing(out, {"build": build, "at": now.isoformat(timespec="seconds")})
        gathering = Gathering(archive, staging, BackupProgress("Copying", size_of(settings.home)))
        _add_settings(archive, settings, staging)
        gathering.gather(settings.home)
        archive.close(damaged=gathering.damaged, left_out=gathering.left_out)
        out.flush()
        os.fsync(out.fileno())
    return gathering


def _add_settings(archive: Writing, settings: Settings, staging: Path) -> None:
    path = staging / SETTINGS
    path.write_text(settings_without_secrets(settings), encoding="utf-8")
    with path.open("rb") as file:
        archive.file(SETTINGS, file, os.fstat(file.fileno()))


def settings_without_secrets(settings: Settings) -> str:
    """What was set, as lines of a `.env`; no token, no key, and not the home."""
    lines = ["# The settings when this backup was made. Tokens and keys are not included; set them again."]
    held: set[str] = set()
    for name, about in type(settings).model_fields.items():
        value: object = getattr(settings, name)
        if isinstance(value, SecretStr):
            held.add(value.get_secret_value())
        elif name != "home" and value != about.default and name != "discord_token":
            text = ",".join(map(str, cast(tuple[str, ...], value))) if isinstance(value, tuple) else str(value)
            lines.append(f"{PREFIX}{name.upper()}={_without_login(text)}")
    return Discretion(secrets_of(os.environ) | held).text("\n".join(lines)) + "\n"


def _without_login(value: str) -> str:
    login, at, _ = urlsplit(value).netloc.rpartition("@") if "://" in value else ("", "", "")
    return value.replace(f"{login}{at}", "", 1) if at else value


def _publish(archive: Path, target: Path) -> None:
    """Give it its name, which nothing may bear yet."""
    archive.chmod(0o600)
    try:
        os.link(archive, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if target.exists():
            raise FileExistsError(str(target)) from None
        archive.rename(target)
    folder = os.open(target.absolute().parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _tell(target: Path, contents: Contents, gathered: Gathering) -> int:
    size = target.stat().st_size
    say(f"{target}: {len(contents.files)} files, {contents.bytes / 1e6:.1f} MB, in {size / 1e6:.1f} MB. Verified.")
    for name, why in list(gathered.left_out.items())[:SHOWN]:
        note(f"Not included: {ascii(name)[1:-1]} ({why})")
    if (more := len(gathered.left_out) - SHOWN) > 0:
        note(f"Not included: {more} more")
    hidden = HIDDEN in gathered.left_out.values()
    say(
        f"Not included: tokens and keys, {_HIDDEN_TOO if hidden else ''}and what the sandboxes installed for "
        f"themselves. To restore:\n  threadwright import {target}            into an empty THREADWRIGHT_HOME\n  "
        f"threadwright import {target} --into FOLDER"
    )
    if not gathered.damaged:
        return 0
    note("Some of the original data is damaged, so keep your earlier backups:")
    for what in gathered.damaged[:SHOWN]:
        note(f"- {what}")
    return 1


@contextlib.contextmanager
def _hidden(folder: Path) -> Generator[Path]:
    """A folder to work in beside the archive; what a backup left that was killed is removed."""
    for left in folder.glob(f"{_HIDDEN}*"):
        with _held(left) as ours:
            if ours:
                shutil.rmtree(left, ignore_errors=True)
    staging = Path(tempfile.mkdtemp(prefix=_HIDDEN, dir=folder))
    try:
        with _held(staging):
            yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


@contextlib.contextmanager
def _held(folder: Path) -> Generator[bool]:
    """Whether no other process holds it; it is held until the end."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)
