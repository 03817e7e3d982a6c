"""What follows when a provider fails: a back-off, another model of the tier, and after several a visible end.

Where an account has to be put in order (a refused key, no credit) nothing is tried again: it rests, and says what to do.
"""

from __future__ import annotations

from datetime import timedelta

from agentic.core.claims.completion import shown_files
from agentic.core.events.execution_events import (
    Asked,
    Escalated,
    FailureClass,
    Finished,
    Option,
)
from agentic.core.events.ids import digest, question_id
from agentic.core.fold.fold import MINUTES
from agentic.core.rules.compaction import overflow_helped
from agentic.core.rules.task_end import unseen
from agentic.core.state.actions import Timer
from agentic.core.state.execution import Execution
from agentic.core.state.tiers import first_of, left_of, next_tier, short, tier_below
from agentic.core.text.amounts import STOP

_PASSING: frozenset[FailureClass] = frozenset(("unavailable", "rate_limited", "timed_out"))
_AGAIN: frozenset[FailureClass] = frozenset(("lost", "cancelled"))
_OF_AN_ACCOUNT: frozenset[FailureClass] = frozenset(("key_refused", "quota_used_up"))
"""Another provider's model of the same tier may still answer."""
_ASKED: frozenset[FailureClass] = frozenset((*_OF_AN_ACCOUNT, "model_unknown"))
"""What a person has to put in order, or to choose another way around."""
_AT_ONCE: frozenset[FailureClass] = frozenset((*_AGAIN, "context_overflow"))
"""What follows needs no time."""
_LONGEST = 60.0
_LONGEST_ASKED = 300.0
"""A provider that asks for a longer pause than this, in seconds, is not waited for."""

AGAIN, HIGHER = "again", "higher"
"""The choices to ask the same model again, and one of the next tier."""
_PAUSED: dict[FailureClass, str] = {
    "key_refused": "Paused: the provider refused the API key for {model}. Ask whoever runs the bot to set a valid key "
    "(`threadwright setup`) and restart, then press “Try again”. Nothing is lost.",
    "quota_used_up": "Paused: the provider's account for {model} has no credit left. Ask whoever runs the bot to add credit, "
    "or to set another model (`threadwright setup`) and restart; then press “Try again”. Nothing is lost.",
    "model_unknown": "Paused: the provider doesn't know the model {model}. I can continue with a stronger one now. Whoever "
    "runs the bot can correct the name in `THREADWRIGHT_TIER_{tier}` (`threadwright setup` lists names that work) and restart "
    "me; tasks that start after that use it.",
}

_ADVICE: dict[FailureClass, str] = {
    "key_refused": "The provider refused the API key. Ask whoever runs the bot to set a valid key, then write the task again.",
    "quota_used_up": "The provider's account has no credit left. Ask whoever runs the bot to add credit or set another model, "
    "then write the task again.",
    "context_overflow": "The conversation is too long for this model. Start a new thread with a shorter task.",
    "content_filtered": "The provider's content rules refused this. Put the task in other words.",
    "unpriced": "A configured model has no price, so I couldn't keep to a budget. Ask whoever runs the bot to set its price.",
    "library_broken": "The task is not to blame: something on the bot's machine is broken. Ask whoever runs the bot to fix "
    "what is said below, then write the task again.",
    "bad_request": "The provider rejected the request. Ask whoever runs the bot to check the model's name.",
    "model_unknown": "The provider doesn't know the model {model}. Ask whoever runs the bot to correct its name in "
    "`THREADWRIGHT_TIER_{tier}` (`threadwright setup` lists names that work) and to restart me. Then press 🔄 below, or "
    "write the task again.",
    "unavailable": "The provider could not be reached. Write the task again later.",
    "rate_limited": "The provider's rate limit didn't clear in time. Write the task again later.",
    "timed_out": "The model didn't answer in time. Write the task again later.",
}

_TOO_SMALL = (
    "This model's context window is too small: my instructions, the tools and your message don't fit. Ask whoever runs the "
    "bot to give it a larger window (16,000 tokens or more) or to set another model."
)


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
    if failed.failure == "model_unknown":
        return execution.unknown.issuperset(models)
    others = len({_provider(model) for model in models}) > 1
    return failed.failure not in _OF_AN_ACCOUNT or not others or execution.failure.count >= len(models)


