"""The models to use, from settings and the providers' variables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from agentic.core.events.execution_events import Policy, Tier, Usage
from agentic.core.state.tiers import short
from agentic.core.text.task_words import STRONGEST
from agentic.models.providers.catalogue import BY_NAME
from agentic.models.providers.prices import Prices, no_price
from agentic.models.tier_config import (
    TierChoice,
    doubts_about,
    is_configured,
    tiers_from,
)
from bot.config.preferences import AUTO, UnknownChoice
from bot.config.settings import (
    Mistake,
    Settings,
    SettingsMistaken,
    variable,
)
from bot.history.cost_summary import PriceOf
from reflexion.judge.judge import JudgeCandidate

NO_MODEL = (
    "No model is configured, so I can only give a scripted tour. Set a provider's key, such as ANTHROPIC_API_KEY or "
    "OPENAI_API_KEY, or start Ollama and set THREADWRIGHT_TIER_2=ollama_chat/NAME for one of its models; then start "
    "Threadwright again. The command “threadwright setup” asks for all of it."
)
JUDGING_TIERS = (2, 3, 1, 4)
"""The order in which tiers are searched for a judge: it costs about what a turn costs, so the tier of most turns comes
first.
"""


def models_from(settings: Settings, env: Mapping[str, str], prices: Prices) -> TierChoice:
    """Return the tiers; raises ``SettingsMistaken`` where a named model cannot be asked at all."""
    chosen = tiers_from(settings.tiers, env, prices)
    judge = settings.judge_model
    doubts = doubts_about(variable("judge_model"), judge, env, prices) if judge and settings.judge != "off" else ()
    fatal = tuple(Mistake(one.setting, one.said, one.instead) for one in (*chosen.problems, *doubts) if one.fatal)
    if fatal:
        raise SettingsMistaken(fatal)
    return chosen


def has_model(settings: Settings, env: Mapping[str, str]) -> bool:
    """Whether there is a model to ask; ``NO_MODEL`` says what to do where there is none."""
    return is_configured(settings.tiers, env)


def provider_titles(models: Iterable[str]) -> list[str]:
    """Return the providers of models by the names that people know, without the tour's."""
    names = {model.partition("/")[0] for model in models if not model.startswith("scripted/")}
    return sorted(BY_NAME[name].title if name in BY_NAME else name for name in names)


def judges_from(settings: Settings, tiers: tuple[Tier, ...], *, lasting: bool = True) -> tuple[JudgeCandidate, ...]:
    """Return the candidates for judge: the named model, else those of the tiers in order.

    There are none where the home is not ``lasting``: without later executions a judge could not earn its weight.
    """
    from reflexion.judge.judge import JudgeCandidate  # whoever only asks models needs no judge

    if not lasting:
        return ()
    if settings.judge_model:
        return (JudgeCandidate(settings.judge_model, named=True),)
    models = {tier.number: tier.models for tier in tiers}
    return tuple(JudgeCandidate(model, tier) for tier in JUDGING_TIERS for model in models.get(tier, ()))


def prices_from(settings: Settings) -> Prices:
    """Return LiteLLM's price map with the prices from settings."""
    return Prices(settings.priced)


def price_by(prices: Prices) -> PriceOf:
    """Return the function that prices a request."""

    def price(model: str, usage: Usage) -> float | None:
        known = prices.facts(model)
        return None if known is None else known.usd(usage)

    return price


# --- what a task begins with ---------------------------------------------------------------------------------------

WITH_TOOLS = 2
"""The lowest tier whose models do tasks; the one below sorts messages."""
_TIER = re.compile(r"(?:tier[ _-]?)?([1-4])", re.IGNORECASE)
NO_SUCH_MODEL = (
    "I have no model or tier {typed} here. I can start with: {offered}. Ask whoever runs Threadwright to add it."
)
NO_TOOLS = (
    "Tier 1 only sorts messages: its models get no tools, so no task can start there. I can start with: {offered}."
)
TWO_MODELS = "{typed} is the name of several models here. Write one whole name: {offered}."


def usual_start(tiers: tuple[Tier, ...]) -> int:
    """Return the tier that tasks begin in where nobody chose."""
    numbers = [tier.number for tier in tiers if tier.models]
    return min((number for number in numbers if number >= WITH_TOOLS), default=min(numbers, default=WITH_TOOLS))


def startable(tiers: tuple[Tier, ...]) -> dict[str, int]:
    """Return each choice, tiers first, then models by their whole names, with the tier that it begins in."""
    able = [tier for tier in sorted(tiers, key=lambda tier: tier.number) if tier.number >= WITH_TOOLS and tier.models]
    choices = {f"tier{tier.number}": tier.number for tier in able}
    for tier in able:
        for model in tier.models:
            choices.setdefault(model, tier.number)
    return choices


def start_with(tiers: tuple[Tier, ...], chosen: str) -> tuple[tuple[Tier, ...], int] | None:
    """Return the tiers, with a chosen model first in its own, and the one to begin in; None for a choice that is not there."""
    start = startable(tiers).get(chosen)
    if start is None:
        return None
    return tuple(_preferring(tier, chosen) if tier.number == start else tier for tier in tiers), start


def _preferring(tier: Tier, model: str) -> Tier:
    if model not in tier.models:
        return tier
    return tier.model_copy(update={"models": (model, *(other for other in tier.models if other != model))})


def checked_start(policy: Policy, typed: str) -> str:
    """Return what somebody typed as it is stored. Raises ``UnknownChoice``, which says what there is and what to do."""
    typed = typed.strip()
    offered = startable(policy.tiers)
    if typed.lower() == STRONGEST and offered:
        return f"tier{max(offered.values())}"
    listed = ", ".join(f"`{name}`" for name in (AUTO, *offered))
    if typed.lower() == AUTO:
        return AUTO
    if (tier := _TIER.fullmatch(typed)) is not None:
        if tier[1] == "1":
            raise UnknownChoice(NO_TOOLS.format(offered=listed))
        named = [f"tier{tier[1]}"] if f"tier{tier[1]}" in offered else []
    else:
        named = [name for name in offered if typed in (name, short(name))]
    if len(named) > 1:
        raise UnknownChoice(TWO_MODELS.format(typed=_shown(typed), offered=", ".join(f"`{name}`" for name in named)))
    if not named:
        raise UnknownChoice(NO_SUCH_MODEL.format(typed=_shown(typed), offered=listed))
    if not is_askable(policy, named[0]):
        raise UnknownChoice(no_price(named[0]))
    return named[0]


def is_askable(policy: Policy, choice: str) -> bool:
    """Whether a choice is a tier, or a model whose price is known."""
    return choice in policy.prices or _TIER.fullmatch(choice) is not None


def _shown(typed: str) -> str:
    return "`" + " ".join(typed.replace("`", "ˋ").split())[:60] + "`"
