"""Which models the four tiers hold: what settings say, else the defaults of every provider whose key is set.

1 is ultra-fast and without tools, 2 fast, 3 balanced, 4 premium.  Whatever is doubtful about a choice is said in plain
words with what to write instead, before anything runs.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from agentic.core.events.execution_events import Tier
from agentic.extras import MissingExtra, missing
from agentic.models.providers.catalogue import PROVIDERS, Provider, provider_of
from agentic.models.providers.prices import Prices, to_set
from agentic.models.providers.server_check import flaw
from agentic.models.scripted.tour import NAME as TOUR

SETTING: Final = "THREADWRIGHT_TIER_"
NUMBERS: Final = (1, 2, 3, 4)

Names = tuple[str, ...]

DEFAULTS: Final[dict[str, tuple[Names, Names, Names, Names]]] = {
    "anthropic": (
        ("anthropic/claude-haiku-4-5",),
        ("anthropic/claude-haiku-4-5",),
        ("anthropic/claude-sonnet-5", "anthropic/claude-sonnet-4-6"),
        ("anthropic/claude-opus-5", "anthropic/claude-opus-4-8"),
    ),
    "openai": (
        ("openai/gpt-5.4-nano", "openai/gpt-5-nano"),
        ("openai/gpt-5.4-mini", "openai/gpt-5-mini"),
        ("openai/gpt-5.4", "openai/gpt-5.2"),
        ("openai/gpt-5.5", "openai/gpt-5.2"),
    ),
    "gemini": (
        ("gemini/gemini-3.1-flash-lite", "gemini/gemini-2.5-flash-lite"),
        ("gemini/gemini-3.5-flash-lite", "gemini/gemini-2.5-flash"),
        ("gemini/gemini-3.6-flash", "gemini/gemini-2.5-pro"),
        ("gemini/gemini-3.1-pro-preview", "gemini/gemini-2.5-pro"),
    ),
    "openrouter": (
        ("openrouter/qwen/qwen3.5-flash-02-23",),
        ("openrouter/deepseek/deepseek-v3.2", "openrouter/qwen/qwen3-coder"),
        ("openrouter/anthropic/claude-sonnet-4.6", "openrouter/openai/gpt-5.2"),
        ("openrouter/anthropic/claude-opus-4.7", "openrouter/openai/gpt-5.2"),
    ),
    "mistral": (
        ("mistral/ministral-8b-latest",),
        ("mistral/devstral-small-latest", "mistral/mistral-small-latest"),
        ("mistral/mistral-large-latest",),
        ("mistral/mistral-medium-latest",),
    ),
    "groq": (
        ("groq/openai/gpt-oss-20b",),
        ("groq/openai/gpt-oss-20b",),
        ("groq/openai/gpt-oss-120b",),
        ("groq/openai/gpt-oss-120b",),
    ),
    "deepseek": (
        ("deepseek/deepseek-v4-flash", "deepseek/deepseek-chat"),
        ("deepseek/deepseek-v4-flash", "deepseek/deepseek-chat"),
        ("deepseek/deepseek-v4-pro", "deepseek/deepseek-chat"),
        ("deepseek/deepseek-v4-pro",),
    ),
    "xai": (
        ("xai/grok-code-fast-1",),
        ("xai/grok-code-fast-1", "xai/grok-4.3"),
        ("xai/grok-4.3",),
        ("xai/grok-4.5", "xai/grok-4.3"),
    ),
    "ollama": (("ollama/llama3.1",), ("ollama/llama3.1",), ("ollama/llama3.1",), ("ollama/llama3.1",)),
}
"""By provider, in the order in which their keys are looked for; every name stands in LiteLLM's price map."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something doubtful about a tier; ``fatal`` where its model cannot be asked at all."""

    setting: str
    said: str
    instead: str
    fatal: bool = False

    def __str__(self) -> str:
        return f"{self.setting}: {self.said}. {self.instead}"


