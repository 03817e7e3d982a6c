"""The sandboxes of a process: one a thread, made at first use, so many at once, ended when idle or at the end."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from dataclasses import field
from pathlib import Path
from typing import Protocol

from agentic.core.lazy_dataclass import dataclass
from agentic.errors import SandboxLost, SandboxUnavailable
from agentic.world import diaries
from agentic.world.ignore import IgnoreFile
from agentic.world.masks import Hidden, adopt
from agentic.world.place import Limits
from agentic.world.sandbox import Sandbox


class Rung(Protocol):
    """One kind of sandbox."""

    @property
    def name(self) -> str:
        """docker, bubblewrap or host."""
        ...

    @property
    def owner(self) -> tuple[int, int]:
        """The user and group on this host that the sandbox's files belong to."""
        ...

    async def start(
        self, thread: str, workspace: Path, home: Path, limits: Limits, diary: diaries.Diary | None = None
    ) -> Sandbox:
        """A running sandbox that has said hello, and writes this diary if it can; raises ``SandboxUnavailable`` with what
        to do."""
        ...

    async def reap(self) -> int:
        """End what earlier processes left behind; returns how many there were."""
        ...

    async def close(self) -> None:
        """Release what the rung holds."""
        ...


@dataclass(frozen=True, slots=True)
class Choice:
    """Which rung is used and why; without one, ``why`` says what to do."""

    rung: Rung | None
    why: str
    skipped: tuple[str, ...] = ()
    """Each better rung that cannot be had, and the reason."""

    @property
    def name(self) -> str:
        """The rung's name, 'none' where there is none."""
        return self.rung.name if self.rung else "none"


