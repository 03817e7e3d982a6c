"""Messages over real sockets: mention -> 👀 -> thread -> progress -> answer."""

from __future__ import annotations

import asyncio

from agentic.core.events.execution_events import Asked
from agentic.ports.errors import StoreUnavailable
from bot.local_discord.faults.rules import Delayed, ErrorAnswer, Rule
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.permission_flags import Permission
from bot.local_discord.model.records import Message
from tests.integration.bot.talking import SECONDS, Scenery, running_bot


def eyes(guild: LocalGuild, message: Message) -> bool:
    return guild.bot_user_id in guild.state.find_message(message.id).reactors("👀")


async def test_a_mention_is_acknowledged_and_becomes_a_thread_with_progress(scenery: Scenery) -> None:
    guild = scenery.guild
    posted = await guild.post(scenery.general, f"{guild.bot.mention} fix the tests")
    await guild.wait_for(lambda g: eyes(g, posted))
    thread = await guild.wait_for(lambda g: next((t for t in g.threads() if t.id == posted.id), None))
    assert thread.name == "fix the tests"
    progress = await scenery.says(posted.id, "Starting")
    assert progress.silent
    assert [(item.sort, item.text) for item in scenery.talk.got] == [("task", "fix the tests")]


async def test_the_acknowledgement_does_not_wait_for_the_thread(scenery: Scenery) -> None:
    guild = scenery.guild
    guild.misbehave(Rule("POST */threads", Delayed(3.0)))
    posted = await guild.post(scenery.general, f"{guild.bot.mention} go")
    await guild.wait_for(lambda g: eyes(g, posted))
    assert not [thread for thread in guild.threads() if thread.id == posted.id]
    await scenery.says(posted.id, "Starting")


async def test_a_thread_that_exists_already_is_used(scenery: Scenery) -> None:
    guild = scenery.guild
    guild.misbehave(
        Rule("POST */threads", ErrorAnswer(400, 160004, "A thread has already been created for this message"))
    )
    posted = await guild.post(scenery.general, f"{guild.bot.mention} go")
    await guild.create_thread(posted.id, "made by a person")
    await scenery.says(posted.id, "Starting")


async def test_what_the_store_cannot_keep_is_told_and_not_acknowledged(scenery: Scenery) -> None:
    guild = scenery.guild
    scenery.talk.refuse = StoreUnavailable("the disk is full")
    posted = await guild.post(scenery.general, f"{guild.bot.mention} go")
    told = await scenery.says(scenery.general, "the disk is full")
    assert told.reply_to == posted.id
    assert not eyes(guild, posted)
    assert not guild.threads()


async def test_rights_come_from_discord_roles_and_the_guilds_owner_is_owner(guild: LocalGuild) -> None:
    async with running_bot(guild, roles={"@everyone": "viewer"}) as scenery:
        guild.add_member("vic")
        await guild.post(scenery.general, f"{guild.bot.mention} go", author="vic")
        await scenery.says(scenery.general, "a viewer here")
        await scenery.mention("go")
        assert [item.author.level for item in scenery.talk.got] == ["owner"]


async def test_a_task_that_could_get_no_thread_is_not_begun(scenery: Scenery) -> None:
    guild = scenery.guild
    guild.deny(scenery.general, Permission.CREATE_PUBLIC_THREADS, Permission.SEND_MESSAGES_IN_THREADS)
    await scenery.until(
        lambda: (
            not scenery.bot.get_channel(scenery.general)
            .permissions_for(  # type: ignore[union-attr]
                scenery.bot.get_guild(guild.guild_id).me
            )
            .create_public_threads
        )
    )  # type: ignore[union-attr]
    await guild.post(scenery.general, f"{guild.bot.mention} go")
    told = await scenery.says(scenery.general, "I can't start")
    assert "Create Public Threads" in told.content
    assert scenery.talk.got == []


async def test_a_title_that_discord_does_not_take_is_replaced(scenery: Scenery) -> None:
    guild = scenery.guild
    guild.misbehave(Rule("POST */threads", ErrorAnswer(400, 50035, "Invalid Form Body")))
    posted = await guild.post(scenery.general, f"{guild.bot.mention} bad words")
    await scenery.says(posted.id, "Starting")
    assert [thread.name for thread in guild.threads()] == ["A task"]


async def test_an_edit_of_a_message_that_is_still_queued_is_taken_in(scenery: Scenery) -> None:
    guild, talk = scenery.guild, scenery.talk
    thread = await scenery.mention("one")
    queued = await guild.post(thread, ". two")
    await scenery.until(lambda: len(talk.got) == 2)
    await guild.edit(queued.id, ". two, in French")
    await scenery.until(lambda: len(talk.got) == 3)
    assert [(item.sort, item.message) for item in talk.got[1:]] == [
        ("queue", str(queued.id)),
        ("edited", str(queued.id)),
    ]
    assert "two, in French" in talk.got[-1].text


