"""Rows 2, 3, 4 and 23 of the fault catalogue: what is said while nobody listens, over real sockets and processes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import discord
import pytest
from discord.ext import commands

from agentic.core.events.execution_events import Envelope, Person, Started
from agentic.ports.runtime import ExecutionRow, SessionRow, Store
from bot.app.client import ThreadwrightBot
from bot.inbound.parse import when
from bot.local_discord.faults.rules import (
    Delayed,
    Dropped,
    Duplicated,
    Rule,
)
from bot.local_discord.local_discord import LocalGuild
from tests.faults.staging import guild, nothing_more, scenery
from tests.faults.whole import Mind, whole
from tests.integration.bot.talking import Scenery, running_bot
from tests.waiting import BOUND

__all__ = ["guild", "scenery"]


async def online_again(scenery: Scenery) -> None:
    await scenery.guild.wait_for(lambda g: not g.online)
    await scenery.guild.wait_for(lambda g: g.online, timeout=60.0)


async def caught_up(scenery: Scenery) -> None:
    await asyncio.wait_for(scenery.bot.catching.caught_up.wait(), BOUND)


async def test_f2_what_was_said_during_a_gap_is_fetched_in_order_after_a_fresh_identify(scenery: Scenery) -> None:
    guild, talk = scenery.guild, scenery.talk
    thread = await scenery.mention("one")
    await caught_up(scenery)
    guild.misbehave(Rule("MESSAGE_CREATE", Dropped(), times=4))
    for text in ("first", "second"):
        await guild.post(thread, text)
    await guild.post(scenery.general, "not for the bot")
    missed = await guild.post(scenery.general, f"{guild.bot.mention} two")
    guild.invalidate_sessions()
    await online_again(scenery)
    await scenery.until(lambda: len(talk.got) == 4, timeout=60)
    assert sorted(item.text for item in talk.got) == ["first", "one", "second", "two"]
    assert [item.text for item in talk.got if item.thread == str(thread)] == ["one", "first", "second"]
    await guild.wait_for(lambda g: guild.bot_user_id in g.state.find_message(missed.id).reactors("👀"))
    await caught_up(scenery)
    await guild.post(thread, "the last word")
    await scenery.until(lambda: talk.got[-1].text == "the last word")
    assert len(talk.got) == 5


async def test_f2_what_did_not_come_within_a_session_is_noticed_at_the_next_event_and_fetched_in_order(
    scenery: Scenery,
) -> None:
    guild, talk = scenery.guild, scenery.talk
    thread = await scenery.mention("one")
    await caught_up(scenery)
    guild.misbehave(Rule("MESSAGE_CREATE", Dropped(), times=3))
    for text in ("first", "second"):
        await guild.post(thread, text)
    await guild.post(scenery.general, f"{guild.bot.mention} two")
    await guild.post(thread, "third")
    await scenery.until(lambda: len(talk.got) == 5, timeout=60)
    assert [item.text for item in talk.got if item.thread == str(thread)] == ["one", "first", "second", "third"]
    assert talk.got[-1].text == "two" or talk.got[-2].text == "two", "the other channel, where nothing more came"
    await caught_up(scenery)
    await guild.post(thread, "the last word")
    await scenery.until(lambda: talk.got[-1].text == "the last word")
    assert len(talk.got) == 6


async def something_runs(store: Store, thread: str) -> None:
    """An execution that its process left open."""
    await store.save_session(SessionRow(thread, "", ""))
    lease = await store.acquire(thread, "another")
    assert lease is not None
    begun = Started(thread=thread, task="go", requester=Person(id="7", name="Ann"), inbox=thread)
    await store.append("x1", 0, lease, [Envelope(execution="x1", seq=1, at=when(), fence=lease.fence, event=begun)])


async def test_f2_one_missed_message_that_breaks_something_keeps_no_other_from_being_read(scenery: Scenery) -> None:
    guild, talk, catching = scenery.guild, scenery.talk, scenery.bot.catching
    thread = await scenery.mention("one")
    await caught_up(scenery)
    take = catching.take
    assert take is not None

    async def breaks(message: discord.Message) -> None:
        if message.content == "poison":
            raise ValueError("a fault of ours")
        await take(message)

    async def broken(row: ExecutionRow, session: SessionRow, task: str) -> None:
        raise ValueError("a fault of ours")

    catching.take, catching.stops = breaks, broken
    await something_runs(scenery.bot.store, "777")
    guild.misbehave(Rule("MESSAGE_CREATE", Dropped(), times=4))
    for text in ("before", "poison", "behind"):
        await guild.post(thread, text)
    await guild.post(scenery.general, f"{guild.bot.mention} elsewhere")
    guild.invalidate_sessions()
    await online_again(scenery)
    await scenery.until(lambda: talk.got[-1].text == "elsewhere", timeout=60)
    await caught_up(scenery)
    await guild.post(thread, "live")
    await scenery.until(lambda: talk.got[-1].text == "live")
    assert [item.text for item in talk.got if item.thread == str(thread)] == ["one", "before", "behind", "live"]


async def test_f2_a_command_that_was_missed_is_done_by_the_rights_of_who_wrote_it(guild: LocalGuild) -> None:
    looks, steers = guild.add_role("Guests"), guild.add_role("Crew")
    guild.add_member("Gus", [looks.id])
    guild.add_member("Cleo", [steers.id])
    async with running_bot(guild, roles={"Guests": "viewer", "Crew": "operator"}) as scenery:
        thread = await scenery.mention("one")
        await caught_up(scenery)
        for author, words in (("Gus", "You're a viewer here"), ("Cleo", "Stopping")):
            guild.misbehave(Rule("MESSAGE_CREATE", Dropped(), times=1))
            await guild.post(thread, "!stop", author=author)
            guild.invalidate_sessions()
            await online_again(scenery)
            await scenery.says(thread, words)
            await caught_up(scenery)
        stops = [item for item in scenery.talk.got if item.sort == "stop"]
        assert [(item.author.name, item.author.level) for item in stops] == [("Cleo", "operator")]


async def test_f2_a_missed_command_is_carried_through_though_the_gap_is_read_anew_in_its_middle(
    scenery: Scenery,
) -> None:
    """As when a server turns up a moment after the others: what was begun is not left half done, and not done twice."""
    guild, talk = scenery.guild, scenery.talk
    guild.add_member("Cleo")
    thread = await scenery.mention("one")
    await caught_up(scenery)
    guild.misbehave(Rule("GET */members/*", Delayed(1.0), times=1))
    for words, author in (("!stop", "Cleo"), (None, None)):
        guild.misbehave(Rule("MESSAGE_CREATE", Dropped(), times=1))
        await guild.post(thread if words else scenery.general, words or "not for the bot", author=author)
        await guild.post(scenery.general, "by this it is noticed")
        await scenery.until(lambda: any("members" in what for what, _ in guild.misbehaviour.applied))
    await scenery.says(thread, "Stopping")
    await caught_up(scenery)
    assert [item.sort for item in talk.got] == ["task", "stop"]
    assert sum("Stopping" in message.content for message in scenery.of_bot(thread)) == 1


async def test_f3_a_backfill_that_overlaps_live_events_doubles_nothing_and_keeps_their_order(scenery: Scenery) -> None:
    guild, talk = scenery.guild, scenery.talk
    thread = await scenery.mention("one")
    await caught_up(scenery)
    guild.misbehave(Rule("MESSAGE_CREATE", Dropped(), times=1))
    await guild.post(thread, "missed")
    guild.misbehave(Rule("GET */messages", Delayed(1.0), times=None))
    guild.misbehave(Rule("MESSAGE_CREATE", Duplicated(), times=None))
    guild.invalidate_sessions()
    await online_again(scenery)
    for text in ("live one", "live two"):
        await guild.post(thread, text)
    await guild.post(scenery.general, f"{guild.bot.mention}")
    await caught_up(scenery)
    await scenery.until(lambda: len(talk.got) == 4)
    assert [item.text for item in talk.got] == ["one", "missed", "live one", "live two"]
    await scenery.says(scenery.general, "What should I do?")
    await scenery.until_delivered()
    assert sum("What should I do?" in m.content for m in scenery.of_bot(scenery.general)) == 1
    await nothing_more(scenery, items=4)


async def test_f3_a_command_that_comes_twice_is_done_once(scenery: Scenery) -> None:
    guild, done = scenery.guild, list[str]()

    async def note(ctx: commands.Context[ThreadwrightBot]) -> None:
        done.append(ctx.message.content)

    scenery.bot.add_listener(note, "on_command")
    await caught_up(scenery)
    guild.misbehave(Rule("GET */messages", Delayed(1.0), times=None))
    guild.misbehave(Rule("MESSAGE_CREATE", Dropped(), times=1))
    guild.misbehave(Rule("MESSAGE_CREATE", Duplicated(), times=None))
    await guild.post(scenery.general, "!help")
    guild.invalidate_sessions()
    await online_again(scenery)
    await guild.post(scenery.general, "!status")
    await guild.post(scenery.general, "a word")
    await caught_up(scenery)
    await scenery.until(lambda: len(done) >= 2)
    await nothing_more(scenery, items=0)
    assert sorted(done) == ["!help", "!status"]


async def test_f3_a_stop_waits_for_no_backfill(scenery: Scenery) -> None:
    guild, talk = scenery.guild, scenery.talk
    thread = await scenery.mention("one")
    await caught_up(scenery)
    guild.misbehave(Rule("MESSAGE_CREATE", Dropped(), times=1))
    await guild.post(thread, "missed")
    guild.misbehave(Rule("GET */messages", Delayed(12.0), times=None))
    guild.invalidate_sessions()
    await online_again(scenery)
    await guild.post(thread, "stop")
    await scenery.until(lambda: [item.text for item in talk.got if item.sort == "stop"])
    assert "missed" not in [item.text for item in talk.got]


async def test_f4_without_a_watermark_nothing_old_is_answered(guild: LocalGuild) -> None:
    general = guild.channel("general").id
    thread = await guild.create_thread(general, "ours")
    await guild.post(general, f"{guild.bot.mention} long ago")
    await guild.post(thread.id, f"{guild.bot.mention} long ago too")
    await guild.post(guild.add_channel("younger").id, f"{guild.bot.mention} a moment ago")
    async with running_bot(guild) as scenery:
        await caught_up(scenery)
        await scenery.mention("new")
        assert [item.text for item in scenery.talk.got] == ["new"]
    await guild.post(general, f"{guild.bot.mention} while it was away")
    newer = await guild.post((await guild.create_thread(general, "newer")).id, f"{guild.bot.mention} in a new thread")
    async with running_bot(guild, scenery.store, after=scenery.talk) as again:
        await again.until(lambda: len(again.talk.got) == 2)
        assert {item.text for item in again.talk.got} == {"while it was away", "in a new thread"}
        assert str(newer.channel_id) in [item.thread for item in again.talk.got]


@pytest.mark.parametrize("late", ["its messages", "its server"])
async def test_f2_a_thread_that_began_meanwhile_is_read_though_newer_words_elsewhere_were_read_before(
    guild: LocalGuild, late: str
) -> None:
    async with running_bot(guild) as before:
        known = await before.mention("one")
        await caught_up(before)
    newer = await guild.create_thread(before.general, "newer")
    await guild.post(newer.id, f"{guild.bot.mention} in a new thread")
    await guild.post(known, "newer than that thread")
    what = f"GET */channels/{newer.id}/messages*" if late == "its messages" else "GUILD_CREATE"
    guild.misbehave(Rule(what, Delayed(1.0), times=1))
    async with running_bot(guild, before.store, after=before.talk) as scenery:
        await scenery.until(lambda: len(scenery.talk.got) == 2)
        assert [item.text for item in scenery.talk.got] == ["newer than that thread", "in a new thread"]
        await caught_up(scenery)


async def test_f2_what_was_missed_is_bounded_and_what_was_left_out_is_said(guild: LocalGuild) -> None:
    async with running_bot(guild) as before:
        thread = await before.mention("go")
        await caught_up(before)
    for number in range(205):
        await guild.post(thread, f"word {number}")
    async with running_bot(guild, before.store, after=before.talk) as scenery:
        await scenery.says(thread, "I was offline and missed some messages", timeout=120)
        assert [item.text for item in scenery.talk.got] == [f"word {number}" for number in range(5, 205)]


@pytest.mark.parametrize("where", ["task", "progress"])
async def test_f23_a_stop_given_while_the_bot_is_down_is_read_before_anything_goes_on(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    async with whole(guild, tmp_path, Mind(), monkeypatch) as here:
        thread = await here.mention("hold it")
        progress = await here.says(thread, "Thinking")
        await here.app.threads.close()
    await guild.react(thread if where == "task" else progress.id, "🛑")
    mind = Mind()
    mind.go.set()
    async with whole(guild, tmp_path, mind, monkeypatch) as here:
        assert await here.ended(thread) == ["stopped"]
        assert mind.asked == []


@pytest.mark.parametrize("by_word", [False, True])
async def test_f23_a_task_that_was_kept_as_the_process_ended_is_not_begun_if_it_was_stopped_meanwhile(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_word: bool
) -> None:
    async with whole(guild, tmp_path, Mind(), monkeypatch) as here:
        await here.app.threads.close()
        thread = await here.mention("work")
        await guild.wait_for(lambda g: any(one.id == thread for one in g.threads()))
    if by_word:
        await guild.post(thread, "stop")
    else:
        await guild.react(thread, "🛑")
    mind = Mind()
    async with whole(guild, tmp_path, mind, monkeypatch) as here:
        await here.says(thread, "Stopped before it started")
        assert await here.ended(thread) == []
        assert mind.asked == []


async def test_f23_what_was_running_waits_for_its_own_thread_to_be_read_and_for_no_other(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with whole(guild, tmp_path, Mind(), monkeypatch) as here:
        quick, slow = await here.mention("hold it quick"), await here.mention("hold it slow")
        await here.says(quick, "Thinking")
        await here.says(slow, "Thinking")
        await here.app.threads.close()
    await guild.post(slow, "stop")
    guild.misbehave(Rule(f"GET */channels/{slow}/messages*", Delayed(9.0), times=2))
    mind = Mind()
    mind.go.set()
    async with whole(guild, tmp_path, mind, monkeypatch) as here:
        await here.until(lambda: mind.asked, "the thread that was read goes on")
        assert not here.app.bot.catching.caught_up.is_set(), "the other thread was read before"
        assert await here.ended(quick) == ["done"]
        assert await here.ended(slow) == ["stopped"]
        assert len(mind.asked) == 1


async def test_f2_a_task_that_was_deleted_while_the_bot_was_down_is_cancelled(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with whole(guild, tmp_path, Mind(), monkeypatch) as here:
        thread = await here.mention("hold it")
        await here.says(thread, "Thinking")
        await here.app.threads.close()
    await guild.delete(thread)
    mind = Mind()
    mind.go.set()
    async with whole(guild, tmp_path, mind, monkeypatch) as here:
        assert await here.ended(thread) == ["cancelled"]
        assert mind.asked == []
