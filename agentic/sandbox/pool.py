"""The sandboxes of a process: one a thread, made at first use, so many at once, ended when idle or at the end."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from agentic.core.events.execution_events import UNEXPOSED, Exposure
from agentic.ports.errors import SandboxError, SandboxLost, SandboxRefused, SandboxUnavailable
from agentic.ports.way_out import Doors, RefusedHost
from agentic.sandbox.aiignore import IgnoreFile
from agentic.sandbox.backends.hidden_mounts import (
    Cover,
    covers,
    moved,
    uncovered,
)
from agentic.sandbox.folder_removal import remove_tree
from agentic.sandbox.hidden_files import Hidden, adopt
from agentic.sandbox.limits import SKILLS, Limits
from agentic.sandbox.protocol import call_journal
from agentic.sandbox.sandbox import Sandbox

WORDS_SECONDS = 10.0
"""So long it may take to hear why a sandbox was lost; then the loss is told without."""

log = logging.getLogger(__name__)


class Rung(Protocol):
    """One kind of sandbox."""

    @property
    def name(self) -> str:
        """docker, bubblewrap or host."""
        ...

    @property
    def said(self) -> str:
        """The same for people, and which of several it is."""
        ...

    @property
    def covers(self) -> bool:
        """What is hidden can be mounted over when a sandbox begins."""
        ...

    @property
    def owner(self) -> tuple[int, int]:
        """The user and group on this host that the sandbox's files belong to."""
        ...

    @property
    def memory(self) -> str:
        """Who holds a sandbox to its limit of memory, in words."""
        ...

    async def start(
        self,
        thread: str,
        workspace: Path,
        home: Path,
        limits: Limits,
        diary: call_journal.Diary | None = None,
        covered: Sequence[Cover] = (),
        door: Path | None = None,
        mirror: Path | None = None,
        skills: Path | None = None,
    ) -> Sandbox:
        """A running sandbox that has said hello, writes this diary if it can, has these paths covered if the rung
        covers any, this door as its only way out, and reads this mirror of a repository and what comes into this folder
        of skills; raises ``SandboxUnavailable`` with what to do."""
        ...

    async def reap(self) -> tuple[str, ...]:
        """End what earlier processes left behind, each whatever becomes of the others; returns what could not be, in words."""
        ...

    async def close(self) -> None:
        """Release what the rung holds."""
        ...


@dataclass(frozen=True, slots=True)
class Choice:
    """Which rung is used and why; without one, why not, and ``refused`` says what mends that."""

    rung: Rung | None
    why: str
    skipped: tuple[str, ...] = ()
    """Each better rung that cannot be had, and the reason."""
    left: tuple[str, ...] = ()
    """What an earlier process left behind in it and nobody can end."""
    refused: SandboxRefused | None = None
    """What this machine refuses the last of them."""

    @property
    def name(self) -> str:
        """The rung's name, 'none' where there is none."""
        return self.rung.name if self.rung else "none"

    @property
    def todo(self) -> str:
        """What mends that there is none, '' where nobody knows."""
        return self.refused.todo if self.refused is not None else ""


@dataclass(slots=True)
class _Held:
    sandbox: Sandbox
    hidden: Hidden
    workspace: Path
    covered: tuple[Cover, ...] = ()
    open: tuple[str, ...] = ()
    """What is hidden without being covered: a command that sets out to may open or remove it."""
    users: int = 0
    mirror: Path | None = None
    """The mirror that it was begun with."""
    masked_by: tuple[int, int, int] | None = None
    """The version of .aiignore that was last applied."""
    used_at: float = field(default_factory=time.monotonic)


