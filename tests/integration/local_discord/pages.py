"""The page in a real browser, for the files that drive it: one Chromium a file, a context and a guild of its own a test.

A file that takes these fixtures runs in one event loop, since the browser outlives its tests.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from bot.local_discord import LocalGuild
from tests.integration.local_discord.browsers import NEEDS_CHROMIUM, chromium
from tests.integration.local_discord.harness import Client, logged_in

__all__ = ["ON_THE_PAGE", "browser", "chromium", "client", "entry", "focus", "guild", "page"]

ON_THE_PAGE = [pytest.mark.chromium, NEEDS_CHROMIUM, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(loop_scope="module")
async def guild() -> AsyncIterator[LocalGuild]:
    async with await LocalGuild.start() as one:
        one.attach()
        yield one


@pytest_asyncio.fixture(loop_scope="module")
async def client(guild: LocalGuild) -> AsyncIterator[Client]:
    async with logged_in(guild) as one:
        yield one


@pytest_asyncio.fixture(loop_scope="module")
async def browser(chromium: Browser) -> AsyncIterator[Browser]:
    """The browser; nothing is left open in it for the next test."""
    assert chromium.contexts == []
    yield chromium
    for context in chromium.contexts:
        await context.close()


@pytest_asyncio.fixture(loop_scope="module")
async def page(browser: Browser, guild: LocalGuild) -> AsyncIterator[Page]:
    """The page, open and connected; an error in its scripts fails the test."""
    one = await browser.new_page()
    errors: list[str] = []
    one.on("pageerror", lambda error: errors.append(str(error)))
    one.on("dialog", lambda dialog: errors.append(f"dialog {dialog.message}"))
    one.set_default_timeout(40_000)
    await one.goto(guild.link())
    await expect(one.get_by_text("Connected")).to_be_visible()
    yield one
    assert errors == []


@pytest.fixture
def entry(page: Page) -> Locator:
    """The message box."""
    return page.get_by_label("Message", exact=True)


async def focus(page: Page, entry: Locator) -> None:
    """Go into the box, and wait for the commands that it offers."""
    await entry.blur()
    async with page.expect_response("**/ui/commands"):
        await entry.focus()
