"""Voice messages: a model writes them down over HTTP, people see what was heard, and the agent reads it as words."""

from __future__ import annotations

from pathlib import Path

from agentic.core.events.execution_events import InputReceived, Started
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bot.inbound.interpret_message import UNREADABLE
from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.whole import Whole, finishes, uses, whole

SOUND = b"OggS" + bytes(64)
MODEL = "openai/gpt-4o-mini-transcribe"
ROOM_FOR_ONE = 0.00012
"""US dollars a day: one message of 1.5 seconds counts as 0.00008."""


def model(request: CapturedRequest) -> Reply:
    """It asks which one, then it is done."""
    asks = "Look into it" in request.messages[0].text and not request.answers
    return uses("ask_user", question="Which one?", options=["this", "that"]) if asks else finishes()


async def direct_message(bot: Whole, channel: int, words: str) -> str:
    """What the bot says there with these words."""
    return (await bot.says(channel, words)).content


async def test_what_is_said_aloud_is_written_down_shown_and_taken_as_words(tmp_path: Path) -> None:
    async with ScriptedEndpoint.start(model) as endpoint, await LocalGuild.start() as guild:
        async with whole(tmp_path, endpoint, guild, transcription=MODEL) as bot:
            task = (await guild.post(guild.channel().id, f"{guild.bot.mention} Look into it")).id
            await bot.says(task, "Which one?")
            endpoint.words = "that"
            spoken = await guild.say_aloud(task, SOUND)
            await bot.says(task, "It is done.")
            assert (await bot.says(task, "I heard")).reply_to == spoken.id
            assert "I heard: “that”" in (await bot.says(task, "I heard")).content
            [execution] = await bot.executions(task)
            taken = [event for event in await bot.log(execution) if isinstance(event, InputReceived)]
            assert [(event.text, len(event.files)) for event in taken] == [("that", 0)]
            again = await bot.app.bot.get_partial_messageable(task).fetch_message(spoken.id)
            endpoint.words = "something else"
            take_late = bot.app.bot.catching.take
            assert take_late is not None
            await take_late(again)  # as after a crash before it was written that it was read
            assert len(endpoint.sounds) == 1
            assert await bot.executions(task) == [execution]
            assert await bot.app.store.fact(f"voice: {spoken.id}") == ""

            alone = (await guild.open_dm(guild.you)).id
            endpoint.words = "Count the files, please."
            await guild.say_aloud(alone, SOUND)
            await bot.says(alone, "It is done.")
            [execution] = await bot.executions(alone)
            started = (await bot.log(execution))[0]
            assert isinstance(started, Started)
            assert started.task == "Count the files, please."
            assert endpoint.sounds == [SOUND, SOUND]

            endpoint.words = ""
            await guild.say_aloud(alone, SOUND)
            assert "nothing can be heard" in await direct_message(bot, alone, "I couldn't write down")
            failed = [m for m in guild.messages(alone) if m.author_id == guild.you.id][-1]
            endpoint.words = "now it could be heard"
            await take_late(await bot.app.bot.get_partial_messageable(alone).fetch_message(failed.id))
            assert len(await bot.executions(alone)) == 1
            await guild.say_aloud(task, SOUND, 301.0)
            assert "longer than 5 minutes" in await direct_message(bot, task, "I couldn't write down")
            assert len(endpoint.sounds) == 3
            bob = guild.add_member("bob")
            bot.app.bot.reader._options.roles["viewers"] = "viewer"  # type: ignore[index]
            guild.set_roles(bob, [guild.add_role("viewers").id])
            await guild.say_aloud(task, SOUND, author=bob)
            await guild.say_aloud(guild.channel().id, SOUND)
            await bot.task("Something else.")
            assert len(endpoint.sounds) == 3


async def test_without_a_model_that_can_hear_people_are_asked_to_write(tmp_path: Path) -> None:
    async with ScriptedEndpoint.start(model) as endpoint, await LocalGuild.start() as guild:
        async with whole(tmp_path, endpoint, guild) as bot:
            alone = (await guild.open_dm(guild.you)).id
            await guild.say_aloud(alone, SOUND)
            assert UNREADABLE["voice"] in await direct_message(bot, alone, UNREADABLE["voice"])
            assert not endpoint.sounds
        async with whole(tmp_path, endpoint, guild, transcription="gemini/ears") as bot:
            await guild.say_aloud(alone, SOUND)
            assert "gemini/ears" in await direct_message(bot, alone, "I couldn't write down")
        async with whole(tmp_path, endpoint, guild, transcription=MODEL, max_daily_usd_person=ROOM_FOR_ONE) as bot:
            endpoint.words = ""
            await guild.say_aloud(alone, SOUND)
            await direct_message(bot, alone, "nothing can be heard")  # refused, so it costs nothing
            endpoint.words = "What is there to do?"
            await guild.say_aloud(alone, SOUND)
            await direct_message(bot, alone, "I heard")
            await guild.say_aloud(alone, SOUND)
            assert "what you may spend today is used up" in await direct_message(bot, alone, "may spend today")
            assert len(endpoint.sounds) == 2
