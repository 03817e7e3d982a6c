"""What a command destroyed is put back: known by what it did, whatever it was written in.

The workspace is kept as it is before a command (``hold``) and looked at after it (``settle``).  Where more of what people
had is gone than ordinary work takes away, all of it is put back before anybody hears of the command.  That it will be is
noted first; so whoever finds a process dead in the middle (``settle`` again, for the same call) ends it in the same way.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from agentic.core.events.execution_events import FileChange
from agentic.ports.errors import PathRefused, SandboxError
from agentic.ports.failpoints import reach
from agentic.workspace.snapshots.losses import (
    KEPT,
    GitContents,
    LookedInto,
    Losses,
    Suspects,
    additions,
    blob_of,
    branches,
    ids_in,
    is_left,
    judged,
    leads_to_commits,
    put_back,
    suspects,
)
from agentic.workspace.snapshots.manifest import Manifest
from agentic.workspace.snapshots.snapshot_store import Savepoint, SnapshotLost, Snapshots
from agentic.workspace.workspace import RealWorld

LOOKED_INTO = 200
"""So many files are read to see what became of them; of more it is not asked how little is left."""
MOST_BYTES = 1 << 20
ALIKE = 20
"""So many new files are compared with one that is gone or rewritten."""
HOLD_SECONDS = 10.0
GIT_SECONDS = 10.0
GIT_BYTES = 4 << 20
_REACHABLE = """exec 2>/dev/null; asked=$(mktemp) && cat > "$asked" || exit 0
git --git-dir=. rev-list --objects --all --reflog --indexed-objects | cut -d' ' -f1 | grep -Fxf "$asked" | sort -u; echo HEAD
git --git-dir=. ls-tree -r HEAD | cut -c8- | cut -d' ' -f2 | cut -f1 | grep -Fxf "$asked" | sort -u; rm -f "$asked"
"""
_ALONE = """exec 2>/dev/null
git --git-dir=. rev-list --objects --stdin --not --all --indexed-objects {more} | cut -d' ' -f1 |
git --git-dir=. cat-file --batch-check='%(objecttype) %(objectname)' | grep ^blob | cut -d' ' -f2; echo HERE
[ "${{PWD##*/}}" = .git ] && cd .. && git ls-files -mo --exclude-standard -z | xargs -0 -r git hash-object --no-filters --
"""
_NOWHERE = frozenset[str]()
_DATABASE = b"SQLite format 3\0"
_DATABASES = 5
"""So many databases are counted after one command."""
_ROWS = """
import sqlite3, sys, tempfile
def rows(path):
    db = sqlite3.connect("file:" + path.replace("%", "%25").replace("?", "%3f").replace("#", "%23") + "?immutable=1", uri=True)
    names = [name for name, in db.execute("select name from sqlite_master where type = 'table' and name not like 'sqlite_%'")]
    return {name: db.execute('select count(*) from "' + name.replace('"', '""') + '"').fetchone()[0] for name in names}
with tempfile.NamedTemporaryFile() as file:
    file.write(sys.stdin.buffer.read())
    file.flush()
    was, now = rows(file.name), rows(sys.argv[1])
fresh = sorted(count for name, count in now.items() if name not in was)
def left(name):
    return now[name] if name in now else fresh.pop() if fresh else 0
