"""Orderly shutdown of executions: running effects get a little time to end, and nothing new begins.

Every task is told to end, and waited for no longer than a lease can bear.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from agentic.core.state.actions import (
    Action,
    Checkpoint,
    Inspect,
    Think,
    UseTools,
    Wait,
)
from agentic.ports.errors import SandboxError
from agentic.ports.runtime import Toolbox

ACKNOWLEDGE_SECONDS = 3.0
"""So long a cancelled effect may take to say that it ended; then its sandbox is ended."""
TELL_SECONDS = 1.0
"""After so long people are told which files a stop still has restored."""
GIVE_UP_SECONDS = 1.0
SETTLE_SECONDS = 4.0
"""So long the end of everything in the sandbox may take; with the line above, less than a lease has left."""


async def late_to_end(tasks: Iterable[asyncio.Task[Any] | None]) -> set[asyncio.Task[Any]]:
    """Cancels those that still run; the ones that did not say in time that they ended."""
    left = [task for task in tasks if task is not None and not task.done()]
    for task in left:
        task.cancel()
    return await still_running(left, ACKNOWLEDGE_SECONDS)


async def given_up(tasks: Collection[asyncio.Task[Any]]) -> set[asyncio.Task[Any]]:
    """Cancels for a second time what did not end: nothing of it begins any more; the ones that run even so."""
    for task in tasks:
        task.cancel()
    return await still_running(tasks, GIVE_UP_SECONDS)


async def still_running(tasks: Collection[asyncio.Task[Any]], seconds: float) -> set[asyncio.Task[Any]]:
    """Those that have not ended in so many seconds."""
    return (await asyncio.wait(tasks, timeout=seconds))[1] if tasks else set()


async def settled(toolbox: Toolbox) -> None:
    """End what runs in the sandbox; one that cannot be told to is left to its own heartbeat."""
    with contextlib.suppress(TimeoutError, SandboxError):
        async with asyncio.timeout(SETTLE_SECONDS):
            await toolbox.settle()


def heard(task: asyncio.Task[Any]) -> None:
    """For a task whose outcome somebody may need or nobody: a failure of the latter is no complaint of asyncio's."""
    if not task.cancelled():
        task.exception()


@dataclass(slots=True)
class Leaving:
    """Set where the process ends in order; shared by every execution of the process."""

    until: float | None = None
    """By the monotonic clock; None while nobody leaves."""

    def from_here(self, action: Action, now: float, *, running: bool) -> bool:
        """Whether an execution is left before this action; ``running``: an effect of it has not ended yet."""
        if self.until is None:
            return False
        begins = isinstance(action, Think | UseTools | Checkpoint | Inspect)
        return begins or now >= self.until or (isinstance(action, Wait) and not running)

    def patience(self, seconds: float | None, now: float) -> float | None:
        """How long to wait, where ``seconds`` would be without leaving."""
        if self.until is None:
            return seconds
        left = max(self.until - now, 0.0)
        return left if seconds is None else min(left, seconds)
