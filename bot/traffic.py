"""How much was sent to Discord and how long it waited; for ``status`` and for measurements."""

from __future__ import annotations

from collections import deque
from dataclasses import field
from statistics import quantiles

from agentic.core.lazy_dataclass import dataclass
from bot.pace import Pace
from bot.scheduling import Urgency

HELD_SECONDS = 0.05
"""It is asked again after so long at the latest: what may go at any moment may also stay."""
KEPT = 512
"""So many of the latest waits are kept of each urgency."""


@dataclass(frozen=True, slots=True)
class Waited:
    """Seconds that requests of one urgency waited for their turn, lately; ``sent`` counts all."""

    sent: int = 0
    median: float = 0.0
    slowest: float = 0.0
    p99: float = 0.0


@dataclass(slots=True)
class Traffic:
    """Counts what goes over the wire."""

    pace: Pace = field(default_factory=Pace)
    waiting: int = 0
    """Requests that wait now."""
    requests: int = 0
    interactions: int = 0
    """Answers to commands and buttons: outside Discord's common limit, but counted."""
    retried: int = 0
    limited: int = 0
    """Answers with status 429."""
    refused: int = 0
    """What could not even wait, since so much waited already."""
    busiest: int = 0
    """The most requests in any second, interactions left out."""
    held: int = 0
    """Requests that may go on the wire at any moment."""
    _sent: dict[Urgency, int] = field(default_factory=lambda: dict.fromkeys(Urgency, 0))
    _waits: dict[Urgency, deque[float]] = field(default_factory=lambda: {u: deque[float](maxlen=KEPT) for u in Urgency})

    def waited(self, urgency: Urgency) -> Waited:
        """What requests of one urgency waited."""
        waits = sorted(self._waits[urgency])
        if not waits:
            return Waited()
        p99 = quantiles(waits, n=100, method="inclusive")[-1] if len(waits) > 1 else waits[0]
        return Waited(self._sent[urgency], waits[len(waits) // 2], waits[-1], p99)

    def had_turn(self, urgency: Urgency, seconds: float) -> None:
        """A request has its turn, after so long."""
        self._sent[urgency] += 1
        self._waits[urgency].append(seconds)

    def went(self, now: float) -> None:
        """A request is on the wire."""
        self.requests += 1
        self.busiest = max(self.busiest, self.pace.went(now))

    def full_for(self, now: float) -> float:
        """Seconds until it is worth asking again; 0 where one more may go."""
        return min(self.pace.free(now, self.held) - now, HELD_SECONDS)
