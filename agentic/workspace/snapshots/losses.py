"""What a command destroyed: pure, from the workspace before it and after it.

Lost is what a person had and has no longer: a file that is gone, or of which little is left, and whose content now stands
nowhere else.  So a move is no loss, nor is a file that git can give back because git itself took it away; one that stands
in the newest commit and was merely deleted from the folder is a loss, though a smaller one.  What lies in a repository's
own folder is no file of a person: of it counts what was reachable there and is not any more.

Who asks reads contents and repositories between the two halves: ``suspects`` says what may be lost, ``judged`` what is.
"""

from __future__ import annotations

import bz2
import contextlib
import hashlib
import lzma
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agentic.workspace.snapshots.manifest import Entry, Manifest
from agentic.workspace.snapshots.scan import UNREADABLE

KEPT = 0.5
"""So much of a text must be left, counted in words, for the rest to be an edit."""
FEW_LOST, FEW_TAKEN, FEW_REWRITTEN = 0, 3, 1
"""So many files may be lost for good, missing though the newest commit has them, or written anew, as ordinary work does it."""
NAMED = 3
MOST_UNPACKED = 1 << 20
_WORDS = re.compile(rb"[A-Za-z0-9_\x80-\xff]+|[^\sA-Za-z0-9_\x80-\xff]")
_ID = re.compile(rb"\b(?:[0-9a-f]{40}|[0-9a-f]{64})\b")
_OWNER = {"dir": 0o700, "file": 0o600}


@dataclass(frozen=True, slots=True)
class Suspects:
    """What may be lost, before anybody has looked into it."""

    gone: tuple[str, ...] = ()
    """Files that are deleted or emptied, and whose content stands nowhere else."""
    changed: tuple[str, ...] = ()
    """Files that were rewritten."""
    locked: tuple[str, ...] = ()
    """Files and folders that their owner can no longer use."""
    repositories: tuple[str, ...] = ()
    """Folders of git in which something that leads to commits was changed or deleted."""

    def __bool__(self) -> bool:
        return bool(self.gone or self.changed or self.locked or self.repositories)


@dataclass(frozen=True, slots=True)
class LookedInto:
    """What their contents say of files that may be lost."""

    lost: tuple[str, ...] = ()
    """Of these too little is left."""
    was: Mapping[str, str] = field(default_factory=dict[str, str])
    """The ids under which git would have them as they were."""
    now: Mapping[str, str] = field(default_factory=dict[str, str])
    """The same of what stands at the place of those that were only edited."""
    rewritten: tuple[str, ...] = ()
    """Lost ones at whose place something else of much the same size stands: a report, a counter, a list made anew."""


@dataclass(frozen=True, slots=True)
class GitContents:
    """What git has now: of contents by their blob's id, of commits by theirs."""

    reachable: frozenset[str] = frozenset()
    head: frozenset[str] = frozenset()
    """Blobs of the newest commit."""


@dataclass(frozen=True, slots=True)
class Losses:
    """What was destroyed."""

    lost: tuple[str, ...] = ()
    """Files whose content stands nowhere any more."""
    taken: tuple[str, ...] = ()
    """Files that the newest commit still has."""
    locked: tuple[str, ...] = ()
    folders: int = 0
    """How many of those that are locked are folders."""
    history: tuple[str, ...] = ()
    """Repositories of which commits or tags were lost."""

    def with_root(self, *, locked: bool) -> Losses:
        """The same, where the workspace itself was locked too."""
        return replace(self, locked=(".", *self.locked), folders=self.folders + 1) if locked else self

    @property
    def over(self) -> bool:
        """It is more than ordinary work takes away."""
        missing = len(self.lost) > FEW_LOST or len(self.lost) + len(self.taken) > FEW_TAKEN
        return missing or bool(self.history) or bool(self.folders) or len(self.locked) > FEW_TAKEN

    @property
    def words(self) -> str:
        """What it did, as the end of "It …"."""
        files = sorted({*self.lost, *self.taken})
        said: list[str] = []
        if files:
            some = ", ".join(f"“{_shown(path)}”" for path in files[:NAMED])
            what = "1 file" if len(files) == 1 else f"{len(files):,} files"
            said.append(f"deleted or overwrote {what} that it had not made{f', among them {some}' if some else ''}")
        if self.locked:
            said.append(f"locked “{_shown(self.locked[0])}”{_more(self.locked)}")
        if self.history:
            said.append(f"destroyed history of git in “{_shown(self.history[0])}”{_more(self.history)}")
        return " and ".join(said)


def suspects(before: Manifest, now: Manifest, may_go: Callable[[str, bool], bool]) -> Suspects:
    """What has to be looked into.

    ``may_go`` says of a file, or a folder with a slash at its end, whether it is the command's own to destroy, or to empty.
    """
    gits = gits_of(before)
    present = {entry.sha for path, entry in now.entries.items() if entry.kind == "file" and not _in(path, gits)}
    gone: list[str] = []
    changed: list[str] = []
    locked: list[str] = []
    leads: set[str] = set()
    for path, entry in before.entries.items():
        here = now.entries.get(path)
        if here is entry:
            continue
        git = _in(path, gits)
        if not (_is_unreadable(path, now) or now.covers(path)):
            continue
        if git and path != git:
            if leads_to_commits(path, git) and (here is None or here.kind != entry.kind or here.sha != entry.sha):
                leads.add(git)
        elif may_go(f"{path}/", False) or (entry.kind == "file" and may_go(path, here is not None and not here.size)):
            continue
        elif _is_locked(path, entry, here, now):
            locked.append(path)
        elif entry.kind == "file" and entry.size and entry.sha not in present and not _is_unreadable(path, now):
            if here is None or here.kind != "file" or not here.size:
                gone.append(path)
            else:
                changed.append(path)
    leads |= {git for git in gits if git not in now.entries and now.covers(git)}
    return Suspects(tuple(gone), tuple(changed), tuple(locked), tuple(sorted(leads)))


