"""Waiting in tests: for what must happen, never for time to pass.

``python -m tests.house.waits`` holds it: nothing else in the tests sleeps, and no bound is below ``BOUND`` unless it is
what a test is about, which is written as ``promised``.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

BOUND = 60.0
"""Seconds after which a test gives up: what does not happen in a minute on a busy machine will not happen."""
FIRST, LONGEST = 0.001, 0.05

Value = TypeVar("Value")


async def eventually(holds: Callable[[], Value | Awaitable[Value]], what: str = "", *, seconds: float = BOUND) -> Value:
    """Wait until ``holds()``, which may be a coroutine function, is true, and return its value.

    Raises ``AssertionError`` that says ``what`` did not happen after ``seconds``.
    """
    loop = asyncio.get_running_loop()
    end, pause = loop.time() + seconds, FIRST
    while True:
        found = holds()
        value: Value = await found if inspect.isawaitable(found) else found  # type: ignore[assignment]
        if value:
            return value
        if loop.time() > end:
            raise AssertionError(f"it did not happen within {seconds:g} s: {what or inspect.getsource(holds).strip()}")
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, LONGEST)


def eventually_true(holds: Callable[[], Value], what: str = "", *, seconds: float = BOUND) -> Value:
    """``eventually`` where no loop runs."""
    return asyncio.run(eventually(holds, what, seconds=seconds))


@asynccontextmanager
async def promised(seconds: float, what: str) -> AsyncIterator[None]:
    """A bound that is the thing under test: ``what`` is promised to end within ``seconds`` (a stop within two).

    Raises ``AssertionError`` if it does not.
    """
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise AssertionError(f"promised within {seconds:g} s: {what}") from error


@dataclass
class LoopTime:
    """The time of an event loop, in seconds; ``each`` is how many each of its passes takes."""

    began: float
    now: float
    each: float

    @property
    def passed(self) -> float:
        return self.now - self.began


@asynccontextmanager
async def loop_time(each: float) -> AsyncIterator[LoopTime]:
    """Virtual time of the running loop, which passes with its passes: where no thread, socket or process takes part."""
    loop = asyncio.get_running_loop()
    time = LoopTime(loop.time(), loop.time(), each)

    async def passes() -> None:
        while True:
            time.now += time.each
            await asyncio.sleep(0)

    passing = asyncio.create_task(passes())
    vars(loop)["time"] = lambda: time.now
    try:
        yield time
    finally:
        del vars(loop)["time"]
        passing.cancel()
