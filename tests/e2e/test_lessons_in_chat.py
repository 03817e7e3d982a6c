"""A lesson's way in the chat, at the page: it is asked about, said better, listed, and the next attempt's card names what
was used.

``UPDATE_IMAGES=1 pytest tests/e2e/test_lessons_in_chat.py`` puts the pictures into ``docs/images``.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path

import pytest
from playwright.async_api import Locator, Page, expect

from agentic.models.endpoint import ScriptedEndpoint
from tests.e2e.browsing import CHROMIUM, browsing, picture
from tests.e2e.living import ADDRESS
from tests.e2e.processes import environment, started
from tests.e2e.vendored import BETTER, COMMAND, DONE, FAILED, FILES, TASK, Vendored

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed"),
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed"),
]
LONG = 40_000
"""Milliseconds for what takes a few turns, on a busy machine."""


async def shows(page: Page, words: str | re.Pattern[str]) -> Locator:
    """The newest message that holds the words; it stays the same when other words replace them."""
    found = page.get_by_role("log").locator("article", has=page.locator(".body", has_text=words)).last
    await expect(found).to_be_visible(timeout=LONG)
    return page.locator(f"#{await found.get_attribute('id')}")


async def say(page: Page, text: str) -> None:
    await page.get_by_label("Message", exact=True).fill(text)
    await page.keyboard.press("Enter")


async def give(page: Page, mind: Vendored, home: Path) -> None:
    """Give the task in the channel and open its thread, with its files in it."""
    await say(page, f"@Threadwright {TASK}")
    await page.get_by_role("button", name=re.compile(f"^Thread {TASK[:20]}")).first.click()
    await expect(page.locator("#room-note")).to_contain_text("Thread in")
    here = await page.locator(".place-link[aria-current]").get_attribute("data-id")
    folder = home / "workspaces" / str(here)
    async with asyncio.timeout(30):
        while not folder.is_dir():
            await asyncio.sleep(0.02)
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    mind.ready.set()


async def command(page: Page, text: str, said: str | re.Pattern[str]) -> Locator:
    """Use a command with its prefix; its answer."""
    await say(page, text)
    return await shows(page, said)


async def test_a_lesson_is_asked_about_said_better_and_listed_and_what_was_used_is_named(tmp_path: Path) -> None:
    mind, home = Vendored(), tmp_path / "home"
    async with asyncio.timeout(200), ScriptedEndpoint.start(mind) as endpoint:
        env = environment(
            home, endpoint.environment(), THREADWRIGHT_TIER_2="anthropic/claude-haiku-4-5", THREADWRIGHT_SANDBOX="bubblewrap",
        )  # fmt: skip
        async with started("run", env=env, cwd=tmp_path) as running:
            url = (await running.until_said(ADDRESS))[1]
            async with browsing(url, 1040, 1200) as page:
                await give(page, mind, home)
                card = await shows(page, FAILED)
                await expect(card).to_contain_text("learned: The tests of the report need the module tabulate")
                await expect(card).to_contain_text("waits for an owner's approval, see below")
                asked = await shows(page, "A lesson waits for approval")
                await expect(asked).to_contain_text(f"Run `{COMMAND}` before the tests of the report.")
                await expect(asked).to_contain_text("It waits because it holds a command")
                await picture(page, "lesson.png", tmp_path, card, asked)

                await asked.get_by_role("button", name="Edit").click()
                await expect(page.get_by_label("When does it hold?")).to_have_value(re.compile("could not be imported"))
                await page.get_by_label("What is to be done then?").fill(BETTER)
                await page.screenshot(path=tmp_path / "form.png")
                await page.get_by_role("button", name="Submit").click()
                await expect(asked).to_contain_text("Said anew by you")
                await expect(asked).to_contain_text(BETTER)

                await say(page, f"{TASK} Try again.")
                done = await shows(page, DONE)
                await expect(done).to_contain_text("used: ")
                await expect(done).to_contain_text("from an attempt here that scored")
                listed = await command(page, "!lessons list", "Lessons of this server")
                await expect(listed).to_contain_text("on probation")
                id = re.findall(r"l[0-9a-f]{11}", await listed.inner_text())[0]
                shown = await command(page, f"!lessons show {id}", "What was done to it")
                await expect(shown).to_contain_text("looked at it, and nothing in it needs an approval any more")
                await picture(page, "lessons.png", tmp_path, done, listed, shown)
            assert await running.end() == 0