async def test_an_edit_and_a_deletion_come_after_the_message_that_waits_to_be_taken_in(scenery: Scenery) -> None:
    guild, talk = scenery.guild, scenery.talk
    thread = await scenery.mention("one")
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        async with scenery.bot.lanes.lane(str(thread)):  # as while a gap is closed
            edited = group.create_task(scenery.bot.wait_for("raw_message_edit"))
            deleted = group.create_task(scenery.bot.wait_for("raw_message_delete"))
            said, gone = await guild.post(thread, ". two"), await guild.post(thread, ". three")
            await guild.edit(said.id, ". two, in French")
            await guild.delete(gone.id)
            await asyncio.wait((edited, deleted))
    await scenery.until(lambda: len(talk.got) == 5)
    assert [(item.sort, item.message) for item in talk.got[1:]] == [
        ("queue", str(said.id)), ("queue", str(gone.id)), ("edited", str(said.id)), ("deleted", str(gone.id)),
    ]  # fmt: skip


async def test_a_stop_passes_by_what_waits_to_be_taken_in_only_where_something_runs(scenery: Scenery) -> None:
    guild, talk = scenery.guild, scenery.talk
    thread = await scenery.mention("one")
    async with asyncio.timeout(SECONDS), scenery.bot.lanes.lane(str(thread)):  # as while a gap is closed
        await guild.post(thread, "use tabs")
        await guild.post(thread, "stop")
        await scenery.until(lambda: len(talk.got) == 2)
    await scenery.until(lambda: len(talk.got) == 3)
    await talk.finish(talk.newest(thread))
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        async with scenery.bot.lanes.lane(str(thread)):
            heard = group.create_task(scenery.bot.wait_for("message", check=lambda one: one.content == "stop"))
            await guild.post(thread, "now the docs")
            await guild.post(thread, "stop")
            await asyncio.wait((heard,))
    await scenery.until(lambda: len(talk.got) == 5)
    assert [item.sort for item in talk.got[1:]] == ["stop", "guidance", "task", "stop"]


async def test_a_command_that_there_is_not_is_neither_a_task_nor_guidance(scenery: Scenery) -> None:
    guild, talk = scenery.guild, scenery.talk
    await guild.post(scenery.general, f"{guild.bot.mention} !bogus")
    await scenery.says(scenery.general, "There is no command `!bogus`; try `!help`.")
    assert talk.got == []
    thread = await scenery.mention("one")
    for text in ("!undo", "!bogus", "/other", "/stop"):
        await guild.post(thread, text)
    await scenery.says(thread, "Press “Undo”")
    await scenery.says(thread, "no command `!bogus`")
    await scenery.says(thread, "no command `/other`")
    await scenery.says(thread, "or write `!stop`")
    await talk.add(talk.newest(thread), Asked(question="q1", text="Where?"))
    await guild.post(thread, "/stop")
    await scenery.says(thread, "still open; if that's your answer, write it as a sentence")
    await guild.post(thread, "/tmp")
    await scenery.until(lambda: len(talk.got) == 2)
    assert (talk.got[1].sort, talk.got[1].text) == ("answer", "/tmp")
    del talk.got[1]
    await talk.finish(talk.newest(thread))
    await guild.post(thread, "!btw")
    await scenery.says(thread, "write `. btw`")
    assert [item.text for item in talk.got] == ["one"]
    await guild.post(thread, "/etc/hosts is wrong")
    await scenery.until(lambda: len(talk.got) == 2)
    assert talk.got[1].sort == "task"


async def test_a_thread_without_a_title_gets_one_from_its_next_task_once_and_never_against_people(
    scenery: Scenery,
) -> None:
    guild, talk = scenery.guild, scenery.talk
    bob = guild.add_member("bob")

    def name(thread: int) -> str:
        return guild.state.channel(thread).name

    first, second = await scenery.mention(f"<@{bob.id}>"), await scenery.mention(f"<@{bob.id}>")
    assert name(first) == name(second) == "A task"
    await guild.change_thread(second, name="Bob's corner")
    for thread in (first, second):
        await talk.finish(talk.newest(thread))
        await scenery.says(thread, "All done.")
        await guild.post(thread, "mend the fence")
    await scenery.until(lambda: name(first) == "mend the fence")
    await guild.change_thread(first, name="A task")
    await talk.finish(talk.newest(first))
    await scenery.until(lambda: talk.state(str(first)) == "idle")
    posted = await guild.post(first, "paint it")
    await guild.wait_for(lambda g: eyes(g, posted))
    await scenery.until(lambda: len(talk.got) == 5)
    assert (name(first), name(second)) == ("A task", "Bob's corner")


async def test_status_and_help_answer_a_mention(scenery: Scenery) -> None:
    guild = scenery.guild
    await guild.post(scenery.general, f"{guild.bot.mention} help")
    await guild.wait_for(lambda g: any(m.embeds for m in g.messages(scenery.general)))
    thread = await scenery.mention("build it")
    await guild.post(thread, f"{guild.bot.mention} status")
    shown = await guild.wait_for(lambda g: next((m for m in g.messages(thread) if m.embeds), None))
    assert "build it" in str(shown.embeds)
    assert len(scenery.talk.got) == 1


async def test_messages_in_a_session_count_by_its_state(scenery: Scenery) -> None:
    guild, talk = scenery.guild, scenery.talk
    thread = await scenery.mention("one")
    await guild.post(thread, "use tabs")
    await scenery.until(lambda: len(talk.got) == 2)
    await talk.finish(talk.newest(thread))
    await scenery.says(thread, "All done.")
    await guild.post(thread, "now the docs")
    await scenery.until(lambda: len(talk.got) == 3)
    assert [(item.sort, item.text) for item in talk.got[1:]] == [("guidance", "use tabs"), ("task", "now the docs")]
