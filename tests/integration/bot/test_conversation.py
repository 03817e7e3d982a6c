"""Talking with the whole bot, as people do: directly, several in one thread, aside, in reply, after the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic.core.events.execution_events import Started
from bot.local_discord.local_discord import LocalGuild
from tests.faults.whole import Mind, Whole, here, running, whole

__all__ = ["here"]


async def test_a_direct_message_is_a_session_of_its_own_without_mention_or_thread(here: Whole) -> None:
    guild = here.guild
    direct = await guild.open_dm()
    first = await guild.post(direct.id, "hold this")
    await guild.wait_for(lambda g: guild.bot_user_id in g.state.find_message(first.id).reactors("👀"))
    await here.until(lambda: here.mind.asked, "the model is asked")
    await here.seen(await guild.post(direct.id, "with tabs"))
    here.mind.go.set()
    await here.says(direct.id, "answered <hold this>")
    assert "with tabs" in here.mind.asked[-1]
    assert await here.ended(direct.id) == ["done"]
    await guild.post(direct.id, "and again")
    await here.says(direct.id, "answered <and again>")
    assert guild.threads() == []
    session = await here.app.store.session(str(direct.id))
    assert session is not None
    assert session.guild == ""


@pytest.mark.wall("rights")
async def test_who_may_nothing_in_the_server_may_nothing_in_direct_messages(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with whole(guild, tmp_path, Mind(), monkeypatch, viewers=("@everyone",)) as here:
        vic = guild.add_member("vic")
        direct = await guild.open_dm(vic)
        await guild.post(direct.id, "do it")
        await here.says(direct.id, "a viewer here")
        assert here.mind.asked == []


async def test_a_direct_message_that_was_missed_is_answered_once(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mind = Mind()
    mind.go.set()
    async with whole(guild, tmp_path, mind, monkeypatch) as here:
        direct = await guild.open_dm()
        await guild.post(direct.id, "one")
        await here.says(direct.id, "answered <one>")
    await guild.post(direct.id, "two")
    async with whole(guild, tmp_path, mind, monkeypatch) as here:
        await here.says(direct.id, "answered <two>")
        await guild.post(direct.id, "three")
        await here.says(direct.id, "answered <three>")
        assert len(await here.app.store.executions(str(direct.id))) == 3


async def test_several_people_in_a_thread_are_each_named_to_the_agent(here: Whole) -> None:
    guild = here.guild
    boss = guild.add_role("boss")
    guild.add_member("bea", [boss.id])
    here.app.bot.options.roles["boss"] = "operator"  # type: ignore[index]
    thread = await running(here)
    await here.seen(await guild.post(thread, "use tabs"), await guild.post(thread, "and be brief", author="bea"))
    here.mind.go.set()
    await here.says(thread, "answered <hold it>")
    assert f"[User guidance from {guild.you.name}]\nuse tabs" in here.mind.asked[-1]
    assert "[User guidance from bea]\nand be brief" in here.mind.asked[-1]


async def test_a_side_question_is_answered_as_a_reply_while_the_task_goes_on(here: Whole) -> None:
    thread = await running(here)
    aside = await here.guild.post(thread, ". btw how far are you?")
    answer = await here.says(thread, "answered <how far are you?>")
    assert answer.reply_to == aside.id
    assert here.app.threads.state(str(thread)) == "busy"
    here.mind.go.set()
    await here.says(thread, "answered <hold it>")
    of_the_task = [
        asked for asked in here.mind.asked if asked[10:].startswith("[Task from") and "]\nhold it" in asked[:99]
    ]
    assert of_the_task
    assert not any("how far" in asked for asked in of_the_task)


async def _begun(here: Whole, thread: int) -> Started:
    """What the thread's first task knew at its beginning."""
    (row, *_) = await here.app.store.executions(str(thread))
    async for envelope in here.app.store.read(row.execution):
        assert isinstance(envelope.event, Started)
        return envelope.event
    raise AssertionError


