"""The parts of a process that say whether it is ready: each asked in its own way, put together by what it is for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from agentic.ports.errors import StoreError
from agentic.ports.runtime import Facts
from bot.telemetry.health_server import HealthCheck, PartHealth

if TYPE_CHECKING:
    from agentic.sandbox.pool import Choice
    from bot.app.client import ThreadwrightBot

ANY_FACT = "health"
"""A name of which nothing is kept: that it can be asked for shows that the store answers."""


def store_check(facts: Facts) -> HealthCheck:
    """Whether the store can be read."""

    async def ask() -> PartHealth:
        try:
            await facts.fact(ANY_FACT)
        except StoreError as error:
            todo = "Look at the log; `threadwright doctor` shows what is wrong with it"
            return PartHealth("store", "failing", f"it cannot be read ({type(error).__name__})", todo)
        return PartHealth("store", "ok", "it answers")

    return HealthCheck("store", ask)


def discord_check(bot: ThreadwrightBot) -> HealthCheck:
    """Whether the bot hears what is said."""

    async def ask() -> PartHealth:
        if bot.is_closed() or not bot.is_ready():
            return PartHealth(
                "discord", "failing", "it is not connected", "Wait; if it stays so, check DISCORD_TOKEN and the network"
            )
        return PartHealth("discord", "ok", "it is connected")

    return HealthCheck("discord", ask)


def sandbox_check(choice: Callable[[], Choice | None]) -> HealthCheck:
    """Whether it is known where commands run; ``choice`` is None until it is."""

    async def ask() -> PartHealth:
        chosen = choice()
        if chosen is None:
            return PartHealth("sandbox", "failing", "it is still being tried out", "Wait a moment")
        if chosen.rung is None:
            return PartHealth(
                "sandbox", "limited", "no commands can run", "`threadwright doctor` says why, and what to install"
            )
        return PartHealth("sandbox", "ok", f"commands run in {chosen.rung.said}")

    return HealthCheck("sandbox", ask)


def models_check(trouble: Callable[[], str], *, tour: bool) -> HealthCheck:
    """Whether models can be asked, as far as the libraries for it go; ``tour``: none is configured."""

    async def ask() -> PartHealth:
        why = trouble()
        if why:
            return PartHealth(
                "models", "limited", "a library that asks them cannot be loaded", "`threadwright doctor` names it"
            )
        if tour:
            what = "no model is configured, so a scripted tour answers"
            return PartHealth("models", "limited", what, "Run `threadwright setup`, then restart the bot")
        return PartHealth("models", "ok", "they can be asked")

    return HealthCheck("models", ask)


def draining_check(ending: Callable[[], bool]) -> HealthCheck:
    """Whether the process takes new work."""

    async def ask() -> PartHealth:
        if ending():
            return PartHealth(
                "work", "failing", "the process is ending and begins nothing new", "Send work to another one"
            )
        return PartHealth("work", "ok", "new work is taken")

    return HealthCheck("work", ask)
