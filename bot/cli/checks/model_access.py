"""Ask each provider that is set up which models it has: whether it takes the key, and lists what the tiers name.

`threadwright setup` and `threadwright doctor` use it. The question costs nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Literal

from agentic.core.events.execution_events import Tier
from agentic.models.providers.catalogue import PROVIDERS, Provider
from agentic.models.providers.server_check import Finding, ask, unlisted, variable_of
from agentic.models.tier_config import DEFAULTS, providers_of

Answer = tuple[str, ...] | Finding
"""The models that a provider lists, or what is wrong."""
Verdict = Literal["ok", "wrong", "refused", "unknown"]
KEYED: Mapping[str, Provider] = {
    provider.name: provider for provider in PROVIDERS if provider.keys and provider.name in DEFAULTS
}
"""The providers of which a key is enough: models for each tier are known."""


async def ask_all(tiers: Sequence[Tier], env: Mapping[str, str]) -> dict[str, Answer]:
    """Ask every provider that a tier names, or that has a key or an address; returns the answers by provider's name."""
    named = providers_of(tiers)
    asked = [provider for provider in PROVIDERS if provider in named or provider.is_set_up(env)]
    answers = await asyncio.gather(*(ask(provider, env) for provider in asked))
    return {provider.name: answer for provider, answer in zip(asked, answers, strict=True)}


def verdict(answer: Answer) -> Verdict:
    """Whether a provider can be asked: unknown where it could not be tried."""
    return answer.kind if isinstance(answer, Finding) else "ok"


def said(provider: Provider, answer: Answer, env: Mapping[str, str]) -> str:
    """Say what a provider answered."""
    if isinstance(answer, Finding):
        return answer.said
    count = f"lists {len(answer)} model{'s' * (len(answer) != 1)}"
    if variable := variable_of(provider, env):
        return f"{env[variable].strip().rstrip('/')} answers and {count}"
    return f"{provider.title} accepts this key and {count}" if provider.keys else f"it answers and {count}"


def doubt(provider: Provider | None, answer: Answer | None, env: Mapping[str, str], model: str) -> Finding | None:
    """Say why a model may not answer; None where its provider lists it."""
    if provider is None or answer is None:
        return Finding("", f"{model} was not tried: I can't ask its provider for a list", "", "unknown")
    if isinstance(answer, Finding):
        return answer
    return unlisted(provider, env, answer, model)
