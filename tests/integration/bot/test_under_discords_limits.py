"""The bot where every limit is as tight as Discord's: it keeps to what the headers say, and nothing gets lost."""

from __future__ import annotations

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
