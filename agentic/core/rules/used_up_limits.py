"""Which cap an execution has reached, and how it ends or asks there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from agentic.core.events.execution_events import (
    Asked,
    BudgetRefused,
    Finished,
    Option,
    Policy,
)
from agentic.core.events.ids import question_id
from agentic.core.fold.people import worked
from agentic.core.rules.task_end import at_limit, ended_for
from agentic.core.state.execution import Execution
from agentic.core.text.amounts import (
    OPERATORS,
    STOP,
    What,
    dollars,
    offers,
)

LEAST_TURNS = 2
"""A child gets so many turns at least: one to look, one to answer."""
NEVER_PUT_ASIDE = 1_000_000
"""Crashes that no child comes to."""
READING_TURNS = 3
WARNED = 0.8
"""Of a cap: from there on people are told how much of it is used."""


def reached(execution: Execution) -> What | None:
    """The cap that holds it now: time, a budget of the day, dollars, tokens.  Turns are looked at where they end."""
    if execution.spent.minutes_passed:
        return "minutes"
    return over_budget(execution)


def over_budget(execution: Execution) -> What | None:
    """The cap on what is paid for that is reached, or into which the next request did not fit.

    A request is made while anything is left, so what is settled is at most the cap and what one request cost.
    """
    if execution.refused is not None:
        return "day"
    if execution.spent.usd >= usd_cap(execution):
        return "usd"
    return "tokens" if execution.spent.tokens >= token_cap(execution) else None


def nearly(execution: Execution, usd: float) -> str:
    """What is said once when an answer's price brings it to four fifths of its dollars; '' for every other one."""
    cap, before = usd_cap(execution), execution.spent.usd
    if not before < WARNED * cap <= before + usd < cap:
        return ""
    return f"I've spent {dollars(before + usd)} of the {dollars(cap)} for this task."


def usd_cap(execution: Execution) -> float:
    """US dollars it may spend, with what people added."""
    return execution.policy.max_usd + execution.caps.usd


def token_cap(execution: Execution) -> int:
    """Tokens it may use, with what people added."""
    return execution.policy.max_tokens + execution.caps.tokens


def minute_cap(execution: Execution) -> float:
    """Minutes it may take, with what people added."""
    return execution.policy.max_minutes + execution.caps.minutes


def granted(execution: Execution, children: int) -> Policy:
    """The policy of each of so many children that run side by side: a grant out of what is left of the caps.

    Money and tokens are divided; turns and minutes pass for all of them at once.  Nobody answers a child's questions, so none
    is put aside by itself after crashes: its parent is.
    """
    policy, spent = execution.policy, execution.spent
    turns = max(execution.turn_limit - execution.turn.number, LEAST_TURNS)
    used = worked(execution, execution.at) / 60 if execution.at is not None else 0.0
    return policy.model_copy(
        update={
            "max_usd": max(usd_cap(execution) - spent.usd, 0.0) / children,
            "max_tokens": max(token_cap(execution) - spent.tokens, 0) // children,
            "max_minutes": max(minute_cap(execution) - used, 0.0),
            "turns_simple": turns,
            "turns_medium": turns,
            "turns_complex": turns,
            "attended": False,
            "crashes": NEVER_PUT_ASIDE,
            "triage_by_model": False,
            "trials": "never",
            "subagent_depth": policy.subagent_depth - 1,
        }
    )


def to_read(policy: Policy) -> Policy:
    """A child's policy where all it does is to read what it is given and to answer: the cheapest tier, a few turns."""
    tiers = sorted((tier for tier in policy.tiers if tier.models), key=lambda tier: tier.number)[:1]
    return policy.model_copy(
        update={
            "tiers": tuple(tiers),
            "turns_simple": READING_TURNS,
            "turns_medium": READING_TURNS,
            "turns_complex": READING_TURNS,
            "textual_answers_nudged": 0,
            "subagent_depth": 0,
        }
    )


def ended(execution: Execution, what: What) -> Finished:
    """The end at this cap."""
    if what == "turns":
        return at_limit(execution)
    return ended_for(execution, "budget", f"I stopped: {_over(execution, what)}")


def question(execution: Execution, what: What) -> Asked:
    """May it have more?"""
    if what == "turns":
        text = f"I've used my {execution.turn_limit} turns and I'm not done. Shall I continue?"
    else:
        text = _words(execution, what)
    return Asked(
        question=question_id(execution.id, execution.seq + 1),
        sort="extension",
        text=text,
        what=what,
        options=(*_offers(execution, what), Option(id=STOP, label="Stop here")),
        who_may="operator" if what in OPERATORS else "executor",
        expires=_midnight(execution.refused) if what == "day" and execution.refused is not None else None,
    )


def _offers(execution: Execution, what: What) -> tuple[Option, ...]:
    policy, refused = execution.policy, execution.refused
    if what == "day":
        assert refused is not None
        return offers(what, refused.cap_usd, refused.spent_usd + refused.needed_usd - refused.cap_usd)
    caps = {"turns": 0.0, "tokens": float(policy.max_tokens), "usd": policy.max_usd, "minutes": policy.max_minutes}
    return offers(what, caps[what])


def _words(execution: Execution, what: What) -> str:
    if what == "minutes":
        return (
            f"The {minute_cap(execution):g} minutes for this task are over and I'm not done; I ended what was running. "
            "May I have more? Choose, or write a time, such as 20 minutes."
        )
    if what == "tokens":
        return (
            f"I've used {execution.spent.tokens:,} of the {token_cap(execution):,} tokens for this task and I'm not done. "
            "An operator can give me more: choose, or write a number, such as 100k tokens."
        )
    if what == "usd":
        return (
            f"I've spent {dollars(execution.spent.usd)} of the {dollars(usd_cap(execution))} for this task and I'm not "
            "done. An operator can give me more: choose, or write an amount, such as $3."
        )
    assert execution.refused is not None
    return (
        f"I'm not done, but {_of_the_day(execution, execution.refused)} An operator can give more for today: choose, or "
        "write an amount. At 00:00 UTC a new day's budget starts, and I continue by myself."
    )


def _over(execution: Execution, what: What) -> str:
    if what == "minutes":
        return f"the {minute_cap(execution):g} minutes for this task are used up."
    if what == "usd":
        return f"the budget of {dollars(usd_cap(execution))} is used up."
    if what == "tokens":
        return f"the budget of {token_cap(execution):,} tokens is used up."
    assert execution.refused is not None
    return (
        f"{_of_the_day(execution, execution.refused)} A new day's budget starts at 00:00 UTC: write the task again then, "
        "or ask whoever runs the bot for a higher budget."
    )


def _of_the_day(execution: Execution, refused: BudgetRefused) -> str:
    """Which cap it is, and what is left of it."""
    whose = {"person": f"for {execution.requester.name}", "guild": "for this server", "bot": "for this bot"}
    budget = f"today's budget of {dollars(refused.cap_usd)} {whose[refused.whose]}"
    left = refused.cap_usd - refused.spent_usd
    if left <= 0:
        return f"{budget} is used up."
    return (
        f"only {dollars(left)} of {budget} is left, counting what other tasks have reserved, and my next step may cost "
        f"{dollars(refused.needed_usd)}."
    )


def _midnight(refused: BudgetRefused) -> datetime:
    """When the day of a cap is over."""
    return datetime.fromisoformat(refused.day).replace(tzinfo=UTC) + timedelta(days=1)
