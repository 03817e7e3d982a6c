"""How many requests may go at a moment, so that Discord never sees too many in a second; pure, with the time passed in.

Discord counts what arrives.  Where a second's worth leaves at once and the network or a busy machine brings it a moment
later than what follows, two seconds' worth arrive together.  So requests leave evenly: what arrives in a second was sent
within hardly more than a second, and that stays below the limit even where some of it comes a fifth of a second late.
It also keeps an answer from waiting for the rest of a second behind a burst of edits.
"""

from __future__ import annotations

from collections import deque
from dataclasses import field

from agentic.core.lazy_dataclass import dataclass

PER_SECOND = 40
"""Discord takes 50."""
SECOND = 1.0
PARTS = 5
"""In each so much smaller part of a second go at most so many fewer requests."""


@dataclass(slots=True)
class Pace:
    """Remembers when the latest requests went."""

    per_second: int = PER_SECOND
    latest: deque[float] = field(default_factory=deque[float])

    def went(self, now: float) -> int:
        """A request goes; returns how many went in the second that ends now."""
        self.latest.append(now)
        while self.latest[0] <= now - SECOND:
            self.latest.popleft()
        return len(self.latest)

    def free(self, now: float, held: int = 0) -> float:
        """From when on one more may go; ``held`` others may go at any moment, and count for the second."""
        in_part = max(1, self.per_second // PARTS)
        return max(now, self._free(self.per_second - held, SECOND), self._free(in_part, SECOND / PARTS))

    def _free(self, most: int, seconds: float) -> float:
        if most <= 0:
            return float("inf")
        return self.latest[-most] + seconds if len(self.latest) >= most else 0.0
