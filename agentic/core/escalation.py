"""When to move up a tier.  All triggers count from the last escalation; after one, none fires for two turns."""

from __future__ import annotations

from agentic.core import asking, closing
from agentic.core.actions import Action, Ask, Finish, Record
from agentic.core.events import Escalated
from agentic.core.execution import Execution


def escalate(execution: Execution) -> Action | None:
    """Stuck: a stronger model; at the top the person; where nobody can answer, the end."""
    why = trigger(execution)
    if not why or not execution.turn.ended:
        return None
    higher = next_tier(execution)
    if higher is not None:
        return Record((Escalated(from_tier=execution.tier, to_tier=higher, trigger=why),))
    if execution.attended:
        return Ask(asking.stuck(execution, why))
    return Finish(closing.stuck(execution, why))


def trigger(execution: Execution) -> str:
    """Why a stronger model should take over now, in words for people; '' where nothing calls for it."""
    judged, policy = execution.judged, execution.policy
    if judged.empty_answers > policy.empty_answers_nudged:
        return "it gave only empty answers"
    rested = execution.turn.number - judged.escalated_at_turn > policy.escalation_hysteresis
    if judged.escalated_at_turn and not rested:
        return ""
    if judged.stuck_since:
        return "it reported that it is stuck"
    if judged.same_error >= policy.same_error_escalates:
        return f"the same error came {judged.same_error} times"
    return ""


def next_tier(execution: Execution) -> int | None:
    """The next higher configured tier, or None at the top."""
    return min((tier.number for tier in execution.policy.tiers if tier.number > execution.tier), default=None)


def model_of(execution: Execution) -> str:
    """The model to ask: of the present tier, the next one after each failure in a row."""
    models = next((tier.models for tier in execution.policy.tiers if tier.number == execution.tier), ())
    return models[execution.failure.count % len(models)] if models else "scripted/tour"
