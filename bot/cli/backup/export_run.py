"""`threadwright export EXECUTION [FILE]`: executions as lines of JSON, verbatim: what is stored, as it is stored.

{"line": "head", "format": 1, …}             which executions, when, by which version
{"line": "session", …}                       the thread
{"line": "execution" | "event" | "outcome"}  rows as they stand in the database, with their checksums
{"line": "content", "sha", "data"}           what events refer to
{"line": "part" | "file", …}                 with --files: checkpoints, in parts, each file closed by its hash
{"line": "fact" | "schedule", …}             with --all, in a file of their own: small facts, and set times
{"line": "end", "lines", "sha"}              the hash of all lines before: a file that was cut has none
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TextIO, cast

from agentic.ports.errors import StoreError
from agentic.ports.maintenance import EVENT_FIELDS, EXECUTION_FIELDS, SESSION_FIELDS, StoredExecution, StoreExport
from agentic.stores.factory import AwsPlace, store_transfer
from agentic.workspace.snapshots.manifest import Damaged, packs_in
from bot.cli.console import (
    NO_FOLDER,
    fail,
    not_written,
    note,
)
from bot.cli.replay.replay import deleted
from bot.config.home import CHECKPOINTS, DATABASE, databases
from bot.config.settings import Settings

FORMAT = 1
REST = "_.jsonl"
"""Of what belongs to no thread."""
PART = 1 << 20
NOT_ALL = (
    "Not in it: lessons (threadwright lessons export), the files of threads as they are now, what people wrote that is "
    "not taken in yet, messages that are not sent yet, which messages were sent, and what was spent today. Keep the old "
    "place until nothing of that is missed."
)
FILES_ON_AWS = (
    "Nothing was exported: with THREADWRIGHT_STORE=aws checkpoints are in the bucket {bucket}, and --files reads only "
    "those on a disk. Leave --files out, and keep the bucket."
)


@dataclass(frozen=True, slots=True)
class ExportSelection:
    """What to export: one execution, or all of a thread."""

    execution: str = ""
    thread: str = ""
    files: bool = False
    """Checkpoints too."""


@dataclass(slots=True)
class Lines:
    """Writes lines and hashes them."""

    out: TextIO
    count: int = 0
    _hash: hashlib._Hash = field(default_factory=hashlib.sha256)  # pyright: ignore[reportPrivateUsage]

    def write(self, line: str, **values: object) -> None:
        """One line."""
        text = json.dumps({"line": line, **values}, ensure_ascii=True) + "\n"
        self._hash.update(text.encode())
        self.count += 1
        self.out.write(text)

    def end(self) -> None:
        """The last line."""
        self.write("end", lines=self.count, sha=self._hash.hexdigest())
        self.out.flush()


def export(settings: Settings, wanted: ExportSelection, file: Path | None, build: str) -> int:
    """Write them to the file or to standard output; 1 where there is none, or something of it is damaged."""
    if file is not None and file.exists():
        return fail(f"{file} is there already, and nothing is overwritten. Name another file.")
    if file is not None and not file.absolute().parent.is_dir():
        return fail(NO_FOLDER.format(folder=file.absolute().parent))
    try:
        for where in filter(None, (settings.aws_place, *databases(settings.home))):
            transfer = store_transfer(where)
            home = where.parent if isinstance(where, Path) else settings.home
            with transfer.exporting() as store:
                names = [wanted.execution] if wanted.execution else store.names(wanted.thread)
                found = [each for name in names if (each := store.execution(name)) is not None]
                if not found and wanted.execution and store.was_deleted(wanted.execution):
                    return fail(deleted(wanted.execution))
                if found and wanted.files and isinstance(where, AwsPlace):
                    return fail(FILES_ON_AWS.format(bucket=where.bucket))
                if found:
                    problems = [str(problem) for each in found for problem in transfer.problems(each)]
                    return _to_file(_Export(store, home, found, wanted.files, build, problems), file)
    except StoreError as error:
        return fail(f"Nothing was exported: {error}.")
    except BrokenPipeError:
        raise  # whoever read the output ended, and no other folder would help
    except OSError as error:
        return fail(f"It cannot be exported: {not_written(file or 'standard output', error)}")
    what = f"task {wanted.execution!r}" if wanted.execution else f"thread {wanted.thread!r}"
    return fail(f"There is no {what} in {settings.home}. `/status` in its thread shows the task's id.")


def export_all(settings: Settings, folder: Path, *, files: bool, build: str) -> int:
    """Write the logs of every thread of the bot's own store into a file of its own, and facts and set times into one more."""
    where = settings.aws_place or settings.home / DATABASE
    if isinstance(where, Path) and not where.is_file():
        return fail(f"There is nothing in {settings.home} to export.")
    if files and isinstance(where, AwsPlace):
        return fail(FILES_ON_AWS.format(bucket=where.bucket))
    damaged = 0
    try:
        folder.mkdir(mode=0o700)
        transfer = store_transfer(where)
        with transfer.exporting() as store:
            for thread in store.threads():
                found = [each for name in store.names(thread) if (each := store.execution(name)) is not None]
                problems = [str(problem) for each in found for problem in transfer.problems(each)]
                part = _Export(store, settings.home, found, files, build, problems, frozenset({thread}))
                damaged += _to_file(part, folder / f"{thread}.jsonl", tell=False)
            rest = _Export(store, settings.home, [], False, build, [], with_rest=True)
            damaged += _to_file(rest, folder / REST, tell=False)
    except FileExistsError:
        return fail(f"{folder} is there already, and nothing is overwritten. Name another folder.")
    except FileNotFoundError:
        return fail(NO_FOLDER.format(folder=folder.absolute().parent))
    except StoreError as error:
        return fail(f"Not everything was exported: {error}. Delete {folder} and try again.")
    except OSError as error:
        return fail(f"It cannot be exported: {not_written(folder, error)}")
    note(
        f"{folder}: the logs of every thread, small facts and set times. To read them elsewhere: threadwright import "
        f"{folder}. {NOT_ALL}"
    )
    return 1 if damaged else 0


