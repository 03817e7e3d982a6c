"""How much of something one person may cause within some seconds."""

from __future__ import annotations

from time import monotonic

PEOPLE = 5_000
"""Of so many it is known; whoever was counted longest ago is forgotten first."""


class PersonBound:
    """Counts for each person: at most ``most`` within ``seconds`` seconds."""

    def __init__(self, most: int, seconds: float) -> None:
        self._most, self._seconds = most, seconds
        self._taken: dict[str, tuple[float, int]] = {}

    def takes(self, person: str) -> bool:
        """Count one; False where it would be too many."""
        now = monotonic()
        began, count = self._taken.get(person, (now, 0))
        if now - began >= self._seconds:
            began, count = now, 0
        if count >= self._most:
            return False
        self._taken.pop(person, None)
        while len(self._taken) >= PEOPLE:
            del self._taken[next(iter(self._taken))]
        self._taken[person] = began, count + 1
        return True
