"""The outcome stream of one execution: what is added to its log after it has finished, and whether all was learned from it.

Learning has many steps, and a process can die between any two, or the lesson store be down for a moment.  So that all of
them were done is written down last, with how much of the stream was known by then; without that they are done again, each
of which changes nothing where it was done before.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.events.execution_events import (
    DeadlinePassed,
    Envelope,
    Event,
    FeedbackGiven,
)
from agentic.ports.runtime import Clock, EventLog, Store


class OutcomeStream:
    """Reads and adds to one execution's outcome; each addition is durable when ``add`` returns."""

    def __init__(self, store: EventLog, clock: Clock, execution: str, build: str = "") -> None:
        self._store = store
        self._clock = clock
        self._build = build
        self.execution = execution

    async def read(self) -> list[Envelope]:
        """Everything in it, in order."""
        return await self._store.read_outcome(self.execution)

    async def add(self, *events: Event, cause: str = "") -> None:
        """Append; the store numbers on from where the stream ends.  ``cause`` is the inbox item that asked for it."""
        envelopes = [
            Envelope(
                execution=self.execution,
                seq=at,
                at=self._clock.now(),
                fence=0,
                event=event,
                cause=cause,
                build=self._build,
            )
            for at, event in enumerate(events, 1)
        ]
        await self._store.append_outcome(self.execution, envelopes)


async def owes(store: Store, execution: str, outcome: Sequence[Event]) -> bool:
    """Whether something is still to be learned from an execution that ended.  Raises ``StoreError``."""
    known = await store.fact(_key(execution))
    return known is None or any(isinstance(each, FeedbackGiven | DeadlinePassed) for each in outcome[int(known) :])


async def owes_nothing(store: Store, execution: str, outcome: Sequence[Event]) -> None:
    """All of this was learned from.  Raises ``StoreError``."""
    if await owes(store, execution, outcome):
        await store.set_fact(_key(execution), str(len(outcome)))


def _key(execution: str) -> str:
    return f"learned: {execution}"
