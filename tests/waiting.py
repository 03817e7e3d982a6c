"""Waiting in tests: for what must happen, never for time to pass.

``python -m tests.house.waits`` holds it: nothing else in the tests sleeps, and no bound is below ``BOUND`` unless it is
what a test is about, which is written as ``promised``.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
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
