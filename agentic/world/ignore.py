"""``.aiignore``: which paths of a workspace no tool may read or write (gitignore syntax).

The file is read on the host, where it lies; the paths it matches are hidden from commands before each of them runs, and
file operations are checked at once.  A file that appears and is read within one command is the documented limit.
The walk follows no link, so a workspace cannot lead it outside.

What was hidden once stays hidden: the file lies where the agent works, so a command that deletes or empties it must not
lift what a person laid down.  Every version is kept beside the sandbox's home, out of the agent's reach; a person lifts
one by deleting that record (``kept``).
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from agentic.errors import PathRefused

if TYPE_CHECKING:
    import pathspec

NAME = ".aiignore"
MAX_BYTES = 64 * 1024
REASON = "it is hidden by .aiignore"


MAX_VERSIONS = 20
"""The first ones are kept, so that no flood of versions drives out what a person laid down."""


class IgnoreFile:
    """The workspace's ``.aiignore``, in every version seen so far; read again whenever it changed."""

    def __init__(self, workspace: Path, kept: Path | None = None) -> None:
        self._workspace = workspace
        self._kept = kept
        self._stamp: tuple[int, int, int] | None = None
        self._texts: list[str] = _recorded(kept)
        self._specs: list[pathspec.GitIgnoreSpec] = [_spec(text) for text in self._texts]

    @property
    def version(self) -> tuple[int, int, int] | None:
        """Changes whenever what is hidden may; None while nothing ever was."""
        specs = self._current()
        return (self._stamp or (0, 0, len(specs))) if specs else None

    def check(self, path: str) -> None:
        """Raise ``PathRefused`` if the path, or a folder above it, is hidden."""
        specs = self._current()
        relative = _relative(path) if specs else ""
        if relative and (_matches(specs, relative) or _matches(specs, relative + "/")):
            raise PathRefused(path, REASON, "hidden", relative)

    def hidden(self) -> tuple[str, ...]:
        """The paths that exist and are hidden now; of a hidden folder only the folder itself."""
        specs = self._current()
        return tuple(sorted(_walk(self._workspace, specs))) if specs else ()

    def _current(self) -> list[pathspec.GitIgnoreSpec]:
        try:
            descriptor = os.open(self._workspace / NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            self._stamp = None
            return self._specs
        try:
            status = os.fstat(descriptor)
            stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
            if stamp != self._stamp:
                self._add(os.read(descriptor, MAX_BYTES).decode("utf-8", "replace"))
                self._stamp = stamp
        finally:
            os.close(descriptor)
        return self._specs

    def _add(self, text: str) -> None:
        if text in self._texts or not text.strip():
            return
        if len(self._texts) >= MAX_VERSIONS:
            self._texts[-1:], self._specs[-1:] = [text], [_spec(text)]
        else:
            self._texts.append(text)
            self._specs.append(_spec(text))
        if self._kept is not None:
            self._kept.parent.mkdir(parents=True, exist_ok=True)
            fresh = self._kept.with_suffix(".new")
            fresh.write_text(json.dumps(self._texts))
            fresh.replace(self._kept)


def _recorded(kept: Path | None) -> list[str]:
    if kept is None or not kept.exists():
        return []
    texts: object = json.loads(kept.read_text())
    return [text for text in texts if isinstance(text, str)] if isinstance(texts, list) else []  # pyright: ignore[reportUnknownVariableType]


def _spec(text: str) -> pathspec.GitIgnoreSpec:
    import pathspec  # only where there is such a file

    return pathspec.GitIgnoreSpec.from_lines(text.splitlines())


def _matches(specs: list[pathspec.GitIgnoreSpec], path: str) -> bool:
    return any(spec.match_file(path) for spec in specs)


def _relative(path: str) -> str:
    inside = os.path.normpath(path.removeprefix("/workspace").lstrip("/") or ".")
    return "" if inside == "." else inside


def _walk(workspace: Path, specs: list[pathspec.GitIgnoreSpec]) -> list[str]:
    found: list[str] = []
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(workspace / folder) as entries:
                for entry in entries:
                    path = folder + entry.name
                    if entry.is_dir(follow_symlinks=False):
                        if _matches(specs, path + "/"):
                            found.append(path)
                        elif entry.name != ".git":
                            waiting.append(path + "/")
                    elif _matches(specs, path):
                        found.append(path)
        except OSError:
            continue  # it went away while we looked
    return found
