"""Each configured model for real: one short question, streamed, which it has to answer with one call of a tool."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping

from agentic.core.events.execution_events import CallBlock
from agentic.core.state.conversation import Message, Prompt, ToolSpec
from agentic.models.openai.dialects import dialect_of
from agentic.models.providers.catalogue import BY_NAME, Provider, is_anthropic
from agentic.models.router import ModelRouter
from agentic.models.tier_config import tiers_from
from bot.cli.live.trials import StepFailed, Trials
from bot.cli.live.wire_record import RecordingRelay
from bot.config.models import NO_MODEL, prices_from
from bot.config.settings import Settings

WORD = "threadwright"
TOOL = ToolSpec(
    "report",
    "Report a word.",
    {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"], "additionalProperties": False},
    "read",
    "read",
)
PROMPT = Prompt(
    "You check a connection.", (TOOL,), (Message("user", f"Call the tool `report` once, with the word {WORD}."),)
)
LONGEST_ANSWER, SECONDS = 2_000, 90.0
"""Tokens, with which a model that reasons gets by, and seconds."""
EXPECTED = (400, 200)
"""Tokens of the prompt and of the answer, for what it will cost."""


async def try_models(trials: Trials, settings: Settings, relay: RecordingRelay | None) -> None:
    """Take a step for each model of each tier."""
    prices = prices_from(settings)
    chosen = tiers_from(settings.tiers, os.environ, prices)
    if chosen.source == "tour":
        trials.leave_out("models", "no model is configured", NO_MODEL)
        return
    models = chosen.models
    await asyncio.to_thread(prices.load)
    usd = sum(prices.price(model, *EXPECTED) or 0.0 for model in models)
    plural = "" if len(models) == 1 else "s"
    makes = f"asks {len(models)} model{plural} one short question each: {', '.join(models)}. About ${usd:.4f} in all."
    if not await trials.begin("models", makes):
        return
    environment = _recorded(models, os.environ, relay) if relay is not None else os.environ
    router = ModelRouter(environment, prices=prices, schema_models=settings.schema_models)
    try:
        await router.warm_up(models)
        for model in models:
            await trials.step(model, _answer(router, model), recorded_as="answer")
    finally:
        await router.close()


async def _answer(router: ModelRouter, model: str) -> str:
    began = time.monotonic()
    answer = await router.answer(model, PROMPT, max_tokens=LONGEST_ANSWER, timeout=SECONDS, on_text=lambda _: None)
    took, cost = time.monotonic() - began, f"${answer.usd:.5f}{' (estimated)' if answer.estimated else ''}"
    calls = [block for block in answer.blocks if isinstance(block, CallBlock)]
    if len(calls) != 1 or calls[0].arguments.get("word") != WORD:
        raise StepFailed(
            f"it answered in {took:.1f} s for {cost}, and did not call the tool as asked",
            "name another model for its tier, or this one in THREADWRIGHT_SCHEMA_MODELS",
        )
    return f"called the tool in {took:.1f} s, for {cost}"


def _recorded(models: tuple[str, ...], env: Mapping[str, str], relay: RecordingRelay) -> dict[str, str]:
    """The environment in which the providers' addresses are those of the relay.

    What LiteLLM asks, and a provider whose address no variable holds, is not recorded.
    """
    changed = dict(env)
    for provider, address in filter(None, (_served(model, env) for model in models)):
        variable, version = provider.addresses[0], "/v1" if address.endswith("/v1") else ""
        if changed.get(variable) == env.get(variable):  # else it is set already, for another model
            changed[variable] = f"{relay.to(address.removesuffix('/v1'))}{version}"
    return changed


def _served(model: str, env: Mapping[str, str]) -> tuple[Provider, str] | None:
    """The provider of a model and its address; None where no variable would lead elsewhere."""
    provider, dialect = BY_NAME["anthropic"], None
    if not is_anthropic(model):
        if (served := dialect_of(model)) is None:
            return None
        provider, dialect = served
    address = (provider.address(env) or (dialect.address if dialect else provider.official)).strip().rstrip("/")
    return (provider, address) if address and provider.addresses else None
