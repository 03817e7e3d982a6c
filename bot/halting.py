"""Waiting that a person's stop ends at once: downloads, places in a line, leases of others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

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


async def ended(*tasks: asyncio.Future[Any]) -> None:
    """Cancel tasks of ours and wait for their end; their own outcomes are read elsewhere.

    All are told at once, and each only once: a second cancellation would cut short what it does to end in order.  Whoever
    is cancelled while waiting here, however often, is so once they have ended.
    """
    for task in tasks:
        task.cancel()
    called_off: asyncio.CancelledError | None = None
    while running := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(running)
        except asyncio.CancelledError as again:
            called_off = again
    for task in tasks:
        if not task.cancelled():
            task.exception()
    if called_off is not None:
        raise called_off
