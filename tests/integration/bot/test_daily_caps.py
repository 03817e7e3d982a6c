"""The caps of a day as people meet them: by a setting, in the thread, over the whole bot."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.local_discord.local_discord import LocalGuild
from tests.faults.whole import Mind, whole


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("max_daily_usd_person", r"$0.01 for "),
        ("max_daily_usd_server", r"$0.01 for this server"),
        ("max_daily_usd", r"$0.01 for this bot"),
    ],
)
async def test_a_task_that_finds_no_room_in_a_cap_of_the_day_asks_no_model_and_ends_in_words_where_it_is_not_raised(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, words: str
) -> None:
    mind = Mind()
    async with whole(guild, tmp_path, mind, monkeypatch, **{setting: 0.01}) as here:
        thread = await here.mention("fix it")
        asked = await here.says(thread, "today's budget")
        assert words in asked.content
        assert "more for today" in asked.content
        await guild.click(asked.id, asked.custom_ids()[2])
        answer = await here.says(thread, "I stopped: only $")
        assert words in answer.content
        assert "A new day's budget starts at 00:00 UTC" in answer.content
        assert await here.ended(thread) == ["budget"]
        assert mind.asked == []
