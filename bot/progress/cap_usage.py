"""How much of its caps an execution has used, for people; no I/O.

The core's own fold (``evolve``) counts, over only the events that concern a cap: so people read the numbers that the
rules use, and no history is kept twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from agentic.core.events.execution_events import (
    Asked,
    Decided,
    Envelope,
    Finished,
    InputReceived,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    OwnerChanged,
    PolicyChanged,
    Quarantined,
    Started,
    SubagentFinished,
    Triaged,
    WorkspaceRestored,
)
from agentic.core.fold.fold import evolve
from agentic.core.fold.model_requests import cost_of_failure
from agentic.core.fold.people import worked
from agentic.core.rules.used_up_limits import (
    WARNED,
    minute_cap,
    token_cap,
    usd_cap,
)
from agentic.core.state.execution import Execution

_CONCERNED = (
    Started | Triaged | Asked | Decided | InputReceived | PolicyChanged | OwnerChanged | Quarantined | WorkspaceRestored
    | Finished
)  # fmt: skip
"""Events that set a cap, raise it, or say when its clock stops and runs; requests are counted apart from them."""


@dataclass(frozen=True, slots=True)
class Use:
    """The used part of a cap; at most one request more than the cap."""

    what: Literal["usd", "tokens", "turns", "minutes"]
    used: float
    cap: float


@dataclass(slots=True)
class Limits:
    """What one execution has used, and may use."""

    _state: Execution = field(default_factory=Execution)
    _at: datetime | None = None
    _reserved: float = 0.0
    """US dollars that the newest request could cost."""
    _turn: int = 0
    usd: float = 0.0
    """US dollars that count as spent; for a lost request, the amount that was reserved."""
    estimated: int = 0
    """Number of requests in that sum whose usage the provider did not fully report."""
    _tokens: int = 0

    def take(self, envelope: Envelope) -> None:
        """Count one more event."""
        match envelope.event:
            case ModelRequested() as event:
                self._reserved, self._turn = event.reserved_usd, event.turn
            case ModelAnswered() as event:
                self.usd += event.usd
                self.estimated += event.estimated and bool(event.usd)
                self._tokens += event.usage.total
            case ModelFailed() as event:
                lost = cost_of_failure(event, self._reserved)
                self.usd += lost
                self.estimated += bool(lost)
                self._tokens += event.usage.total
            case SubagentFinished() as event:
                self.usd += event.spent_usd
                self._tokens += event.spent_tokens
            case event if isinstance(event, _CONCERNED):
                self._state = evolve(replace(self._state, at=self._at), envelope)
            case _:
                pass
        self._at = envelope.at

    def uses(self, now: datetime | None = None) -> tuple[Use, ...]:
        """Return all four caps as of ``now`` or the latest event."""
        state = self._state
        return (
            Use("usd", self.usd, usd_cap(state)),
            Use("tokens", self._tokens, token_cap(state)),
            Use("turns", self._turn, state.turn_limit),
            Use("minutes", self._minutes(now), minute_cap(state)),
        )

    def near(self, now: datetime | None = None) -> tuple[Use, ...]:
        """Return the caps of which at least four fifths are used."""
        return tuple(use for use in self.uses(now) if use.used and use.used >= WARNED * use.cap)

    def _minutes(self, now: datetime | None) -> float:
        """Return the minutes used; the clock stops while a person is asked or has paused the execution."""
        until = self._state.resting_since or now or self._at
        return max(worked(self._state, until), 0.0) / 60 if until is not None else 0.0
