"""What is being learned at this moment, so that whoever begins next in the same thread can wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

PATIENCE = 120.0
"""Seconds after its beginning for which it is waited: two requests for a reflection, behind the readings of a judge."""


@dataclass(eq=False, slots=True)
class _Work:
    """Something that is being learned from an execution."""

    execution: str
    until: float
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Underway:
    """The executions from which something is being learned that the next attempt is to know."""

    def __init__(self) -> None:
        self._works: list[_Work] = []

    @contextmanager
    def of(self, execution: str) -> Generator[Callable[[], None]]:
        """To be held while something is learned from an execution; what it yields says that the next attempt can know it."""
        work = _Work(execution, asyncio.get_running_loop().time() + PATIENCE)
        self._works.append(work)
        try:
            yield work.over.set
        finally:
            work.over.set()
            self._works.remove(work)

    async def over(self, executions: Collection[str]) -> None:
        """Wait until nothing that has begun by now is being learned from these, or its patience is over."""
        for work in [each for each in self._works if each.execution in executions]:
            try:
                async with asyncio.timeout_at(work.until):
                    await work.over.wait()
            except TimeoutError:
                continue
