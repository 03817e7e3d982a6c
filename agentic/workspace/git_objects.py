"""Objects of a git repository, read on our side by their ids.

Whoever hands the bytes over (the sandbox's git, which is not to be believed), each object is hashed here and is what its id
says, or ``GitProblem`` is raised.  So what a person is shown of a commit is what that commit holds.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from agentic.text.line_diff import unified_diff

HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
MOST_TREES, MOST_CHANGED = 20_000, 5_000
SHOWN_BYTES = 16 * 1024 * 1024
"""Of the contents of one difference; what comes after is named only."""
_TREE = "40000"
_LINK = "160000"
_NO_END = "\n\\ No newline at end of file"
_HEADER = re.compile(rb"([0-9a-f]+) (blob|tree|commit|tag) ([0-9]{1,18})\n")

Fetch = Callable[[Sequence[str]], Awaitable[bytes | None]]
"""``git cat-file --batch`` of ids; None where that is more than can be carried at once."""


class GitProblem(Exception):
    """It was not done, and nothing was changed; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """What stands at a path: its mode as git writes it, and its object."""

    mode: str
    id: str


@dataclass(frozen=True, slots=True)
class Change:
    """A path that differs; ``old`` or ``new`` is None where nothing stands."""

    path: str
    old: TreeEntry | None
    new: TreeEntry | None


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit's tree and parents."""

    tree: str
    parents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShownChange:
    """A change for people; the counts are 0 where its contents cannot be shown."""

    text: str
    insertions: int
    deletions: int


