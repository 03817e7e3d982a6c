"""A bot over the local guild, for the fault tests at Discord: fixtures, and what several of them do."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from agentic.core.events.execution_events import ModelRequested, OutboxItem, ToolStarted
from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.talking import Scenery, running_bot

REQUESTED = ModelRequested(request="r1", turn=1, tier=2, model="scripted/plain")


@pytest.fixture
async def guild() -> AsyncIterator[LocalGuild]:
    async with await LocalGuild.start() as guild:
        yield guild


@pytest.fixture
async def scenery(guild: LocalGuild) -> AsyncIterator[Scenery]:
    async with running_bot(guild) as scenery:
        yield scenery


def call(number: int, command: str) -> ToolStarted:
    """A shell command that begins."""
    return ToolStarted(
        call=f"c{number}", provider_id=f"p{number}", tool="shell", effect="unkeyed", arguments={"command": command},
        args_sha="0",
    )  # fmt: skip


async def notices(scenery: Scenery, thread: int, *texts: str) -> None:
    """Put notices into the outbox."""
    items = [
        OutboxItem(key=f"x9.{number}.0", thread=str(thread), execution="x9", sort="notice", text=text)
        for number, text in enumerate(texts)
    ]
    await scenery.store.put_outbox(items)
    scenery.bot.outbox.poke()


async def delivered(scenery: Scenery, thread: int) -> list[str]:
    """What the bot said in a thread after its progress message, once all of it is delivered."""
    await scenery.until_delivered()
    return [message.content for message in scenery.of_bot(thread)][1:]


async def nothing_more(scenery: Scenery, items: int = 1) -> None:
    """A later message is taken in, so what was ignored before it stays ignored."""
    thread = int(scenery.talk.got[0].thread) if scenery.talk.got else 0
    if thread:
        await scenery.guild.post(thread, "the last word")
        await scenery.until(lambda: scenery.talk.got[-1].text == "the last word")
        items += 1
    assert len(scenery.talk.got) == items


# --- gateway and REST ---------------------------------------------------------------------------------------------
