"""The outcome stream of one execution: what is added to its log after it has finished."""

from __future__ import annotations

from agentic.core.events import Envelope, Event
from agentic.ports import Clock, EventLog


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
