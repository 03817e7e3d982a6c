"""The files that a task changed: how often, in which turns, by which calls; as a tree, and as texts compared.

Events are taken one by one, so that a running task costs what is new. A version of a file is known by the hash of its
content. What stood there between two checkpoints can be known all the same: where a call wrote the whole file, or edited
a version that is known, the hash tells whether what follows from its arguments is what stood there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath
from typing import Generic, Protocol, TypeVar, cast

from pydantic import JsonValue

from agentic.core.events.execution_events import (
    Envelope,
    FileChange,
    Gated,
    ModelRequested,
    ToolFinished,
    ToolStarted,
    WorkspaceFound,
    WorkspaceRestored,
)
from agentic.text.line_diff import unified_diff
from agentic.tools.base.terminal_text import visible
from agentic.workspace.snapshots.undo_plan import unit_of

TEXT_BYTES = 1 << 20
"""A file that is larger is not compared."""
DIFF_LINES = 1_500
LINE_CHARACTERS = 500
SHOWN_FILES = 1_000
"""Files of a tree that a page shows."""
DEEPEST = 24
"""Folders within folders in a tree; what lies deeper is named by its whole path."""
_WRITES = ("write", "edit", "multi_edit")


@dataclass(frozen=True, slots=True)
class FileVersion:
    """One change of a file. ``before`` and ``after`` are hashes, '' where there was no file."""

    seq: int
    """The event that tells it."""
    turn: int
    at: datetime
    kind: str
    before: str
    after: str
    by: str
    """The tool, or who else."""
    call: int = 0
    """The event of the call whose arguments may say what it wrote; 0 for none."""


@dataclass(slots=True)
class ChangedFile:
    """A file with its changes, in order."""

    path: str
    versions: list[FileVersion] = field(default_factory=list[FileVersion])

    @property
    def name(self) -> str:
        """Its name without folders."""
        return PurePosixPath(self.path).name

    @property
    def kind(self) -> str:
        """What became of it from the beginning of the task to now; '' where it is again what it was."""
        before, after = self.versions[0].before, self.versions[-1].after
        if self.versions[-1].kind == "deleted":
            return "" if self.versions[0].kind == "added" else "deleted"
        if self.versions[0].kind == "added":
            return "added"
        return "" if before and before == after else "modified"

    @property
    def turns(self) -> list[int]:
        """The turns that changed it."""
        return list(dict.fromkeys(version.turn for version in self.versions))

    def in_turn(self, turn: int) -> list[FileVersion]:
        """Its changes in a turn."""
        return [version for version in self.versions if version.turn == turn]


@dataclass(slots=True)
class ChangedFiles:
    """The files so far, by path; and the paths that each turn changed, in order."""

    files: dict[str, ChangedFile] = field(default_factory=dict[str, ChangedFile])
    by_turn: dict[int, dict[str, None]] = field(default_factory=dict[int, dict[str, None]])
    _calls: dict[str, tuple[str, int, int]] = field(default_factory=dict[str, tuple[str, int, int]])
    """Of calls that run: the tool, the event, the turn."""
    _turn: int = 0

    def take(self, envelope: Envelope) -> None:
        """Add an event."""
        event = envelope.event
        match event:
            case ModelRequested(purpose="turn"):
                self._turn = event.turn
            case ToolStarted():
                self._calls[event.call] = event.tool, envelope.seq, self._turn
            case ToolFinished():
                tool, seq, turn = self._calls.pop(event.call, ("", 0, self._turn))
                self._add(event.changes, envelope, turn, tool, seq if tool in _WRITES else 0)
            case Gated() if event.changes:
                self._add(event.changes, envelope, self._turn, "a call that was put back", 0)
            case WorkspaceFound():
                self._add(event.changes, envelope, self._turn, "found after a process ended", 0)
            case _:
                pass

    def _add(self, changes: Iterable[FileChange], envelope: Envelope, turn: int, by: str, call: int) -> None:
        for change in changes:
            if not is_inside(change.path):
                continue
            version = FileVersion(
                envelope.seq, turn, envelope.at, change.kind, change.sha_before, change.sha_after, by, call
            )
            self.files.setdefault(change.path, ChangedFile(change.path)).versions.append(version)
            self.by_turn.setdefault(turn, {})[change.path] = None


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file of the workspace in a saved state; ``changed`` where the task changed it."""

    path: str
    size: int
    changed: ChangedFile | None = None

    @property
    def name(self) -> str:
        """Its name without folders."""
        return PurePosixPath(self.path).name


