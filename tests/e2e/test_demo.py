"""`threadwright demo`: the real process, from a mention to a pull request that turns red and then green."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import aiohttp

from agentic.models.scripted.endpoint import ScriptedEndpoint
from bot.cli.demo import SCRIPTED
from bot.cli.demo_story import OVER, TASK, story
from bot.local_forge.git_endpoint import branches, git
from tests.e2e.living import ADDRESS
from tests.e2e.person import person
from tests.e2e.processes import Running, environment, started

TESTS = ("python3", "-m", "unittest")


def passes(forge: Path, branch: str, folder: Path) -> bool:
    """Check a branch of the forge's repository out, and run its tests."""
    bare = forge / "demo/shop.git"
    folder.mkdir()
    git(
        bare,
        "--work-tree",
        str(folder),
        "-c",
        "core.bare=false",
        "checkout",
        "-f",
        branch,
        "--",
        ".",
        index=folder / "i",
    )
    return asyncio.run(_ran(folder))


async def _ran(folder: Path) -> bool:
    process = await asyncio.create_subprocess_exec(*TESTS, cwd=folder, stderr=asyncio.subprocess.DEVNULL)
    return await process.wait() == 0


async def played(running: Running, *, then: str = "") -> None:
    """Give the task as somebody at the page, wait until its pull request is green, and ask for more."""
    async with person((await running.until_said(ADDRESS, 120))[1]) as somebody:
        thread = await somebody.mention(TASK)
        card = await somebody.sees(thread, r"Pull request \d: A voucher makes no price negative", 180)
        await somebody.sees(thread, r"`tests` failed on pull request \d\. I'll fix it \(attempt 1 of 3\)", 120)
        await somebody.sees(thread, r"Pull request \d is green: `tests` passed", 180)
        await somebody.sees(thread, r"The receipt relied on the price below zero", 60)
        link = re.search(r"<(http://127\.0\.0\.1:\d+/demo/shop/pull/\d)>", card.text)
        assert link
        async with aiohttp.ClientSession() as session, session.get(link[1]) as page:
            told = await page.text()
        assert "✅ tests" in told
        assert "+    left = max(voucher - sum(cents), 0)" in told
        if then:
            await somebody.say(thread, then)
            await somebody.sees(thread, re.escape(OVER), 120)


async def test_without_a_model_a_story_really_fixes_it_and_says_that_it_is_scripted(tmp_path: Path) -> None:
    home = tmp_path / "home"
    env = environment(home, {}, THREADWRIGHT_SANDBOX="bubblewrap")
    forge = home / "demo" / "forge"
    async with asyncio.timeout(600), started("demo", env=env, cwd=tmp_path) as running:
        await played(running, then="Write a changelog, too")
        assert SCRIPTED in "".join(running.said)
        async with started("demo", env=env, cwd=tmp_path) as second:
            assert await second.ended() == 1
            assert "already runs" in second.output
        assert f"Everything is in {home / 'demo'}" in "".join(running.said)
        assert await running.end() == 0, running.output
    (fixed,) = [name for name in branches(forge / "demo/shop.git") if name != "main"]
    checked = [
        await asyncio.to_thread(passes, forge, name, tmp_path / f"of-{number}")
        for number, name in enumerate(("main", fixed))
    ]
    assert checked == [False, True]
    async with asyncio.timeout(240), started("demo", env=env, cwd=tmp_path) as again:
        await again.until_said(ADDRESS, 120)
        assert set(branches(forge / "demo/shop.git")) == {"main"}, "it begins anew"
        assert await again.end() == 0


async def test_a_configured_model_does_the_work(tmp_path: Path) -> None:
    async with asyncio.timeout(600), ScriptedEndpoint.start(story) as endpoint:
        env = environment(
            tmp_path / "home", endpoint.environment(), THREADWRIGHT_TIER_2="anthropic/claude-haiku-4-5",
            THREADWRIGHT_SANDBOX="bubblewrap", THREADWRIGHT_JUDGE="off",
        )  # fmt: skip
        async with started("demo", env=env, cwd=tmp_path) as running:
            await played(running)
            assert SCRIPTED not in "".join(running.said)
            assert await running.end() == 0, running.output
    assert {request.model for request in endpoint.requests} == {"claude-haiku-4-5"}