@dataclass(slots=True)
class _Held:
    sandbox: Sandbox
    hidden: Hidden
    users: int = 0
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
    ) -> None:
        self.state = state
        self._choose = choose
        self._limits = limits or Limits()
        self._count = count
        self._idle = idle
        self._held: dict[str, _Held] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._choice: Choice | None = None
        self._choosing = asyncio.Lock()
        self._room = asyncio.Condition()
        self._waiting: list[str] = []
        self._making = 0
        self._late: dict[str, asyncio.Task[None]] = {}
        """Sandboxes whose start was called off: each is ended as soon as it stands, before the thread gets another."""

    async def choice(self) -> Choice:
        """The rung in use; probes until there is one, and reaps what an earlier process left."""
        async with self._choosing:
            if self._choice is None or self._choice.rung is None:
                self._choice = await self._choose()
                if self._choice.rung is not None:
                    await self._choice.rung.reap()
            return self._choice

    def existing(self, thread: str) -> Sandbox | None:
        """The thread's sandbox if it has one that lives."""
        held = self._held.get(thread)
        return held.sandbox if held is not None and held.sandbox.lost is None else None

    async def remembered(self, thread: str, diary: str, key: str) -> diaries.Remembered:
        """What the thread's sandboxes wrote down of a key; needs none of them."""
        existing = self.existing(thread)
        ours = existing is not None and existing.diary == diary
        return await diaries.look_up(diaries.path_of(self.state, thread), diary, key, written_by_us=ours)

    def position(self, thread: str) -> int:
        """The thread's place in the queue for a sandbox, 0 when it does not wait."""
        return self._waiting.index(thread) + 1 if thread in self._waiting else 0

    async def for_thread(self, thread: str, workspace: Path) -> Sandbox:
        """The thread's sandbox, made if it has none; waits its turn while ``count`` others are busy."""
        return (await self._hold(thread, workspace)).sandbox

    @contextlib.asynccontextmanager
    async def use(
        self, thread: str, workspace: Path, ignore: IgnoreFile | None = None, *, afresh: bool = True
    ) -> AsyncGenerator[Sandbox]:
        """The thread's sandbox, not evicted meanwhile; with ``ignore``, what that hides is hidden first
        (``afresh``: files that appeared since too).

        Where it is lost meanwhile, what the rung knows of its end is added to the ``SandboxLost``.
        """
        held = await self._hold(thread, workspace)
        held.users += 1
        try:
            if ignore is not None:
                await _mask(held, ignore, afresh=afresh)
            yield held.sandbox
        except SandboxLost as lost:
            words = await held.sandbox.close()
            raise SandboxLost(f"{lost} ({words})" if words else str(lost)) from lost
        finally:
            held.users -= 1
            held.used_at = time.monotonic()
            await self._notify()

    async def end(self, thread: str, reason: str = "it was ended") -> None:
        """End the thread's sandbox; its workspace and home stay."""
        held = self._held.pop(thread, None)
        if held is not None:
            await held.sandbox.close(reason)
            held.hidden.lift()
            await self._notify()

    async def evict_idle(self) -> int:
        """End the sandboxes that nobody used for the idle time; returns how many."""
        now = time.monotonic()
        idle = [t for t, h in self._held.items() if not h.users and now - h.used_at > self._idle]
        for thread in idle:
            await self.end(thread, "it was ended because nobody used it for a while")
        return len(idle)

    async def close(self) -> None:
        """End all sandboxes and let go of the rung."""
        await asyncio.gather(*(self.end(thread) for thread in list(self._held)), *self._late.values())
        if self._choice is not None and self._choice.rung is not None:
            await self._choice.rung.close()

    async def _hold(self, thread: str, workspace: Path) -> _Held:
        async with self._locks.setdefault(thread, asyncio.Lock()):
            held = self._held.get(thread)
            if held is not None and held.sandbox.lost is None:
                return held
            if held is not None:
                await self.end(thread)
            choice = await self.choice()
            if choice.rung is None:
                raise SandboxUnavailable(choice.why)
            if thread in self._late:
                await asyncio.wait((self._late[thread],))
            await self._wait_for_room(thread)
            try:
                return await self._make(choice.rung, thread, workspace)
            finally:
                self._making -= 1
                await self._notify()

    async def _make(self, rung: Rung, thread: str, workspace: Path) -> _Held:
        mark = hashlib.sha256(thread.encode()).hexdigest()[:24]
        home, ledger = self.state / "homes" / mark, self.state / "hidden" / f"{mark}.json"
        ledger.parent.mkdir(parents=True, exist_ok=True)
        uid, gid = rung.owner
        hidden = Hidden(workspace, ledger)
        hidden.lift()  # what a process that crashed left hidden gets its owner back before all gets ours
        for folder in (workspace, home):
            await asyncio.to_thread(adopt, folder, uid, gid, hidden.strays)
        sandbox = await self._started(thread, self._start(rung, thread, workspace, home))
        held = self._held[thread] = _Held(sandbox, hidden)
        return held

    async def _start(self, rung: Rung, thread: str, workspace: Path, home: Path) -> Sandbox:
        path = diaries.path_of(self.state, thread)
        with diaries.opened(path) as diary:
            sandbox = await rung.start(thread, workspace, home, self._limits, diary)
        if not sandbox.diary:
            diaries.end(path)  # before anything is done in it: what it does will be missing there
        return sandbox

    async def _started(self, thread: str, starting: Coroutine[None, None, Sandbox]) -> Sandbox:
        """The sandbox that is being started; whoever is cancelled waits for nothing, and none is left behind."""
        task = asyncio.create_task(starting, name="sandbox-start")
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            self._late[thread] = asyncio.create_task(self._end_late(thread, task), name="sandbox-late-end")
            raise

    async def _end_late(self, thread: str, starting: asyncio.Task[Sandbox]) -> None:
        (late,) = await asyncio.gather(starting, return_exceptions=True)
        try:
            if isinstance(late, Sandbox):
                await late.close()
        finally:
            del self._late[thread]
            await self._notify()

    async def _wait_for_room(self, thread: str) -> None:
        self._waiting.append(thread)
        try:
            async with self._room:
                while self._waiting[0] != thread or len(self._held) + self._making + len(self._late) >= self._count:
                    spare = self._spare() if self._waiting[0] == thread else None
                    if spare is None:
                        await self._room.wait()
                        continue
                    self._room.release()
                    try:
                        await self.end(spare, "it gave way to another thread's while nobody used it")
                    finally:
                        await self._room.acquire()
                self._making += 1
        finally:
            self._waiting.remove(thread)

    def _spare(self) -> str | None:
        free = [(held.used_at, thread) for thread, held in self._held.items() if not held.users]
        return min(free)[1] if free else None

    async def _notify(self) -> None:
        async with self._room:
            self._room.notify_all()


async def _mask(held: _Held, ignore: IgnoreFile, *, afresh: bool) -> None:
    """Hide what ``ignore`` names now; ``afresh`` looks for files that appeared or were put in another's place."""
    version = await asyncio.to_thread(ignore.version)
    if version == held.masked_by and not (afresh and version):
        return
    paths = await ignore.walk() if version else ()
    await asyncio.to_thread(held.hidden.set, paths)
    if paths != held.sandbox.masks:
        await held.sandbox.set_masks(paths)
    held.masked_by = version
