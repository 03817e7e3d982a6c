"""Commands on a workspace, with a real sandbox behind them."""

from __future__ import annotations

import os
from pathlib import Path

from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.records import Message
from tests.integration.bot.commanding import Desk, desk, words


def content(one: Desk, message: Message) -> bytes:
    return one.guild.file(message.attachments[0].id)


async def test_a_file_is_sent_as_it_is(guild: LocalGuild) -> None:
    async with desk(guild) as one:
        thread = await one.worked()
        one.put(thread, "out/résumé 1.txt", "zwölf\n")
        sent = await one.slash(thread, "workspace get", {"path": "/workspace/out/résumé 1.txt"})
        assert content(one, sent) == "zwölf\n".encode()
        assert sent.ephemeral


async def test_a_long_list_is_a_file(guild: LocalGuild) -> None:
    async with desk(guild) as one:
        thread = await one.worked()
        for number in range(200):
            one.put(thread, f"data/part-{number:04}.csv", "x")
        sent = await one.slash(thread, "workspace list")
        assert "**Files in this thread: 200 files, 200 B**" in sent.content
        assert content(one, sent).count(b"\n") >= 200


async def test_nothing_outside_and_nothing_hidden_is_listed_sent_or_proposed(guild: LocalGuild) -> None:
    async with desk(guild) as one:
        thread = await one.worked()
        one.put(thread, ".aiignore", "secret.env\n")
        one.put(thread, "secret.env", "TOKEN=canary-77")
        one.put(thread, "open.txt", "fine")
        Path(one.folder / "workspaces" / str(thread) / "link.txt").symlink_to("/etc/passwd")
        assert "secret.env" not in words(await one.slash(thread, "workspace list"))
        assert await one.proposes(thread, "workspace get", "path", "secret") == []
        assert await one.proposes(thread, "workspace get", "path") == [".aiignore", "open.txt"]
        for path in ("secret.env", "./secret.env", "x/../secret.env", "link.txt", "/etc/passwd", "../x", "/dev/zero"):
            sent = await one.slash(thread, "workspace get", {"path": path})
            assert not sent.attachments, path
            assert "could not be done" in sent.content, sent.content


async def test_a_file_that_is_too_large_is_not_sent(guild: LocalGuild) -> None:
    async with desk(guild) as one:
        thread = await one.worked()
        one.put(thread, "big.bin", "")
        os.truncate(one.folder / "workspaces" / str(thread) / "big.bin", 30 * 1024 * 1024)
        sent = await one.slash(thread, "workspace get", {"path": "big.bin"})
        assert "more than" in sent.content
        assert not sent.attachments


def names(one: Desk, thread: int) -> set[str]:
    folder = one.folder / "workspaces" / str(thread)
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


async def test_nobody_elses_click_cleans_and_nothing_is_cleaned_while_something_runs(guild: LocalGuild) -> None:
    guild.add_member("eve")
    async with desk(guild) as one:
        thread = await one.worked()
        one.put(thread, "a.txt", "1")
        asked = await one.write(thread, "!workspace clean")
        await guild.click(asked.id, asked.custom_ids()[0], author="eve")
        await guild.wait_for(
            lambda g: any("Only the person who opened this" in m.content for m in g.messages(thread, viewer="eve"))
        )
        assert names(one, thread) == {"a.txt"}
        await guild.post(thread, "and another thing")
        await one.scenery.until(lambda: one.scenery.talk.state(str(thread)) == "busy")
        await guild.click(asked.id, asked.custom_ids()[0])
        await guild.wait_for(lambda g: any("Stop it first" in m.content for m in g.messages(thread)))
        assert names(one, thread) == {"a.txt"}