def account(execution: Execution) -> Asked | None:
    """What people are told of an account that has to be put in order; None where it is no such thing, or nobody reads it."""
    failed = execution.failure.last
    if failed is None or failed.failure not in _ASKED or not execution.attended:
        return None
    option = _way_on(execution, failed.failure)
    if option is None:
        return None
    detail = f"\n> {' '.join(failed.message.split())[:500]}" if failed.message else ""
    return Asked(
        question=question_id(execution.id, execution.seq + 1),
        text=_PAUSED[failed.failure].format(model=model_of_last(execution), tier=execution.tier) + detail,
        options=(option, Option(id=STOP, label="Stop here")),
        what="account",
    )


def _way_on(execution: Execution, failure: FailureClass) -> Option | None:
    """What a person can choose but to stop; nothing where no other tier is above.

    To ask an unknown model again is in vain: this execution keeps the name that it began with.
    """
    if failure in _OF_AN_ACCOUNT:
        return Option(id=AGAIN, label="Try again", description="once it is in order")
    higher = next_tier(execution)
    if higher is None:
        return None
    name = short(left_of(execution, higher)[0])
    return Option(id=HIGHER, label=f"Use {name[:60]}", description=f"the model of tier {higher}")


def other_tier(execution: Execution) -> Escalated | None:
    """The tier that a person chose in the place of one whose model is not known; None where they chose another way."""
    chosen, higher = execution.decided, next_tier(execution)
    if chosen is None or chosen.choice != HIGHER or higher is None:
        return None
    return _instead(execution, higher)


def tier_back(execution: Execution) -> Escalated | None:
    """The tier that worked before, where the one that took over has no model that is known and none follows above."""
    failed, lower = execution.failure.last, tier_below(execution)
    if failed is None or failed.failure != "model_unknown" or lower is None:
        return None
    return _instead(execution, lower)


def _instead(execution: Execution, tier: int) -> Escalated:
    """Another tier in the place of one whose models are not known."""
    model = first_of(execution.policy, execution.tier)
    return Escalated(
        from_tier=execution.tier, to_tier=tier, trigger=f"the provider doesn't know {short(model)}", rule="model_unknown",
        from_model=model, to_model=left_of(execution, tier)[0],
        turn=execution.turn.number, usd=execution.spent.usd, tokens=execution.spent.tokens,
    )  # fmt: skip


def back_off(execution: Execution) -> Timer | None:
    """How long to wait before the next model of the tier is asked, or the only one again; None where not at all.

    Doubles with each pass through the tier, spread by a quarter so that many threads do not come back at once (derived
    from the log's position, for the core draws no random numbers).  How long a provider asks to be left alone holds for
    its own model.
    """
    failure = execution.failure
    if failure.last is None or failure.last.failure in _AT_ONCE or failure.waited or failure.at is None:
        return None
    if failure.last.failure not in _PASSING:
        return None
    models = max(len(_models(execution)), 1)
    passes = (failure.count - 1) // models
    spread = 0.75 + 0.5 * int(digest(execution.id, execution.seq, length=3), 16) / 16**3
    seconds = min(execution.policy.retry_base_seconds * 2**passes, _LONGEST) * spread
    asked = failure.last.retry_after or 0.0
    seconds = seconds if failure.count % models else max(seconds, asked)
    return Timer(f"retry:{failure.last.request}", failure.at + timedelta(seconds=seconds))


def _provider(model: str) -> str:
    """The account a name is charged to, near enough: what stands before the first / or -."""
    return model.replace("-", "/").partition("/")[0]


def _models(execution: Execution) -> tuple[str, ...]:
    return left_of(execution, execution.tier)


def model_of_last(execution: Execution) -> str:
    """The model whose request failed last."""
    return short(execution.failure.model) if _models(execution) else "the model"


def ended(execution: Execution) -> Finished:
    """The end that says what failed and what to do."""
    failed = execution.failure.last
    kind: FailureClass = failed.failure if failed else "bad_request"
    detail = f"\n\n> {failed.message}" if failed and failed.message else ""
    unanswered = not any(message.role == "assistant" for message in execution.history)
    advice = _TOO_SMALL if kind == "context_overflow" and unanswered else _ADVICE.get(kind, "")
    if kind == "model_unknown":
        advice = advice.format(model=model_of_last(execution), tier=execution.tier)
    return Finished(
        reason="failed",
        answer=f"I couldn't continue. {advice}{unseen(execution)}{detail}",
        files=shown_files(execution),
        confidence=execution.confidence.shown if execution.confidence else 0,
    )
