"""Titles that models offer: a thread gets one, once, in the place of a name that the bot gave, whatever fails."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import replace

import pytest

from agentic.core.audit.erasure import ERASED
from agentic.core.events.execution_events import ModelAnswered, ModelRequested, TextBlock
from agentic.ports.errors import StoreUnavailable
from agentic.ports.runtime import SessionRow
from agentic.stores.sqlite.store import SQLiteStore
from bot.local_discord.faults.rules import Delayed, ErrorAnswer, Fault, RateLimited, Reset, Rule
from bot.local_discord.local_discord import LocalGuild
from bot.outbound.discord_api import Held
from bot.outbound.live import thread_titles
from bot.ports.conversation import named_fact
from tests.integration.bot.talking import Scenery, running_bot
from tests.stores import fresh_store
from tests.waiting import eventually

OFFERED = "Fix the login test"


async def offer(scenery: Scenery, thread: int, title: str = OFFERED) -> None:
    """A model's answer offers a title; wait until the outbox has taken it."""
    requested = ModelRequested(request=title, turn=1, tier=2, model="m")
    said = ModelAnswered(request=title, blocks=(TextBlock(text=f"title: {title}\nI look."),))
    await scenery.talk.add(scenery.talk.newest(thread), requested, said)
    scenery.bot.outbox.poke()
    await scenery.until_delivered()


async def settled(scenery: Scenery) -> None:
    """Wait until no title is left to be given."""

    async def none_due() -> bool:
        return await scenery.store.fact(thread_titles.DUE) == "[]"

    await eventually(none_due, "no title is due")


def name(guild: LocalGuild, thread: int) -> str:
    return guild.state.channel(thread).name


async def test_a_thread_gets_the_first_title_that_is_offered_and_no_second_one(scenery: Scenery) -> None:
    guild = scenery.guild
    thread = await scenery.mention("please could you have a look at why that test is red")
    await offer(scenery, thread)
    await settled(scenery)
    assert name(guild, thread) == OFFERED
    session = await scenery.store.session(str(thread))
    assert session is not None
    assert session.title == OFFERED
    assert "title:" not in " ".join(message.content for message in scenery.of_bot(thread))
    await scenery.talk.finish(scenery.talk.newest(thread))
    await scenery.says(thread, "All done.")
    await guild.post(thread, "and now the docs")
    await scenery.until(lambda: len(scenery.talk.got) == 2)
    await offer(scenery, thread, "Write the new docs")
    await settled(scenery)
    assert name(guild, thread) == OFFERED
    assert sum("PATCH /channels/" in asked.what and "/messages/" not in asked.what for asked in guild.asked) == 1


async def test_a_name_that_people_gave_stays(scenery: Scenery) -> None:
    thread = await scenery.mention("look at the test")
    await scenery.guild.change_thread(thread, name="Bob's corner")
    await offer(scenery, thread)
    await settled(scenery)
    assert name(scenery.guild, thread) == "Bob's corner"


@pytest.mark.parametrize(
    ("fault", "becomes"),
    [
        (Reset(landed=True), OFFERED),
        (RateLimited(), OFFERED),
        (ErrorAnswer(403, 50013, "Missing Permissions"), "look at the test"),
        (ErrorAnswer(404, 10003, "Unknown Channel"), "look at the test"),
        (ErrorAnswer(400, 50035, "Invalid Form Body"), "look at the test"),
    ],
)
async def test_a_rename_that_fails_is_tried_again_where_that_can_help(
    scenery: Scenery, fault: Fault, becomes: str
) -> None:
    thread = await scenery.mention("look at the test")
    scenery.guild.misbehave(Rule(f"PATCH /channels/{thread}", fault))
    await offer(scenery, thread)
    await settled(scenery)
    assert name(scenery.guild, thread) == becomes


async def test_what_the_thread_says_does_not_wait_for_its_title_and_the_next_process_gives_it(
    guild: LocalGuild,
) -> None:
    store = fresh_store()
    async with running_bot(guild, store) as before:
        thread = await before.mention("look at the test")
        guild.misbehave(Rule(f"PATCH /channels/{thread}", Delayed(600.0)))
        await offer(before, thread)
        await guild.wait_for(lambda g: any(asked.what == f"PATCH /channels/{thread}" for asked in g.asked))
        await before.talk.finish(before.talk.newest(thread))
        await before.says(thread, "All done.")
        assert name(guild, thread) == "look at the test"
    async with running_bot(guild, store, after=before.talk) as scenery:
        await settled(scenery)
        assert name(guild, thread) == OFFERED


