"""What a command destroyed: pure, from the workspace before it and after it.

Lost is what a person had and has no longer: a file that is gone, or of which little is left, and whose content now stands
nowhere else.  So a move is no loss, nor is a file that git can give back because git itself took it away; one that stands
in the newest commit and was merely deleted from the folder is a loss, though a smaller one.  What lies in a repository's
own folder is no file of a person: of it counts what was reachable there and is not any more.

Who asks reads contents and repositories between the two halves: ``suspects`` says what may be lost, ``judged`` what is.
What a person let happen is a set of losses (``Shown``), and another call destroys no more than ordinary work does.
"""

from __future__ import annotations

import fnmatch
import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from agentic.workspace.snapshots.manifest import Entry, Manifest
from agentic.workspace.snapshots.scan import UNREADABLE

FEW_LOST, FEW_TAKEN, FEW_REWRITTEN = 0, 3, 1
"""So many files may be lost for good, missing though the newest commit has them, or written anew, as ordinary work does it."""
NAMED = 3
MOST_SHOWN = 2_000
"""So many losses are told apart in what a person let happen; of more, all of them together are let or none."""
Place = Literal["", "empty", "other"]
"""What stands where a file was: nothing, a file in which nothing is, or another content."""
MayGo = Callable[[str, Place], bool]
"""Whether a file, or a folder with a slash at its end, is a command's own to destroy, with what stands in its place."""
_LEADS = re.compile("/(?:HEAD|packed-refs|refs|logs)")
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
    moved: tuple[str, ...] = ()
    """Files that are gone, and whose content stands elsewhere."""
    copied: frozenset[str] = frozenset()
    """Those that were rewritten and whose content stands elsewhere."""
    objects: frozenset[str] = frozenset()
    """Folders of git of whose store files are gone, as when it is packed anew."""

    def __bool__(self) -> bool:
        return any((self.gone, self.changed, self.locked, self.repositories, self.moved, self.objects))


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
    held: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """Those that are left in other files than their own, and in which."""
    cut: tuple[str, ...] = ()
    """Those that are left, and of which a good part was merely taken away."""


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
    rewritten: tuple[str, ...] = ()
    """Those of the lost at whose place another content of the same sort stands."""

    def __bool__(self) -> bool:
        return bool(self.lost or self.taken or self.locked or self.history)

    def with_root(self, *, locked: bool) -> Losses:
        """The same, where the workspace itself was locked too."""
        return replace(self, locked=(".", *self.locked), folders=self.folders + 1) if locked else self

    @property
    def over(self) -> bool:
        """It is more than ordinary work takes away."""
        lost = 0 if len(self.lost) == len(self.rewritten) <= FEW_REWRITTEN else len(self.lost)
        missing = lost > FEW_LOST or lost + len(self.taken) > FEW_TAKEN
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


@dataclass(frozen=True, slots=True)
class Shown:
    """What a person who let a call run was shown that it destroys; all else that it does is put to them anew."""

    losses: frozenset[str] = frozenset()
    """As ``marks`` has them."""
    named: tuple[str, ...] = ()
    """Files and folders by their names, or as a shell's patterns; with all below where the last part is ``**``."""

    def beyond(self, losses: Losses, before: Manifest) -> Losses:
        """What was destroyed and not shown."""
        led = leading(before, losses.history)
        if _marks(losses, before, led) <= self.losses:
            return Losses()

        def new(sort: str, paths: Iterable[str]) -> tuple[str, ...]:
            return tuple(path for path in paths if not (_mark(sort, path, before) in self.losses or self._names(path)))

        lost, locked = new("file", losses.lost), new("locked", losses.locked)
        history = tuple(git for git in losses.history if _history_mark(git, led) not in self.losses)
        rewritten = tuple(path for path in losses.rewritten if path in lost)
        return Losses(lost, new("file", losses.taken), locked, losses.folders if locked else 0, history, rewritten)

    def _names(self, path: str) -> bool:
        parts = path.split("/")
        for name in self.named:
            names = name.removesuffix("/**").split("/")
            deep = len(names) == len(parts) or (name.endswith("/**") and len(names) < len(parts))
            if deep and all(map(_matches, parts, names)):
                return True
        return False


