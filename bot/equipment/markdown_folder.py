"""Markdown files of one kind below the home: those for all servers, and one folder a place (a server, channel or thread)."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from agentic.stores.private_file import write_private
from agentic.text.head_fields import NAME

MOST_FILES = 30
"""Of one place."""
MOST_BYTES = 64_000
ENDING = ".md"
EVERYWHERE = ""
"""The place of files that count in all servers: whoever runs the bot writes them."""


class FolderFull(Exception):
    """No more files fit into a place; the message says what to do."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file with its text, or why it cannot be read."""

    path: str
    """Below the home."""
    name: str
    text: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class MarkdownFolder:
    """Reads and writes them.  Blocks: for threads beside the loop."""

    home: Path
    kind: str

    def read(self, place: str = EVERYWHERE) -> tuple[StoredFile, ...]:
        """The files of a place, by name."""
        folder = self._folder(place)
        if not folder.is_dir():
            return ()
        paths = sorted(path for path in folder.iterdir() if path.suffix == ENDING and path.is_file())
        return tuple(self._stored(path) for path in paths[:MOST_FILES])

    def places(self) -> tuple[str, ...]:
        """The places that have a folder; the one of all servers first."""
        root = self.home / self.kind
        own = sorted(path.name for path in root.iterdir() if path.name.isdecimal()) if root.is_dir() else []
        return (EVERYWHERE, *own)

    def put(self, place: str, name: str, text: str) -> None:
        """Write a file whole or not at all.  Raises ``FolderFull`` and ``OSError``."""
        path = self._path(place, name)
        if not path.exists() and len(self.read(place)) >= MOST_FILES:
            raise FolderFull(f"There are {MOST_FILES} {self.kind} here already. Remove one first.")
        write_private(path, text)

    def remove(self, place: str, name: str) -> bool:
        """Delete a file; whether it was there.  Raises ``OSError``."""
        path = self._path(place, name)
        there = path.is_file()
        path.unlink(missing_ok=True)
        return there

    def forget(self, place: str) -> None:
        """Delete what a place has that is no more."""
        if place.isdecimal():
            shutil.rmtree(self._folder(place), ignore_errors=True)

    def _path(self, place: str, name: str) -> Path:
        if not NAME.fullmatch(name):
            raise ValueError(f"{name!r} names no file")
        return self._folder(place) / f"{name}{ENDING}"

    def _folder(self, place: str) -> Path:
        if place and not place.isdecimal():
            raise ValueError(f"{place!r} is no place")
        return self.home / self.kind / place

    def _stored(self, path: Path) -> StoredFile:
        shown = str(path.relative_to(self.home))
        try:
            with path.open("rb") as file:
                content = file.read(MOST_BYTES + 1)
            if len(content) > MOST_BYTES:
                return StoredFile(shown, path.stem, problem=f"it has more than {MOST_BYTES:,} bytes; shorten it")
            return StoredFile(shown, path.stem, content.decode("utf-8"))
        except UnicodeDecodeError:
            return StoredFile(shown, path.stem, problem="it is not UTF-8 text; save it as UTF-8")
        except OSError as error:
            return StoredFile(shown, path.stem, problem=f"it cannot be read: {error.strerror or type(error).__name__}")