largest = sorted(was.items(), key=lambda each: -each[1])
print("LESS" if any(left(name) * 2 < count for name, count in largest if count > 1) else "LEFT")
"""
"""Whether a table that was there has lost more than half of its rows; one that was renamed has not."""


@dataclass(frozen=True, slots=True)
class RestoredFiles:
    """What a call had done, as the end of "It …", and what stands in the workspace besides what was there."""

    destroyed: str
    left: str
    """What could not be put back, '' for nothing."""
    changes: tuple[FileChange, ...]


class Savepoints:
    """The way back from the commands of one agent in a thread."""

    def __init__(self, snapshots: Snapshots, world: RealWorld) -> None:
        self._snapshots = snapshots
        self._world = world
        self._last: Savepoint | None = None
        self._found: frozenset[str] | None = None
        """Contents that the agent found before its first command: a file that was moved is new, but nobody's own."""
        self._too_large = False
        """One could not be kept, or not in time: it is not tried again before each command."""

    async def hold(self, call: str, created: frozenset[str] = _NOWHERE) -> None:
        """Keep the workspace as it is before a call; of one that is too large, or that cannot be kept, nothing is.

        Then neither is before the later calls of this agent.  ``created`` are the files that the execution has made so far.
        """
        if self._too_large:
            return
        last, self._last = self._last, None
        try:
            hidden = await self._world.hidden()
        except (PathRefused, OSError):
            return
        known = last.manifest if last is not None else None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(HOLD_SECONDS):
                self._last = await self._snapshots.hold(self._world.thread, self._world.workspace, call, hidden, known)
        self._too_large = self._last is None
        if self._found is None and self._last is not None:
            entries = self._last.manifest.entries.items()
            self._found = frozenset(e.sha for path, e in entries if e.kind == "file" and path not in created)

    @property
    def holds(self) -> bool:
        """Whether the workspace is kept as it was before the call that was last held for."""
        return self._last is not None

    async def settle(
        self, call: str, may_go: Callable[[str, bool], bool], created: frozenset[str] = _NOWHERE
    ) -> RestoredFiles | None:
        """Put back what a call that has ended destroyed; None where it did no more than ordinary work does.

        ``may_go`` as ``suspects`` has it, ``created`` the files that the execution has made so far.  It does the same again
        for the same call, whoever asks.
        """
        thread, workspace = self._world.thread, self._world.workspace
        held = self._last if self._last is not None and self._last.call == call else None
        held = held or await self._snapshots.held(thread, call)
        if held is None:
            return None
        try:
            root = await self._snapshots.unlock_root(workspace)
            now = await self._look(held)
            destroyed = held.destroyed
            if not destroyed:
                own = self._own(held.manifest, created)
                losses, now = await self._losses(held, now, lambda path, empty: path in own or may_go(path, empty))
                losses = losses.with_root(locked=root)
                if not losses.over:
                    return None
                destroyed = losses.words
                reach("savepoint.noted.before")
                await self._snapshots.condemn(thread, call, destroyed)
                reach("savepoint.noted.after")
        except (PathRefused, SnapshotLost, OSError):
            return None
        try:
            wanted = put_back(held.manifest, now)
            self._world.restoring = len(wanted)
            done = await self._snapshots.restore(thread, workspace, wanted, now)
            now = await self._look(held)
        except (PathRefused, SnapshotLost, OSError) as error:
            return RestoredFiles(destroyed, f"what could not be put back any more: {error}", ())
        changes = tuple(
            FileChange(path=path, kind="added", sha_before="", sha_after=now.entries[path].sha)
            for path in additions(held.manifest, now)
        )
        return RestoredFiles(destroyed, _told(done.left), changes)

    def _own(self, before: Manifest, created: frozenset[str]) -> frozenset[str]:
        found = self._found or _NOWHERE
        return frozenset(path for path in created if path in before.entries and before.entries[path].sha not in found)

    async def _look(self, held: Savepoint) -> Manifest:
        hidden = await self._world.hidden()
        return await self._snapshots.look(self._world.workspace, held.manifest, hidden)

    async def _losses(
        self, held: Savepoint, now: Manifest, may_go: Callable[[str, bool], bool]
    ) -> tuple[Losses, Manifest]:
        before = held.manifest
        found = suspects(before, now, may_go)
        locked: dict[str, None] = {}
        while closed := [path for path in found.locked if path not in locked]:  # one may lie in another
            locked |= dict.fromkeys(closed)
            await self._snapshots.unlock(self._world.workspace, before, closed)
            now = await self._look(held)
            found = suspects(before, now, may_go)
        found = Suspects(found.gone, found.changed, tuple(locked), found.repositories)
        if not found:
            return Losses(), now
        into = await self._looked_into(found, before, now)
        known, history = await self._known(found, before, now, into)
        return judged(found, before, into, known, history), now

    async def _looked_into(self, found: Suspects, before: Manifest, now: Manifest) -> LookedInto:
        """The files of which too little is left, and the ids under which git would have them."""
        paths = (*found.gone, *found.changed)[:LOOKED_INTO]
        alike = _alike(paths, before, now)
        read = {*found.changed[:LOOKED_INTO], *(other for others in alike.values() for other in others)}
        was, stands = await self._snapshots.contents(
            self._world.thread, self._world.workspace, {path: before.entries[path] for path in paths}, read, MOST_BYTES
        )

        def compared() -> LookedInto:
            lost, edited = list((*found.gone, *found.changed)[LOOKED_INTO:]), dict[str, str]()
            rewritten: list[str] = []
            for path in paths:
                content, others = was.get(path), (path, *alike[path])
                if content is None:
                    here = now.entries.get(path)
                    if here is None or here.size * 2 < before.entries[path].size:
                        lost.append(path)
                elif not is_left(content, [stands[other] for other in others if other in stands]):
                    lost.append(path)
                    if len(stands.get(path, b"")) >= KEPT * len(content):
                        rewritten.append(path)
                elif path in stands:
                    edited[path] = blob_of(stands[path])
            blobs = {path: blob_of(content) for path, content in was.items()}
            return LookedInto(tuple(lost), blobs, edited, tuple(rewritten))

        into = await asyncio.to_thread(compared)
        databases = [path for path in found.changed if _is_database(was.get(path)) and _is_database(stands.get(path))]
        told = {path: await self._rows(path, was[path]) for path in databases[:_DATABASES]}
        lost = [path for path in into.lost if told.get(path) != "LEFT"]
        lost += [path for path in told if told[path] == "LESS" and path not in lost]
        return replace(into, lost=tuple(lost), rewritten=tuple(path for path in into.rewritten if path not in told))

    async def _rows(self, path: str, was: bytes) -> str:
        """What became of a database's rows: LESS, LEFT, or '' where they cannot be counted."""
        script = f"exec 2>/dev/null; python3 -I -c {shlex.quote(_ROWS)} {shlex.quote(path)}"
        try:
            said = await self._world.own(script, timeout=GIT_SECONDS, stdin=was, scan=False)
        except (SandboxError, UnicodeError):
            return ""
        return said.output.decode("ascii", "replace").strip()

    async def _known(
        self, found: Suspects, before: Manifest, now: Manifest, into: LookedInto
    ) -> tuple[GitContents, list[str]]:
        """What git still has of these contents, and the repositories of which commits were lost."""
        reachable, head, history = set[str](), set[str](), list[str]()
        blobs = frozenset((*into.was.values(), *into.now.values()))
        gits = [path for path in now.entries if f"{path}/objects" in now.entries and f"{path}/HEAD" in now.entries]
        for git in {*gits, *found.repositories}:
            led = await self._led(git, before, now) if git in found.repositories else _NOWHERE
            stashed = await self._led(git, before, now, stash=True) if led else _NOWHERE
            if git not in gits:
                history.append(git)
                continue
            if not (blobs or git in found.repositories):
                continue
            there, newest = await self._asked(git, led | blobs)
            reachable |= there
            head |= newest if git.rpartition("/")[2] == ".git" else frozenset()
            if await self._lost_history(git, led - there, stashed, before, now):
                history.append(git)
        return GitContents(frozenset(reachable), frozenset(head)), sorted(history)

    async def _lost_history(
        self, git: str, lost: frozenset[str], stashed: frozenset[str], before: Manifest, now: Manifest
    ) -> bool:
        """Whether commits, tags or what the log of git remembers were lost; a stash that was unpacked was not."""
        log, tags = f"{git}/logs/HEAD", _tags_gone(git, before, now)
        forgets = (
            log in before.entries and before.entries[log].size and not (log in now.entries and now.entries[log].size)
        )
        if lost - stashed or tags or forgets:
            return True
        if lost:
            alone, missing = await self._alone(git, lost, "--reflog")
            return not alone or bool(missing)
        dropped = await self._dropped(git, before, now)
        return bool(dropped) and bool((await self._alone(git, dropped))[1])

    async def _led(self, git: str, before: Manifest, now: Manifest, *, stash: bool = False) -> frozenset[str]:
        """Commits to which something (only the stash) led before, and nothing of the same name leads now."""
        names = {
            path: entry
            for path, entry in before.entries.items()
            if path.startswith(f"{git}/")
            and leads_to_commits(path, git)
            and entry is not now.entries.get(path)
            and (not stash or path.endswith("refs/stash"))
        }
        was, stands = await self._snapshots.contents(
            self._world.thread, self._world.workspace, names, names.keys(), MOST_BYTES
        )
        left = frozenset[str]().union(*map(ids_in, stands.values()))
        return frozenset[str]().union(*map(ids_in, was.values())) - left

    async def _asked(self, git: str, ids: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
        """Those of the ids that the repository still leads to, and those in its newest commit."""
        there, _, newest = (await self._git(_REACHABLE, git, ids)).partition("HEAD\n")
        return frozenset(there.split()), frozenset(newest.split())

    async def _dropped(self, git: str, before: Manifest, now: Manifest) -> frozenset[str]:
        """Commits at which branches stood that are gone, or were set to where something had stood before."""
        names = [path for path in before.entries if path.startswith(f"{git}/refs/heads/")]
        names += [f"{git}/packed-refs", f"{git}/logs/HEAD"]
        there = {path: before.entries[path] for path in names if path in before.entries}
        fresh = {path for path in now.entries if path.startswith(f"{git}/refs/heads/")} | {f"{git}/packed-refs"}
        was, stands = await self._snapshots.contents(
            self._world.thread, self._world.workspace, there, fresh, MOST_BYTES
        )
        old, new = branches(git, was), branches(git, stands)
        known = frozenset[str]().union(*map(ids_in, was.values()))
        moved = {name: id for name, id in old.items() if new.get(name) != id}
        return frozenset(id for name, id in moved.items() if name not in new or new[name] in known)

    async def _alone(self, git: str, ids: frozenset[str], more: str = "") -> tuple[frozenset[str], frozenset[str]]:
        """Contents to which only these commits lead, and those of them that do not stand in the workspace."""
        alone, _, here = (await self._git(_ALONE.format(more=more), git, ids)).partition("HERE\n")
        return frozenset(alone.split()), frozenset(alone.split()) - frozenset(here.split())

    async def _git(self, script: str, git: str, ids: frozenset[str]) -> str:
        asked = "\n".join(sorted(ids)).encode() + b"\n"
        try:
            said = await self._world.own(script, timeout=GIT_SECONDS, cwd=git, stdin=asked, cap=GIT_BYTES, scan=False)
        except SandboxError:
            return ""
        return said.output.decode("ascii", "replace")


def _is_database(content: bytes | None) -> bool:
    return content is not None and content.startswith(_DATABASE)


def _alike(paths: Sequence[str], before: Manifest, now: Manifest) -> dict[str, list[str]]:
    """New files that may be what became of each: of the same name before its first dot, or of the same ending."""
    named, ending = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for path, entry in now.entries.items():
        if path not in before.entries and entry.kind == "file":
            for alike, key in ((named, _stem(path)), (ending, _ending(path))):
                if len(alike[key]) < ALIKE:
                    alike[key].append(path)
    return {path: list(dict.fromkeys((*named[_stem(path)], *ending[_ending(path)])))[:ALIKE] for path in paths}


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


def _ending(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[2]


def _tags_gone(git: str, before: Manifest, now: Manifest) -> bool:
    tags = [path for path in before.entries if path.startswith(f"{git}/refs/tags/")]
    packed = now.entries.get(f"{git}/packed-refs")
    grown = packed is not None and not packed.same(before.entries.get(f"{git}/packed-refs"))
    return not grown and any(path not in now.entries for path in tags)


def _told(left: dict[str, str]) -> str:
    if not left:
        return ""
    path, why = next(iter(left.items()))
    more = f" and {len(left) - 1} more" if len(left) > 1 else ""
    return f"`{path}`{more} ({why})"