def judged(found: Suspects, before: Manifest, into: LookedInto, known: GitContents, history: Sequence[str]) -> Losses:
    """What is lost: of what is not left, and of uncommitted work, all that git does not have; and of repositories."""
    undone = (path for path, blob in into.now.items() if blob in known.head)
    lost = tuple(path for path in (*into.lost, *undone) if into.was.get(path) not in known.reachable)
    rewritten = set(lost).intersection(into.rewritten)
    if len(lost) == len(rewritten) <= FEW_REWRITTEN:
        lost = ()
    taken = tuple(path for path in into.lost if into.was.get(path) in known.head)
    folders = sum(before.entries[path].kind == "dir" for path in found.locked)
    return Losses(lost, taken, found.locked, folders, tuple(history))


def gits_of(manifest: Manifest) -> frozenset[str]:
    """The folders in which git keeps repositories, be they ``.git`` or bare."""
    ends = (path.removesuffix("/objects") for path in manifest.entries if path.endswith("/objects"))
    return frozenset(path for path in ends if f"{path}/HEAD" in manifest.entries and f"{path}/refs" in manifest.entries)


def leads_to_commits(path: str, git: str) -> bool:
    """Whether a file of git's folder says which commits are kept."""
    within = path.removeprefix(f"{git}/")
    return within in ("HEAD", "packed-refs") or within.startswith(("refs/", "logs/"))


def ids_in(content: bytes) -> frozenset[str]:
    """The ids of objects that a file of git's names."""
    return frozenset(found.decode() for found in _ID.findall(content) if found.strip(b"0"))


def branches(git: str, contents: Mapping[str, bytes]) -> dict[str, str]:
    """At which commit each branch stands, by the files of git's folder."""
    packed = contents.get(f"{git}/packed-refs", b"").decode("utf-8", "replace").splitlines()
    named = (line.partition(" ") for line in packed if " refs/heads/" in line)
    found = {name: id for id, _, name in named}
    for path, content in contents.items():
        name = path.removeprefix(f"{git}/")
        if name.startswith("refs/heads/"):
            found[name] = content.decode("ascii", "replace").strip()
    return found


def blob_of(content: bytes) -> str:
    """Under which id git keeps a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def is_left(before: bytes, now: Sequence[bytes]) -> bool:
    """Whether enough of a content is there, in one file or in several together; of what is no text, by its size."""
    now = [unpacked(each) for each in now]
    if any(len(each) >= KEPT * len(before) for each in now if b"\0" in before or b"\0" in each):
        return True
    if b"\0" in before:
        return False
    words, there = Counter(_WORDS.findall(before)), Counter[bytes]()
    for each in now:
        there.update(_WORDS.findall(each))
        if (words & there).total() >= KEPT * words.total():
            return True
    return False


def unpacked(content: bytes) -> bytes:
    """What a file that is packed by gzip, bzip2 or xz begins with; any other as it is."""
    unpackers = {
        b"\x1f\x8b": lambda: zlib.decompressobj(31),
        b"BZh": bz2.BZ2Decompressor,
        b"\xfd7zXZ": lzma.LZMADecompressor,
    }
    for begins, unpacker in unpackers.items():
        if content.startswith(begins):
            with contextlib.suppress(zlib.error, OSError, lzma.LZMAError):
                return unpacker().decompress(content, MOST_UNPACKED)
    return content


def put_back(before: Manifest, now: Manifest) -> dict[str, Entry | None]:
    """What has to be made as it was; what came to stand there besides stays, but for what git keeps of its own state."""
    gits = gits_of(before)
    wanted: dict[str, Entry | None] = {
        path: entry
        for path, entry in before.entries.items()
        if not entry.same(now.entries.get(path)) and now.covers(path)
    }
    for path in now.entries.keys() - before.entries.keys():
        git = _in(path, gits)
        if git and before.covers(path) and not path.startswith((f"{git}/objects/", f"{git}/worktrees/")):
            wanted[path] = None
    return wanted


def additions(before: Manifest, now: Manifest) -> Iterator[str]:
    """Files that came to stand there, without git's own."""
    gits = gits_of(before) | gits_of(now)
    for path in sorted(now.entries.keys() - before.entries.keys()):
        if now.entries[path].kind != "dir" and before.covers(path) and not _in(path, gits):
            yield path


def _in(path: str, gits: frozenset[str]) -> str:
    """The folder of git that a path is or lies in; '' for none."""
    if path in gits:
        return path
    at = path.rfind("/")
    while at > 0:
        if path[:at] in gits:
            return path[:at]
        at = path.rfind("/", 0, at)
    return ""


def _is_locked(path: str, entry: Entry, here: Entry | None, now: Manifest) -> bool:
    """Its owner could use it and cannot now."""
    if entry.kind == "link":
        return False
    if here is None or here.kind != entry.kind:
        return now.left_out.get(path) == UNREADABLE
    return bool(entry.mode & ~here.mode & _OWNER[entry.kind])


def _is_unreadable(path: str, now: Manifest) -> bool:
    while path:
        if now.left_out.get(path) == UNREADABLE:
            return True
        path = path.rpartition("/")[0]
    return False


def _shown(path: str) -> str:
    line = "".join(c if c.isprintable() and c not in "`“”" else "?" for c in path)
    return line if len(line) <= 60 else f"…{line[-59:]}"


def _more(paths: Sequence[str]) -> str:
    return f" and {len(paths) - 1} more" if len(paths) > 1 else ""
