"""The log of a task, without secrets, with what is derived from it as it grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, cast

from agentic.core.events.execution_events import Envelope
from agentic.core.fold.fold import evolve
from agentic.core.state.execution import Execution
from agentic.ports.runtime import ExecutionRow, SessionRow
from bot.console.views.story import Story
from bot.rendering.secrets import Discretion

MARK = 500
"""The state after each so many events is kept; an earlier state is folded from the nearest one."""


class LogReading(Protocol):
    """Something that is made of a log event by event."""

    def take(self, envelope: Envelope) -> None:
        """Add an event."""
        ...


R = TypeVar("R", bound=LogReading)


@dataclass(slots=True, weakref_slot=True)
class TaskLog:
    """A task's events so far. ``row`` is as it was when the log was read last; ``session`` is its thread."""

    row: ExecutionRow
    session: SessionRow | None
    events: list[Envelope] = field(default_factory=list[Envelope])
    outcome: list[Envelope] = field(default_factory=list[Envelope])
    """What followed the end: votes, scores, lessons."""
    story: Story = field(default_factory=Story)
    folded: Execution = field(default_factory=Execution)
    """The state that the rules read, after the last event."""
    marks: list[Execution] = field(default_factory=list[Execution])
    """The states after each ``MARK`` events. They share what did not change between them."""
    mark: str = ""
    """The mark of the last erasure before it was read; what was read before a later one is not shown."""
    hidden: int = 0
    """Sequence number of the first event that a secret was taken out of; 0 for none."""
    size: int = 0
    """Characters of all texts in it."""
    said: str = ""
    """The task's words as the store has them."""
    _readings: dict[type[LogReading], tuple[LogReading, int]] = field(
        default_factory=dict[type[LogReading], tuple[LogReading, int]]
    )

    @property
    def execution(self) -> str:
        """The task's id."""
        return self.row.execution

    @property
    def ended(self) -> bool:
        """Whether nothing is added to it but what follows the end."""
        return self.folded.finished is not None

    def reading(self, sort: type[R]) -> R:
        """What this sort of reading makes of the log: begun when it is first asked for, then only continued."""
        kept, taken = self._readings.get(sort) or (sort(), 0)
        for envelope in self.events[taken:]:
            kept.take(envelope)
        self._readings[sort] = kept, len(self.events)
        return cast("R", kept)

    def take(self, envelopes: Sequence[Envelope], discretion: Discretion) -> None:
        """Add events that were just read, without the secrets in them."""
        shown_ones, size = shown_events(envelopes, discretion)
        self.size += size
        for envelope, shown in zip(envelopes, shown_ones, strict=True):
            if shown is not envelope:
                self.hidden = self.hidden or envelope.seq
            self.events.append(shown)
            self.story.take(shown)
            self.folded = evolve(self.folded, shown)
            if len(self.events) % MARK == 0:
                self.marks.append(self.folded)

    def near(self, seq: int) -> Execution:
        """A state that is kept, after the event ``seq`` or some before it; the empty one where none is."""
        place = min(max(seq, 0) // MARK, len(self.marks))
        return self.marks[place - 1] if place else Execution()


def shown_events(envelopes: Sequence[Envelope], discretion: Discretion) -> tuple[Sequence[Envelope], int]:
    """Events as they may be shown, and how many characters their texts have.

    They are the very same events where they hold no secret, which is looked for in all at once.
    """
    hides, size = discretion.hides(envelope.event.model_dump(mode="json") for envelope in envelopes)
    if not hides:
        return envelopes, size
    return [without_secrets(envelope, discretion) for envelope in envelopes], size


def without_secrets(envelope: Envelope, discretion: Discretion) -> Envelope:
    """An event as it may be shown; itself where it holds no secret."""
    content = envelope.event.model_dump(mode="json")
    if not discretion.hides([content])[0]:
        return envelope
    clean = type(envelope.event).model_validate(discretion.everywhere(content))
    return envelope.model_copy(update={"event": clean})