@dataclass(frozen=True, slots=True)
class TierChoice:
    """The tiers, where they come from, and what is doubtful about them."""

    tiers: tuple[Tier, ...]
    source: Literal["settings", "defaults", "tour"]
    told: str
    """The source in plain words."""
    problems: tuple[Problem, ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        """Every model of every tier, once."""
        return tuple(dict.fromkeys(model for tier in self.tiers for model in tier.models))


def tiers_from(
    values: Sequence[str | Sequence[str] | None], env: Mapping[str, str], prices: Prices | None = None
) -> TierChoice:
    """Choose: ``values`` are the settings of tiers 1 to 4, each names with commas or a sequence of names."""
    set_by_hand = [_names(value) for value in values]
    if any(set_by_hand):
        tiers = tuple(Tier(number=n, models=models) for n, models in zip(NUMBERS, set_by_hand, strict=False) if models)
        problems = (*_addresses(tiers, env), *_problems(tiers, env, prices or Prices()))
        return TierChoice(tiers, "settings", "named in the settings", problems)
    ready = [provider for provider in PROVIDERS if provider.name in DEFAULTS and _can_be_asked(provider, env)]
    if ready:
        lacking = [provider for provider in ready if lacks_library(DEFAULTS[provider.name][0][0], prices)]
        ready = [provider for provider in ready if provider not in lacking] or ready
        told = ", then ".join(provider.title for provider in ready)
        tiers = _defaults(ready)
        problems = (*_addresses(tiers, env), *_own_endpoints(env), *_lacking(lacking, env, fatal=lacking == ready))
        return TierChoice(tiers, "defaults", f"the defaults of {told}", problems)
    tour = tuple(Tier(number=number, models=(TOUR,)) for number in NUMBERS)
    return TierChoice(tour, "tour", "a scripted tour, because no model is configured", tuple(_own_endpoints(env)))


def is_configured(values: Sequence[str | Sequence[str] | None], env: Mapping[str, str]) -> bool:
    """Whether there is a model to ask, and not the tour alone."""
    named = {model for value in values for model in _names(value)}
    return bool(named - {TOUR}) if named else tiers_from((), env).source != "tour"


def _names(value: str | Sequence[str] | None) -> Names:
    rows = value.split(",") if isinstance(value, str) else value or ()
    return tuple(dict.fromkeys(row.strip() for row in rows if row.strip()))


def _can_be_asked(provider: Provider, env: Mapping[str, str]) -> bool:
    return bool(provider.key(env)) if provider.keys else bool(provider.address(env))


def _defaults(ready: Sequence[Provider]) -> tuple[Tier, ...]:
    """Each tier holds the models of the first provider, then those of the next, for when the first one fails."""
    return tuple(
        Tier(number=n, models=tuple(dict.fromkeys(m for provider in ready for m in DEFAULTS[provider.name][n - 1])))
        for n in NUMBERS
    )


def lacks_library(model: str, prices: Prices | None = None) -> MissingExtra | None:
    """What has to be installed before a model can be asked; None where nothing has to."""
    from agentic.models.router import library_of  # with all that asks models

    return missing("providers") if library_of(model, prices or Prices()) == "litellm" else None


def _lacking(providers: Sequence[Provider], env: Mapping[str, str], *, fatal: bool) -> Iterator[Problem]:
    """Providers with a key whose library is not installed."""
    for provider in providers:
        key = next(name for name in provider.keys if env.get(name))
        lacks = missing("providers")
        assert lacks is not None
        said = f"{provider.title} is asked through LiteLLM, and {lacks.said}"
        yield Problem(key, said, f"Add it: {lacks.command}", fatal=fatal)


def _own_endpoints(env: Mapping[str, str]) -> Iterator[Problem]:
    """An address without a key is an endpoint of one's own: which models it serves nobody can guess."""
    for provider in PROVIDERS:
        if provider.keys and provider.name != "anthropic" and provider.address(env) and not provider.key(env):
            said = f"{provider.addresses[0]} is set, but not which models stand behind it"
            yield Problem(f"{SETTING}2", said, f"Write {provider.name}/NAME with the name of one of its models")


def providers_of(tiers: Sequence[Tier]) -> dict[Provider, tuple[str, ...]]:
    """The providers that are asked, each with its models."""
    models = dict.fromkeys(model for tier in tiers for model in tier.models)
    asked: dict[Provider, tuple[str, ...]] = {}
    for model in models:
        if (provider := provider_of(model)) is not None:
            asked[provider] = (*asked.get(provider, ()), model)
    return asked


def _addresses(tiers: Sequence[Tier], env: Mapping[str, str]) -> Iterator[Problem]:
    """Addresses, of providers that are to be asked, which cannot be one."""
    for wrong in dict.fromkeys(flaw(provider, env) for provider in providers_of(tiers)):
        if wrong is not None:
            yield Problem(wrong.variable, wrong.said, wrong.instead, fatal=True)


def _problems(tiers: tuple[Tier, ...], env: Mapping[str, str], prices: Prices) -> Iterator[Problem]:
    if all(tier.number < 2 for tier in tiers):
        yield Problem(f"{SETTING}2", "no tier with tools is set, so tasks have no model", f"Set {SETTING}2", fatal=True)
    for tier in tiers:
        for model in tier.models:
            yield from doubts_about(f"{SETTING}{tier.number}", model, env, prices)


def doubts_about(setting: str, model: str, env: Mapping[str, str], prices: Prices) -> Iterator[Problem]:
    """What is doubtful about a model that a setting names."""
    provider = provider_of(model)
    if any(letter.isspace() for letter in model):
        yield Problem(setting, f"{model!r} holds a blank", "Separate names with commas", fatal=True)
        return
    if provider is not None and provider.keys and not provider.is_set_up(env):
        wanted = " or ".join(provider.keys[:1] + provider.addresses[:1])
        yield Problem(setting, f"there is no key for {model}", f"Set {wanted}, or name another model", fatal=True)
    if (lacks := lacks_library(model, prices)) is not None:
        yield Problem(
            setting, f"{model} is asked through LiteLLM, and {lacks.said}", f"Add it: {lacks.command}", fatal=True
        )
    if prices.priced(model):
        return
    near = difflib.get_close_matches(model, list(prices.names()), n=1, cutoff=0.8)
    advice = f"Did you mean {near[0]}? If not: {to_set(model)}" if near else to_set(model)
    yield Problem(setting, f"the price of {model} is not known, so no budget can be kept with it", advice, fatal=True)
