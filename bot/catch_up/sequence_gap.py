"""Detect lost events of a session with Discord, whose events are numbered without a gap."""

from __future__ import annotations


class Continuity:
    """Follows the numbers of one session's events."""

    def __init__(self) -> None:
        self._last: int | None = None

    def broken(self, number: int | None) -> bool:
        """Whether events before this one were lost; None begins a new session, whose first number may be any."""
        last, self._last = self._last, number
        if number is None or last is None:
            return False
        self._last = max(number, last)  # one that comes late, or twice, takes nothing back
        return number > last + 1
