"""Parts of the bot that are made when something is first asked of them.

After a crash the first turn waits for all that a start imports and builds, so it does neither for what only the end of
an execution or a person asks for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from importlib import import_module
from typing import Generic, Protocol, TypeVar, cast

T = TypeVar("T")

log = logging.getLogger(__name__)


class Closes(Protocol):
    """What has to be let go of in the end."""

    async def close(self) -> None:
        """Let go of it."""
        ...


class _Later(Generic[T]):
    """Stands for what ``make`` makes, once."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: list[T] = []

    def __getattr__(self, name: str) -> object:
        """What the part itself has."""
        if name.startswith("__"):
            raise AttributeError(name)
        if not self._made:
            self._made.append(self._make())
        return getattr(self._made[0], name)

    def is_made(self) -> bool:
        """Something was asked of it."""
        return bool(self._made)


def later(make: Callable[[], T]) -> T:
    """As ``make()``, of which nothing is done yet."""
    return cast(T, _Later(make))


async def close(part: Closes) -> None:
    """Close it, unless it was never made."""
    if not isinstance(part, _Later) or part.is_made():
        await part.close()


async def load(*modules: str) -> None:
    """Import modules by another thread, so that nobody waits for them later; that one cannot be imported is logged."""
    for name in modules:
        try:
            await asyncio.to_thread(import_module, name)
        except Exception:  # importing a module runs all of it; who needs it later gets the same error
            log.exception("%s cannot be imported: what needs it fails until that is mended", name)
