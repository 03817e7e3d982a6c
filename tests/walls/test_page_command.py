"""`threadwright page`: a link for whoever owns the home, once, and none for anybody else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import aiohttp
import pytest

from bot.cli.run import only_one
from bot.local_discord import LocalGuild
from tests.e2e.living import ADDRESS
from tests.e2e.person import entered
from tests.e2e.processes import environment, started
from tests.walls.tally import Wall


def page(env: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bot.cli.main", "page"]
    return subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)


async def opens(address: str, key: str) -> bool:
    async with aiohttp.ClientSession() as session, session.post(f"{address}/ui/session", json={"key": key}) as answer:
        return answer.status == 200


@pytest.mark.wall("keys")
async def test_the_page_of_a_running_bot_opens_by_a_fresh_link_once(tmp_path: Path, wall: Wall) -> None:
    home = tmp_path / "home"
    env = environment(home, {}, THREADWRIGHT_SANDBOX="bubblewrap")
    nothing = page(env, tmp_path)
    assert (nothing.returncode, nothing.stdout) == (1, "")
    assert "No bot is running" in nothing.stderr
    async with started("run", env=env, cwd=tmp_path) as running:
        first = (await running.until_said(ADDRESS))[1]
        said = page(env, tmp_path)
        assert said.returncode == 0, said.stderr
        found = re.fullmatch(r"(http://127\.0\.0\.1:\d+)/#key=([\w-]+)\n", said.stdout)
        assert found is not None
        assert said.stdout.startswith(first.partition("#")[0])
        assert await opens(found[1], found[2])
        wall.held("the same link again", not await opens(found[1], found[2]))
        kept = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
        wall.held("the key in a file", found[2].encode() not in kept)
        open_to_others = [path for path in (home, *home.iterdir()) if path.is_dir() and path.stat().st_mode & 0o077]
        wall.held("the folder that it goes through", not open_to_others, str(open_to_others))
        assert await entered(first)  # the first link is as good as it was
    after = page(env, tmp_path)
    assert (after.returncode, after.stdout) == (1, "")
    assert "No bot is running" in after.stderr


def test_a_bot_on_discord_has_no_page_and_another_ones_home_opens_none(tmp_path: Path) -> None:
    home = tmp_path / "home"
    env = environment(home, {})
    with only_one(home):
        said = page(env, tmp_path)
    assert said.returncode == 1
    assert "is on Discord" in said.stderr
    if os.getuid() == 0:
        os.chown(home, 65_534, 65_534)
        said = page(env, tmp_path)
        assert (said.returncode, said.stdout) == (1, "")


@pytest.mark.wall("keys")
async def test_a_key_that_was_used_stays_used_though_its_end_could_not_be_written(
    tmp_path: Path, wall: Wall, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await LocalGuild.start(state=tmp_path / "guild") as guild:
        key = guild.link().partition("#key=")[2]
        store = guild._store  # pyright: ignore[reportPrivateUsage]
        monkeypatch.setattr(store, "remove_text", lambda *_: None)  # as on a full disk  # pyright: ignore
        assert await opens(guild.url, key)
        for _ in range(3):
            wall.held("again", not await opens(guild.url, key))
