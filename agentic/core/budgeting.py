"""Caps that end the work, or are put to a person: turns, tokens, money, minutes."""

from __future__ import annotations

from agentic.core import asking
from agentic.core.actions import Action, Ask, Finish
from agentic.core.closing import at_limit, close, ended_for
from agentic.core.events import BudgetRefused, Finished
from agentic.core.execution import Execution


def out_of_time(execution: Execution) -> Action | None:
    """The wall-time cap ends the execution, also in the middle of an effect."""
    if not execution.spent.minutes_passed:
        return None
    return close(execution, out_of_minutes(execution), "the time is used up")


def budget(execution: Execution) -> Action | None:
    """Tokens or money are used up: end visibly."""
    if not over_budget(execution):
        return None
    return close(execution, out_of_budget(execution), "the budget is used up")


def limit(execution: Execution) -> Action | None:
    """At the turn limit the person is asked to extend it; it is never extended by itself."""
    if execution.turn.number < execution.turn_limit or not execution.turn.ended:
        return None
    if execution.attended:
        return Ask(asking.extension(execution))
    return Finish(at_limit(execution))


def over_budget(execution: Execution) -> bool:
    """Tokens or dollars have reached their cap, or there was no room for a request in one that executions share."""
    policy, caps, spent = execution.policy, execution.caps, execution.spent
    if execution.refused is not None:
        return True
    return spent.tokens >= policy.max_tokens + caps.tokens or spent.usd >= policy.max_usd + caps.usd


def out_of_minutes(execution: Execution) -> Finished:
    """The end at the wall-time cap."""
    minutes = execution.policy.max_minutes + execution.caps.minutes
    return ended_for(execution, "budget", f"I stopped: the {minutes:g} minutes for this task are used up.")


def out_of_budget(execution: Execution) -> Finished:
    """The end at the cap on tokens or money."""
    policy, caps, spent = execution.policy, execution.caps, execution.spent
    if execution.refused is not None:
        return ended_for(execution, "budget", _shared(execution, execution.refused))
    if spent.usd >= policy.max_usd + caps.usd:
        return ended_for(
            execution, "budget", f"I stopped: the budget of {_dollars(policy.max_usd + caps.usd)} is used up."
        )
    return ended_for(
        execution, "budget", f"I stopped: the budget of {policy.max_tokens + caps.tokens:,} tokens is used up."
    )


def _shared(execution: Execution, refused: BudgetRefused) -> str:
    """Which cap it is, what is left of it, and what can be done."""
    whose = {"person": f"for {execution.requester.name}", "guild": "for this server", "bot": "for this bot"}
    budget = f"today's budget of {_dollars(refused.cap_usd)} {whose[refused.whose]}"
    left = refused.cap_usd - refused.spent_usd
    why = f"{budget} is used up."
    if left > 0:
        why = (
            f"of {budget} only {_dollars(left)} is left, counting what other tasks have set aside, "
            f"and my next step may cost {_dollars(refused.needed_usd)}."
        )
    return (
        f"I stopped: {why} It begins anew at 00:00 UTC; then write the task again. "
        "Who runs the bot can set a higher one."
    )


def _dollars(amount: float) -> str:
    return f"${amount:.2f}" if amount >= 0.01 else f"${amount:.6f}".rstrip("0")
