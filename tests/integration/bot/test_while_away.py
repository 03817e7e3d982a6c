"""What people did while the bot was away to the message of a task that was given in its thread, after another one.

And what they said in the moment when it left.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import discord
import pytest

from agentic.core.events.execution_events import FeedbackGiven, InboxItem
from bot.local_discord.local_discord import LocalGuild
from bot.ports.conversation import Receipt
from tests.faults.whole import Mind, whole
from tests.waiting import eventually


async def test_a_vote_that_is_being_heard_when_the_bot_leaves_counts(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody reads votes again."""
    hearing, goes_on = asyncio.Event(), asyncio.Event()
    async with whole(guild, tmp_path, Mind(), monkeypatch) as here:
        bot = here.app.bot
        deliver = bot.intake.deliver

        async def late(item: InboxItem, guild_id: str) -> Receipt:
            hearing.set()
            await goes_on.wait()
            return await deliver(item, guild_id)

        thread = await here.mention("first")
        said = await here.says(thread, "answered <first>")
        monkeypatch.setattr(bot.intake, "deliver", late)
        await guild.react(said.id, "👍")
        await hearing.wait()
        leaving = asyncio.create_task(bot.close())
        await here.until(lambda: bot._leaving, "it leaves")  # pyright: ignore[reportPrivateUsage]
        goes_on.set()
        await leaving
        (row,) = await here.app.store.executions(str(thread))

        async def voted() -> bool:
            outcome = await here.app.store.read_outcome(row.execution)
            return any(isinstance(each.event, FeedbackGiven) for each in outcome)

        await eventually(voted, "the vote is kept")


async def test_what_is_being_read_when_the_bot_leaves_is_taken_in_after_the_next_start(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its handler ends before the connection does: afterwards it would only fail, and the message would pass for handled."""
    reading, gone = asyncio.Event(), asyncio.Event()
    async with whole(guild, tmp_path, Mind(), monkeypatch) as here:
        bot = here.app.bot

        async def ask_for_the_author(message: discord.Message) -> None:
            reading.set()
            await gone.wait()
            await bot.fetch_user(message.author.id)

        await here.says(await here.mention("first"), "answered <first>")
        await bot.catching.caught_up.wait()
        bot.catching.take = ask_for_the_author
        bot.catching.connected()
        thread = await here.mention("second")
        await reading.wait()
        await bot.close()
        gone.set()
        await here.until(lambda: bot.lanes.lanes == 0, "nothing is being read any more")
    assert "a fault of ours" not in caplog.text
    async with whole(guild, tmp_path, Mind(), monkeypatch) as here:
        await here.says(thread, "answered <second>")
