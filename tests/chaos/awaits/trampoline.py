"""An event loop that counts each await of the bot, and strikes at one of them.

Every coroutine is driven through ``Steps``, so each time that one of the bot's asyncio tasks waits is a step with a number
and a ``Site``: where it stands, frame by frame.  At the step that was chosen the loop does one thing: it cancels that task,
lets it be cancelled at the very moment in which what it waited for came, makes it wait longer, or tells somebody outside.
"""

from __future__ import annotations

import asyncio
import contextlib
from asyncio import Future
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Executor
from contextvars import Context
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tests.chaos.simulated.virtual import LIFE, Life, NumberedTask, VirtualLoop

ROOT = str(Path(__file__).parents[3]) + "/"
PRODUCT = ("agentic/", "bot/")
CONTEXTLIB = contextlib.__file__

Line = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Site:
    """Where a task waits: its name, the product's frames from the outermost to the innermost, and the port it crosses."""

    task: str
    lines: tuple[Line, ...]
    port: str = ""

    def __str__(self) -> str:
        place = " > ".join(f"{file}:{line}" for file, line in self.lines)
        return f"{place}{f' > {self.port}' * bool(self.port)} (task {self.task!r})"


@dataclass(eq=False, slots=True)
class Strike:
    """What happens at which step; ``at`` 0 for never."""

    at: int = 0
    act: Callable[[Steps], None] = lambda steps: None
    struck: Site | None = None
    """Where it did."""


@dataclass(eq=False)
class Steps(Coroutine[Any, Any, Any]):
    """A coroutine, each of whose waits is told to the loop."""

    coro: Coroutine[Any, Any, Any]
    loop: CountedLoop
    life: Life | None = None
    longer: float = 0.0
    """So much longer what it waits for now takes."""
    again: Callable[[Steps], None] | None = None
    """What is done when it waits the next time."""
    _late: list[Callable[[], Any]] = field(default_factory=list)

    def send(self, value: Any) -> Any:
        """Go on."""
        return self._on(lambda: self.coro.send(value))

    def throw(self, *error: Any) -> Any:
        """Go on with an error."""
        if isinstance(error[0], asyncio.CancelledError):  # to be ended takes no longer
            self._late.clear()
            self.longer = 0.0
        return self._on(lambda: self.coro.throw(*error))

    def close(self) -> None:
        """End it."""
        self.coro.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        raise TypeError("it is driven by a task")

    def _on(self, step: Callable[[], Any]) -> Any:
        if self._late:
            step = self._late.pop()
        elif self.longer:
            self._late.append(step)
            seconds, self.longer = self.longer, 0.0
            return self._nap(seconds)
        waits_for = step()
        if LIFE.get() is not None:
            self.loop.waits(self, waits_for)
        return waits_for

    def _nap(self, seconds: float) -> Future[None]:
        future: Future[None] = self.loop.create_future()
        self.loop.call_later(seconds, _wake, future)
        future._asyncio_future_blocking = True
        return future


def _wake(future: Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class CountedLoop(VirtualLoop):
    """``seen`` is given the place of each step where somebody wants to know it."""

    def __init__(self) -> None:
        super().__init__()
        self.counted = 0
        self.strike = Strike()
        self.seen: Callable[[int, Site], None] | None = None
        self.waited_for: Any = None
        """What the task that was struck waits for."""

    def waits(self, steps: Steps, waits_for: Any) -> None:
        """A task of the bot waits."""
        self.counted += 1
        if self.seen is not None:
            self.seen(self.counted, site_of(steps))
        again, steps.again = steps.again, None
        if again is not None:
            self.waited_for = waits_for
            again(steps)
        if self.counted == self.strike.at:
            self.strike.struck, self.waited_for = site_of(steps), waits_for
            self.strike.act(steps)

    def working(self, life: Life) -> list[str]:
        """The asyncio tasks of a process that have not ended."""
        return [task.get_name() for task in self.tasks if not task.done() and task.get_coro().life is life]

    def run_in_executor(self, executor: Executor | None, func: Callable[..., Any], *args: Any) -> Future[Any]:
        """What belongs into a thread is done at once, and is said to be done a moment later."""
        future: Future[Any] = self.create_future()
        try:
            result = func(*args)
        except Exception as error:  # noqa: BLE001 - whoever waits for it gets it
            self.call_later(0.001, _fail, future, error)
        else:
            self.call_later(0.001, _give, future, result)
        return future

    def _made(self, loop: asyncio.AbstractEventLoop, work: Any, context: Context | None = None) -> asyncio.Task[Any]:
        life = context[LIFE] if context is not None and LIFE in context else LIFE.get()
        task = NumberedTask(Steps(work, self, life), loop=loop, context=context)
        self.tasks.append(task)
        if len(self.tasks) > 4_000:
            self.tasks = [one for one in self.tasks if not one.done()]
        return task


def _give(future: Future[Any], result: Any) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: Future[Any], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)


# --- what is done at a step ---------------------------------------------------------------------------------------


def cancelled(steps: Steps) -> None:
    """Its owner ends it while it waits."""
    task = asyncio.current_task()
    if task is not None:
        task.cancel()


def cancelled_late(steps: Steps) -> None:
    """Its owner ends it in the moment in which what it waited for has come, and before it goes on."""
    task, future = asyncio.current_task(), steps.loop.waited_for
    if task is None:
        return
    if isinstance(future, Future):
        future.add_done_callback(lambda _: task.cancel())  # before the one that wakes it
    else:
        task.cancel()


def cancelled_twice(steps: Steps) -> None:
    """It is ended, and once more while it is still ending."""
    steps.again = cancelled
    cancelled(steps)


# --- where a task waits -------------------------------------------------------------------------------------------


@cache
def _short(file: str) -> str:
    name = file.removeprefix(ROOT)
    return name if name.startswith(PRODUCT) else ""


def site_of(steps: Steps) -> Site:
    """The product's frames in which it stands."""
    lines: list[Line] = []
    port = ""
    waiting: Any = steps.coro
    while waiting is not None:
        frame = (
            getattr(waiting, "cr_frame", None)
            or getattr(waiting, "gi_frame", None)
            or getattr(waiting, "ag_frame", None)
        )
        if frame is None:
            break
        if name := _short(frame.f_code.co_filename):
            lines.append((name, frame.f_lineno))
        elif frame.f_code.co_name == "port":
            port = frame.f_locals["name"]
        inner = getattr(waiting, "cr_await", None) or getattr(waiting, "gi_yieldfrom", None)
        if inner is None:
            inner = getattr(waiting, "ag_await", None)
        if type(inner).__name__.startswith("async_generator") and frame.f_code.co_filename == CONTEXTLIB:
            inner = frame.f_locals["self"].gen
        waiting = inner
    task = asyncio.current_task()
    return Site(task.get_name() if task is not None else "", tuple(lines), port)
