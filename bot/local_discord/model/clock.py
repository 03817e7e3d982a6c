"""The guild's clock: it runs with the machine's, and can be advanced, so that an hour passes at once.

Everything that ages asks this clock: messages and ids, nonces, interactions, sessions, rate limits.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime


class Clock:
    """The time in the guild."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def set_ahead(self, seconds: float) -> None:
        """Advance the clock; it cannot be set back."""
        self._ahead += max(0.0, seconds)

    def time(self) -> float:
        """Seconds since 1970."""
        return time.time() + self._ahead

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        return time.monotonic() + self._ahead

    def now(self) -> datetime:
        """This moment."""
        return datetime.fromtimestamp(self.time(), UTC)
