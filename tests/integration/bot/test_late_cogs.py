"""After a crash, what only people need is loaded once what was running goes on; who is quicker finds it there all the same."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from discord.ext import commands

from agentic.stores.memory import MemoryStore
from bot.app.services import Backstage
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.records import Message
from reflexion.stores.memory import MemoryLessonStore
from tests.integration.bot.talking import Scenery, running_bot
from tests.integration.bot.test_approving_lessons import asked_in, form, press
from tests.integration.bot.test_commands_registered import names


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


def broken(monkeypatch: pytest.MonkeyPatch, cog: str, *parts: str) -> None:
    """From now on these modules are missing in the installation, so the cog that needs them cannot be imported."""
    monkeypatch.delitem(sys.modules, cog, raising=False)
    for part in parts:
        monkeypatch.setitem(sys.modules, part, None)  # type: ignore[arg-type]


def without_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "bot.cogs.commands", "bot.cogs.commands.reports")


def said(scenery: Scenery) -> list[tuple[str, str]]:
    return [(item.sort, item.text) for item in scenery.talk.got]


async def told(guild: LocalGuild, channel: int, words: str) -> Message:
    """What somebody reads, perhaps they alone."""
    return await guild.wait_for(
        lambda g: next((m for m in g.messages(channel, viewer=None) if words in m.content), None)
    )


async def test_without_commands_nothing_that_is_said_is_lost_and_the_log_says_it_once(
    guild: LocalGuild, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with in_a_hurry(guild, asyncio.Event()) as (scenery, thread):
        without_commands(monkeypatch)
        for text in ("look into src/ first", "!important: not tests/old", "/var/log is full"):
            await guild.post(thread, text)
        await guild.post(scenery.general, f"{guild.bot.mention} clean up docs/")
        await scenery.until(lambda: len(scenery.talk.got) == 4)
        assert said(scenery)[:3] == [
            ("guidance", "look into src/ first"), ("guidance", "!important: not tests/old"), ("guidance", "/var/log is full"),
        ]  # fmt: skip
        assert ("task", "clean up docs/") in said(scenery)
        await guild.post(thread, "!status")
        answered = await told(guild, thread, "`!status` does nothing now")
        assert "has to be installed anew" in answered.content
        await guild.post(thread, "!stop")
        await scenery.until(lambda: said(scenery)[-1] == ("stop", ""))
    logged = [record for record in caplog.records if "bot.cogs.commands cannot be loaded" in record.message]
    assert len(logged) == 1
    assert logged[0].exc_text is not None
    assert "bot.cogs.commands.reports" in logged[0].exc_text, "and why"
    assert [r.message for r in caplog.records if r.levelname in ("ERROR", "CRITICAL")] == [logged[0].message]


async def test_without_commands_a_slash_command_says_so_and_discord_keeps_its_list(
    guild: LocalGuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    unhurried = asyncio.Event()
    async with in_a_hurry(guild, unhurried) as (scenery, thread):
        without_commands(monkeypatch)
        before = names(guild, None)
        await guild.slash(thread, "stop")
        answered = await told(guild, thread, "`/stop` does nothing now")
        assert answered.ephemeral
        assert "the word `stop` alone, stops a task" in answered.content
        assert await guild.autocomplete(thread, "resume", "checkpoint") == []
        unhurried.set()
        await scenery.until(lambda: not any(t.get_name() == "commands" for t in asyncio.all_tasks()))
        assert "stop" in before
        assert names(guild, None) == before, "an empty list would take them away"
        assert scenery.bot.get_cog("LessonButtons") is not None, "the other one is loaded all the same"


async def test_without_what_decides_about_lessons_a_press_and_a_form_say_so_and_commands_work(
    guild: LocalGuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    lessons, store = MemoryLessonStore(), MemoryStore()
    behind = Backstage(lessons)
    guild.add_member("own", [guild.add_role("chiefs").id])
    levels = {"chiefs": "owner"}
    async with running_bot(guild, store, backstage=behind, roles=levels) as before:
        await before.until(lambda: before.bot.registration.done.is_set())
        thread, message = await asked_in(before, lessons)
        filled, _ = await form(before, message)
    unhurried = asyncio.Event()
    async with running_bot(
        guild, store, after=before.talk, backstage=behind, unhurried=unhurried, roles=levels
    ) as scenery:
        broken(monkeypatch, "bot.cogs.lesson_buttons", "bot.lessons.lesson_approval_text")
        pressed = await press(scenery, message, "approve")
        submitted = await guild.submit(filled, {"trigger": "always", "action": "do it"})
        for id in (pressed, submitted):
            await guild.wait_for(lambda g, id=id: g.interaction(id).answer)
        private = [m for m in guild.messages(thread, viewer="own") if "Nothing was changed" in m.content]
        assert len(private) == 2
        assert [lesson.status for lesson in await lessons.lessons(None)] == ["quarantined"]
        await guild.slash(thread, "status")
        assert await guild.wait_for(lambda g: next((m for m in g.messages(thread) if m.embeds), None))


async def test_a_start_that_waits_for_nothing_is_refused_without_commands(
    guild: LocalGuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_commands(monkeypatch)
    with pytest.raises((ImportError, commands.ExtensionError)):
        async with running_bot(guild):
            pass