class Sandboxes:
    """At most ``count`` sandboxes; further threads wait in order, idle ones give way.

    ``choose`` is asked once, at the first need.  ``state`` holds homes and ledgers.
    """

    def __init__(
        self,
        state: Path,
        choose: Callable[[], Awaitable[Choice]],
        limits: Limits | None = None,
        *,
        count: int = 32,
        idle: float = 900.0,
        doors: Doors | None = None,
    ) -> None:
        self.state = state
        self._doors = doors
        self._choose = choose
        self._limits = limits or Limits()
        self._count = count
        self._idle = idle
        self.mirrors: dict[str, Path] = {}
        """For each thread with a repository, its mirror; another one is shown in a sandbox that is made anew."""
        self._held: dict[str, _Held] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._choice: Choice | None = None
        self._choosing = asyncio.Lock()
        self._waiting: dict[str, asyncio.Event] = {}
        """Who waits for room, in order; each is rung whenever there may be some, or the order has changed."""
        self._making = 0
        self._ending: dict[str, asyncio.Task[None]] = {}
        """Sandboxes that are being ended, also those whose start was called off; only then its thread gets another.
        The tasks are the pool's own: each is completed, whether or not whoever asked for the end still waits."""

    async def choice(self) -> Choice:
        """The rung in use; probes until there is one, and reaps what an earlier process left."""
        async with self._choosing:
            if self._choice is None or self._choice.rung is None:
                self._choice = await self._choose()
                if self._choice.rung is not None:
                    self._choice = replace(self._choice, left=await reaped(self._choice.rung))
            return self._choice

    @property
    def chosen(self) -> Choice | None:
        """The choice that has a rung; None before there is one."""
        return self._choice if self._choice is not None and self._choice.rung is not None else None

    @property
    def left(self) -> tuple[str, ...]:
        """What an earlier process left behind and nobody can end, in words."""
        return self._choice.left if self._choice is not None else ()

    @property
    def held(self) -> int:
        """How many there are."""
        return len(self._held)

    def existing(self, thread: str) -> Sandbox | None:
        """The thread's sandbox if it has one that lives."""
        held = self._held.get(thread)
        return held.sandbox if held is not None and held.sandbox.lost is None else None

    @property
    def has_doors(self) -> bool:
        """There is a way out that can be opened."""
        return self._doors is not None

    def lend(self, thread: str, hosts: Iterable[str]) -> None:
        """What commands of the thread may reach beside what is chosen for it."""
        if self._doors is not None:
            self._doors.lend(thread, hosts)

    def refused(self, thread: str) -> tuple[RefusedHost, ...]:
        """Hosts that its commands were not let reach since this was asked last."""
        return self._doors.told(thread) if self._doors is not None else ()

    async def exposure(self, thread: str) -> Exposure:
        """What its commands reached since this was asked last, and what they may reach as it is chosen now."""
        return await self._doors.exposure(thread) if self._doors is not None else UNEXPOSED

    def uncovered(self, thread: str) -> tuple[str, ...]:
        """What ``.aiignore`` hides in the thread's sandbox without its being firm."""
        held = self._held.get(thread)
        return held.open if held is not None else ()

    async def remembered(self, thread: str, diary: str, key: str) -> call_journal.Remembered:
        """What the thread's sandboxes wrote down of a key; needs none of them."""
        existing = self.existing(thread)
        ours = existing is not None and existing.diary == diary
        return await call_journal.look_up(call_journal.path_of(self.state, thread), diary, key, written_by_us=ours)

    def position(self, thread: str) -> int:
        """The thread's place in the queue for a sandbox, 0 when it does not wait."""
        return list(self._waiting).index(thread) + 1 if thread in self._waiting else 0

    async def for_thread(self, thread: str, workspace: Path) -> Sandbox:
        """The thread's sandbox, made if it has none; waits its turn while ``count`` others are busy."""
        return (await self._hold(thread, workspace)).sandbox

    @contextlib.asynccontextmanager
    async def use(
        self, thread: str, workspace: Path, ignore: IgnoreFile | None = None, *, afresh: bool = True
    ) -> AsyncGenerator[Sandbox]:
        """The thread's sandbox, not evicted meanwhile; with ``aiignore``, what that hides is hidden first
        (``afresh``: files that appeared since too).

        Where it is lost meanwhile, what the rung knows of its end is added to the ``SandboxLost``.
        """
        held = await self._hold(thread, workspace, ignore)
        held.users += 1
        try:
            if ignore is not None:
                await _mask(held, ignore, afresh=afresh)
            yield held.sandbox
        except SandboxLost as lost:
            words = await _last_words(held.sandbox)
            raise SandboxLost(f"{lost} ({words})" if words else str(lost)) from lost
        finally:
            held.users -= 1
            held.used_at = time.monotonic()
            self._ring()

    async def end(self, thread: str, reason: str = "it was ended") -> None:
        """End the thread's sandbox; its workspace and home stay.  It ends also where whoever asked no longer waits."""
        self._begin_end(thread, reason)
        await self._ended((thread,))

    async def forget(self, thread: str) -> None:
        """The thread is no more: its sandbox ends, and its home is deleted."""
        await self.end(thread, "its thread was deleted")
        home, ledger = self._places(thread)
        ledger.unlink(missing_ok=True)
        await asyncio.to_thread(remove_tree, home)
        await asyncio.to_thread(remove_tree, self.skills_folder(thread))

    def skills_folder(self, thread: str) -> Path:
        """Where the skills of a thread lie on this machine; what comes into it is seen in its sandbox at once."""
        return self.state / "skills" / self._places(thread)[0].name

    async def skills_place(self, thread: str) -> str:
        """Where commands find them, '' where none run."""
        choice = await self.choice()
        return str(self.skills_folder(thread)) if choice.name == "host" else SKILLS if choice.rung is not None else ""

    def _places(self, thread: str) -> tuple[Path, Path]:
        """The home of a thread's sandbox, and the note of what is hidden in it."""
        mark = hashlib.sha256(thread.encode()).hexdigest()[:24]
        return self.state / "homes" / mark, self.state / "hidden" / f"{mark}.json"

    async def evict_idle(self) -> int:
        """End the sandboxes that nobody used for the idle time; returns how many."""
        now = time.monotonic()
        idle = [t for t, h in self._held.items() if not h.users and now - h.used_at > self._idle]
        for thread in idle:
            self._begin_end(thread, "it was ended because nobody used it for a while")
        await self._ended(idle)
        return len(idle)

    async def close(self) -> None:
        """End all sandboxes and let go of the rung."""
        for thread in list(self._held):
            self._begin_end(thread, "it was ended")
        try:
            await self._ended(list(self._ending))
        finally:
            if self._choice is not None and self._choice.rung is not None:
                await self._choice.rung.close()

    def _begin_end(self, thread: str, reason: str) -> None:
        held = self._held.pop(thread, None)
        if held is not None:
            self._own_end(thread, self._end(thread, held, reason))

    async def _end(self, thread: str, held: _Held, reason: str) -> None:
        try:
            await held.sandbox.close(reason)
        finally:
            await asyncio.to_thread(held.hidden.lift)
            await self._shut(thread)

    async def _end_late(self, thread: str, starting: asyncio.Task[Sandbox]) -> None:
        """A start that was called off: what comes of it is ended as soon as it stands."""
        (late,) = await asyncio.gather(starting, return_exceptions=True)
        try:
            if isinstance(late, Sandbox):
                await late.close()
        finally:
            await self._shut(thread)

    async def _shut(self, thread: str) -> None:
        if self._doors is not None:
            await self._doors.close(thread)

    def _own_end(self, thread: str, ending: Coroutine[None, None, None]) -> None:
        task = self._ending[thread] = asyncio.create_task(ending, name="sandbox-end")
        task.add_done_callback(lambda done: self._noted_end(thread, done))

    def _noted_end(self, thread: str, task: asyncio.Task[None]) -> None:
        del self._ending[thread]
        self._ring()
        if not task.cancelled() and (trouble := task.exception()) is not None:
            log.error("a sandbox of thread %s did not end in order", thread, exc_info=trouble)

    async def _ended(self, threads: Iterable[str]) -> None:
        """Wait for the ends that are under way in these threads; what goes wrong there is told by the log."""
        ending = [self._ending[thread] for thread in threads if thread in self._ending]
        if ending:
            await asyncio.wait(ending)

    async def _hold(self, thread: str, workspace: Path, ignore: IgnoreFile | None = None) -> _Held:
        async with self._locks.setdefault(thread, asyncio.Lock()):
            held = self._held.get(thread)
            if (
                held is not None
                and held.sandbox.lost is None
                and (held.users or held.mirror == self.mirrors.get(thread))
            ):
                return held
            await self.end(thread, "it was made anew with another repository")
            choice = await self.choice()
            if choice.rung is None:
                raise SandboxUnavailable(f"{choice.why}. {choice.todo}" if choice.todo else choice.why)
            await self._wait_for_room(thread)
            try:
                return await self._make(choice.rung, thread, workspace, ignore)
            finally:
                self._making -= 1
                self._ring()

    async def _make(self, rung: Rung, thread: str, workspace: Path, ignore: IgnoreFile | None) -> _Held:
        home, ledger = self._places(thread)
        uid, gid = rung.owner
        try:
            hidden = await self._shown_again(thread, workspace, ledger)
            for folder in (workspace, home):
                await asyncio.to_thread(adopt, folder, uid, gid, hidden.strays)
            covered = await _to_cover(workspace, ignore, hidden) if rung.covers else ()
            await asyncio.to_thread(_readable_by_all, self.skills_folder(thread))
            door = await self._doors.open(thread, rung.owner) if self._doors is not None else None
        except OSError as error:
            raise SandboxUnavailable(f"the thread's folders could not be made ready for one: {error}") from error
        mirror = self.mirrors.get(thread)
        try:
            sandbox = await self._started(thread, self._start(rung, thread, workspace, home, covered, door, mirror))
        except Exception:
            await self._shut(thread)
            raise
        held = self._held[thread] = _Held(sandbox, hidden, workspace, covered, mirror=mirror)
        return held

    async def _shown_again(self, thread: str, workspace: Path, ledger: Path) -> Hidden:
        """What a process that crashed left hidden gets its owner back before all gets ours.

        That may be many files, so a thread does it; whoever asks may give up, and the next sandbox there waits for it.
        """

        def shown() -> Hidden:
            ledger.parent.mkdir(parents=True, exist_ok=True)
            hidden = Hidden(workspace, ledger)
            hidden.lift()
            return hidden

        task = asyncio.create_task(asyncio.to_thread(shown), name="sandbox-masks")
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            self._own_end(thread, _done_late(task))
            raise

    async def _start(
        self, rung: Rung, thread: str, workspace: Path, home: Path, covered: Sequence[Cover], door: Path | None,
        mirror: Path | None,
    ) -> Sandbox:  # fmt: skip
        path = call_journal.path_of(self.state, thread)
        with call_journal.opened(path) as diary:
            skills = self.skills_folder(thread)
            sandbox = await rung.start(thread, workspace, home, self._limits, diary, covered, door, mirror, skills)
        try:
            if not sandbox.diary:
                call_journal.end(path)  # before anything is done in it: what it does will be missing there
        except SandboxError:
            await sandbox.close()
            raise
        return sandbox

    async def _started(self, thread: str, starting: Coroutine[None, None, Sandbox]) -> Sandbox:
        """The sandbox that is being started; whoever is cancelled waits for nothing, and none is left behind."""
        task = asyncio.create_task(starting, name="sandbox-start")
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            self._own_end(thread, self._end_late(thread, task))
            raise

    async def _wait_for_room(self, thread: str) -> None:
        bell = self._waiting[thread] = asyncio.Event()
        try:
            while next(iter(self._waiting)) != thread or not self._has_room():
                spare = self._spare() if next(iter(self._waiting)) == thread else None
                if spare is None:
                    bell.clear()
                    await bell.wait()
                else:
                    await self.end(spare, "it gave way to another thread's while nobody used it")
            self._making += 1
        finally:
            del self._waiting[thread]
            self._ring()

    def _has_room(self) -> bool:
        return len(self._held) + self._making + len(self._ending) < self._count

    def _spare(self) -> str | None:
        free = [(held.used_at, thread) for thread, held in self._held.items() if not held.users]
        return min(free)[1] if free else None

    def _ring(self) -> None:
        """Whoever waits looks again; nothing is awaited here, so that no cancellation can come between."""
        for bell in self._waiting.values():
            bell.set()


