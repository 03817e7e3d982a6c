"""Virtual time: an asyncio event loop that jumps to the next timer when nothing is ready, and processes that can die.

Nothing here waits, reads a clock or does I/O, so thousands of executions run in minutes, and the same seed gives the
same order of everything.  What belongs to a simulated process runs in a context that names its ``Life``:

- dead: none of its steps ever runs again, not even ``finally``, just as after SIGKILL;
- frozen: its steps wait, and all come at once when it is thawed, just as after SIGSTOP and SIGCONT.

What is outside (the guild, sandboxes, providers, people) runs in the context of nobody.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import itertools
from collections import deque
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(eq=False, slots=True)
class Life:
    """Whether a simulated process runs."""

    dead: bool = False
    frozen: bool = False
    held: deque[asyncio.Handle] = field(default_factory=deque)
    """Steps that wait until it is thawed."""


LIFE: ContextVar[Life | None] = ContextVar("whose step it is", default=None)


def context_of(life: Life | None) -> Context:
    """A context in which everything belongs to ``life``."""
    context = copy_context()
    context.run(LIFE.set, life)
    return context


class Stuck(Exception):
    """Nothing is ready, and no timer runs: everybody waits for somebody else."""


class NumberedTask(asyncio.Task):
    """A task whose place in a set does not depend on where it lies in memory."""

    _numbers = itertools.count(1)

    def __new__(cls, *_: Any, **__: Any) -> NumberedTask:
        task = super().__new__(cls)
        task.number = next(cls._numbers)
        return task

    def __hash__(self) -> int:
        return self.number


class VirtualLoop(asyncio.BaseEventLoop):
    """Time passes only when nobody has anything to do."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._clock_resolution = 1e-9
        self.tasks: list[asyncio.Task[Any]] = []
        self.steps = 0
        NumberedTask._numbers = itertools.count(1)
        self.set_task_factory(self._made)
        self.set_exception_handler(
            lambda _, __: None
        )  # what broke is said by whoever owned it, or belonged to the dead

    def time(self) -> float:
        """Seconds since the beginning of this world."""
        return self._now

    def thaw(self, life: Life) -> None:
        """What waited for a frozen process comes now, in its order."""
        life.frozen = False
        self._ready.extend(life.held)
        life.held.clear()

    def outside(self, work: Any, name: str = "") -> asyncio.Task[Any]:
        """A task that belongs to no process."""
        return self.create_task(work, name=name or None, context=context_of(None))

    def dispose(self) -> None:
        """Let go of what never ended; whatever its ``finally`` would still do comes too late to matter."""
        for task in self.tasks:
            if not task.done():
                task._log_destroy_pending = False
                with contextlib.suppress(BaseException):
                    task.get_coro().close()
        self.tasks.clear()
        self.close()

    def _made(self, loop: asyncio.AbstractEventLoop, work: Any, context: Context | None = None) -> asyncio.Task[Any]:
        task = NumberedTask(work, loop=loop, context=context)
        self.tasks.append(task)
        if len(self.tasks) > 4_000:
            self.tasks = [one for one in self.tasks if not one.done()]
        return task

    def _run_once(self) -> None:
        while self._scheduled and self._scheduled[0]._cancelled:
            heapq.heappop(self._scheduled)._scheduled = False
        if not self._ready and not self._stopping:
            if not self._scheduled:
                raise Stuck
            self._now = max(self._now, self._scheduled[0]._when)
        while self._scheduled and self._scheduled[0]._when <= self._now:
            handle = heapq.heappop(self._scheduled)
            handle._scheduled = False
            self._ready.append(handle)
        for _ in range(len(self._ready)):
            handle = self._ready.popleft()
            if handle._cancelled:
                continue
            life = handle._context.get(LIFE)
            if life is not None and life.dead:
                continue
            if life is not None and life.frozen:
                life.held.append(handle)
                continue
            self.steps += 1
            handle._run()

    def _process_events(self, event_list: object) -> None: ...

    def _write_to_self(self) -> None: ...


def now() -> float:
    """Seconds since the beginning of this world."""
    return asyncio.get_running_loop().time()


async def for_ever() -> None:
    """Never returns: where a process died."""
    await asyncio.get_running_loop().create_future()


class Machine:
    """The clocks of the machine: the wall clock may be set, the monotonic one never."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self.skew = 0.0

    def wall(self) -> datetime:
        """What the wall clock shows."""
        return EPOCH + timedelta(seconds=self._loop.time() + self.skew)

    def true(self) -> datetime:
        """What the clocks of everybody else show."""
        return EPOCH + timedelta(seconds=self._loop.time())
