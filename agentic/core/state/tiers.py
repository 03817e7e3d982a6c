"""Tiers and their models: which one stands above, which below, what a change of tier does to the price."""

from __future__ import annotations

from agentic.core.events.execution_events import TOUR, Policy, Triaged
from agentic.core.state.execution import Execution

_READ_FOR_EACH_WRITTEN = 20
"""Tokens that a turn reads for each one it writes, near enough."""


def starting_tier(policy: Policy) -> int:
    """Where an execution begins: the lowest configured tier from the policy's start up, else the highest."""
    configured = sorted(tier.number for tier in policy.tiers)
    above = (number for number in configured if number >= policy.starting_tier)
    return next(above, configured[-1] if configured else policy.starting_tier)


def tier_for(execution: Execution, triaged: Triaged) -> int:
    """The tier once it is known what the task is: its role may prefer a higher one, and a complex task may begin a tier
    higher, where the policy says so; what somebody chose to begin with stays.
    """
    start = starting_tier(execution.policy)
    if execution.turn.number > 0 or triaged.talk or execution.tier != start:
        return execution.tier
    preferred = _preferred(execution.policy, triaged)
    if execution.policy.start_chosen:
        return preferred
    if triaged.complexity != "complex" or not execution.policy.complex_starts_higher:
        return preferred
    higher = next_tier(execution) or start
    return max(preferred, higher) if not triaged.role_levels or higher in triaged.role_levels else preferred


def _preferred(policy: Policy, triaged: Triaged) -> int:
    """The highest configured tier up to the one that the role prefers, never below the usual one; a choice stays.

    Where the role may work in some tiers alone it is the lowest of these from there up, else the highest below.
    """
    start = starting_tier(policy)
    if policy.start_chosen:
        return start
    best = max((tier.number for tier in policy.tiers if start <= tier.number <= triaged.role_tier), default=start)
    allowed = sorted(tier.number for tier in policy.tiers if tier.number in triaged.role_levels)
    if not allowed:
        return best
    return next((number for number in allowed if number >= best), allowed[-1])


def next_tier(execution: Execution) -> int | None:
    """The next higher tier that has a model to ask, or None at the top."""
    return min((number for number in _usable(execution) if number > execution.tier), default=None)


def strongest(execution: Execution) -> str:
    """What people read of the model above which there is none for this execution."""
    levels = execution.triage.role_levels if execution.triage is not None else ()
    above = any(tier.number > execution.tier for tier in execution.policy.tiers)
    return "the strongest model that my role may use" if levels and above else "the strongest model"


def tier_below(execution: Execution) -> int | None:
    """The next lower tier that has a model to ask, never below the one it began with; None where there is none."""
    policy, triaged = execution.policy, execution.triage
    lowest = starting_tier(policy) if triaged is None else _preferred(policy, triaged)
    return max((number for number in _usable(execution) if lowest <= number < execution.tier), default=None)


def _usable(execution: Execution) -> tuple[int, ...]:
    """The tiers with a model that its provider may know, of those that its role may work in."""
    unknown, levels = execution.unknown, execution.triage.role_levels if execution.triage is not None else ()
    return tuple(
        tier.number
        for tier in execution.policy.tiers
        if not unknown.issuperset(tier.models) and (not levels or tier.number in levels)
    )


def models_of(policy: Policy, tier: int) -> tuple[str, ...]:
    """The models of a tier, the preferred one first."""
    return next((one.models for one in policy.tiers if one.number == tier), ())


def left_of(execution: Execution, tier: int) -> tuple[str, ...]:
    """The models of a tier without those that their provider does not know; all of them where it knows none."""
    every = models_of(execution.policy, tier)
    return tuple(model for model in every if model not in execution.unknown) or every


def model_of(execution: Execution) -> str:
    """The model to ask: of the present tier, the next one after each failure in a row.

    Whoever reviews is not asked to look at their own work, where the tier has another model.
    """
    every = left_of(execution, execution.tier)
    wrote = execution.triage.not_by if execution.triage is not None else ()
    models = tuple(model for model in every if model not in wrote) or every
    return models[execution.failure.count % len(models)] if models else TOUR


def first_of(policy: Policy, tier: int) -> str:
    """The preferred model of a tier; '' where it has none."""
    return next(iter(models_of(policy, tier)), "")


def chosen_for(policy: Policy) -> str:
    """The model that lessons are chosen for, before it is known what the task is: the first one of where it begins."""
    return first_of(policy, starting_tier(policy))


def times_dearer(policy: Policy, before: str, after: str) -> float | None:
    """How many times as much a turn of ``after`` costs as the same turn of ``before``; None where a price is unknown."""
    known = policy.prices.get(before), policy.prices.get(after)
    if known[0] is None or known[1] is None or not any(known[0]):
        return None
    was, becomes = (_READ_FOR_EACH_WRITTEN * price[0] + price[1] for price in known if price is not None)
    return becomes / was


def short(model: str) -> str:
    """A model's name for people: without the provider before it."""
    return model.rpartition("/")[2]
