"""What is said when a command fails: by one handler, in plain words, for both ways of using it."""

from __future__ import annotations

import re
import string

import pytest

from agentic.ports.errors import StoreUnavailable
from bot.cogs.commands.replies import READS
from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.commanding import desk, words


async def test_a_fault_of_ours_has_an_id_that_stands_in_the_log_both_ways(
    guild: LocalGuild, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with desk(guild) as one:
        thread = await one.worked()

        async def broken(thread: str) -> object:
            raise RuntimeError("boom")

        monkeypatch.setattr(one.scenery.talk, "status", broken)
        for said in (words(await one.slash(thread, "status")), words(await one.write(thread, "!status"))):
            found = re.search(r"number: `([0-9a-f]{8})`", said)
            assert found, said
            assert f"fault {found[1]}: command status failed" in caplog.text
            assert "boom" not in said


async def test_a_store_that_does_not_answer_is_told_and_is_no_fault_of_ours(
    guild: LocalGuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk(guild) as one:
        thread = await one.worked()

        async def full(*_: object, **__: object) -> object:
            raise StoreUnavailable("the disk is full")

        monkeypatch.setattr(one.scenery.store, "executions", full)
        assert "the disk is full" in words(await one.slash(thread, "memory list"))


async def test_a_word_that_is_no_command_gets_the_nearest_one_in_a_thread_and_nothing_elsewhere(
    guild: LocalGuild,
) -> None:
    async with desk(guild) as one:
        thread = await one.worked()
        assert "`!status`" in words(await one.write(thread, "!statsu"))
        before = len(one.scenery.of_bot(one.scenery.general))
        await guild.post(one.scenery.general, "!statsu")
        assert "no `lst`. Did you mean `workspace list`?" in words(await one.write(thread, "!workspace lst"))
        assert len(one.scenery.of_bot(one.scenery.general)) == before


async def test_arguments_are_named_with_an_example(guild: LocalGuild) -> None:
    async with desk(guild) as one:
        thread = await one.worked()
        said = words(await one.write(thread, "!lessons show"))
        assert "`lesson show` needs" not in said
        assert "`lessons show` needs `lesson`" in said
        assert "For example: `!lessons show l0123456789a`" in said
        assert "must be from 1 to 2000, not `9999`" in words(await one.write(thread, "!logs 9999"))
        assert "quotes" in words(await one.write(thread, '!lessons show "open'))


async def test_who_reads_too_much_at_once_is_told_when_it_works_again(guild: LocalGuild) -> None:
    guild.add_member("eve")
    async with desk(guild) as one:
        thread = await one.worked()
        said = [words(await one.slash(thread, "logs")) for _ in range(READS + 1)]
        assert not any("too fast" in each for each in said[:-1])
        assert re.search(r"too fast. Try `logs` again in \d+ s", said[-1])
        assert "too fast" not in words(await one.slash(thread, "logs", author="eve"))


async def test_a_command_that_discord_still_shows_and_that_is_gone_is_explained(guild: LocalGuild) -> None:
    async with desk(guild) as one:
        one.scenery.bot.tree.remove_command("cost")
        assert "old version of my commands" in words(await one.slash(one.scenery.general, "cost"))


async def test_in_a_plain_channel_it_is_said_where_the_command_works(guild: LocalGuild) -> None:
    async with desk(guild) as one:
        await one.worked()
        for name in ("logs", "pause", "workspace list"):
            assert "works only inside a task's thread" in words(await one.slash(one.scenery.general, name)), name


async def test_a_thread_that_was_archived_is_still_found(guild: LocalGuild) -> None:
    async with desk(guild) as one:
        thread = await one.worked("old work")
        await guild.archive(thread)
        await one.scenery.until(lambda: one.scenery.bot.get_channel(thread) is None)
        assert await one.proposes(one.scenery.general, "cost", "thread") == [str(thread)]
        assert "$0.50" in words(await one.slash(one.scenery.general, "cost", {"thread": str(thread)}))


async def test_a_thread_is_found_by_its_title_however_many_others_there_are(guild: LocalGuild) -> None:
    async with desk(guild) as one:
        titles = {str(await one.scenery.mention(f"task {name}")): name for name in string.ascii_lowercase}
        proposed = await one.proposes(one.scenery.general, "cost", "thread")
        assert len(proposed) == 25
        (missing,) = titles.keys() - set(proposed)
        assert await one.proposes(one.scenery.general, "cost", "thread", f"TASK {titles[missing]}") == [missing]
