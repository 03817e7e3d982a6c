"""What ``decide`` can answer: the actions, and the timers that some of them wait for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from agentic.core.events.execution_events import (
    Asked,
    Departure,
    Event,
    Finished,
    Moment,
    Purpose,
)
from agentic.core.state.execution import Call

__all__ = [
    "Action", "Ask", "Cancel", "Checkpoint", "Consult", "Finish", "Inspect", "Record", "Think", "Timer", "UseTools", "Wait",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Timer:
    """When ``at`` has come, ``DeadlinePassed(ref)`` is appended."""

    ref: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Think:
    """Ask a model for the next turn; ``attempt`` counts requests for the same turn from 1."""

    turn: int
    tier: int
    model: str
    attempt: int
    max_tokens: int
    seconds: float
    purpose: Purpose = "turn"


@dataclass(frozen=True, slots=True)
class Consult:
    """Ask a model something beside the turns; it is asked once, and a failure of it blocks nothing."""

    purpose: Purpose
    turn: int
    tier: int
    model: str
    max_tokens: int
    seconds: float
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class UseTools:
    """Begin these calls together: an intent each, then the effects.

    A call that a person must approve is recorded as ``Gated`` instead, unless its approval covers it as it is now.
    """

    calls: tuple[Call, ...]
    leaving: Departure | None = None
    """The rule of two holds: a person must approve the call, whatever its tool says."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Save the workspace as it is at this ``moment``; where that already runs, wait for its end."""

    timers: tuple[Timer, ...] = ()
    moment: Moment = "first_change"


@dataclass(frozen=True, slots=True)
class Inspect:
    """Look what in the workspace differs from what the log says of it; where that already runs, wait for its end."""

    timers: tuple[Timer, ...] = ()


@dataclass(frozen=True, slots=True)
class Ask:
    """Put a question to the person."""

    asked: Asked


@dataclass(frozen=True, slots=True)
class Cancel:
    """End the effects with these ids; each of them still gets its result."""

    refs: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Record:
    """Append facts and do nothing else."""

    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """Until an effect ends, a person acts, or a timer runs out."""

    timers: tuple[Timer, ...] = ()


@dataclass(frozen=True, slots=True)
class Finish:
    """End the execution; what still runs in the sandbox is ended first unless the task is done."""

    finished: Finished


Action = Think | Consult | UseTools | Checkpoint | Inspect | Ask | Cancel | Record | Wait | Finish
