"""Faults at Discord: what people, other bots, the network and the model's text do to the bot, over real sockets."""

from __future__ import annotations

import asyncio
import time

import pytest

from bot.local_discord.faults.rules import (
    Delayed,
    Duplicated,
    ErrorAnswer,
    RateLimited,
    Reset,
    Rule,
)
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.json_fields import JsonObject
from bot.outbound.request_queue import EDIT_SECONDS
from bot.rendering.code_blocks import FENCE
from bot.rendering.discord_text import LIMIT
from tests.faults.staging import REQUESTED, delivered, guild, nothing_more, notices, scenery
from tests.integration.bot.talking import Scenery, running_bot
from tests.waiting import BOUND

__all__ = ["guild", "scenery"]


# --- gateway and REST ---------------------------------------------------------------------------------------------


async def test_f1_an_event_that_comes_twice_is_one_task(scenery: Scenery) -> None:
    scenery.guild.misbehave(Rule("MESSAGE_CREATE", Duplicated()))
    thread = await scenery.mention("go")
    await nothing_more(scenery)
    assert [found.id for found in scenery.guild.threads()] == [thread]
    assert len(scenery.of_bot(thread)) == 1


async def test_f5_a_reconnect_during_an_execution_loses_nothing(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    scenery.guild.reconnect()
    await scenery.talk.add(scenery.talk.newest(thread), REQUESTED)
    await scenery.guild.post(thread, "said meanwhile")
    await scenery.talk.finish(scenery.talk.newest(thread), "The answer.")
    await scenery.says(thread, "The answer.")
    await scenery.until(lambda: [item.text for item in scenery.talk.got] == ["go", "said meanwhile"])
    assert sum(content.startswith("The answer.") for content in await delivered(scenery, thread)) == 1


@pytest.mark.parametrize(
    "fault",
    [RateLimited(0.4), RateLimited(0.4, is_global=True), RateLimited(0.4, html=True)],
    ids=["bucket", "global", "edge"],
)
async def test_f8_a_rate_limit_is_honoured_and_the_answer_arrives(scenery: Scenery, fault: RateLimited) -> None:
    thread = await scenery.mention("go")
    scenery.guild.misbehave(Rule("POST */messages", fault, times=2))
    begun = time.monotonic()
    await scenery.talk.finish(scenery.talk.newest(thread), "The answer.")
    await scenery.says(thread, "The answer.")
    assert time.monotonic() - begun >= 0.8
    assert sum(content.startswith("The answer.") for content in await delivered(scenery, thread)) == 1


async def test_f8_edits_coalesce_while_they_are_limited(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    execution = scenery.talk.newest(thread)
    scenery.guild.misbehave(Rule("PATCH */messages/*", RateLimited(1.0)))
    scenery.guild.misbehave(Rule("PATCH */messages/*", Delayed(0.0), times=None))
    begun = time.monotonic()
    scenery.bot.feed.streamed(execution, " w0")
    await scenery.until(lambda: scenery.guild.misbehaviour.applied)
    for number in range(1, 40):
        scenery.bot.feed.streamed(execution, f" w{number}")
        await asyncio.sleep(0)
    await scenery.says(thread, "w39")
    assert len(scenery.guild.misbehaviour.applied) <= 2 + (time.monotonic() - begun) / EDIT_SECONDS


async def test_f9_a_503_is_tried_again(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    scenery.guild.misbehave(Rule("POST */messages", ErrorAnswer(503), times=3))
    await notices(scenery, thread, "one", "two")
    await scenery.says(thread, "two")
    assert await delivered(scenery, thread) == ["one", "two"]


@pytest.mark.parametrize("landed", [False, True])
async def test_f10_a_reset_connection_is_tried_again(scenery: Scenery, landed: bool) -> None:
    thread = await scenery.mention("go")
    scenery.guild.misbehave(Rule("POST */messages", Reset(landed=landed), times=2))
    await notices(scenery, thread, "one", "two")
    await scenery.says(thread, "two")
    assert await delivered(scenery, thread) == ["one", "two"]


async def test_f11_a_post_that_timed_out_but_landed_stands_once(guild: LocalGuild) -> None:
    async with running_bot(guild, wire_seconds=0.5) as scenery:
        thread = await scenery.mention("go")
        guild.misbehave(Rule("POST */messages", Delayed(600.0, landed=True)))
        await notices(scenery, thread, "one", "two")
        await scenery.says(thread, "two")
        assert await delivered(scenery, thread) == ["one", "two"]


@pytest.mark.parametrize("language", ["", "python"])
async def test_f12_a_fence_across_the_split_is_closed_and_reopened(scenery: Scenery, language: str) -> None:
    thread = await scenery.mention("go")
    code = "\n".join(f"value_{number} = {number}" for number in range(150))
    await scenery.talk.finish(scenery.talk.newest(thread), f"Here:\n{FENCE}{language}\n{code}\n{FENCE}\nThat is all.")
    await scenery.says(thread, "That is all.")
    parts = await delivered(scenery, thread)
    assert len(parts) == 2
    assert all(len(part) <= LIMIT and part.count(FENCE) == 2 for part in parts)
    assert parts[1].startswith(f"{FENCE}{language}\nvalue_")
    lines = [line for part in parts for line in part.splitlines() if line.startswith("value_")]
    assert "\n".join(lines) == code


async def test_f12_past_the_threshold_it_is_a_file(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    text = "\n".join(f"line {number}" for number in range(1_500))
    await scenery.talk.finish(scenery.talk.newest(thread), text)
    answer = await scenery.says(thread, "line 0")
    assert len(await delivered(scenery, thread)) == 1
    assert scenery.guild.file(answer.attachments[0].id).decode().startswith(text)


async def test_f6_a_second_ready_changes_nothing(scenery: Scenery) -> None:
    guild = scenery.guild
    thread = await scenery.mention("go")
    guild.invalidate_sessions()
    await guild.wait_for(lambda g: not g.online)
    await guild.wait_for(lambda g: g.online, timeout=60.0)
    await asyncio.wait_for(scenery.bot.wait_until_ready(), BOUND)
    await scenery.talk.finish(scenery.talk.newest(thread), "The answer.")
    await scenery.says(thread, "The answer.")
    assert sum(content.startswith("The answer.") for content in await delivered(scenery, thread)) == 1
    await nothing_more(scenery)


async def test_f14_a_deleted_thread_stays_deleted(scenery: Scenery) -> None:
    guild = scenery.guild
    thread = await scenery.mention("go")
    await guild.delete_channel(thread)
    await scenery.until(lambda: [item.sort for item in scenery.talk.got] == ["task", "stop"])
    await scenery.talk.finish(scenery.talk.newest(thread), "Too late.")
    await scenery.until_delivered()
    other = await scenery.mention("another")
    assert [found.id for found in guild.threads()] == [other]


async def test_f16_a_deleted_progress_message_is_posted_again(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    first = scenery.of_bot(thread)[0]
    await scenery.guild.delete(first.id)
    await scenery.talk.add(scenery.talk.newest(thread), REQUESTED)
    assert (await scenery.says(thread, "Thinking")).id != first.id


async def test_f17_an_edit_of_the_running_task_is_guidance_and_no_second_run(scenery: Scenery) -> None:
    guild = scenery.guild
    thread = await scenery.mention("count the files")
    await guild.edit(thread, f"{guild.bot.mention} count the folders")
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    assert (scenery.talk.got[1].sort, scenery.talk.got[1].text) == ("edited", "count the folders")
    await scenery.says(thread, "Starting")
    assert len(guild.threads()) == 1


async def test_f17_what_only_looks_like_an_edit_is_none(scenery: Scenery) -> None:
    guild = scenery.guild
    thread = await scenery.mention("count the files")
    task = guild.state.find_message(thread)
    previewed: JsonObject = {**guild.as_sent(task), "guild_id": str(guild.guild_id), "embeds": [{"type": "link"}]}
    guild.state.publish("MESSAGE_UPDATE", previewed, channel_id=scenery.general)
    await guild.edit(thread, f"{guild.bot.mention}  count the files")
    await nothing_more(scenery)
    await scenery.talk.finish(scenery.talk.newest(thread))
    await scenery.says(thread, "All done.")
    await guild.edit(thread, f"{guild.bot.mention} something else")
    await guild.post(thread, "and now")
    await scenery.until(lambda: scenery.talk.got[-1].text == "and now")
    assert [item.sort for item in scenery.talk.got] == ["task", "guidance", "task"]


# --- reactions ----------------------------------------------------------------------------------------------------
