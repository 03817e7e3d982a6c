"""The log of one running execution: events are noted in memory, folded at once, and made durable together.

Nothing that follows from an event may be seen before ``commit`` returns.  Sinks get each event after it is durable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from agentic.core.display.outbox_items import visible
from agentic.core.events.execution_events import Envelope, Event, OutboxItem
from agentic.core.fold.fold import evolve
from agentic.core.state.execution import Execution
from agentic.ports.errors import AppendTooLarge
from agentic.ports.failpoints import reach
from agentic.ports.runtime import (
    Clock,
    Lease,
    Sink,
    Store,
)
from agentic.runtime.effects import Blob


@dataclass(slots=True)
class _Note:
    """What was noted together, and is made durable together."""

    after: int
    """The number of the last event before it."""
    events: list[Envelope]
    outbox: list[OutboxItem]
    taken: list[str]
    blobs: list[Blob]


class Recorder:
    """Holds the state that the noted events say; ``execution.seq`` runs ahead of the store until ``commit``."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        sinks: tuple[Sink, ...],
        lease: Lease,
        name: str,
        build: str,
        steady: Callable[[], float] | None = None,
    ) -> None:
        self.execution = Execution(id=name)
        self._store = store
        self._steady = steady or clock.monotonic
        self._sinks = sinks
        self._lease = lease
        self._name = name
        self._build = build
        self._notes: list[_Note] = []
        self._began, self._at = clock.now(), self._steady()

    async def load(self) -> Execution:
        """Fold what is already in the log."""
        async for envelope in self._store.read(self._name):
            self.execution = evolve(self.execution, envelope)
            self._began = max(self._began, envelope.at)
        return self.execution

    def now(self) -> datetime:
        """The present of this log: counted from when it was taken up, or from its last event if the clock was set back since.

        So whoever sets the machine's clock meanwhile ends no cap, expires no approval and puts no event before its cause,
        and nothing that the log waits for (the next try after a failure, say) waits for the clock to come round again.
        """
        return self._began + timedelta(seconds=self._steady() - self._at)

    def note(self, *events: Event, taken: str = "", cause: str = "", blobs: list[Blob] | None = None) -> None:
        """Add events, with what becomes visible by them; ``taken`` is the inbox item they take in."""
        note = _Note(self.execution.seq, [], [], [taken] if taken else [], blobs or [])
        self._notes.append(note)
        for event in events:
            envelope = Envelope(
                execution=self._name,
                seq=self.execution.seq + 1,
                at=self.now(),
                fence=self._lease.fence,
                event=event,
                cause=cause,
                build=self._build,
            )
            note.outbox.extend(visible(self.execution, envelope))
            note.events.append(envelope)
            self.execution = evolve(self.execution, envelope)

    @property
    def uncommitted(self) -> bool:
        """Something was noted that is not durable yet."""
        return any(note.events for note in self._notes)

    async def commit(self) -> None:
        """Make what was noted durable in one transaction, then show it to the sinks.  Raises ``StoreError``.

        What is more than the store writes at once is written in several, in order; what was noted together stays so.
        """
        if self.uncommitted:
            notes, self._notes = self._notes, []
            await self._write(notes)

    async def _write(self, notes: Sequence[_Note]) -> None:
        events = [envelope for note in notes for envelope in note.events]
        outbox = [item for note in notes for item in note.outbox]
        taken = [item for note in notes for item in note.taken]
        blobs = [blob for note in notes for blob in note.blobs]
        reach("loop.commit.before")
        try:
            await self._store.append(self._name, notes[0].after, self._lease, events, outbox, taken, blobs)
        except AppendTooLarge:
            if len(notes) == 1:
                raise
            await self._write(notes[: len(notes) // 2])
            await self._write(notes[len(notes) // 2 :])
            return
        reach("loop.commit.after")
        for envelope in events:
            for sink in self._sinks:
                sink.saw(envelope)

    def streamed(self, text: str) -> None:
        """Show a piece of text that is not durable."""
        for sink in self._sinks:
            sink.streamed(self._name, text)