def _to_file(export: _Export, file: Path | None, *, tell: bool = True) -> int:
    if file is None:
        export.write(Lines(sys.stdout))
    else:
        hidden = file.with_name(f".{file.name}.{os.getpid()}")
        try:
            with hidden.open("x", encoding="utf-8") as out:
                hidden.chmod(0o600)
                export.write(Lines(out))
                os.fsync(out.fileno())
            os.link(hidden, file)  # only a name that is free
        finally:
            hidden.unlink(missing_ok=True)
        if tell:
            names = ", ".join(each.name for each in export.found)
            note(f"{file}: {names}. To read it elsewhere: threadwright import {file}")
    for problem in export.problems:
        note(f"Damaged: {problem}")
    return 1 if export.problems else 0


@dataclass(slots=True)
class _Export:
    store: StoreExport
    home: Path
    found: list[StoredExecution]
    files: bool
    build: str
    problems: list[str]
    threads: frozenset[str] = frozenset()
    """Those whose rows go too though none of their tasks may."""
    with_rest: bool = False
    """Facts and set times."""

    def write(self, lines: Lines) -> None:
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        lines.write("head", format=FORMAT, build=self.build, at=now, executions=[each.name for each in self.found])
        for thread in sorted({each.thread for each in self.found} | self.threads):
            if row := self.store.session(thread):
                lines.write("session", **dict(zip(SESSION_FIELDS, row, strict=True)))
        for each in self.found:
            lines.write("execution", **dict(zip(EXECUTION_FIELDS, each.execution, strict=True)))
            for sort, rows in (("event", each.events), ("outcome", each.outcomes)):
                for row in rows:
                    lines.write(sort, execution=each.name, **dict(zip(EVENT_FIELDS, row, strict=True)))
        for sha in sorted({sha for each in self.found for sha in referred(each)}):
            self._content(lines, sha)
        if self.files:
            self._checkpoints(lines)
        if self.with_rest:
            self._rest(lines)
        lines.end()

    def _rest(self, lines: Lines) -> None:
        for key, value in self.store.facts():
            lines.write("fact", key=key, value=value)
        for row in self.store.schedules():
            due = None if row.due is None else row.due.isoformat()
            lines.write("schedule", **{**asdict(row), "due": due})

    def _content(self, lines: Lines, sha: str) -> None:
        try:
            content = self.store.content(sha)
        except StoreError as error:
            self.problems.append(str(error))
            return
        if content is not None:
            lines.write("content", sha=sha, data=base64.b64encode(content).decode())

    def _checkpoints(self, lines: Lines) -> None:
        """Packs before the manifests that need them."""
        written: set[str] = set()
        for each in self.found:
            folder = self.home / CHECKPOINTS / each.thread
            for name in sorted(manifests(each)):
                manifest = folder / "manifests" / name
                try:
                    with manifest.open("rb") as file:
                        needed = packs_in(file.readline())
                except (OSError, Damaged):
                    continue  # only the newest of a thread are kept
                for path in (*(folder / "packs" / pack for pack in sorted(needed)), manifest):
                    if str(path) not in written and path.is_file():
                        written.add(str(path))
                        _file(lines, each.thread, path)


def _file(lines: Lines, thread: str, path: Path) -> None:
    seen = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(PART):
            seen.update(part)
            lines.write("part", data=base64.b64encode(part).decode())
    lines.write("file", thread=thread, folder=path.parent.name, name=path.name, sha=seen.hexdigest())


def referred(each: StoredExecution) -> Iterator[str]:
    """Hashes of the contents that its events name."""
    for row in (*each.events, *each.outcomes):
        try:
            yield from _shas(json.loads(row[7]))
        except ValueError:
            continue  # damaged, and said elsewhere


def _shas(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        told = cast(dict[str, object], value)
        sha = told.get("sha")
        if isinstance(sha, str) and len(sha) == 64 and isinstance(told.get("size"), int):
            yield sha
        for inner in told.values():
            yield from _shas(inner)
    elif isinstance(value, list):
        for inner in cast(list[object], value):
            yield from _shas(inner)


def manifests(each: StoredExecution) -> Iterator[str]:
    """Names of the checkpoints that its events name."""
    for row in (*each.events, *each.outcomes):
        try:
            told = cast(dict[str, object], json.loads(row[7]))
        except ValueError:
            continue
        name = told.get("manifest")
        if isinstance(name, str) and name:
            yield Path(name).name
