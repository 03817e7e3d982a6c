"""Which models are used, from settings and the providers' variables."""

from __future__ import annotations

from collections.abc import Mapping

from agentic.models.prices import Prices
from agentic.models.tiers import TierChoice, tiers_from
from bot.settings import Mistake, Settings, SettingsMistaken


def models_from(settings: Settings, env: Mapping[str, str], prices: Prices) -> TierChoice:
    """The tiers; raises ``SettingsMistaken`` where a model that was named cannot be asked at all."""
    chosen = tiers_from(settings.tiers, env, prices)
    fatal = tuple(Mistake(one.setting, one.said, one.instead) for one in chosen.problems if one.fatal)
    if fatal:
        raise SettingsMistaken(fatal)
    return chosen


def prices_from(settings: Settings) -> Prices:
    """LiteLLM's price map, with what settings add."""
    return Prices(settings.priced)
