"""What a snapshot says of a path, and the manifest that lists all of them.

A manifest's file is two lines: a header (which packs it needs, the hash of the second line) and the rows.  Whoever only
wants to know which packs are in use reads the first line.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from agentic.workspace.snapshots.sparse_files import Hole

Kind = Literal["file", "link", "dir"]
Stamp = tuple[int, ...]
"""Modification time, change time, size, inode: equal means untouched.  () = to be read again next time."""
FORMAT, WITH_HOLES = 1, 2
"""What a manifest is written as: a row has a ninth column where its file has holes."""
ROWS, LEFT_OUT = '{"rows":[', '],"left_out":'
"""What the second line of a manifest's file holds, as it is written.

It is written and read row by row: a hundred thousand of them in one call of the json module would let no other thread run
for as long as that takes, the event loop's neither.
"""
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Entry:
    """One path.  ``sha`` is a file's SHA-256, or a link's target; its content lies in ``pack`` at ``offset``."""

    kind: Kind
    mode: int = 0
    size: int = 0
    sha: str = ""
    stamp: Stamp = ()
    pack: str = ""
    offset: int = 0
    holes: tuple[Hole, ...] = ()
    """What of the size is no content and not kept."""

    @property
    def kept(self) -> int:
        """Bytes of it that lie in the pack."""
        return self.size - sum(length for _, length in self.holes) if self.holes else self.size

    def same(self, other: Entry | None) -> bool:
        """Whether a person would see no difference; a folder is the same whatever lies in it."""
        if other is None or self.kind != other.kind:
            return False
        return self.kind == "dir" or (self.sha == other.sha and (self.kind == "link" or self.mode == other.mode))


@dataclass(frozen=True, slots=True)
class Manifest:
    """The workspace at one moment: paths from its root, and what was left out, with the reason."""

    entries: Mapping[str, Entry] = field(default_factory=dict[str, Entry])
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])

    def covers(self, path: str) -> bool:
        """Whether the snapshot says anything of this path, be it that nothing stood there."""
        while path:
            if path in self.left_out:
                return False
            path = path.rpartition("/")[0]
        return True

    @property
    def packs(self) -> dict[str, int]:
        """Bytes of each pack that this manifest needs."""
        used: dict[str, int] = {}
        for entry in self.entries.values():
            if entry.pack:
                used[entry.pack] = used.get(entry.pack, 0) + entry.kept
        return used


class Damaged(Exception):
    """A manifest is not what was written."""


def written(manifest: Manifest) -> bytes:
    """The manifest as its file holds it."""
    entries = manifest.entries.items()
    rows = ",".join(_line(_row(path, entry)) for path, entry in entries)
    format = WITH_HOLES if any(entry.holes for entry in manifest.entries.values()) else FORMAT
    body = f"{ROWS}{rows}{LEFT_OUT}{_line(dict(manifest.left_out))}}}".encode()
    header = {"format": format, "packs": sorted(manifest.packs), "sha": hashlib.sha256(body).hexdigest()}
    return _line(header).encode() + b"\n" + body + b"\n"


def packs_in(first_line: bytes) -> frozenset[str]:
    """Which packs a manifest needs, from its first line.  Raises ``Damaged``."""
    return frozenset(cast(list[str], _header(first_line)["packs"]))


def read(content: bytes) -> Manifest:
    """The manifest of a file's content.  Raises ``Damaged``."""
    first, _, rest = content.partition(b"\n")
    header, body = _header(first), rest.removesuffix(b"\n")
    if hashlib.sha256(body).hexdigest() != header["sha"]:
        raise Damaged
    text, at, entries = body.decode(), len(ROWS), dict[str, Entry]()
    while not text.startswith(LEFT_OUT, at):
        (path, kind, mode, size, sha, stamp, pack, offset, *more), at = _DECODER.raw_decode(text, at)
        holes = tuple((begin, length) for begin, length in more[0]) if more else ()
        entries[path] = Entry(kind, mode, size, sha, tuple(stamp), pack, offset, holes)
        at += text.startswith(",", at)
    left_out, _ = _DECODER.raw_decode(text, at + len(LEFT_OUT))
    return Manifest(entries, cast(dict[str, str], left_out))


def _row(path: str, entry: Entry) -> list[object]:
    row: list[object] = [path, entry.kind, entry.mode, entry.size, entry.sha, entry.stamp, entry.pack, entry.offset]
    return [*row, entry.holes] if entry.holes else row


def _line(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _header(line: bytes) -> dict[str, object]:
    try:
        header = cast(dict[str, object], json.loads(line))
        if (
            header["format"] in (FORMAT, WITH_HOLES)
            and isinstance(header["packs"], list)
            and isinstance(header["sha"], str)
        ):
            return header
    except (ValueError, KeyError, TypeError):
        pass
    raise Damaged
