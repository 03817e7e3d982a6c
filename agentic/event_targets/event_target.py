"""What a target outside does: take events, and say which it has."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Protocol

from agentic.core.outside.outside_events import AnyOutsideEvent


class NotDelivered(Exception):
    """A target did not take an event; the message says why, and what to do."""


class EventTarget(Protocol):
    """Somewhere outside that events go."""

    name: str
    """What the store knows it by."""
    place: str
    """Where it is, for people; without a secret."""

    def deliver(self, events: Sequence[AnyOutsideEvent]) -> AsyncIterator[str]:
        """Hand them over and yield the key of each that arrived.  Raises ``NotDelivered``.

        Those of an execution go one after the other: none before all earlier ones arrived.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


def waves(events: Sequence[AnyOutsideEvent], most: int) -> Iterator[list[AnyOutsideEvent]]:
    """Up to ``most`` events at a time that may go side by side: no two of one execution, and each in its order."""
    left = list(events)
    while left:
        wave: dict[str, AnyOutsideEvent] = {}
        later: list[AnyOutsideEvent] = []
        for event in left:
            if event.execution not in wave and len(wave) < most:
                wave[event.execution] = event
            else:
                later.append(event)
        yield list(wave.values())
        left = later
