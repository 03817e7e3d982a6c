"""The files of a workspace that can be searched: no others than those that an agent may read and git would not ignore.

They are read on this machine, by descriptor and following no link, as checkpoints are (decision 10): what was hidden by
``.aiignore`` is not entered, and where sandboxes have a user of their own nothing is read that this user may not.
Whoever shows lines of a file reads them through the sandbox again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Callable, Collection, Generator
from dataclasses import dataclass, field

from agentic.code_index.ignore_rules import EXCLUDE, NAME, Rules, is_ignored, with_rules
from agentic.sandbox.gitignore import MAX_BYTES, Steps
from agentic.sandbox.supervisor.files.open_writers import may_be_written
from agentic.workspace.file_names import readable
from agentic.workspace.snapshots.scan import CACHES, FOLDER, MAX_DEPTH, PLAIN, settled, stamp_of

LARGEST = 1_000_000
"""Bytes of a file that is searched."""
MOST_FILES = 20_000
MOST_BYTES = 64_000_000
"""Of all of them."""
MOST_SEEN = 200_000
"""Names that are looked at, so that a look has an end in any folder that somebody works in."""
SAMPLE = 8_192
STEPS = 25_000_000
"""Of holding paths against patterns, for one walk."""
TOO_LARGE = f"more than {LARGEST // 1_000_000} MB"
BINARY = "binary"
UNREADABLE = "unreadable"
TOO_MANY = f"beyond the first {MOST_FILES:,} files or {MOST_BYTES // 1_000_000} MB"
TOO_DEEP = f"more than {MAX_DEPTH} folders deep"
_GIT = ".git"


@dataclass(slots=True)
class LeftOut:
    """What is not searched, by the reason: how many, and the first of them."""

    counts: dict[str, int] = field(default_factory=dict[str, int])
    examples: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, reason: str, path: str) -> None:
        """One more."""
        self.counts[reason] = self.counts.get(reason, 0) + 1
        self.examples.setdefault(reason, path)


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file as it was read; ``stamp`` is '' where it may change without new times, so that it is read again."""

    data: bytes
    sha: str
    stamp: str

    @property
    def is_binary(self) -> bool:
        """It is no text."""
        return b"\0" in self.data[:SAMPLE]


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file that may be searched, as its folder lists it; ``read`` while the walk stands at it (None: it went away)."""

    path: str
    stamp: str
    read: Callable[[], FileContent | None]


class FileWalk:
    """One look at a workspace; ``hidden`` are the paths that ``.aiignore`` hides now, a folder standing for all in it."""

    def __init__(self, hidden: Collection[str], is_off: Callable[[], bool]) -> None:
        self.left_out = LeftOut()
        self._hidden = frozenset(hidden)
        self._is_off = is_off
        self._steps = Steps(STEPS)
        self._owner: int | None = None
        self._files = self._bytes = self._seen = 0

    def files(self, workspace: str) -> Generator[ListedFile]:
        """The files, in the order of their paths; raises ``OSError`` where the workspace cannot be read."""
        root = os.open(workspace, FOLDER)
        try:
            if os.geteuid() == 0:
                self._owner = os.fstat(root).st_uid
            yield from self._folder(root, "", (), 0)
        finally:
            os.close(root)

    def _folder(self, descriptor: int, folder: str, rules: Rules, depth: int) -> Generator[ListedFile]:
        if self._is_off():
            return
        with os.scandir(descriptor) as scanned:
            found = sorted(scanned, key=lambda entry: entry.name)
        self._seen += len(found)
        if self._seen > MOST_SEEN:
            self.left_out.add(TOO_MANY, readable(folder) or ".")
            return
        names = {entry.name for entry in found}
        rules = _rules_here(descriptor, folder, names, rules)
        for entry in found:
            path = f"{folder}/{entry.name}" if folder else entry.name
            with contextlib.suppress(FileNotFoundError):  # it went away while we looked
                yield from self._entry(descriptor, entry, path, rules, depth)

    def _entry(
        self, parent: int, entry: os.DirEntry[str], path: str, rules: Rules, depth: int
    ) -> Generator[ListedFile]:
        status = entry.stat(follow_symlinks=False)
        is_folder = stat.S_ISDIR(status.st_mode)
        if not is_folder and not stat.S_ISREG(status.st_mode):
            return
        if path in self._hidden or entry.name == _GIT or not self._may_read(status):
            return
        if (is_folder and entry.name in CACHES) or is_ignored(rules, path, is_folder, self._steps):
            return
        if is_folder:
            yield from self._below(parent, entry.name, path, rules, depth)
        elif (reason := self._refused(status.st_size)) or readable(path) != path:
            self.left_out.add(reason or UNREADABLE, readable(path))
        else:
            stamp = _text(stamp_of(status))
            yield ListedFile(path, stamp, lambda: self._read(parent, entry.name, path))

    def _below(self, parent: int, name: str, path: str, rules: Rules, depth: int) -> Generator[ListedFile]:
        if depth >= MAX_DEPTH:
            self.left_out.add(TOO_DEEP, readable(path))
            return
        try:
            descriptor = os.open(name, FOLDER, dir_fd=parent)
        except OSError:
            self.left_out.add(UNREADABLE, readable(path))
            return
        try:
            yield from self._folder(descriptor, path, rules, depth + 1)
        finally:
            os.close(descriptor)

    def _may_read(self, status: os.stat_result) -> bool:
        """As root reads all, whether the sandbox's user may: what was hidden and moved away is root's, and closed."""
        needed = 0o005 if stat.S_ISDIR(status.st_mode) else 0o004
        return self._owner in (None, status.st_uid) or status.st_mode & needed == needed

    def _refused(self, size: int) -> str:
        if size > LARGEST:
            return TOO_LARGE
        if self._files >= MOST_FILES or self._bytes + size > MOST_BYTES:
            return TOO_MANY
        self._files += 1
        self._bytes += size
        return ""

    def _read(self, parent: int, name: str, path: str) -> FileContent | None:
        try:
            descriptor = os.open(name, PLAIN, dir_fd=parent)
        except OSError:
            self.left_out.add(UNREADABLE, path)
            return None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or not self._may_read(status):
                return None
            written = may_be_written(descriptor)
            with open(descriptor, "rb", closefd=False) as file:
                data = file.read(LARGEST + 1)
            if len(data) > LARGEST:
                self.left_out.add(TOO_LARGE, path)
                return None
            stamp = () if written else settled(status, descriptor)
        finally:
            os.close(descriptor)
        return FileContent(data, hashlib.sha256(data).hexdigest(), _text(stamp))


def _rules_here(descriptor: int, folder: str, names: Collection[str], rules: Rules) -> Rules:
    if _GIT in names:
        rules = _with_file((), descriptor, folder, f"{_GIT}/{EXCLUDE}")  # a repository follows its own files alone
    return _with_file(rules, descriptor, folder, NAME) if NAME in names else rules


def _with_file(rules: Rules, descriptor: int, folder: str, place: str) -> Rules:
    *parents, name = place.split("/")
    opened = os.dup(descriptor)
    try:
        for part in parents:
            below = os.open(part, FOLDER, dir_fd=opened)
            os.close(opened)
            opened = below
        file = os.open(name, PLAIN, dir_fd=opened)
    except OSError:
        return rules
    finally:
        os.close(opened)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return rules
        text = os.read(file, MAX_BYTES + 1).decode("utf-8", "surrogateescape")
    except OSError:
        return rules
    finally:
        os.close(file)
    return with_rules(rules, folder, text)


def _text(stamp: tuple[int, ...]) -> str:
    return " ".join(map(str, stamp))