class HasPath(Protocol):
    """What stands in a tree."""

    @property
    def path(self) -> str:
        """From the workspace's root."""
        ...


F = TypeVar("F", bound=HasPath)


@dataclass(slots=True)
class FileFolder(Generic[F]):
    """A folder of the tree."""

    name: str
    folders: dict[str, FileFolder[F]] = field(default_factory=dict[str, "FileFolder[F]"])
    files: list[F] = field(default_factory=list[F])


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two versions of a file compared: lines with their sign, or why there are none."""

    lines: tuple[str, ...] = ()
    note: str = ""
    cut: bool = False


def is_inside(path: str) -> bool:
    """Whether a path names something in the workspace, by its letters alone."""
    parts = path.split("/")
    return bool(path) and "\0" not in path and all(part not in ("", ".", "..") for part in parts)


def put_back(outcome: Iterable[Envelope], paths: Collection[str]) -> dict[str, str]:
    """Which of these files a person put back, or deleted, after the task had ended, in words."""
    found: dict[str, str] = {}
    for envelope in outcome:
        event = envelope.event
        if not isinstance(event, WorkspaceRestored):
            continue
        units, by = frozenset(event.files), f" by {event.by.name}" if event.by is not None else ""
        for path in (path for path in paths if path in units or unit_of(path) in units):
            if event.way == "redo":
                found.pop(path, None)
            elif event.way == "clean":
                found[path] = f"deleted since{by}"
            else:
                to = f" as of turn {event.turn}" if event.way == "rewind" and event.turn else ""
                found[path] = f"put back since{to}{by}"
    return found


def tree(files: Sequence[F]) -> FileFolder[F]:
    """These files in their folders."""
    root = FileFolder[F]("")
    for file in sorted(files, key=lambda one: one.path.split("/"))[:SHOWN_FILES]:
        folder = root
        for name in file.path.split("/")[:-1][:DEEPEST]:
            folder = folder.folders.setdefault(name, FileFolder(name))
        folder.files.append(file)
    return root


def follows(version: FileVersion, before: bytes | None, arguments: Mapping[str, JsonValue]) -> bytes | None:
    """The content after a change, as far as the arguments of its call and the content before tell; else None."""
    text = arguments.get("content")
    if isinstance(text, str):
        return _if_it_is(version, text)
    edits = arguments.get("edits", [dict(arguments)])
    if before is None or not isinstance(edits, list):
        return None
    try:
        now = before.decode()
    except UnicodeDecodeError:
        return None
    for each in edits:
        edit = cast("dict[str, JsonValue]", each) if isinstance(each, dict) else {}
        old, new = edit.get("old"), edit.get("new")
        if not isinstance(old, str) or not isinstance(new, str) or not old or old not in now:
            return None
        now = now.replace(old, new) if edit.get("replace_all") else now.replace(old, new, 1)
    return _if_it_is(version, now)


def compared(before: bytes | None, after: bytes | None, hide: Callable[[str], str]) -> Comparison:
    """The difference of two versions, without what ``hide`` takes out; None for a version that was not there."""
    sides: list[list[str]] = []
    for content in (before or b"", after or b""):
        if len(content) > TEXT_BYTES:
            return Comparison(note="This file is too large to be compared. Download the versions instead.")
        try:
            text = content.decode()
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:
            return Comparison(note="This file is no text. Download the versions instead.")
        sides.append(visible(hide(text)).splitlines())
    lines: list[str] = []
    for line in unified_diff(sides[0], sides[1], context=3):
        if line in ("--- ", "+++ "):
            continue
        if len(lines) == DIFF_LINES:
            return Comparison(tuple(lines), cut=True)
        lines.append(line if len(line) <= LINE_CHARACTERS else line[:LINE_CHARACTERS] + "…")
    return Comparison(tuple(lines), note="" if lines else "No line of it differs.")


def _if_it_is(version: FileVersion, text: str) -> bytes | None:
    content = text.encode("utf-8", "surrogatepass")
    return content if hashlib.sha256(content).hexdigest() == version.after else None
