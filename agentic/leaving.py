"""How a process leaves its executions in order: what is in the middle has a little time to end, and nothing new begins."""

from __future__ import annotations

from agentic.core.actions import Action, Checkpoint, Inspect, Think, UseTools, Wait
from agentic.core.lazy_dataclass import dataclass


@dataclass(slots=True)
class Leaving:
    """Set where the process ends in order; shared by every execution of the process."""

    until: float | None = None
    """By the monotonic clock; None while nobody leaves."""

    def from_here(self, action: Action, now: float, *, running: bool) -> bool:
        """Whether an execution is left before this action; ``running``: an effect of it has not ended yet."""
        if self.until is None:
            return False
        begins = isinstance(action, Think | UseTools | Checkpoint | Inspect)
        return begins or now >= self.until or (isinstance(action, Wait) and not running)

    def patience(self, seconds: float | None, now: float) -> float | None:
        """How long to wait, where ``seconds`` would be without leaving."""
        if self.until is None:
            return seconds
        left = max(self.until - now, 0.0)
        return left if seconds is None else min(left, seconds)
