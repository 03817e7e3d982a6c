"""What a command destroyed is put back: known by what it did, whatever it was written in.

The workspace is kept as it is before a command (``hold``) and looked at after it (``settle``).  Where more of what people
had is gone than ordinary work takes away, all of it is put back before anybody hears of the command.  That it will be is
noted first; so whoever finds a process dead in the middle (``settle`` again, for the same call) ends it in the same way.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import time
from collections import defaultdict
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from agentic.core.events.execution_events import FileChange
from agentic.ports.errors import NotSettled, PathRefused, SandboxError
from agentic.ports.failpoints import reach
from agentic.workspace.snapshots.likeness import carried, is_left, is_merely_cut, is_written_anew
from agentic.workspace.snapshots.losses import (
    GitContents,
    LookedInto,
    Losses,
    MayGo,
    Place,
    Shown,
    Suspects,
    additions,
    blob_of,
    branches,
    ids_in,
    judged,
    leading,
    marks,
    moved_away,
    put_back,
    suspects,
    with_folders,
)
from agentic.workspace.snapshots.manifest import Entry, Manifest
from agentic.workspace.snapshots.snapshot_store import Savepoint, SnapshotLost, Snapshots
from agentic.workspace.workspace import RealWorld

LOOKED_INTO, ALL_BYTES = 2_000, 128 << 20
"""So many files are read to see what became of them, and so much with what may hold them now; of more nothing is left."""
MOST_BYTES = 1 << 20
ALIKE = 20
"""So many new files are compared with one that is gone or rewritten."""
HOLD_SECONDS = 10.0
AGAIN_SECONDS = 60.0
FIND_SECONDS = 10.0
"""So long it is looked into what became of files, half of it, and of repositories; all else of them counts as lost."""
MOST_REPOSITORIES = 30
"""So many are asked what they still have."""
GIT_BYTES = 4 << 20
AFTER = ".after"
"""Ends the name of a savepoint of what stood there when a call had ended, where something may still change it."""
_REACHABLE = """exec 2>/dev/null; asked=$(mktemp) && cat > "$asked" || exit 0
git --git-dir=. rev-list --objects --all --reflog --indexed-objects | cut -d' ' -f1 | grep -Fxf "$asked" | sort -u; echo HEAD
git --git-dir=. ls-tree -r HEAD | cut -c8- | cut -d' ' -f2 | cut -f1 | grep -Fxf "$asked" | sort -u; rm -f "$asked"
"""
_ALONE = """exec 2>/dev/null
git --git-dir=. rev-list --objects --stdin --not --all --indexed-objects {more} | cut -d' ' -f1 |
git --git-dir=. cat-file --batch-check='%(objecttype) %(objectname)' | grep ^blob | cut -d' ' -f2; echo HERE
[ "${{PWD##*/}}" = .git ] && cd .. && git ls-files -mo --exclude-standard -z | xargs -0 -r git hash-object --no-filters --
"""
_WHOLE = "exec 2>/dev/null; git --git-dir=. rev-list --objects --all --indexed-objects >&2 && echo whole"
_NOWHERE = frozenset[str]()
T = TypeVar("T")
_DATABASE = b"SQLite format 3\0"
_DATABASES, _DATABASE_BYTES = 5, 16 << 20
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
    losses: frozenset[str] = frozenset()
    """As ``marks`` has them."""
    beside: bool = False
    """Not the call did it, but something that ran beside it."""


@dataclass(frozen=True, slots=True)
class Excuses:
    """What a call may destroy without anybody being asked, and what it is to be blamed for."""

    may_go: MayGo
    derived: MayGo
    """The same for any call: made by what makes it again."""
    created: frozenset[str] = frozenset()
    """Files that the execution has made so far."""
    looks: bool = False
    """It only looks, so what happens meanwhile is the doing of what runs beside it."""


class Savepoints:
    """The way back from the commands of one agent in a thread."""

    def __init__(self, snapshots: Snapshots, world: RealWorld) -> None:
        self._snapshots = snapshots
        self._world = world
        self._last: Savepoint | None = None
        self._watched = False
        """Whether what has changed since then is no call's doing, and something still ran that may do it."""
        self._seen = 0
        """The number of the last change of the world when that was held."""
        self._links = frozenset[str]()
        """Links that calls of this agent made: what is told of changed files names none."""
        self._until = 0.0
        """When it is no longer looked into what became of files."""
        self.problem, self._again = "", 0.0
        """Why the workspace cannot be kept as it is, or not in time; and when it is tried again, in the loop's seconds."""
        self.waived = False
        """A person let commands run although nothing can be put back."""

    async def hold(self, call: str, excuses: Excuses, shown: Shown | None = None) -> RestoredFiles | None:
        """Keep the workspace as it is before a call, of which a person allowed what was ``shown``; else say the ``problem``.

        What was destroyed since the last call, by what that left running, is put back first and returned; if that call
        was called off meanwhile nothing is kept for it.
        """
        if self.problem and asyncio.get_running_loop().time() < self._again:
            return None
        self.problem = ""
        last, self._last, back, still = self._last, None, None, dict[str, Entry]()
        watched, self._watched = self._watched, False
        try:
            last = last or await self._unfinished()
            if last is not None and (watched or last.destroyed):
                back, still = await self._owned(self._since(last, excuses))
                if called_off():
                    return back
            async with asyncio.timeout(HOLD_SECONDS):
                await self._keep(call, last, shown, still)
        except (PathRefused, SnapshotLost, OSError, TimeoutError) as error:
            self.problem = str(error) if isinstance(error, SnapshotLost) else "it cannot be copied in time"
            self._again = asyncio.get_running_loop().time() + AGAIN_SECONDS
        return back

    async def _keep(self, call: str, last: Savepoint | None, shown: Shown | None, still: Mapping[str, Entry]) -> None:
        thread, workspace = self._world.thread, self._world.workspace
        known: Mapping[str, Entry] = last.manifest.entries if last is not None else {}
        hidden = [path for path in await self._world.hidden() if path not in known]  # a command may have hidden it
        self._seen = self._world.acted_on(self._seen)[1]
        self._last = await self._snapshots.hold(thread, workspace, call, hidden, last, shown, still)

    async def _unfinished(self) -> Savepoint | None:
        """Of what was being put back when a process died, or was called off, and which no call has ended."""
        held = await self._snapshots.held(self._world.thread)
        return held if held is not None and held.destroyed and not held.done else None

    async def _since(self, last: Savepoint, excuses: Excuses) -> tuple[RestoredFiles | None, dict[str, Entry]]:
        """What was put back of what nobody's call destroyed; and files that wait for a background command to end."""
        if await self._snapshots.held(self._world.thread, last.call) is None:
            return None, {}  # another agent has worked here since
        acted, now, own = self._world.acted_on(self._seen)[0], await self._look(last), self._own(last, excuses)
        losses, now, moved = await self._losses(last, now, lambda path, place: path in acted or own(path, place), own)
        if moved != last.moved:
            last = replace(last, moved=moved)
            await self._snapshots.note(self._world.thread, last)
        if not (losses.over or last.destroyed):
            return None, {}
        if excuses.looks and not last.destroyed and await self._world.works():
            return None, with_folders((*losses.lost, *losses.taken), last.manifest)
        return await self._restore(last, losses, now, beside=True), {}

    @property
    def holds(self) -> bool:
        """Whether the workspace is kept as it was before the call that was last held for."""
        return self._last is not None

    async def settle(self, call: str, excuses: Excuses) -> RestoredFiles | None:
        """Put back what a call that has ended destroyed; None where it did no more than ordinary work, or was let do it.

        It does the same again for the same call, whoever asks, and to the end, also for a call that was called off;
        ``NotSettled`` where that was done again.
        """
        return await self._owned(self._settle(call, excuses))

    async def _owned(self, work: Coroutine[None, None, T]) -> T:
        """What changes files of its own accord ends before whoever asked for it goes on."""
        task, asker = asyncio.create_task(work), asyncio.current_task()
        self._world.restoring = 0
        try:
            while not task.done():
                if asker is not None and asker.cancelling() > 1:
                    task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait((task,))
        finally:
            self._world.restoring = None
        if task.cancelled():
            self._last = None  # what is noted on the disk says how far it came
            raise NotSettled("The process ended before what the call destroyed was restored.")
        return task.result()

    async def _settle(self, call: str, excuses: Excuses) -> RestoredFiles | None:
        held = self._last if self._last is not None and self._last.call == call else None
        held = held or await self._snapshots.held(self._world.thread, call)
        if held is None:
            return None
        try:
            root = await self._snapshots.unlock_root(self._world.workspace)
            now, own = await self._look(held), self._own(held, excuses)
            losses, moved = Losses(), held.moved
            if not held.destroyed:
                losses, now, moved = await self._losses(
                    held, now, lambda path, place: excuses.may_go(path, place) or own(path, place), own
                )
                self._links |= _links_made(held.manifest, now)
                losses = losses.with_root(locked=root)
                shown = held.shown
                more = shown.beyond(losses, held.manifest) if shown is not None else losses
                if not (more if shown is not None else more.over):
                    return await self._accept(held, moved)
                if excuses.looks and self._world.stirs and not root:
                    return await self._beside(held, losses, now)
        except (PathRefused, SnapshotLost, OSError):
            return None
        back = await self._restore(held, losses, now)
        self._watch(held)
        return back

    def _watch(self, held: Savepoint) -> None:
        """From here on what something that was left running destroys is put back before the next call."""
        self._last = replace(held, destroyed="", losses=frozenset())
        self._seen, self._watched = self._world.acted_on(self._seen)[1], self._world.stirs

    async def _beside(self, held: Savepoint, losses: Losses, now: Manifest) -> RestoredFiles | None:
        """What ran beside a call that only looked did it: put back, or once the background command has ended."""
        held = replace(held, call=f"{held.call}{AFTER}")
        await self._snapshots.note(self._world.thread, held)
        self._watch(held)
        return None if await self._world.works() else await self._restore(held, losses, now, beside=True)

    async def _restore(self, held: Savepoint, losses: Losses, now: Manifest, *, beside: bool = False) -> RestoredFiles:
        """Note that it will be put back, and do it; of what is ``beside`` calls only what was lost."""
        thread = self._world.thread
        changes: tuple[FileChange, ...] = ()
        try:
            if not held.destroyed:
                held = replace(held, destroyed=losses.words, losses=marks(losses, held.manifest))
                reach("savepoint.noted.before")
                await self._snapshots.note(thread, held)
                reach("savepoint.noted.after")
            wanted = put_back(held.manifest, now, losses if beside else None)
            self._world.restoring = len(wanted)
            done = await self._snapshots.restore(thread, self._world.workspace, wanted, now)
            left, now = _told(done.left), await self._look(held)
            changes = tuple(
                FileChange(path=path, kind="added", sha_before="", sha_after=now.entries[path].sha)
                for path in additions(held.manifest, now)
            )
            await self._snapshots.note(thread, replace(held, done=True))
        except (PathRefused, SnapshotLost, OSError) as error:
            left = f"what could not be put back any more: {error}"
        return RestoredFiles(held.destroyed, left, changes, held.losses, beside)

    async def _accept(self, held: Savepoint, moved: frozenset[str]) -> None:
        """What a call did stays so; what it moved is known, and what may change on its own from here on is kept."""
        if moved != held.moved:
            held = replace(held, moved=moved)
            await self._snapshots.note(self._world.thread, held)
            self._last = held if self._last is not None and self._last.call == held.call else self._last
        if self._world.stirs:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(HOLD_SECONDS):
                    await self._keep(f"{held.call}{AFTER}", held, None, {})
                    self._watched = True

    def _own(self, held: Savepoint, excuses: Excuses) -> MayGo:
        """What any call may destroy: derived files, and those of the execution; not what was only moved to such a place."""
        entries = held.manifest.entries

        def own(path: str, place: Place) -> bool:
            entry = entries.get(path.rstrip("/"))
            moved = entry is not None and entry.kind == "file" and entry.sha in held.moved
            return not moved and (path in excuses.created or path in self._links or excuses.derived(path, place))

        return own

    async def _look(self, held: Savepoint) -> Manifest:
        """What stands there now; what was seen before is looked at, whatever a command has hidden since."""
        try:
            hidden = [path for path in await self._world.hidden() if path not in held.manifest.entries]
        except PathRefused:  # too many to hide
            hidden = []
        return await self._snapshots.look(self._world.workspace, held.manifest, hidden, lenient=True)

    async def _losses(
        self, held: Savepoint, now: Manifest, may_go: MayGo, derived: MayGo
    ) -> tuple[Losses, Manifest, frozenset[str]]:
        """What was destroyed, what stands there then, and the contents that were moved, now or earlier."""
        before = held.manifest
        found = suspects(before, now, may_go)
        locked: dict[str, None] = {}
        while closed := [path for path in found.locked if path not in locked]:  # one may lie in another
            locked |= dict.fromkeys(closed)
            await self._snapshots.unlock(self._world.workspace, before, closed)
            now = await self._look(held)
            found = suspects(before, now, may_go)
        found = replace(found, locked=tuple(locked))
        moved = held.moved | {
            now.entries[path].sha
            for path, entry in before.entries.items()
            if entry.sha in held.moved and path in now.entries and now.entries[path].kind == "file"
        }
        if not found:
            return Losses(), now, moved
        into = await self._looked_into(found, before, now)
        known, history = await self._known(found, before, now, into)
        return judged(found, before, into, known, history), now, moved | moved_away(found, before, now, into, derived)

    async def _looked_into(self, found: Suspects, before: Manifest, now: Manifest) -> LookedInto:
        """The files of which too little is left, and the ids under which git would have them."""
        every = (*found.gone, *found.changed)
        self._until = time.monotonic() + FIND_SECONDS
        alike = _alike(every[:LOOKED_INTO], before, now)
        paths, fresh = _read_of(alike, before, now)
        files = {path: before.entries[path] for path in paths}
        read = fresh.union(found.changed).intersection((*paths, *fresh))
        was, stands = await self._snapshots.contents(
            self._world.thread, self._world.workspace, files, read, MOST_BYTES, sampled=True
        )
        was |= {
            path: entry.sha.encode("utf-8", "surrogateescape") for path, entry in files.items() if entry.kind == "link"
        }
        large = {path: entry for path, entry in files.items() if entry.size > MOST_BYTES}
        blobs = await self._snapshots.blobs(self._world.thread, large)

        def is_over() -> bool:
            return time.monotonic() > self._until - FIND_SECONDS / 2

        def compared() -> LookedInto:
            here = {path: stands[path] for path in paths if path in stands and path not in fresh}
            kept = {path for path in here if path in was and not is_over() and is_left(was[path], here[path])}
            gone = {path: was[path] for path in paths if path in was and path not in kept}
            others = {path: (*([path] if path in here else ()), *alike[path]) for path in gone}
            held = carried(gone, {**{path: stands[path] for path in fresh if path in stands}, **here}, others, is_over)
            kept |= held.keys()
            lost = (*(path for path in paths if path not in kept), *every[len(paths) :])
            anew = tuple(
                path
                for path in gone
                if path in here and path not in kept and not is_over() and is_written_anew(was[path], here[path])
            )
            ids = {path: blobs.get(path) or blob_of(content) for path, content in was.items()}
            edited = {path: blob_of(here[path]) for path in kept.intersection(here)}
            cut = (
                path
                for path in here
                if path in kept and path not in held and (is_over() or is_merely_cut(was[path], here[path]))
            )
            return LookedInto(lost, ids, edited, anew, held, tuple(cut))

        into = await asyncio.to_thread(compared)
        databases = [path for path in paths if _is_database(was.get(path)) and _is_database(stands.get(path))][
            :_DATABASES
        ]
        whole, _ = await self._snapshots.contents(
            self._world.thread, self._world.workspace, {path: files[path] for path in databases}, (), _DATABASE_BYTES
        )
        told = {
            path: await self._rows(path, content) or ("" if self._left() else "LESS") for path, content in whole.items()
        }
        lost = [path for path in into.lost if told.get(path) != "LEFT"]
        lost += [path for path in told if told[path] == "LESS" and path not in lost]
        return replace(into, lost=tuple(lost), rewritten=tuple(path for path in into.rewritten if path not in told))

    async def _rows(self, path: str, was: bytes) -> str:
        """What became of a database's rows: LESS, LEFT, or '' where they cannot be counted."""
        script = f"exec 2>/dev/null; python3 -I -c {shlex.quote(_ROWS)} {shlex.quote(path)}"
        try:
            said = await self._world.own(script, timeout=max(0.1, self._left()), stdin=was, scan=False)
        except (SandboxError, UnicodeError):
            return ""
        return said.output.decode("ascii", "replace").strip()

    async def _known(
        self, found: Suspects, before: Manifest, now: Manifest, into: LookedInto
    ) -> tuple[GitContents, list[str]]:
        """What git still has of these contents, and the repositories of which commits were lost."""
        reachable, head, history = set[str](), set[str](), list[str]()
        blobs = frozenset((*into.was.values(), *into.now.values()))

        def grouped() -> tuple[frozenset[str], dict[str, dict[str, Entry]], dict[str, dict[str, Entry]]]:
            ends = (path.removesuffix("/objects") for path in now.entries if path.endswith("/objects"))
            gits = frozenset(path for path in ends if path in now.entries and f"{path}/HEAD" in now.entries)
            every = gits.union(found.repositories)
            return gits, leading(before, every), leading(now, every)

        gits, led_before, led_now = await asyncio.to_thread(grouped)
        suspect = found.objects.intersection(gits).union(found.repositories)
        for number, git in enumerate(sorted(led_before, key=lambda each: (each not in suspect, each))):
            if number >= MOST_REPOSITORIES or not self._left():
                history += [git] if git in suspect else []
                continue
            if git in found.objects and git in gits and not await self._git(_WHOLE, git, _NOWHERE):
                history.append(git)
                continue
            was, stands = led_before[git], led_now[git]
            led = await self._led(was, stands) if git in found.repositories else _NOWHERE
            stash = {path: entry for path, entry in was.items() if path.endswith("refs/stash")}
            stashed = await self._led(stash, stands) if led else _NOWHERE
            if git not in gits:
                history.append(git)
                continue
            if not (blobs or git in found.repositories):
                continue
            there, newest = await self._asked(git, led | blobs)
            reachable |= there
            head |= newest if git.rpartition("/")[2] == ".git" else frozenset()
            lost = await self._lost_history(git, led - there, stashed, was, stands)
            if lost or (git in suspect and not self._left()):
                history.append(git)
        return GitContents(frozenset(reachable), frozenset(head)), sorted(history)

    async def _lost_history(
        self,
        git: str,
        lost: frozenset[str],
        stashed: frozenset[str],
        was: Mapping[str, Entry],
        now: Mapping[str, Entry],
    ) -> bool:
        """Whether commits, tags or what the log of git remembers were lost; a stash that was unpacked was not."""
        log, tags = f"{git}/logs/HEAD", _tags_gone(git, was, now)
        forgets = log in was and was[log].size and not (log in now and now[log].size)
        if lost - stashed or tags or forgets:
            return True
        if lost:
            alone, missing = await self._alone(git, lost, "--reflog")
            return not alone or bool(missing)
        dropped = await self._dropped(git, was, now)
        if dropped is None:
            return True
        return bool(dropped) and bool((await self._alone(git, dropped))[1])

    async def _led(self, before: Mapping[str, Entry], now: Mapping[str, Entry]) -> frozenset[str]:
        """Commits to which these files led before, and nothing of the same name leads now."""
        names = {path: entry for path, entry in before.items() if entry is not now.get(path)}
        was, stands = await self._snapshots.contents(
            self._world.thread, self._world.workspace, names, names.keys(), MOST_BYTES
        )
        left = frozenset[str]().union(*map(ids_in, stands.values()))
        return frozenset[str]().union(*map(ids_in, was.values())) - left

    async def _asked(self, git: str, ids: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
        """Those of the ids that the repository still leads to, and those in its newest commit."""
        there, _, newest = (await self._git(_REACHABLE, git, ids)).partition("HEAD\n")
        return frozenset(there.split()), frozenset(newest.split())

    async def _dropped(self, git: str, before: Mapping[str, Entry], now: Mapping[str, Entry]) -> frozenset[str] | None:
        """Commits at which branches stood that are gone, or set back; None where that is the branch one works on."""
        names = (f"{git}/refs/heads/", f"{git}/packed-refs", f"{git}/logs/HEAD")
        there = {path: entry for path, entry in before.items() if path.startswith(names)}
        fresh = {path for path in now if path.startswith(names[0])}
        fresh |= {f"{git}/packed-refs", f"{git}/HEAD"}
        was, stands = await self._snapshots.contents(
            self._world.thread, self._world.workspace, there, fresh, MOST_BYTES
        )
        old, new = branches(git, was), branches(git, stands)
        head = stands.get(f"{git}/HEAD", b"").decode("utf-8", "replace").strip().removeprefix("ref: ")
        if head in old and head not in new:
            return None
        known = frozenset[str]().union(*map(ids_in, was.values()))
        moved = {name: id for name, id in old.items() if new.get(name) != id}
        return frozenset(id for name, id in moved.items() if name not in new or new[name] in known)

    async def _alone(self, git: str, ids: frozenset[str], more: str = "") -> tuple[frozenset[str], frozenset[str]]:
        """Contents to which only these commits lead, and those of them that do not stand in the workspace."""
        alone, _, here = (await self._git(_ALONE.format(more=more), git, ids)).partition("HERE\n")
        return frozenset(alone.split()), frozenset(alone.split()) - frozenset(here.split())

    def _left(self) -> float:
        """How long it may still be looked into what became of files, in seconds."""
        return max(0.0, self._until - time.monotonic())

    async def _git(self, script: str, git: str, ids: frozenset[str]) -> str:
        asked = "\n".join(sorted(ids)).encode() + b"\n"
        try:
            said = await self._world.own(
                script, timeout=max(0.1, self._left()), cwd=git, stdin=asked, cap=GIT_BYTES, scan=False
            )
        except SandboxError:
            return ""
        return said.output.decode("ascii", "replace")


def _links_made(before: Manifest, now: Manifest) -> frozenset[str]:
    there = {entry.sha for entry in before.entries.values() if entry.kind == "link"}
    links = ((path, entry) for path, entry in now.entries.items() if entry.kind == "link" and entry.sha not in there)
    return frozenset(path for path, _ in links if path not in before.entries)


def called_off() -> bool:
    """Whether somebody has told the running task to end."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


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


def _read_of(
    alike: Mapping[str, Sequence[str]], before: Manifest, now: Manifest
) -> tuple[tuple[str, ...], frozenset[str]]:
    """The first of these files that are no more than ``ALL_BYTES``, together with what may hold them, and that."""
    fresh, size = set[str](), 0
    for number, (path, others) in enumerate(alike.items()):
        read = (before.entries.get(path), now.entries.get(path), *(now.entries[each] for each in {*others} - fresh))
        size += sum(min(entry.size, MOST_BYTES) for entry in read if entry is not None)
        if size > ALL_BYTES:
            return tuple(alike)[:number], frozenset(fresh)
        fresh.update(others)
    return tuple(alike), frozenset(fresh)


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


def _ending(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[2]


def _tags_gone(git: str, before: Mapping[str, Entry], now: Mapping[str, Entry]) -> bool:
    tags = [path for path in before if path.startswith(f"{git}/refs/tags/")]
    packed = now.get(f"{git}/packed-refs")
    grown = packed is not None and not packed.same(before.get(f"{git}/packed-refs"))
    return not grown and any(path not in now for path in tags)


def _told(left: dict[str, str]) -> str:
    if not left:
        return ""
    path, why = next(iter(left.items()))
    more = f" and {len(left) - 1} more" if len(left) > 1 else ""
    return f"`{path}`{more} ({why})"
