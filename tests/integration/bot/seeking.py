"""An agent that wants to run something gated, and people who may or may not allow it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from agentic.core.events.execution_events import (
    Asked,
    CallBlock,
    Decided,
    Gated,
    Level,
    ModelAnswered,
    ModelRequested,
    Option,
    Person,
)
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.records import Message
from tests.integration.bot.talking import Scenery, running_bot

REASON = "deletes whole folders"
GATE = Gated(call="r1.0", args_sha="0", reason=REASON)
UNTIL = datetime.now(UTC) + timedelta(minutes=15)
OPTIONS = (Option(id="allow", label="Allow once"), Option(id="deny", label="Deny"))


@asynccontextmanager
async def court(guild: LocalGuild) -> AsyncIterator[Scenery]:
    """A bot in a guild with bob, who has no role, and a chief, who is an operator."""
    async with running_bot(guild, roles={"chiefs": "operator"}) as scenery:
        chiefs = guild.add_role("chiefs")
        guild.add_member("bob")
        guild.add_member("chief", (chiefs.id,))
        yield scenery


async def seeking(
    scenery: Scenery, command: str = "rm -rf build", who: Level = "operator", gate: Gated = GATE, **more: str
) -> tuple[int, Message]:
    """A thread of bob's in which an approval is open, and its message."""
    thread = await scenery.mention("tidy up", author="bob")
    block = CallBlock(provider_id="p1", tool="shell", arguments={"command": command, **more})
    await scenery.talk.add(
        scenery.talk.newest(thread),
        ModelRequested(request="r1", turn=1, tier=2, model="scripted/plain"),
        ModelAnswered(request="r1", blocks=(block,), stop="tool_use"),
        gate.model_copy(update={"who_may": who}),
        Asked(
            question="q1", sort="approval", text="May I do this?", options=OPTIONS, call="r1.0", who_may=who,
            expires=UNTIL,
        ),
    )  # fmt: skip
    shown = await scenery.says(thread, "I ran it" if gate.put_back else "Approval needed")
    await scenery.until_delivered()
    return thread, shown


def decided(choice: str, name: str = "chief", id: str = "5") -> Decided:
    return Decided(question="q1", by=Person(id=id, name=name, level="operator"), choice=choice)
