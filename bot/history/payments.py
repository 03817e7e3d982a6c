"""What was paid for a task, event by event: the one way in which the console counts money; pure.

Counted are answers, requests without an answer as the budget counts them, and what helpers had spent when they ended. What
a task copied from the one that it goes on from was paid there, and is told apart. The tour costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from agentic.core.events.execution_events import (
    Envelope,
    Event,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    Started,
    SubagentFinished,
    Usage,
)
from agentic.core.fold.model_requests import cost_of_failure

HELPER = "helper"
"""The purpose of what a helper had spent."""
UNKNOWN = "unknown"
SLIGHT = 1e-9
"""US dollars that are an error of adding up."""
_NOTHING = Usage()


@dataclass(frozen=True, slots=True)
class Payment:
    """One request, or what a helper spent at one model, which has no tokens of its own in ``used``."""

    at: datetime
    model: str
    usd: float
    tokens: int
    purpose: str = "turn"
    tier: int = 0
    used: Usage = _NOTHING
    failed: bool = False
    estimated: bool = False
    """The provider did not say everything; some of it is our own count."""
    copied: bool = False
    """It was paid by the task that this one goes on from."""

    @property
    def name(self) -> str:
        """The model, and what it was asked for where that was no turn."""
        return self.model if self.purpose == "turn" else f"{self.model} ({self.purpose})"


class Payments:
    """Says of each event what was paid with it; events are given in their order."""

    def __init__(self) -> None:
        self._asked: dict[str, ModelRequested] = {}
        self._copied, self._free = 0, False

    def of(self, envelope: Envelope) -> list[Payment]:
        """What the event tells of; empty for most."""
        found = self._told(envelope, envelope.event)
        return [replace(paid, usd=0.0) for paid in found] if self._free else found

    def _told(self, envelope: Envelope, event: Event) -> list[Payment]:
        at, copied = envelope.at, envelope.seq <= self._copied
        match event:
            case Started():
                self._copied = event.forked_from[1] if event.forked_from is not None else 0
                self._free = event.policy.tour
            case ModelRequested():
                self._asked[event.request] = event
            case ModelAnswered():
                asked = self._asked.pop(event.request, None)
                model = (asked.model if asked is not None else "") or event.served_by or UNKNOWN
                purpose, tier = (asked.purpose, asked.tier) if asked is not None else ("turn", 0)
                tokens = event.usage.total
                return [
                    Payment(at, model, event.usd, tokens, purpose, tier, event.usage, False, event.estimated, copied)
                ]
            case ModelFailed():
                asked = self._asked.pop(event.request, None)
                purpose, tier = (asked.purpose, asked.tier) if asked is not None else ("turn", 0)
                usd = cost_of_failure(event, asked.reserved_usd if asked is not None else 0.0)
                model, used = (asked.model if asked is not None else "") or UNKNOWN, event.usage
                return [
                    Payment(
                        at, model, usd, used.total, purpose, tier, used, failed=True, estimated=bool(usd), copied=copied
                    )
                ]
            case SubagentFinished():
                models, tokens = dict(event.models), event.spent_tokens
                rest = event.spent_usd - sum(models.values())
                if abs(rest) > SLIGHT or (tokens and not models):
                    models[UNKNOWN] = models.get(UNKNOWN, 0.0) + rest
                return [
                    Payment(at, model, usd, 0 if place else tokens, HELPER, copied=copied)
                    for place, (model, usd) in enumerate(models.items())
                ]
            case _:
                pass
        return []


def after_the_end(outcome: Iterable[Envelope]) -> list[Payment]:
    """What was paid after the end of a task, to learn from it."""
    payments = Payments()
    return [payment for envelope in outcome for payment in payments.of(envelope)]
