"""What `threadwright export` wrote, beside what is in a home: to be read and replayed; it is not gone on with there."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import tempfile
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import cast

from agentic.calibration.labelling import label_of
from agentic.core.lazy_dataclass import dataclass
from agentic.stores.sqlite import blobs, labels, moving
from agentic.stores.sqlite.connection import Connection, Value
from agentic.stores.sqlite.rows import EventRow, to_envelope
from bot.commandline.backup_archive import ArchiveRefused
from bot.commandline.exporting import EVENT, FORMAT
from bot.commandline.output import say
from bot.state import CHECKPOINTS, DATABASE

_NAMES = {"packs": re.compile(r"\d{1,12}\.pack"), "manifests": re.compile(r"\d{1,12}-[0-9a-f]{1,64}")}
_THREAD = re.compile(r"[A-Za-z0-9]{1,100}")
Line = dict[str, object]


@dataclass(slots=True)
class _Coming:
    """What one file holds."""

    executions: dict[str, Line] = field(default_factory=dict[str, Line])
    events: dict[str, list[EventRow]] = field(default_factory=dict[str, list[EventRow]])
    outcomes: dict[str, list[EventRow]] = field(default_factory=dict[str, list[EventRow]])
    sessions: list[moving.Row] = field(default_factory=list[moving.Row])

    def stored(self) -> list[moving.Stored]:
        """The executions; an event is one of theirs."""
        if (self.events.keys() | self.outcomes.keys()) - self.executions.keys():
            raise ArchiveRefused("It holds events of an execution that it does not hold: export it anew.")
        return [
            moving.Stored(
                tuple(cast(Value, line[name]) for name in moving.EXECUTION),
                tuple(self.events.get(name, ())),
                tuple(self.outcomes.get(name, ())),
            )
            for name, line in self.executions.items()
        ]


def import_execution(file: Path, home: Path) -> int:
    """Bring all of the file in, in one transaction, or nothing.

    Raises ``ArchiveRefused``, ``StoreError`` and ``OSError``.
    """
    try:
        _check(file)
        coming = _rows(file)
        found = coming.stored()
    except (ValueError, KeyError, TypeError, LookupError, AttributeError) as error:
        raise ArchiveRefused(f"{file} is damaged, or was not made by `threadwright export`. Export it anew.") from error
    for each in found:
        if problem := next(each.checked(), None):
            raise problem
    with tempfile.TemporaryDirectory(prefix=".importing-", dir=home) as staging:
        files = _Files(home, Path(staging))
        files.read(file)
        with moving.opened(home / DATABASE) as connection:
            fresh = [each.name for each in found if moving.bring_in(connection, each)]
            for row in coming.sessions:
                moving.bring_in_session(connection, row)
            for each in found:
                if each.name in fresh:
                    _label(connection, each)
            _contents(connection, file, home)
            files.place()
    if not fresh:
        say("All of it was here already; nothing was changed.")
    for name in fresh:
        say(f"{name} can be read: threadwright replay {name}. It is not gone on with here.")
    return 0


def _label(connection: Connection, each: moving.Stored) -> None:
    """How it came out is derived from its log and outcome, as it was where it ran; what was open there has none."""
    session = moving.session(connection, each.thread)
    guild = str(session[moving.SESSION.index("guild")]) if session is not None else ""
    log, outcome = ([to_envelope(each.name, row) for row in rows] for rows in (each.events, each.outcomes))
    if (row := label_of(log, outcome, guild)) is not None:
        labels.put(connection, row)


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
                raise ArchiveRefused(f"{file} is damaged: something follows its end. Export it anew.")
            if count == 0:
                _head(file, told)
            if told["line"] == "end":
                ended = (told["sha"], told["lines"]) == (seen.hexdigest(), count)
                if not ended:
                    raise ArchiveRefused(f"{file} is damaged: it is not what was written. Export it anew.")
            seen.update(line)
            count += 1
    if not ended:
        raise ArchiveRefused(f"{file} is not whole: its end is missing. Export it anew.")


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
            row = cast(EventRow, tuple(told[name] for name in EVENT))
            streams = coming.events if sort == "event" else coming.outcomes
            streams.setdefault(cast(str, told["execution"]), []).append(row)
        elif sort == "session":
            coming.sessions.append(tuple(cast(Value, told[name]) for name in moving.SESSION))
    return coming


def _contents(connection: Connection, file: Path, home: Path) -> None:
    for told in _lines(file):
        if told["line"] == "content":
            content = base64.b64decode(cast(str, told["data"]))
            moving.bring_in_content(connection, blobs.keep_by_hash(home / "blobs", cast(str, told["sha"]), content))


@dataclass(slots=True)
class _Files:
    """Checkpoints: gathered beside their place, and put there when all of them are whole."""

    home: Path
    staging: Path
    _whole: list[tuple[Path, Path]] = field(default_factory=list[tuple[Path, Path]])

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
            raise ArchiveRefused(f"It holds a file named {name!a}, which no export does: it is not used.")
        if told["sha"] != sha:
            raise ArchiveRefused(f"The checkpoint {name} in it is damaged. Export it anew.")
        target = self.home / CHECKPOINTS / thread / folder / name
        if target.exists():
            if hashlib.sha256(target.read_bytes()).hexdigest() != sha:
                raise ArchiveRefused(f"The thread {thread} has checkpoints of its own here; import it without them.")
            parts.unlink()
            return
        kept = self.staging / str(len(self._whole))
        parts.rename(kept)
        self._whole.append((kept, target))

    def place(self) -> None:
        """Put them into their places, in the order of the file: what a manifest needs comes before it."""
        for kept, target in self._whole:
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            kept.rename(target)
