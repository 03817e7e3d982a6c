"""A real disk without room, under the whole bot."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.cli.doctor import store as look
from bot.config.settings import Settings
from bot.local_discord.local_discord import LocalGuild
from tests.faults.staging import guild
from tests.faults.test_damage_faults import Holding
from tests.faults.whole import whole
from tests.waiting import eventually

__all__ = ["guild"]


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of 16 MB."""
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if made.returncode != 0:
        pytest.skip(f"this user may not mount: {made.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Take all the room there is."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue
    return ballast


async def test_f82_a_full_disk_under_a_running_bot_loses_nothing_that_was_taken_in(
    guild: LocalGuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What ran breaks off in words and goes on when there is room; what could not be kept is said and can be sent again."""
    mind = Holding()
    with small_disk(tmp_path / "home") as home:
        async with whole(guild, home, mind, monkeypatch) as bot:
            before = await bot.mention("hello")
            await bot.says(before, "answered <hello>")
            running = await bot.mention("stay with me")
            await bot.logged(running, "model_requested")
            ballast = fill(home)

            # What still fits between two pages is spent, until nothing more is taken in.
            async def posted_in_vain() -> bool:
                await guild.post(before, "more of it " + "·" * 1_500)
                return any("couldn't save that" in each.content for each in bot.said(before))

            async def mentioned_in_vain() -> bool:
                def refused() -> bool:
                    return any("I couldn't save that (the disk is full" in m.content for m in bot.said(bot.general))

                posted = await bot.mention("this cannot be kept")  # a few words may fit where many did not
                me, find = guild.bot_user_id, guild.state.find_message
                await eventually(lambda: refused() or me in find(posted).reactors("👀"))
                return refused()

            await eventually(posted_in_vain)
            await eventually(mentioned_in_vain)
            mind.later.set()
            await bot.until(lambda: f"cannot be told in thread {running}" in caplog.text, "it broke off")
            ballast.unlink()
            await bot.says(running, "the disk is full")
            await guild.post(running, "go on")
            await bot.says(running, "answered <stay with me>")
            await guild.post(bot.general, f"{guild.bot.mention} now it can")
            assert await bot.ended(running) == ["done"]
            assert sum("answered <stay with me>" in each.content for each in bot.said(running)) == 1
        assert (await asyncio.to_thread(look, Settings(home=home), thoroughly=True)).todo in ("", "make room")