class Objects:
    """The objects of one repository."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch

    async def commit(self, id: str) -> Commit:
        """A commit."""
        lines = (await self._one(id, "commit")).partition(b"\n\n")[0].decode("utf-8", "replace").split("\n")
        named = [line.split(" ", 1) for line in lines if line.startswith(("tree ", "parent "))]
        trees = [value for name, value in named if name == "tree"]
        if len(trees) != 1 or not all(HASH.fullmatch(value) for _, value in named):
            raise GitProblem(f"The commit {id[:10]} is damaged.")
        return Commit(trees[0], tuple(value for name, value in named if name == "parent"))

    async def difference(self, old: str, new: str) -> list[Change]:
        """The paths that differ between two trees, sorted."""
        found: list[Change] = []
        level = [("", old, new)] if old != new else []
        seen = 0
        while level:
            seen += len(level)
            if seen > MOST_TREES or len(found) > MOST_CHANGED:
                raise GitProblem(f"More than {MOST_CHANGED} files differ, which nobody can look through.")
            trees = await self._all({id for _, *pair in level for id in pair if id}, "tree")
            deeper: list[tuple[str, str, str]] = []
            for folder, left, right in level:
                before, after = (_entries(trees[id], len(id)) if id else {} for id in (left, right))
                for name in before.keys() | after.keys():
                    _compare(f"{folder}{name}", before.get(name), after.get(name), found, deeper)
            level = deeper
        return sorted(found, key=lambda change: change.path)

    async def standing(self, tree: str, paths: Sequence[str]) -> dict[str, TreeEntry]:
        """What stands in a tree at these paths, without those where nothing does."""
        found: dict[str, TreeEntry] = {}
        folders = {path[:at] for path in paths for at, sign in enumerate(path) if sign == "/"}
        level = {"": tree}
        while level:
            trees = await self._all(set(level.values()), "tree")
            deeper: dict[str, str] = {}
            for folder, id in level.items():
                for name, entry in _entries(trees[id], len(id)).items():
                    path = f"{folder}{name}"
                    if entry.mode != _TREE:
                        found[path] = entry
                    elif path in folders:
                        deeper[f"{path}/"] = entry.id
            level = deeper
        return {path: found[path] for path in paths if path in found}

    async def contents(self, ids: Sequence[str]) -> dict[str, bytes]:
        """The contents of blobs, without those that are too large."""
        found: dict[str, bytes] = {}
        size = 0
        for id in dict.fromkeys(ids):
            if size >= SHOWN_BYTES:
                break
            got = await self._some([id], "blob")
            size += sum(map(len, got.values()))
            found.update(got)
        return found

    async def shown(self, changes: Sequence[Change]) -> list[ShownChange]:
        """Each change for people, in git's form."""
        ids = [side.id for change in changes for side in (change.old, change.new) if side and side.mode != _LINK]
        contents = await self._some(ids, "blob") if len(ids) <= MOST_CHANGED else {}
        if len(contents) < len(set(ids)):
            contents = await self.contents(ids)
        return [_shown(change, contents) for change in changes]

    async def _one(self, id: str, kind: str) -> bytes:
        return (await self._all({id}, kind))[id]

    async def _all(self, ids: set[str], kind: str) -> dict[str, bytes]:
        found = await self._some(sorted(ids), kind)
        if len(found) < len(ids):
            raise GitProblem(f"A {kind} of the repository is too large to be looked at.")
        return found

    async def _some(self, ids: Sequence[str], kind: str) -> dict[str, bytes]:
        """Those of the objects that can be carried, in as few goes as they allow."""
        waiting, found, size = [list(dict.fromkeys(ids))], dict[str, bytes](), 0
        while waiting:
            now = waiting.pop()
            raw = await self._fetch(now) if now and size < SHOWN_BYTES else None
            if raw is not None:
                found.update(_verified(raw, now, kind))
                size += len(raw)
            elif len(now) > 1:
                waiting += [now[len(now) // 2 :], now[: len(now) // 2]]
        return found


def _verified(raw: bytes, ids: Sequence[str], kind: str) -> dict[str, bytes]:
    """The objects in what ``cat-file --batch`` wrote; each has the hash that it was asked for by."""
    found: dict[str, bytes] = {}
    at = 0
    for id in ids:
        header = _HEADER.match(raw, at)
        if header is None:
            raise GitProblem(f"The repository has no {kind} {id[:10]}, or it cannot be read.")
        size = int(header[3])
        content = raw[header.end() : header.end() + size]
        at = header.end() + size + 1
        digest = hashlib.sha1(usedforsecurity=False) if len(id) == 40 else hashlib.sha256()
        digest.update(b"%s %d\0" % (header[2], size))
        digest.update(content)
        if digest.hexdigest() != id or header[2].decode() != kind:
            raise GitProblem(f"What the repository gives out as {id[:10]} is something else. Nothing was done.")
        found[id] = content
    return found


def _entries(raw: bytes, digits: int) -> dict[str, TreeEntry]:
    """What stands in a tree.  One that git itself would not write could be read in two ways and is refused."""
    found: dict[str, TreeEntry] = {}
    at = 0
    while at < len(raw):
        end = raw.find(b"\0", at)
        mode, _, name = raw[at:end].partition(b" ") if end > 0 else (b"", b"", b"")
        id = raw[end + 1 : end + 1 + digits // 2]
        try:
            path = name.decode()
            kind = f"{int(mode, 8):o}"
        except ValueError:
            raise GitProblem("A file in the repository has a name that is no UTF-8.") from None
        if not path or path in found or "/" in path or path in (".", "..") or len(id) != digits // 2:
            raise GitProblem("A folder in the repository is damaged.")
        found[path] = TreeEntry(kind, id.hex())
        at = end + 1 + digits // 2
    return found


def _compare(
    path: str, old: TreeEntry | None, new: TreeEntry | None, found: list[Change], deeper: list[tuple[str, str, str]]
) -> None:
    if old == new:
        return
    left, right = (side.id if side is not None and side.mode == _TREE else "" for side in (old, new))
    if left or right:
        deeper.append((f"{path}/", left, right))
    old, new = (None if side is None or side.mode == _TREE else side for side in (old, new))
    if old is not None or new is not None:
        found.append(Change(path, old, new))


# --- for people -----------------------------------------------------------------------------------------------------


def diffstat(changes: Sequence[Change], shown: Sequence[ShownChange], most: int = 20) -> str:
    """A line a file with its counts, and the sum."""
    lines = [
        f" {written(change.path)} | +{one.insertions} -{one.deletions}"
        for change, one in list(zip(changes, shown, strict=True))[:most]
    ]
    if len(changes) > most:
        lines.append(f" … and {len(changes) - most} more")
    more, less = sum(one.insertions for one in shown), sum(one.deletions for one in shown)
    files = "1 file" if len(changes) == 1 else f"{len(changes)} files"
    return "\n".join([*lines, f" {files} changed, +{more} -{less}"])


def written(path: str) -> str:
    """A path that cannot be taken for anything else."""
    return path if path.isprintable() and '"' not in path else json.dumps(path)


def _shown(change: Change, contents: Mapping[str, bytes]) -> ShownChange:
    path, old, new = change.path, change.old, change.new
    left, right = written(f"a/{path}"), written(f"b/{path}")
    head = [f"diff --git {left} {right}"]
    if old is None and new is not None:
        head.append(f"new file mode {new.mode}")
    elif new is None and old is not None:
        head.append(f"deleted file mode {old.mode}")
    elif old is not None and new is not None and old.mode != new.mode:
        head += [f"old mode {old.mode}", f"new mode {new.mode}"]
    sides = [_content(side, contents) for side in (old, new)]
    before, after = sides
    if before is None or after is None:
        return ShownChange("\n".join([*head, f"{left} and {right} differ, and are too large to be shown", ""]), 0, 0)
    if b"\0" in before or b"\0" in after:
        return ShownChange("\n".join([*head, f"Binary files {left} and {right} differ", ""]), 0, 0)
    names = ("/dev/null" if old is None else left, "/dev/null" if new is None else right)
    body = list(unified_diff(_lines(before), _lines(after), *names, context=3))
    text = "\n".join([*head, *body, ""]).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return ShownChange(text, sum(line[0] == "+" for line in body[2:]), sum(line[0] == "-" for line in body[2:]))


def _content(side: TreeEntry | None, contents: Mapping[str, bytes]) -> bytes | None:
    if side is None:
        return b""
    return f"Subproject commit {side.id}\n".encode() if side.mode == _LINK else contents.get(side.id)


def _lines(content: bytes) -> list[str]:
    lines = content.decode("utf-8", "surrogateescape").split("\n")
    end = lines.pop()
    return [*lines, end + _NO_END] if end else lines
