"""What was said in a thread before a task, as data."""

from __future__ import annotations

import pytest

from bot.inbound.recent_messages import SECONDS, Quoting
from bot.local_discord.faults.rules import Delayed, Rule
from bot.local_discord.model.permission_flags import Permission
from tests.integration.bot.talking import Scenery


async def test_what_people_said_before_is_quoted_oldest_first(scenery: Scenery) -> None:
    guild = scenery.guild
    guild.add_member("bob")
    thread = (await guild.create_thread(scenery.general, "ours")).id
    await guild.post(thread, "the build is red", author="bob")
    await guild.post(thread, "since monday")
    posted = await guild.post(thread, f"{guild.bot.mention} fix it")
    await scenery.says(thread, "Starting")
    quoting = Quoting(scenery.bot.desk)
    quoted = await quoting.recent(str(thread), str(posted.id))
    assert [(one.author, one.text) for one in quoted] == [
        ("bob", "the build is red"), (guild.you.name, "since monday")
    ]  # fmt: skip


async def test_a_thread_that_cannot_be_read_in_time_quotes_nothing(scenery: Scenery) -> None:
    guild = scenery.guild
    thread = (await guild.create_thread(scenery.general, "ours")).id
    await guild.post(thread, "hello")
    posted = await guild.post(thread, "task")
    quoting = Quoting(scenery.bot.desk)
    assert await quoting.recent("1", "2") == ()
    guild.misbehave(Rule("GET */messages", Delayed(SECONDS + 2)))
    assert await quoting.recent(str(thread), str(posted.id)) == ()
    assert len(await quoting.recent(str(thread), str(posted.id))) == 1


@pytest.mark.wall("rights")
async def test_f40_nobody_learns_through_the_bot_what_they_may_not_read_back(scenery: Scenery) -> None:
    guild = scenery.guild
    bob, late = str(guild.add_member("bob").id), str(guild.add_member("late").id)
    thread = (await guild.create_thread(scenery.general, "ours")).id
    await guild.post(thread, "the plan is to sell", author="bob")
    posted = await guild.post(thread, "what did they say?", author="late")
    quoting = Quoting(scenery.bot.desk)
    for reader in (bob, late):
        assert len(await quoting.recent(str(thread), str(posted.id), reader)) == 1
    guild.deny(scenery.general, Permission.READ_MESSAGE_HISTORY, member="late")
    channel = scenery.bot.get_channel(scenery.general)
    await scenery.until(lambda: any(o.read_message_history is False for o in channel.overwrites.values()))
    assert await quoting.recent(str(thread), str(posted.id), late) == ()
    assert len(await quoting.recent(str(thread), str(posted.id), bob)) == 1
    assert await quoting.recent(str(thread), str(posted.id), "12345") == ()
