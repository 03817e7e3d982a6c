"""The part of the fold that counts what calls for a stronger model."""

from __future__ import annotations

from agentic.core.events import Confidence, Envelope, InputReceived, StrongerWanted
from agentic.core.execution import Execution
from agentic.core.frozen import changed
from agentic.core.judging import Climb


def turn_ended(execution: Execution, confidence: Confidence) -> Climb:
    """A turn more, before it counts as ended."""
    climb = execution.judged.climb
    low = confidence.heuristic < execution.policy.low_confidence
    files = any(call.result is not None and call.result.changes for call in execution.turn.calls)
    return changed(
        climb,
        low_turns=climb.low_turns + 1 if low else 0,
        unchanged_turns=0 if files else climb.unchanged_turns + 1,
    )


def corrected(execution: Execution) -> Climb:
    """A person said that it was wrong."""
    climb = execution.judged.climb
    return changed(climb, corrections=climb.corrections + 1)


def asked_for(execution: Execution, event: InputReceived) -> Execution:
    """A person wants a stronger model."""
    climb = changed(execution.judged.climb, wanted=f"{event.author.name} asked for it")
    return changed(execution, judged=changed(execution.judged, climb=climb))


def stronger_wanted(execution: Execution, event: StrongerWanted, envelope: Envelope) -> Execution:
    """The model wants a stronger one."""
    climb = changed(execution.judged.climb, wanted=f"it asked for it: {event.reason}")
    return changed(execution, judged=changed(execution.judged, climb=climb))
