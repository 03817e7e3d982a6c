"""The bot where every limit is as tight as Discord's: it keeps to what the headers say, and nothing gets lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import discord
import pytest

from bot.app.client import ThreadwrightBot
from bot.local_discord.faults.rules import RateLimited, Rule
from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.talking import running_bot

TASKS = 4


async def test_tasks_at_once_are_answered_and_no_limit_is_run_into() -> None:
    async with await LocalGuild.start(limits="discord") as guild, running_bot(guild) as scenery:
        threads = [await scenery.mention(f"task {n}") for n in range(TASKS)]
        for thread in threads:
            execution = scenery.talk.newest(thread)
            for word in range(30):
                scenery.bot.feed.streamed(execution, f" word{word}")
            await scenery.says(thread, "word29")
            await scenery.talk.finish(execution)
        for thread in threads:
            await scenery.says(thread, "All done.")
        assert guild.refused == 0


async def renamed(bot: ThreadwrightBot, thread: int) -> object:
    place = bot.get_channel(thread)
    assert isinstance(place, discord.Thread)
    return await place.edit(name="another name")


async def read_back(bot: ThreadwrightBot, thread: int) -> object:
    return [message async for message in bot.get_partial_messageable(thread).history(limit=5)]


async def fetched(bot: ThreadwrightBot, thread: int) -> object:
    return await bot.fetch_channel(thread)


@pytest.mark.parametrize(
    ("request_", "act"),
    [("PATCH /channels/*", renamed), ("GET /channels/*/messages*", read_back)],
)
@pytest.mark.parametrize("scheduled", [True, False], ids=["scheduled", "of the library's own"])
async def test_a_limit_of_one_route_holds_up_no_answer(
    request_: str, act: Callable[[ThreadwrightBot, int], Awaitable[object]], scheduled: bool
) -> None:
    async with await LocalGuild.start() as guild, running_bot(guild) as scenery:
        thread = await scenery.mention("do it")
        await scenery.until_delivered()
        bot = scenery.bot
        guild.misbehave(Rule(request_, RateLimited(537.0)))
        waiting = asyncio.create_task(
            bot.desk.look(str(thread), lambda _: act(bot, thread)) if scheduled else act(bot, thread)  # type: ignore[arg-type]
        )
        await scenery.until(lambda: bot.sender.traffic.limited == 1)
        await scenery.talk.finish(scenery.talk.newest(thread))
        await scenery.says(thread, "All done.")
        assert not waiting.done()
        waiting.cancel()
        await asyncio.wait((waiting,))