async def test_a_rename_that_fails_again_and_again_is_given_up(
    scenery: Scenery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thread_titles, "AGAIN_SECONDS", 0.001)
    seen: list[str] = []

    async def refuses(thread: str, title: str, given: object) -> bool:
        seen.append(thread)
        raise Held("Discord cannot be reached", 0.0)

    monkeypatch.setattr(scenery.bot.desk, "rename", refuses)
    thread = await scenery.mention("look at the test")
    await offer(scenery, thread)
    await settled(scenery)
    assert seen == [str(thread)] * thread_titles.TRIES
    assert name(scenery.guild, thread) == "look at the test"


async def test_however_many_titles_wait_a_few_are_given_at_a_time(
    scenery: Scenery, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, running, most, given = asyncio.Event(), 0, 0, 0

    async def slow(thread: str, title: str, names: object) -> bool:
        nonlocal running, most, given
        running += 1
        most = max(most, running)
        await go.wait()
        running, given = running - 1, given + 1
        return False

    monkeypatch.setattr(scenery.bot.desk, "rename", slow)
    threads = [str(number) for number in range(20)]
    for thread in threads:
        await scenery.store.save_session(SessionRow(thread, "1", "1", "look"))
        await scenery.bot.titles.expect(thread, OFFERED)
    await scenery.until(lambda: running == thread_titles.AT_ONCE)
    go.set()
    await settled(scenery)
    assert (most, given) == (thread_titles.AT_ONCE, len(threads))


class Forgetful(SQLiteStore):
    """A store that cannot say at first which titles are due."""

    reads = 0

    async def fact(self, key: str) -> str | None:
        self.reads += key == thread_titles.DUE
        if key == thread_titles.DUE and self.reads == 1:
            raise StoreUnavailable("it is locked")
        return await super().fact(key)


async def test_titles_of_an_earlier_process_are_given_although_the_store_failed_at_first(
    guild: LocalGuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thread_titles, "AGAIN_SECONDS", 0.01)
    store = fresh_store(Forgetful)
    store.reads = 1
    async with running_bot(guild, store) as before:
        thread = await before.mention("look at the test")
        guild.misbehave(Rule(f"PATCH /channels/{thread}", Delayed(600.0)))
        await offer(before, thread)
        await guild.wait_for(lambda g: any(asked.what == f"PATCH /channels/{thread}" for asked in g.asked))
    store.reads = 0
    async with running_bot(guild, store, after=before.talk) as scenery:
        await settled(scenery)
        assert name(guild, thread) == OFFERED


async def test_a_title_that_was_erased_is_not_given_and_comes_back_nowhere(
    scenery: Scenery, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = await scenery.mention("look at the test")
    renames, go, rename = asyncio.Event(), asyncio.Event(), scenery.bot.desk.rename

    async def slow(thread: str, title: str, given: Collection[str]) -> bool:
        done = await rename(thread, title, given)
        renames.set()
        await go.wait()
        return done

    monkeypatch.setattr(scenery.bot.desk, "rename", slow)
    await offer(scenery, thread)
    await renames.wait()
    execution = scenery.talk.newest(thread)
    await scenery.talk.finish(execution)
    await scenery.says(thread, "All done.")
    await scenery.until_delivered()
    await scenery.bot.privacy.erase(scenery.talk.got[-1].author.id, "eve")
    assert OFFERED not in str(await scenery.store.fact(thread_titles.DUE))
    go.set()
    await settled(scenery)
    session = await scenery.store.session(str(thread))
    assert session is not None
    assert session.title == ERASED
    assert await scenery.store.fact(named_fact(str(thread))) == ERASED
    await scenery.bot.titles.expect(str(thread), OFFERED)
    assert await scenery.store.fact(thread_titles.DUE) == "[]"


async def test_a_title_is_wanted_where_the_bot_made_the_thread_and_nobody_named_it(scenery: Scenery) -> None:
    async def wanted(thread: int, **other: str) -> bool:
        session = await scenery.store.session(str(thread))
        assert session is not None
        return await scenery.bot.titles.wanted(replace(session, **other))

    thread = await scenery.mention("look at the test")
    assert await wanted(thread)
    assert not await wanted(thread, channel=""), "people made it"
    await scenery.guild.change_thread(thread, name="Bob's corner")
    await scenery.until(lambda: getattr(scenery.bot.get_channel(thread), "name", "") == "Bob's corner")
    assert not await wanted(thread)
    other = await scenery.mention("look at the docs")
    await scenery.talk.add(
        scenery.talk.newest(other),
        ModelRequested(request="r", turn=1, tier=2, model="m"),
        ModelAnswered(request="r", blocks=(TextBlock(text="I look."),)),
    )
    assert await wanted(other)
    await scenery.talk.finish(scenery.talk.newest(other))
    await scenery.says(other, "All done.")
    assert not await wanted(other), "its first task ended without one"
