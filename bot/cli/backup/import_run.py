"""`threadwright import FILE`: a backup into an empty home, or one execution beside what is there.

What `threadwright export` wrote, beside what is in a home: to be read and replayed; it is not gone on with there.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from agentic.calibration.labelling import label_of
from agentic.ports.errors import StoreError
from agentic.ports.maintenance import (
    EVENT_FIELDS,
    EXECUTION_FIELDS,
    SESSION_FIELDS,
    EventRow,
    Row,
    StoredExecution,
    StoreImport,
    Value,
)
from agentic.ports.schedules import ScheduleRow
from agentic.stores.factory import AwsPlace, store_transfer
from bot.cli.backup.archive import ArchiveRefused
from bot.cli.backup.create import BackupProgress
from bot.cli.backup.export_run import FORMAT
from bot.cli.backup.restore import RESTORED, NotEmpty, restore
from bot.cli.console import fail, note, say
from bot.cli.run import AlreadyRunning, only_one
from bot.config.home import CHECKPOINTS, DATABASE
from bot.config.settings import Settings

_NAMES = {"packs": re.compile(r"\d{1,12}\.pack"), "manifests": re.compile(r"\d{1,12}-[0-9a-f]{1,64}")}
_THREAD = re.compile(r"[A-Za-z0-9]{1,100}")
Line = dict[str, object]


@dataclass(slots=True)
class _Coming:
    """What one file holds."""

    executions: dict[str, Line] = field(default_factory=dict[str, Line])
    events: dict[str, list[EventRow]] = field(default_factory=dict[str, list[EventRow]])
    outcomes: dict[str, list[EventRow]] = field(default_factory=dict[str, list[EventRow]])
    sessions: list[Row] = field(default_factory=list[Row])

    def stored(self) -> list[StoredExecution]:
        """The executions; an event is one of theirs."""
        if (self.events.keys() | self.outcomes.keys()) - self.executions.keys():
            raise ArchiveRefused("It contains events of a task that is missing from it. Export it again.")
        return [
            StoredExecution(
                tuple(cast(Value, line[name]) for name in EXECUTION_FIELDS),
                tuple(self.events.get(name, ())),
                tuple(self.outcomes.get(name, ())),
            )
            for name, line in self.executions.items()
        ]


@dataclass(slots=True)
class _Brought:
    """What is new here, and how many facts and set times came."""

    tasks: list[str] = field(default_factory=list[str])
    rest: int = 0


def import_execution(file: Path, home: Path, into: Path | AwsPlace | None = None) -> _Brought:
    """Bring all of the file in, or nothing; ``into`` a store that is not in the home.

    Raises ``ArchiveRefused``, ``StoreError`` and ``OSError``.
    """
    try:
        _check(file)
        coming = _rows(file)
        found = coming.stored()
    except (ValueError, KeyError, TypeError, LookupError, AttributeError) as error:
        raise ArchiveRefused(
            f"{file} is damaged, or was not made by `threadwright export`. Export it again."
        ) from error
    transfer = store_transfer(into or home / DATABASE)
    for each in found:
        for problem in transfer.problems(each):
            raise problem
    with tempfile.TemporaryDirectory(prefix=".importing-", dir=home) as staging:
        files = _Files(home, Path(staging))
        files.read(file)
        with transfer.importing() as store:
            fresh = [each.name for each in found if store.execution(each)]
            for row in coming.sessions:
                store.session(row)
            for each in found:
                if each.name in fresh and (label := label_of(*transfer.streams(each), store.guild(each.thread))):
                    store.label(label)  # as it was where it ran; what was open there has none
            _contents(store, file)
            rest = _rest(store, file)
            if not isinstance(into, AwsPlace):
                files.place()
            elif files.whole:
                note(f"{file.name}: its checkpoints were left out, because on AWS they belong into the bucket.")
    return _Brought(fresh, rest)


def _lines(file: Path) -> Iterator[Line]:
    with file.open("rb") as lines:
        for line in lines:
            yield cast(Line, json.loads(line))


def _check(file: Path) -> None:
    """The whole file is as it was written.  Raises ``ArchiveRefused`` and what JSON raises."""
    seen, count, ended = hashlib.sha256(), 0, False
    with file.open("rb") as lines:
        for line in lines:
            if count and not line.endswith(b"\n"):
                break
            told = cast(Line, json.loads(line))
            if ended:
                raise ArchiveRefused(f"{file} is damaged: there is extra data at its end. Export it again.")
            if count == 0:
                _head(file, told)
            if told["line"] == "end":
                ended = (told["sha"], told["lines"]) == (seen.hexdigest(), count)
                if not ended:
                    raise ArchiveRefused(f"{file} is damaged: its content was changed. Export it again.")
            seen.update(line)
            count += 1
    if not ended:
        raise ArchiveRefused(f"{file} is incomplete: its end is missing. Export it again.")


def _head(file: Path, told: Line) -> None:
    form = told.get("format")
    if told.get("line") != "head" or not isinstance(form, int):
        raise ArchiveRefused(f"{file} was not made by `threadwright export` or `threadwright backup`.")
    if form > FORMAT:
        raise ArchiveRefused(f"{file} was made by a newer Threadwright ({told.get('build')}): update Threadwright.")


def _rows(file: Path) -> _Coming:
    coming = _Coming()
    for told in _lines(file):
        sort = told["line"]
        if sort == "execution":
            coming.executions[cast(str, told["name"])] = told
        elif sort in ("event", "outcome"):
            row = cast(EventRow, tuple(told[name] for name in EVENT_FIELDS))
            streams = coming.events if sort == "event" else coming.outcomes
            streams.setdefault(cast(str, told["execution"]), []).append(row)
        elif sort == "session":
            coming.sessions.append(tuple(cast(Value, told[name]) for name in SESSION_FIELDS))
    return coming


def _rest(store: StoreImport, file: Path) -> int:
    """Facts and set times; how many there are in the file."""
    count = 0
    for told in _lines(file):
        sort = told.pop("line")
        if sort == "fact":
            store.fact(cast(str, told["key"]), cast(str, told["value"]))
        elif sort == "schedule":
            due = cast("str | None", told["due"])
            row = {**told, "due": None if due is None else datetime.fromisoformat(due)}
            store.schedule(ScheduleRow(**cast("dict[str, Any]", row)))
        count += sort in ("fact", "schedule")
    return count


def _contents(store: StoreImport, file: Path) -> None:
    for told in _lines(file):
        if told["line"] == "content":
            store.content(cast(str, told["sha"]), base64.b64decode(cast(str, told["data"])))


@dataclass(slots=True)
class _Files:
    """Checkpoints: gathered beside their place, and put there when all of them are whole."""

    home: Path
    staging: Path
    whole: list[tuple[Path, Path]] = field(default_factory=list[tuple[Path, Path]])

    def read(self, file: Path) -> None:
        """Gather them."""
        parts = self.staging / "parts"
        seen = hashlib.sha256()
        for told in _lines(file):
            if told["line"] == "part":
                part = base64.b64decode(cast(str, told["data"]))
                seen.update(part)
                with parts.open("ab") as out:
                    out.write(part)
            elif told["line"] == "file":
                parts.touch()
                self._keep(parts, told, seen.hexdigest())
                seen = hashlib.sha256()

    def _keep(self, parts: Path, told: Line, sha: str) -> None:
        thread, folder, name = (str(told[key]) for key in ("thread", "folder", "name"))
        if folder not in _NAMES or not _NAMES[folder].fullmatch(name) or not _THREAD.fullmatch(thread):
            raise ArchiveRefused(f"It contains a file named {name!a}, which no export does. Not used.")
        if told["sha"] != sha:
            raise ArchiveRefused(f"The checkpoint {name} in it is damaged. Export it again.")
        target = self.home / CHECKPOINTS / thread / folder / name
        if target.exists():
            if hashlib.sha256(target.read_bytes()).hexdigest() != sha:
                raise ArchiveRefused(f"Thread {thread} already has checkpoints here; import it without them.")
            parts.unlink()
            return
        kept = self.staging / str(len(self.whole))
        parts.rename(kept)
        self.whole.append((kept, target))

    def place(self) -> None:
        """Put them into their places, in the order of the file: what a manifest needs comes before it."""
        for kept, target in self.whole:
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            kept.rename(target)


GZIP = b"\x1f\x8b"


def bring_back(settings: Settings, file: Path, into: Path | None) -> int:
    """Import it; 1 and a line that says what to do where that cannot be."""
    home = into.expanduser().absolute() if into is not None else settings.home
    try:
        if file.is_dir():
            return _folder(file, home, None if into else settings.aws_place)
        with file.open("rb") as opened:
            packed = opened.read(2) == GZIP
        with only_one(home):
            if packed:
                return _backup(file, home)
            _tell(_execution(file, home, None if into else settings.aws_place))
            return 0
    except AlreadyRunning:
        return fail(f"Threadwright is running on {home}. Stop it first, or name another folder with --into.")
    except ArchiveRefused as refused:
        return fail(f"Nothing was imported. {refused}")
    except StoreError as error:
        return fail(f"Nothing was imported: {error}.")
    except NotEmpty as found:
        return fail(
            f"Nothing was imported: {home} is not empty ({found}), and nothing there is overwritten. Move it away, or "
            f"name another folder: threadwright import {file} --into FOLDER"
        )
    except OSError as error:
        reason = error.strerror or str(error)
        return fail(f"Nothing was imported: {error.filename or home} ({reason}).")


def _folder(folder: Path, home: Path, place: AwsPlace | None) -> int:
    """All files of `threadwright export --all`; one that cannot be brought in holds up no other."""
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        return fail(f"Nothing was imported: there is no file in {folder} that `threadwright export --all` wrote.")
    left, all_of_it = 0, _Brought()
    with only_one(home):
        for file in files:
            try:
                brought = _execution(file, home, place)
                all_of_it.tasks += brought.tasks
                all_of_it.rest += brought.rest
            except (ArchiveRefused, StoreError) as error:
                left += 1
                note(f"{file.name} was not imported: {error}")
    if left < len(files):
        _tell(all_of_it)
    return 1 if left else 0


def _tell(brought: _Brought) -> None:
    """Say what is here now, in a line however much it is."""
    match brought.tasks:
        case [] if not brought.rest:
            say("Everything in it was already here; nothing was changed.")
        case []:
            say("Small facts and set times are here.")
        case [name]:
            say(f"{name} is here, read-only: threadwright replay {name}")
        case several:
            say(
                f"{len(several)} tasks are here: threadwright replay {several[0]}, for example. One that was not finished is "
                "not continued; what people write in its thread begins a new one."
            )


def _backup(file: Path, home: Path) -> int:
    contents = restore(file, home, BackupProgress("Unpacking", file.stat().st_size))
    about = contents.about
    say(
        f"Restored {home} as of {about.get('at')}: {len(contents.files)} files, {contents.bytes / 1e6:.1f} MB, "
        "all checked."
    )
    for what in about.get("damaged") or ():  # type: ignore[attr-defined]
        note(f"Already damaged when the backup was made: {what}")
    say(
        f"Next: THREADWRIGHT_HOME={home} threadwright run. Your old settings are in {home / RESTORED} for reading "
        "only: set what you want again. Tokens and keys are not in a backup. Don't run two bots with one token on "
        "two copies: each would answer."
    )
    return 0


def _execution(file: Path, home: Path, place: AwsPlace | None) -> _Brought:
    for left in home.glob(".importing-*"):  # of one that was killed
        shutil.rmtree(left, ignore_errors=True)
    return import_execution(file, home, place)