def _matches(part: str, name: str) -> bool:
    """As in a shell: a pattern names nothing that is hidden by a dot."""
    return fnmatch.fnmatchcase(part, name) and part.startswith(".") <= name.startswith(".")


def marks(losses: Losses, before: Manifest) -> frozenset[str]:
    """Each loss with what was lost as a short hash: the same path with another content is another loss."""
    return _marks(losses, before, leading(before, losses.history))


def _marks(losses: Losses, before: Manifest, led: Mapping[str, Mapping[str, Entry]]) -> frozenset[str]:
    files = [_mark("file", path, before) for path in {*losses.lost, *losses.taken}]
    rights = [_mark("locked", path, before) for path in losses.locked]
    every = frozenset((*files, *rights, *(_history_mark(git, led) for git in losses.history)))
    return every if len(every) <= MOST_SHOWN else frozenset((_short("\n".join(sorted(every))),))


def _history_mark(git: str, led: Mapping[str, Mapping[str, Entry]]) -> str:
    there = (f"{path} {entry.sha}" for path, entry in sorted(led[git].items()))
    return _short(f"history {git}\0{chr(0).join(there)}")


def _mark(sort: str, path: str, before: Manifest) -> str:
    entry = before.entries.get(path)
    return _short(f"{sort} {path}\0{entry.sha if entry is not None and sort == 'file' else ''}")


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:20]


def suspects(before: Manifest, now: Manifest, may_go: MayGo) -> Suspects:
    """What has to be looked into."""
    gits = gits_of(before)
    present = {entry.sha for path, entry in now.entries.items() if entry.kind != "dir" and not _in(path, gits)}
    found = defaultdict[str, list[str]](list)
    for path, entry in before.entries.items():
        here = now.entries.get(path)
        if here is entry or not (_is_unreadable(path, now) or now.covers(path)):
            continue
        git = _in(path, gits)
        if git and path != git and not is_setting(path, git):
            found[_became_of_git(path, git, entry, here)].append(git)
        else:
            found[_became(path, entry, now, present, may_go)].append(path)
    leads = {*found["leads"], *(git for git in gits if git not in now.entries and now.covers(git))}
    changed = tuple(found["changed"])
    return Suspects(
        gone=tuple(found["gone"]),
        changed=changed,
        locked=tuple(found["locked"]),
        repositories=tuple(sorted(leads)),
        moved=tuple(found["moved"]),
        copied=frozenset(path for path in changed if before.entries[path].sha in present),
        objects=frozenset(found["objects"]),
    )


def _became_of_git(path: str, git: str, entry: Entry, here: Entry | None) -> str:
    """What happened to a file of git's own that is not as it was: ``leads``, ``objects``, or nothing that counts."""
    if leads_to_commits(path, git):
        return "" if here is not None and (here.kind, here.sha) == (entry.kind, entry.sha) else "leads"
    return "objects" if here is None and entry.kind == "file" and path.startswith(f"{git}/objects/") else ""


def _became(path: str, entry: Entry, now: Manifest, present: Collection[str], may_go: MayGo) -> str:
    """What happened to what is not as it was: ``gone``, ``changed``, ``moved``, ``locked``, or nothing that counts."""
    here = now.entries.get(path)
    stands = here is not None and here.kind == entry.kind and bool(here.size or entry.kind == "link")
    content = entry.kind == "link" or (entry.kind == "file" and entry.size)
    if content and entry.kind == "file" and not stands and entry.sha in present:
        return "moved"
    place: Place = "" if here is None else "other" if here.size else "empty"
    if may_go(f"{path}/", "") or (entry.kind != "dir" and may_go(path, place)):
        return ""
    if _is_locked(path, entry, here, now):
        return "locked"
    if not content or _is_unreadable(path, now):
        return ""
    if entry.kind == "link":
        return "gone" if here is None and entry.sha not in present else ""
    if not stands:
        return "gone"
    return "changed" if here is not None and here.sha != entry.sha else ""


