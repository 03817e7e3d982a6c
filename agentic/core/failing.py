"""What follows when a provider fails: another model of the tier, then a back-off, then a visible end."""

from __future__ import annotations

from datetime import timedelta

from agentic.core.actions import Timer
from agentic.core.closing import unseen
from agentic.core.compacting import overflow_helped
from agentic.core.completion import changed_files
from agentic.core.events import FailureClass, Finished
from agentic.core.evolving import MINUTES
from agentic.core.execution import Execution
from agentic.core.identity import digest

_PASSING: frozenset[FailureClass] = frozenset(("unavailable", "rate_limited", "timed_out"))
_AGAIN: frozenset[FailureClass] = frozenset(("lost", "cancelled"))
_OF_AN_ACCOUNT: frozenset[FailureClass] = frozenset(("key_refused", "quota_used_up"))
"""Another provider's model of the same tier may still answer."""
_AT_ONCE: frozenset[FailureClass] = frozenset((*_AGAIN, "context_overflow"))
"""What follows needs no time."""
_LONGEST = 60.0
_LONGEST_ASKED = 300.0
"""A provider that asks for a longer pause than this, in seconds, is not waited for."""

_ADVICE: dict[FailureClass, str] = {
    "key_refused": "The provider refused the API key. Set a key that may use this model, then write the task again.",
    "quota_used_up": "The provider's account has no credit left. Top it up or set another model, then write the task again.",
    "context_overflow": "The conversation is longer than this model can read. Start a new thread with a shorter task.",
    "content_filtered": "The provider refused to answer because of its content rules. Put the task in other words.",
    "unpriced": "A model of the settings has no price, so no budget could be kept. Whoever runs the bot can give it one.",
    "library_broken": "This is no fault of the task: mend what is said below, then write the task again.",
    "bad_request": "The provider does not accept the request. Check the model's name in the settings.",
    "unavailable": "The provider could not be reached. Write the task again later.",
    "rate_limited": "The provider's rate limit did not clear in time. Write the task again later.",
    "timed_out": "The model did not answer in time. Write the task again later.",
}


def standing_timers(execution: Execution) -> tuple[Timer, ...]:
    """The cap on wall time, which does not run while a person is asked or holds it."""
    if execution.started_at is None or execution.resting_since is not None or execution.spent.minutes_passed:
        return ()
    seconds = 60 * (execution.policy.max_minutes + execution.caps.minutes) + execution.spent.waiting
    return (Timer(MINUTES, execution.started_at + timedelta(seconds=seconds)),)


def is_final(execution: Execution) -> bool:
    """The last failure cannot pass by itself, or too many came in a row."""
    failed = execution.failure.last
    if failed is None or failed.failure in _AGAIN:
        return False
    if failed.failure == "context_overflow":
        return not overflow_helped(execution)
    if failed.failure in _PASSING:
        too_long = (failed.retry_after or 0.0) > _LONGEST_ASKED
        return too_long or execution.failure.count >= execution.policy.model_attempts
    models = _models(execution)
    others = len({_provider(model) for model in models}) > 1
    return failed.failure not in _OF_AN_ACCOUNT or not others or execution.failure.count >= len(models)


def back_off(execution: Execution) -> Timer | None:
    """How long to wait before the tier is tried from its first model again; None where nothing is waited for.

    Doubles with each pass through the tier, spread by a quarter so that many threads do not come back at once
    (derived from the log's position, for the core draws no random numbers).
    """
    failure = execution.failure
    if failure.last is None or failure.last.failure in _AT_ONCE or failure.waited or failure.at is None:
        return None
    models = max(len(_models(execution)), 1)
    if failure.count % models:
        return None
    passes = failure.count // models
    spread = 0.75 + 0.5 * int(digest(execution.id, execution.seq, length=3), 16) / 16**3
    seconds = min(execution.policy.retry_base_seconds * 2 ** (passes - 1), _LONGEST) * spread
    seconds = max(seconds, failure.last.retry_after or 0.0)
    return Timer(f"retry:{failure.last.request}", failure.at + timedelta(seconds=seconds))


def _provider(model: str) -> str:
    """The account a name is charged to, near enough: what stands before the first / or -."""
    return model.replace("-", "/").partition("/")[0]


def _models(execution: Execution) -> tuple[str, ...]:
    return next((tier.models for tier in execution.policy.tiers if tier.number == execution.tier), ())


def ended(execution: Execution) -> Finished:
    """The end that says what failed and what to do."""
    failed = execution.failure.last
    kind: FailureClass = failed.failure if failed else "bad_request"
    detail = f"\n\n> {failed.message}" if failed and failed.message else ""
    return Finished(
        reason="failed",
        answer=f"I could not go on. {_ADVICE.get(kind, '')}{unseen(execution)}{detail}",
        files=changed_files(execution.deeds),
        confidence=execution.confidence.shown if execution.confidence else 0,
    )
