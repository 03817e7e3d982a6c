"""Titles that models offer: a thread gets one, once, in the place of a name that the bot gave, whatever fails."""

from __future__ import annotations

import asyncio

import pytest

from agentic.core.events.execution_events import ModelAnswered, ModelRequested, TextBlock
from agentic.stores.memory import MemoryStore
from bot.local_discord.faults.rules import Delayed, Fault, RateLimited, Refused, Reset, Rule
from bot.local_discord.local_discord import LocalGuild
from bot.outbound.live import thread_titles
from tests.integration.bot.talking import SECONDS, Scenery, running_bot

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
    async with asyncio.timeout(SECONDS):
        while await scenery.store.fact(thread_titles.DUE) != "{}":
            await asyncio.sleep(0.01)


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
        (Refused(500), OFFERED),
        (Refused(403, 50013, "Missing Permissions"), "look at the test"),
        (Refused(400, 50035, "Invalid Form Body"), "look at the test"),
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
    store = MemoryStore()
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