async def test_what_a_mention_replies_to_reaches_the_agent_as_data(here: Whole) -> None:
    guild = here.guild
    guild.add_member("bob")
    here.mind.go.set()
    old = await guild.post(here.general, "the build is red since noon", author="bob", files=[("log.txt", b"boom")])
    thread = (await guild.post(here.general, f"{guild.bot.mention} look at that", reply_to=old.id)).id
    await here.says(thread, "answered <look at that>")
    assert "> bob: the build is red since noon" in here.mind.asked[-1]
    assert "log.txt (4 bytes)" in here.mind.asked[-1]
    assert list((here.app.settings.home / "workspaces" / str(thread)).rglob("log.txt"))
    started = await _begun(here, thread)
    assert [(each.text, each.trusted) for each in started.quoted] == [("the build is red since noon", False)]
    assert [file.foreign for file in started.files] == [True]
    own = await guild.post(here.general, "it broke with the last commit", files=[("mine.txt", b"boom")])
    thread = (await guild.post(here.general, f"{guild.bot.mention} look at this", reply_to=own.id)).id
    await here.says(thread, "answered <look at this>")
    started = await _begun(here, thread)
    assert [each.trusted for each in started.quoted if each.text == "it broke with the last commit"] == [True]
    assert [file.foreign for file in started.files] == [False]


async def test_a_thread_of_people_becomes_a_session_that_knows_what_was_said_also_a_private_one(here: Whole) -> None:
    guild = here.guild
    here.mind.go.set()
    for private in (False, True):
        thread = await guild.create_thread(here.general, f"ours {private}", private=private)
        await guild.post(thread.id, f"the server is called {private}")
        await guild.post(thread.id, f"{guild.bot.mention} restart it")
        await here.says(thread.id, "answered <restart it>")
        assert f"the server is called {private}" in here.mind.asked[-1]
        await guild.post(thread.id, "thank you so much for the restart")
        await here.says(thread.id, "answered <thank you so much for the restart>")
        assert guild.state.channel(thread.id).name == f"ours {private}", "a name that people gave stays"


async def test_a_file_with_guidance_is_in_the_workspace_and_told(here: Whole) -> None:
    thread = await running(here)
    await here.seen(await here.guild.post(thread, "use this", files=[("data.csv", b"1,2")]))
    here.mind.go.set()
    await here.says(thread, "answered <hold it>")
    assert "use this" in here.mind.asked[-1]
    assert "data.csv (3 bytes)" in here.mind.asked[-1]
    found = list((here.app.settings.home / "workspaces" / str(thread)).rglob("data.csv"))
    assert [file.read_bytes() for file in found] == [b"1,2"]


async def test_an_answer_may_bring_a_file(here: Whole) -> None:
    thread = await here.mention("ask me first")
    await here.says(thread, "Which one?")
    await here.guild.post(thread, "this one", files=[("choice.txt", b"x")])
    await here.says(thread, "answered <ask me first>")
    assert list((here.app.settings.home / "workspaces" / str(thread)).rglob("choice.txt"))


async def test_a_dot_queues_a_task_and_the_queue_is_listed_and_begins_in_its_order(here: Whole) -> None:
    thread = await running(here)
    await here.guild.post(thread, ". then this")
    await here.says(thread, "Queued. Starts when")
    await here.guild.post(thread, ". and that")
    listed = await here.says(thread, "Queued as number 2")
    assert listed.content.splitlines()[1:] == ["1. “then this”", "2. “and that”"]
    here.mind.go.set()
    await here.says(thread, "answered <and that>")
    assert [row.task for row in await here.app.store.executions(str(thread))] == ["hold it", "then this", "and that"]


async def test_guidance_of_who_may_not_steer_is_answered_plainly_once(here: Whole) -> None:
    guild = here.guild
    guild.add_member("bob")
    thread = await running(here)
    for text in ("do it my way", "really, my way", "hello?"):
        await guild.post(thread, text, author="bob")
    await here.says(thread, "someone else's task")
    await here.seen(await guild.post(thread, "use tabs"))
    await here.app.delivered(str(thread))
    assert sum("someone else's task" in message.content for message in here.said(thread)) == 1
    here.mind.go.set()
    await here.says(thread, "answered <hold it>")
    assert "my way" not in here.mind.asked[-1]
