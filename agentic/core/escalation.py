"""When to move up a tier.  All triggers count from the last escalation; after one, none fires for two turns."""

from __future__ import annotations

from agentic.core.execution import Execution


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
