"""The moving picture of a pull request: a failing test is fixed, the check is red, its log wakes the task, it turns green.

The process, its sandbox, git, the check and the page are real; the host is a forge on loopback, and the model's words are
those of `threadwright demo`.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from PIL import Image
from playwright.async_api import Locator, Page, expect

from agentic.models.scripted.endpoint import ScriptedEndpoint
from bot.cli.demo_story import CHECK, SHOP, TASK, steps
from bot.local_forge import HostedRepository, LocalForge
from bot.local_forge.git_endpoint import tip
from tests.e2e.browsing import CHROMIUM, browsing, looked_at
from tests.e2e.film import Film
from tests.e2e.living import ADDRESS
from tests.e2e.paced_mind import PacedMind, message
from tests.e2e.processes import environment, started

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed"),
]

ASKED = f"{TASK} repo:ada/shop"


async def in_view(said: Locator) -> None:
    """Bring a message into view for the picture: on a loaded machine the page may not have followed yet."""
    await expect(said).to_be_visible()
    await said.scroll_into_view_if_needed()
    await expect(said).to_be_in_viewport()


async def test_a_pull_request_whose_check_is_red_is_mended_and_turns_green(tmp_path: Path) -> None:
    mind = PacedMind(steps)
    async with (
        asyncio.timeout(200),
        ScriptedEndpoint.start(mind) as endpoint,
        LocalForge(tmp_path / "forge") as forge,
    ):
        shop = forge.create("ada/shop", SHOP)
        env = environment(
            tmp_path / "home", endpoint.environment(), THREADWRIGHT_TIER_2="anthropic/claude-haiku-4-5",
            THREADWRIGHT_SANDBOX="bubblewrap", THREADWRIGHT_DRAIN_SECONDS="0.2", THREADWRIGHT_JUDGE="off",
            THREADWRIGHT_FORGES=f"{forge.web}=FORGE_TOKEN:github", FORGE_TOKEN=forge.token,
            THREADWRIGHT_PULL_REQUEST_SECONDS="0.3",
        )  # fmt: skip
        async with started("run", env=env, cwd=tmp_path) as running:
            url = (await running.until_said(ADDRESS))[1]
            async with browsing(url, 580, 660, 2) as page:
                film = Film(page, tmp_path)
                await _played(page, film, mind, forge, shop)
            assert await running.end() == 0
        (pull,) = shop.pulls
        assert [name for name, _, _ in shop.pushes] == [pull.head, pull.head]
        assert [run.state for run in shop.checks[tip(shop.folder, pull.head)]] == ["success"]
    for path in (film.write("light", "pull-light.webp"), film.write("dark", "pull-dark.webp")):
        with Image.open(path) as shown:
            assert getattr(shown, "n_frames", 1) > 8
            assert shown.info["loop"] == 0


async def _played(page: Page, film: Film, mind: PacedMind, forge: LocalForge, shop: HostedRepository) -> None:
    """The story, frame by frame."""
    log = page.get_by_role("log")
    await expect(log).to_contain_text("Nothing here yet")  # a page that is still opening empties its box
    await page.get_by_label("Message", exact=True).fill(f"@Threadwright {ASKED}")
    await film.take("A test of your repository fails. You ask for a fix.", 2.5)
    await page.keyboard.press("Enter")
    opened = log.get_by_role("button", name=re.compile("Fix the failing test"))
    await expect(opened).to_be_visible()
    await opened.click()
    progress = message(page, log, "Thinking")
    await expect(progress).to_be_visible()
    await mind.step(progress, "exit 1")
    await film.take("A thread opens with its files. The test fails there too.", 2.5)
    await mind.step(progress, "Read price.py")
    await mind.step(progress, "✔ Edited")
    await mind.step(progress, "The same test again")
    await mind.step(progress, "Now it passes")
    await film.take("It fixes the code: that test passes.", 2.5)
    await mind.step(progress, "Used publish")
    shop.set_check(tip(shop.folder, shop.pulls[0].head), "tests", "pending")
    card = message(page, log, "Pull request 1: A voucher")
    await expect(card).to_contain_text("Running: tests")
    await film.take("It opens a pull request. The token never enters its sandbox.", 3.5)
    mind.ends()
    await in_view(message(page, log, "the pull request is open"))
    await film.take("The host now runs its check. Nothing to do, nothing spent.", 3)

    _check(forge, shop)
    red = message(page, log, "failed on pull request")
    await expect(red).to_contain_text("attempt 1 of 3")
    await expect(card).to_contain_text("Failed: tests")
    again = message(page, log, "Thinking")
    await in_view(again)
    await film.take("The check is red: it ran all tests. Its log wakes the task.", 4.5)
    await looked_at(page, "pull-red")
    await mind.step(again, "exit 1")
    await film.take("By itself it runs all of them: another one fails now.", 2.5)
    await mind.step(again, "Read receipt.py")
    await mind.step(again, "✔ Edited")
    await mind.step(again, "All of them again")
    await mind.step(again, "All pass")
    await film.take("It mends that as well: all tests pass.", 2.5)
    await mind.step(again, "Used publish")
    mind.ends()
    await in_view(message(page, log, "relied on the price below zero"))
    _check(forge, shop)
    green = message(page, log, "is green")
    await in_view(green)
    await expect(message(page, log, "Pull request 1: A voucher")).to_contain_text("All checks passed")
    await film.take("Published again to the same pull request: green.", 5)
    await looked_at(page, "pull-green")


def _check(forge: LocalForge, shop: HostedRepository) -> None:
    """Let the host run its check of what was pushed last."""
    forge.set_check("tests", CHECK)
    forge.run_check(shop, tip(shop.folder, shop.pulls[0].head))
    forge.check = None  # not by itself at the next push, so that the film shows one thing after the other