def _readable_by_all(folder: Path) -> None:
    """Whatever our umask is: the user of a sandbox is another one."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)


async def _done_late(task: asyncio.Task[Hidden]) -> None:
    """Nobody waits for what comes of it."""
    await asyncio.gather(task, return_exceptions=True)


async def _last_words(sandbox: Sandbox) -> str:
    """Why a sandbox was lost, '' where that is not known soon; its end goes on meanwhile."""
    try:
        async with asyncio.timeout(WORDS_SECONDS):
            return await sandbox.close()
    except TimeoutError:
        return ""


async def reaped(rung: Rung) -> tuple[str, ...]:
    """What an earlier process left ends without its owner anyway; that it cannot be tidied up keeps nobody waiting."""
    try:
        left = await rung.reap()
    except SandboxError as error:
        left = (str(error),)
    for each in left:
        log.warning("what an earlier process left in %s could not be tidied up: %s", rung.name, each)
    return left


async def _to_cover(workspace: Path, ignore: IgnoreFile | None, hidden: Hidden) -> tuple[Cover, ...]:
    """What a sandbox is to be begun without: what is hidden now, and what was and got another name."""
    if ignore is None:
        return ()
    paths = await ignore.walk()
    strays = await asyncio.to_thread(moved, workspace, hidden.strays)
    return await asyncio.to_thread(covers, workspace, {*paths, *strays})


async def _mask(held: _Held, ignore: IgnoreFile, *, afresh: bool) -> None:
    """Hide what ``aiignore`` names now; ``afresh`` looks for files that appeared or were put in another's place.

    Raises ``SandboxError`` where that cannot be done: then nothing may run.
    """
    try:
        version = ignore.version() if ignore.unchanged() else await asyncio.to_thread(ignore.version)
        if version == held.masked_by and not (afresh and version):
            return
        paths = await ignore.walk() if version else ()
        await asyncio.to_thread(held.hidden.set, paths)
    except OSError as error:
        raise SandboxError(
            f"what .aiignore hides could not be hidden: {error}. Nothing runs while that is so"
        ) from error
    still_open = await asyncio.to_thread(uncovered, held.workspace, paths, held.covered)
    if still_open and not held.open:
        log.warning(
            "%d of the paths that .aiignore hides stand in the way of a plain look only (%r): they were hidden after the "
            "sandbox began, are too many, or it is none that covers; they are covered in the thread's next sandbox",
            len(still_open), still_open[0],
        )  # fmt: skip
    held.open = still_open
    if paths != held.sandbox.masks:
        await held.sandbox.set_masks(paths)
    held.masked_by = version
