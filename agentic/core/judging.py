"""What the rules of judgement count beside ``Judged``: parts of the state, each with one rule that owns it."""

from __future__ import annotations

from dataclasses import dataclass

from agentic.core.events import Purpose


@dataclass(frozen=True)
class Repeats:
    """What repeats itself, for ``repetition``."""


@dataclass(frozen=True)
class Climb:
    """What calls for a stronger model; all of it counts from the last escalation, for ``climbing``."""

    low_turns: int = 0
    """Turns running whose confidence was under the threshold."""
    unchanged_turns: int = 0
    """Turns running without a file changed."""
    corrections: int = 0
    wanted: str = ""
    """Why a person or the model itself asked for a stronger model, in words; '' where nobody did."""
    advised: int = 0
    """Advices of a stronger model since the last escalation."""


@dataclass(frozen=True)
class Consulted:
    """What a request beside the turns (triage, advice, a summary) came to, until a rule has made something of it."""

    purpose: Purpose
    text: str = ""
    failed: str = ""
    """Why there is no answer, in words; '' where there is one."""
    model: str = ""
    tier: int = 0
