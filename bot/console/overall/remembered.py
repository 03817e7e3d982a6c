"""What was worked out a moment ago, so that many open pages cost what one does."""

from __future__ import annotations

import asyncio
from typing import Generic, TypeVar

T = TypeVar("T")
MOST = 200


class Remembered(Generic[T]):
    """Values by a key, each for so many seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._kept: dict[object, tuple[float, T]] = {}

    def get(self, key: object) -> T | None:
        """A value that is not older, else None."""
        found = self._kept.get(key)
        if found is None or asyncio.get_running_loop().time() - found[0] > self._seconds:
            return None
        return found[1]

    def put(self, key: object, value: T) -> T:
        """Remember a value, and return it."""
        self._kept.pop(key, None)
        while len(self._kept) >= MOST:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = asyncio.get_running_loop().time(), value
        return value
