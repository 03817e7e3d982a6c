"""`threadwright backup [PLACE]`: everything in one file, also while a bot works on it.

It is written under a hidden name, read back and held against its hashes, and only then given its name, which must be free.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Generator
from dataclasses import field
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import cast
from urllib.parse import urlsplit

from pydantic import SecretStr

from agentic.core.lazy_dataclass import dataclass
from agentic.errors import StoreError
from bot.commandline.backup_archive import ArchiveRefused, Contents, Writing, read
from bot.commandline.backup_parts import HIDDEN, Gathering, size_of
from bot.commandline.backup_places import SETTINGS
from bot.commandline.output import NO_FOLDER, fail, not_written, note, say
from bot.discretion import Discretion, secrets_of
from bot.settings import PREFIX, Settings
from bot.state import databases

_HIDDEN = ".threadwright-backup-"
_HIDDEN_TOO = "what .aiignore hides (copy it yourself if you need it), "
_EVERY = 2.0
SHOWN = 10


@dataclass(slots=True)
class Progress:
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
        return fail(f"There is nothing to keep below {settings.home}: no bot has run there.")
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
            contents = read(staging / "archive", None, Progress("Checking", size_of(settings.home)))
            _publish(staging / "archive", target)
    except FileExistsError:
        return fail(f"{target} is there already, and nothing is overwritten. Name another file, or a folder.")
    except StoreError as error:
        return fail(f"There is no backup: {error}.")
    except ArchiveRefused as refused:
        return fail(
            f"There is no backup: what was written there cannot be read back. {refused} Name a folder on another disk."
        )
    except OSError as error:
        return fail(f"There is no backup: {not_written(target, error)}")
    return _tell(target, contents, gathered)


def _write(settings: Settings, staging: Path, build: str, now: datetime) -> Gathering:
    with (staging / "archive").open("wb") as out:
        archive = Writing(out, {"build": build, "at": now.isoformat(timespec="seconds")})
        gathering = Gathering(archive, staging, Progress("Copying", size_of(settings.home)))
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
    lines = ["# What was set when this backup was made; tokens and keys are not here, set them anew."]
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
    say(
        f"{target}: {len(contents.files)} files, {contents.bytes / 1e6:.1f} MB, in {size / 1e6:.1f} MB. It was read back."
    )
    for name, why in list(gathered.left_out.items())[:SHOWN]:
        note(f"Left out: {ascii(name)[1:-1]} ({why})")
    if (more := len(gathered.left_out) - SHOWN) > 0:
        note(f"Left out: {more} more")
    hidden = HIDDEN in gathered.left_out.values()
    say(
        f"Not in it: tokens and keys, {_HIDDEN_TOO if hidden else ''}and what the sandboxes installed for themselves. "
        "To have it back:\n"
        f"  threadwright import {target}            into an empty THREADWRIGHT_HOME\n"
        f"  threadwright import {target} --into FOLDER"
    )
    if not gathered.damaged:
        return 0
    note("What it was taken from is damaged, so keep your earlier backups:")
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
