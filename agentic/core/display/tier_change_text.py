"""What people read of changes of tier: from which model to which, why, and what it costs more, roughly."""

from __future__ import annotations

from agentic.core.events.execution_events import Escalated, Intervened, Policy
from agentic.core.fold.escalation_signs import ADVICE_RULE
from agentic.core.rules import escalation
from agentic.core.state.execution import Execution
from agentic.core.state.tiers import (
    first_of,
    left_of,
    model_of,
    next_tier,
    short,
    strongest,
    times_dearer,
)

_HINT = "A hint from you helps more."


def told(before: Execution, event: Escalated | Intervened) -> str:
    """The notice in the thread, '' for what concerns only the model."""
    if isinstance(event, Escalated):
        return changed_tier(before, event)
    return asked_for_advice(before) if event.rule == ADVICE_RULE else ""


def changed_tier(before: Execution, event: Escalated) -> str:
    """Who goes on, why, and what it costs."""
    to = _named(before.policy, event.to_tier, event.to_model)
    if event.to_tier < event.from_tier and event.rule == "model_unknown":
        setting = f"`THREADWRIGHT_TIER_{event.from_tier}`"
        return f"⬇ Back to {to}: {event.trigger}. Whoever runs the bot can correct its name in {setting}."
    if event.to_tier < event.from_tier:
        price = _price(before.policy, event.to_model, event.from_model)
        return f"⬇ Back to {to}: {event.trigger}.{price} 🚀 hands over again."
    price = _price(before.policy, event.from_model, event.to_model)
    was = _named(before.policy, event.from_tier, event.from_model)
    return f"⬆ Handed over from {was} to {to}: {event.trigger}.{price}"


def asked_for_advice(before: Execution) -> str:
    """The notice that a stronger model was asked, and who goes on."""
    advice, why = before.consulted, escalation.trigger(before)
    adviser = short(advice.model) if advice is not None else "a stronger model"
    because = f" ({why.text})" if why is not None else ""
    return (
        f"💡 I asked a stronger model, {adviser}, for advice{because}. {short(model_of(before))} continues with it; if "
        "that doesn't help, the stronger model takes over."
    )


def of_rocket(before: Execution) -> str:
    """What a person is told who asks for a stronger model."""
    higher = next_tier(before)
    if higher is None:
        return f"🚀 {short(model_of(before))} is already {strongest(before)}. {_HINT}"
    if before.judged.climb.by_person:
        return "🚀 I'm already handing over."
    when = "when this continues" if before.paused is not None or before.question is not None else "with the next step"
    stronger = left_of(before, higher)[0]
    price = _price(before.policy, model_of(before), stronger)
    return f"🚀 A stronger model, {short(stronger)}, takes over {when}.{price}"


def _named(policy: Policy, tier: int, model: str) -> str:
    return f"{short(model or first_of(policy, tier)) or 'a model'} (tier {tier})"


def _price(policy: Policy, cheaper: str, dearer: str) -> str:
    """What the dearer of two costs more, roughly; '' where a price is not known or makes no difference."""
    times = times_dearer(policy, cheaper, dearer)
    if times is None or abs(times - 1) < 0.1:
        return ""
    if times < 1:
        return f" Its turns cost about {round(100 * (1 - times))} % less."
    more = f"{times:.1f}".removesuffix(".0") if times < 10 else f"{times:.0f}"
    how = "twice" if more == "2" else f"{more} times"
    return f" A turn of {short(dearer)} costs about {how} as much as one of {short(cheaper)}."