def judged(found: Suspects, before: Manifest, into: LookedInto, known: GitContents, history: Sequence[str]) -> Losses:
    """What is lost: of what is not left, and of uncommitted work, all that git does not have; and of repositories."""
    undone = (path for path, blob in into.now.items() if blob in known.head)
    cut = into.cut if len(into.cut) > FEW_TAKEN else ()
    little = tuple(path for path in dict.fromkeys((*into.lost, *undone, *cut)) if path not in found.copied)
    lost = tuple(path for path in little if into.was.get(path) not in known.reachable)
    rewritten = tuple(path for path in lost if path in into.rewritten)
    taken = tuple(path for path in into.lost if path not in found.copied and into.was.get(path) in known.head)
    folders = sum(before.entries[path].kind == "dir" for path in found.locked)
    return Losses(lost, taken, found.locked, folders, tuple(history), rewritten)


def moved_away(found: Suspects, before: Manifest, now: Manifest, into: LookedInto, own: MayGo) -> frozenset[str]:
    """Contents that no longer stand where they stood, and stand elsewhere: no less a person's there, whatever its name.

    ``own``: what anybody may destroy, wherever it is.
    """
    held = {path: others for path, others in into.held.items() if set(others) != {path} and not own(path, "")}
    paths = (*found.moved, *found.copied.intersection((*into.lost, *held)))
    stand = (now.entries[each].sha for path, others in held.items() for each in others if each != path)
    return frozenset((*stand, *(before.entries[path].sha for path in paths if not own(path, ""))))


def gits_of(manifest: Manifest) -> frozenset[str]:
    """The folders in which git keeps repositories, be they ``.git`` or bare."""
    ends = (path.removesuffix("/objects") for path in manifest.entries if path.endswith("/objects"))
    return frozenset(path for path in ends if f"{path}/HEAD" in manifest.entries and f"{path}/refs" in manifest.entries)


def leading(manifest: Manifest, gits: Collection[str]) -> dict[str, dict[str, Entry]]:
    """The files of each of these folders of git that say which commits are kept: of all of them in one pass."""
    found, every = {git: dict[str, Entry]() for git in gits}, frozenset(gits)
    for path, entry in manifest.entries.items() if gits else ():
        git = _in(path, every) if _LEADS.search(path) else ""
        if git and leads_to_commits(path, git):
            found[git][path] = entry
    return found


def leads_to_commits(path: str, git: str) -> bool:
    """Whether a file of git's folder says which commits are kept."""
    within = path.removeprefix(f"{git}/")
    return within in ("HEAD", "packed-refs") or within.startswith(("refs/", "logs/"))


def is_setting(path: str, git: str) -> bool:
    """Whether a file of git's folder is a person's own."""
    within = path.removeprefix(f"{git}/")
    hook = within.startswith("hooks/") and not within.endswith(".sample")
    return hook or within in ("config", "info/exclude", "info/attributes")


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


def put_back(before: Manifest, now: Manifest, only: Losses | None = None) -> dict[str, Entry | None]:
    """What has to be made as it was, all of it or ``only`` what was lost, with its folders.

    What came to stand there besides stays, but for what git keeps of its own state.
    """
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
    return wanted if only is None else _within(wanted, only, before)


def _within(wanted: dict[str, Entry | None], losses: Losses, before: Manifest) -> dict[str, Entry | None]:
    """Of what is wanted, what was lost."""
    lost = with_folders((*losses.lost, *losses.taken, *losses.locked), before)
    return {
        path: entry
        for path, entry in wanted.items()
        if path in lost or any(path == git or path.startswith(f"{git}/") for git in losses.history)
    }


def with_folders(paths: Iterable[str], manifest: Manifest) -> dict[str, Entry]:
    """The entries of these files, and of the folders they stand in."""
    found = dict[str, Entry]()
    for path in paths:
        while path and path in manifest.entries and path not in found:
            found[path] = manifest.entries[path]
            path = path.rpartition("/")[0]
    return found


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
