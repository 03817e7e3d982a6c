"""Waiting that a person's stop ends at once: downloads, places in a line, leases of others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

Result = TypeVar("Result")


class Halted(Exception):
    """A person stopped it before it began; the message says what it waited for, '' where that needs no words."""


async def unless(halt: asyncio.Event, work: Awaitable[Result]) -> Result:
    """The work's result; raises ``Halted``, after the work was cancelled and has ended, once ``halt`` is set."""
    task = asyncio.ensure_future(work)
    halted = asyncio.create_task(halt.wait())
    try:
        await asyncio.wait((task, halted), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Halted
        return task.result()
    finally:
        halted.cancel()
        await ended(task)


async def ended(task: asyncio.Future[Result]) -> None:
    """Cancel a task of ours and wait for its end; its own outcome is read elsewhere."""
    if not task.done():
        task.cancel()
        await asyncio.wait((task,))
    if not task.cancelled():
        task.exception()
