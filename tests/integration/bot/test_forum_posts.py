"""Posts of a forum as tasks: the title is a part of the task, and the post's tag says how it goes."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agentic.core.events.execution_events import Started
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.permission_flags import Permission
from tests.integration.bot.whole import SECONDS, Whole, finishes, uses, whole

TAGS = ("Bug", "Working", "Waiting", "Done", "failed")


def model(request: CapturedRequest) -> Reply:
    """It asks once where the task has a question, else it is done at once."""
    first = request.messages[0].text
    if "fails" not in first and "question" in first and not request.answers:
        return uses("ask_user", question="Which one?", options=["this", "that"])
    return (
        finishes("It is done.") if "fails" not in first else uses("finish", answer="It can't be done.", success=False)
    )


async def tags(bot: Whole, post: int, *wanted: str) -> None:
    """Wait until the post bears these tags."""
    names = {tag.id: tag.name for c in bot.guild.state.channels.values() for tag in c.tags}

    def bears(guild: LocalGuild) -> bool:
        return sorted(names[tag] for tag in guild.state.channel(post).tag_ids) == sorted(wanted)

    try:
        await bot.guild.wait_for(lambda guild: bears(guild) or None, SECONDS)
    except TimeoutError:
        raise AssertionError([names[tag] for tag in bot.guild.state.channel(post).tag_ids]) from None


async def started(bot: Whole, post: int) -> Started:
    """How the one task of a post began."""
    [execution] = await bot.executions(post)
    first = (await bot.log(execution))[0]
    assert isinstance(first, Started)
    return first


async def test_a_post_that_mentions_the_bot_is_a_task_in_that_post_and_its_tag_says_how_it_goes(tmp_path: Path) -> None:
    async with ScriptedEndpoint.start(model) as endpoint, await LocalGuild.start() as guild:
        forum = guild.add_forum("help", TAGS)
        async with whole(tmp_path, endpoint, guild) as bot:
            me = guild.bot.mention
            asks = (await guild.open_post(forum.id, "The cart rounds twice", f"{me} a question first", tags=["Bug"])).id
            await tags(bot, asks, "Bug", "Waiting")
            assert (await started(bot, asks)).task == "a question first\n\n(Title: The cart rounds twice)"
            await guild.post(asks, "this")
            await bot.says(asks, "It is done.")
            await tags(bot, asks, "Bug", "Done")
            assert guild.state.channel(asks).name == "The cart rounds twice"
            await bot.task("and now it fails", asks)
            await tags(bot, asks, "Bug", "failed")

            silent = (await guild.open_post(forum.id, "Look at this", "It is broken.")).id
            bare = (await guild.open_post(forum.id, "Count the files", me)).id
            await bot.says(bare, "It is done.")
            assert (await started(bot, bare)).task == "Count the files"
            assert not bot.of_bot(silent)

            await bot.app.bot.preferences.put("channel", str(forum.id), "posts", "all")
            every = (await guild.open_post(forum.id, "Look at that", "It is broken too.")).id
            await bot.says(every, "It is done.")
            assert (await started(bot, every)).task == "It is broken too.\n\n(Title: Look at that)"
            await tags(bot, every, "Done")
            guild.deny(forum.id, Permission.MANAGE_THREADS)
            untagged = (await guild.open_post(forum.id, "No right to tags", "Look into it.")).id
            await bot.says(untagged, "It is done.")
            assert not guild.state.channel(untagged).tag_ids


async def test_a_post_that_was_opened_while_the_bot_was_away_is_taken_once(tmp_path: Path) -> None:
    async with ScriptedEndpoint.start(model) as endpoint, await LocalGuild.start() as guild:
        forum = guild.add_forum("help", TAGS)
        async with whole(tmp_path, endpoint, guild) as bot:
            await bot.task("something first")
        post = (await guild.open_post(forum.id, "While you were away", f"{guild.bot.mention} do it")).id
        for _ in range(2):
            async with whole(tmp_path, endpoint, guild) as bot:
                await bot.says(post, "It is done.")
                await asyncio.wait_for(bot.app.bot.catching.caught_up.wait(), SECONDS)
                assert (await started(bot, post)).task.startswith("do it")
                await tags(bot, post, "Done")
        assert sum("It is done." in message.content for message in bot.of_bot(post)) == 1
