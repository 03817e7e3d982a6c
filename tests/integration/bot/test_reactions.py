"""Reactions from raw events: on any message of the bot, on a task's own message, by people who may."""

from __future__ import annotations

from bot.guild.local import LocalGuild
from tests.integration.bot.talking import Scenery, running_bot


async def test_a_stop_on_the_tasks_own_message_in_the_parent_channel_stops(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    await scenery.guild.react(thread, "🛑")
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    stop = scenery.talk.got[1]
    assert (stop.sort, stop.thread, stop.author.name) == ("stop", str(thread), scenery.guild.you.name)


async def test_a_vote_on_the_progress_message_is_for_the_turn_it_shows(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    await scenery.guild.react(scenery.of_bot(thread)[0].id, "👍")
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    vote = scenery.talk.got[1]
    assert (vote.sort, vote.text, vote.target) == ("feedback", "up", f"{scenery.talk.newest(thread)}/turn:0")
    await scenery.says(thread, "👍 Noted for turn 0.")


async def test_a_vote_on_the_answer_is_for_the_result_and_can_be_taken_back(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    execution = scenery.talk.newest(thread)
    await scenery.talk.finish(execution)
    answer = await scenery.says(thread, "All done.")
    await scenery.until_delivered()
    await scenery.guild.react(answer.id, "👎🏿")
    await scenery.says(thread, "👎 Noted for the result.")
    await scenery.guild.unreact(answer.id, "👎🏿")
    await scenery.says(thread, "taken back")
    votes = [(item.text, item.target) for item in scenery.talk.got[1:]]
    assert votes == [("down", f"{execution}/result"), ("none", f"{execution}/result")]


async def test_a_later_task_in_the_thread_can_be_stopped_on_its_own_message(scenery: Scenery) -> None:
    thread = await scenery.mention("one")
    await scenery.talk.finish(scenery.talk.newest(thread))
    await scenery.says(thread, "All done.")
    second = await scenery.guild.post(thread, "two")
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    chat = await scenery.guild.post(thread, "nice")
    await scenery.until(lambda: len(scenery.talk.got) == 3)
    await scenery.guild.react(chat.id, "🛑")
    await scenery.guild.react(second.id, "🛑")
    await scenery.until(lambda: len(scenery.talk.got) == 4)
    assert (scenery.talk.got[3].sort, scenery.talk.got[3].message) == ("stop", str(second.id))


async def test_a_sign_that_is_not_built_is_answered_plainly(scenery: Scenery) -> None:
    thread = await scenery.mention("go")
    await scenery.guild.react(thread, "🚀")
    await scenery.says(thread, "not built yet")
    assert len(scenery.talk.got) == 1


async def test_a_custom_emoji_means_what_its_configured_id_says(guild: LocalGuild) -> None:
    async with running_bot(guild, custom_emoji={"777": "🛑"}) as scenery:
        thread = await scenery.mention("go")
        await guild.react(thread, "stop:778")
        await guild.react(thread, "whatever:777")
        await scenery.until(lambda: len(scenery.talk.got) == 2)
        assert scenery.talk.got[1].sort == "stop"


async def test_an_executor_rates_only_results_of_their_own_tasks(scenery: Scenery) -> None:
    scenery.guild.add_member("bob")
    thread = await scenery.mention("go")
    await scenery.talk.finish(scenery.talk.newest(thread))
    answer = await scenery.says(thread, "All done.")
    await scenery.until_delivered()
    await scenery.guild.react(answer.id, "👍", author="bob")
    await scenery.guild.react(answer.id, "👍")
    await scenery.says(thread, "👍 Noted")
    assert [item.author.name for item in scenery.talk.got[1:]] == [scenery.guild.you.name]
