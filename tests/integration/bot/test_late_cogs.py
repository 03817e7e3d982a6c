"""After a crash, what only people need is loaded once what was running goes on; who is quicker finds it there all the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agentic.stores.memory import MemoryStore
from bot.guild.local import LocalGuild
from tests.integration.bot.talking import Scenery, running_bot


@asynccontextmanager
async def in_a_hurry(guild: LocalGuild, unhurried: asyncio.Event) -> AsyncIterator[tuple[Scenery, int]]:
    """A second process, whose commands the first one has registered; what was running still waits for its model."""
    store = MemoryStore()
    async with running_bot(guild, store) as before:
        await before.until(lambda: before.bot.registration.done.is_set())
        thread = await before.mention("build it")
    async with running_bot(guild, store, after=before.talk, unhurried=unhurried) as scenery:
        assert not scenery.bot.late.are_there
        yield scenery, thread


async def test_it_is_loaded_when_what_was_running_goes_on(guild: LocalGuild) -> None:
    unhurried = asyncio.Event()
    async with in_a_hurry(guild, unhurried) as (scenery, _):
        assert "status" not in scenery.bot.all_commands
        unhurried.set()
        await scenery.until(lambda: scenery.bot.registration.done.is_set())
        assert "status" in scenery.bot.all_commands
        assert scenery.bot.get_cog("LessonButtons") is not None


async def test_a_slash_command_finds_it(guild: LocalGuild) -> None:
    async with in_a_hurry(guild, asyncio.Event()) as (_, thread):
        await guild.slash(thread, "status")
        shown = await guild.wait_for(lambda g: next((m for m in g.messages(thread) if m.embeds), None))
        assert "build it" in str(shown.embeds)


async def test_a_command_by_prefix_finds_it_and_is_no_guidance(guild: LocalGuild) -> None:
    async with in_a_hurry(guild, asyncio.Event()) as (scenery, thread):
        await guild.post(thread, "!status")
        await guild.wait_for(lambda g: any(m.embeds for m in g.messages(thread) if m.author_id == g.bot_user_id))
        assert not scenery.talk.got


async def test_what_is_no_command_does_not_wait_for_it(guild: LocalGuild) -> None:
    async with in_a_hurry(guild, asyncio.Event()) as (scenery, thread):
        await guild.post(thread, "use the other file")
        await scenery.until(lambda: len(scenery.talk.got) == 1)
        assert not scenery.bot.late.are_there


async def test_what_was_said_first_is_taken_in_first(guild: LocalGuild) -> None:
    async with in_a_hurry(guild, asyncio.Event()) as (scenery, thread):
        await guild.post(thread, "look into src/ first")
        await guild.post(thread, "then go on")
        await scenery.until(lambda: len(scenery.talk.got) == 2)
        assert [item.text for item in scenery.talk.got] == ["look into src/ first", "then go on"]
