"""Tiers and their models: which one stands above, which below, what a change of tier does to the price."""

from __future__ import annotations

from agentic.core.events import TOUR, Policy, Triaged
from agentic.core.execution import Execution

_READ_FOR_EACH_WRITTEN = 20
"""Tokens that a turn reads for each one it writes, near enough."""


def starting_tier(policy: Policy) -> int:
    """Where an execution begins: the lowest configured tier from the policy's start up, else the highest."""
    configured = sorted(tier.number for tier in policy.tiers)
    above = (number for number in configured if number >= policy.starting_tier)
    return next(above, configured[-1] if configured else policy.starting_tier)


def tier_for(execution: Execution, triaged: Triaged) -> int:
    """The tier once it is known what the task is: a complex one may begin a tier higher, where the policy says so."""
    begun = execution.turn.number > 0 or triaged.talk or triaged.complexity != "complex"
    if begun or not execution.policy.complex_starts_higher or execution.tier != starting_tier(execution.policy):
        return execution.tier
    return next_tier(execution) or execution.tier


def next_tier(execution: Execution) -> int | None:
    """The next higher configured tier, or None at the top."""
    return min((tier.number for tier in execution.policy.tiers if tier.number > execution.tier), default=None)


def tier_below(execution: Execution) -> int | None:
    """The next lower configured tier, never below the one it began with; None where there is none."""
    lowest = starting_tier(execution.policy)
    return max((t.number for t in execution.policy.tiers if lowest <= t.number < execution.tier), default=None)


def models_of(policy: Policy, tier: int) -> tuple[str, ...]:
    """The models of a tier, the preferred one first."""
    return next((one.models for one in policy.tiers if one.number == tier), ())


def model_of(execution: Execution) -> str:
    """The model to ask: of the present tier, the next one after each failure in a row."""
    models = models_of(execution.policy, execution.tier)
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
