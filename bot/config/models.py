"""The models to use, from settings and the providers' variables."""

from __future__ import annotations

from collections.abc import Mapping

from agentic.core.events.execution_events import Tier
from agentic.models.providers.prices import Prices
from agentic.models.tier_config import (
    TierChoice,
    doubts_about,
    is_configured,
    tiers_from,
)
from bot.config.settings import (
    Mistake,
    Settings,
    SettingsMistaken,
    variable,
)
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
