"""List, fetch and clear a thread's workspace for people; always through the sandbox, never past ``.aiignore``.

Where the workspace stands on another machine, its last shared snapshot is shown, which holds nothing that ``.aiignore`` hid.
"""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from agentic.ports.errors import PathRefused
from agentic.sandbox.aiignore import NAME as IGNORE
from agentic.sandbox.supervisor.files.search import PASSED_OVER as NOT_LISTED
from agentic.workspace.file_names import readable
from agentic.workspace.snapshots.packs import ContentLost
from agentic.workspace.snapshots.shared_copies import SharedSnapshot
from agentic.workspace.workspace import A_PERSON, RealWorld

MOST_LISTED = 1_000
CLEAN_SECONDS = 60.0
NO_FILE = "there is no such file"
PASSED_OVER = "-# Folders such as `.git` and `node_modules` are not shown."
_PATTERN = re.compile(r"([*?\[\]\\])")


@dataclass(frozen=True, slots=True)
class Shelf:
    """The files in a folder of the workspace, with their sizes."""

    files: tuple[tuple[str, int], ...]
    more: bool = False

    @property
    def size(self) -> int:
        """Total bytes."""
        return sum(size for _, size in self.files)


Files = RealWorld | SharedSnapshot
"""A workspace, or what of it can be seen from another machine."""


async def look(files: Files, path: str = ".") -> Shelf:
    """List every file below a folder. Raises ``PathRefused``."""
    if isinstance(files, SharedSnapshot):
        return await asyncio.to_thread(_listed, files, path)
    found = await files.glob("**", inside(path), MOST_LISTED)
    names = tuple((entry.name, entry.size) for entry in found.entries if entry.kind == "file")
    visible = await files.visible([name for name, _ in names])
    return Shelf(tuple(one for one in names if one[0] in visible), found.more)


async def fetch(files: Files, path: str, cap: int) -> tuple[str, bytes]:
    """Return a file's base name and content. Raises ``PathRefused`` where it has more than ``cap`` bytes."""
    wanted = inside(path)
    if isinstance(files, SharedSnapshot):
        return PurePosixPath(wanted).name, await _content(files, path, cap)
    if await files.stat(wanted) is None:
        raise PathRefused(path, NO_FILE)
    return PurePosixPath(wanted).name, await files.get_file(wanted, cap)


def _listed(snapshot: SharedSnapshot, path: str) -> Shelf:
    wanted = str(PurePosixPath(inside(path)))
    below = "" if wanted == "." else f"{wanted}/"
    found: list[tuple[str, int]] = []
    there = not below
    named = ((readable(name), entry) for name, entry in snapshot.entries.items())
    for name, entry in sorted(named, key=lambda one: one[0].split("/")):
        there = there or (name == wanted and entry.kind == "dir")
        folders = name.removeprefix(below).split("/")[:-1]
        if name.startswith(below) and entry.kind == "file" and NOT_LISTED.isdisjoint(folders):
            found.append((name, entry.size))
    if not there and not found:
        raise PathRefused(path, "there is no such folder")
    return Shelf(tuple(found[:MOST_LISTED]), len(found) > MOST_LISTED)


async def _content(snapshot: SharedSnapshot, path: str, cap: int) -> bytes:
    wanted = str(PurePosixPath(inside(path)))
    entry = next((entry for name, entry in snapshot.entries.items() if readable(name) == wanted), None)
    if entry is None:
        raise PathRefused(path, NO_FILE)
    if entry.kind != "file":
        raise PathRefused(path, "it is no file")
    if entry.size > cap:
        raise PathRefused(path, f"it has {entry.size} bytes, more than {cap}")
    try:
        return await snapshot.content(entry)
    except ContentLost:
        raise PathRefused(path, "what was saved of it is damaged") from None


async def clear(world: RealWorld, spared: Collection[str] = ()) -> str:
    """Delete everything but ``.aiignore``, what it hides and what is ``spared``; returns '' or what went wrong."""
    result = await world.own(clearing((*await world.hidden(), *spared)), timeout=CLEAN_SECONDS, by=A_PERSON)
    if result.killed_reason or result.timed_out:
        return f"it took longer than {CLEAN_SECONDS:.0f} s and was stopped"
    left = await look(world)
    stays = {IGNORE, *map(readable, spared)}
    kept = [name for name, _ in left.files if not stays & {name, *map(str, PurePosixPath(name).parents)}]
    return f"{len(kept)} files could not be deleted, such as {kept[0]}" if kept else ""


def clearing(hidden: Iterable[str]) -> str:
    """Return the command that deletes all but hidden files; folders that still hold something stay."""
    spared: list[str] = ["!", "-path", f"./{IGNORE}"]
    for path in hidden:
        literal = "./" + _PATTERN.sub(r"\\\1", path.strip("/"))
        spared += ["!", "-path", literal, "!", "-path", f"{literal}/*"]
    return shlex.join(["find", ".", "-xdev", "-mindepth", "1", "-depth", *spared, "-delete"]) + " 2>/dev/null; true"


def inside(path: str) -> str:
    """Return a person's path relative to the workspace, which absolute paths start from.

    Raises ``PathRefused`` for one that leads out of it.
    """
    given = path.strip().replace("\\", "/").removeprefix("/workspace").lstrip("/") or "."
    if "\0" in given or ".." in PurePosixPath(given).parts:
        raise PathRefused(path, "it is outside the workspace")
    return given


def told(shelf: Shelf) -> str:
    """List the files in a line each, and the sum."""
    if not shelf.files:
        return "No files yet."
    width = max(len(bytes_of(size)) for _, size in shelf.files)
    lines = [f"{bytes_of(size):>{width}}  {name}" for name, size in shelf.files]
    more = f"\n… and more than these {MOST_LISTED}" if shelf.more else ""
    return "\n".join(lines) + more


def summed(files: Sequence[tuple[str, int]]) -> str:
    """Say how many files and how many bytes."""
    count = f"{len(files)} file" if len(files) == 1 else f"{len(files)} files"
    return f"{count}, {bytes_of(sum(size for _, size in files))}"


def bytes_of(size: int) -> str:
    """Return bytes in words."""
    for limit, unit in ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")):
        if size >= limit:
            return f"{size / limit:.1f} {unit}"
    return f"{size} B"
