"""What people do on the console's pages, in a browser, with a whole bot behind them and the chat beside them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from agentic.core.events.execution_events import Person
from agentic.models.scripted.endpoint import ScriptedEndpoint
from bot.access.denials import NOTHING_RUNS, VIEWER
from bot.app.console_link.console_acts import NO_TASK, ConsoleActs
from bot.console.bot_channel import Deed
from bot.local_discord.local_discord import LocalGuild
from tests.faults.whole import Mind, Whole
from tests.integration.bot.whole import whole as running_bot
from tests.integration.local_discord.pages import ON_THE_PAGE, chromium

__all__ = ["chromium"]
pytestmark = ON_THE_PAGE


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model() -> AsyncIterator[tuple[ScriptedEndpoint, Mind]]:
    mind = Mind()
    async with ScriptedEndpoint.start(mind) as endpoint:
        yield endpoint, mind


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bot(model: tuple[ScriptedEndpoint, Mind], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Whole]:
    """A bot that is online, with its console."""
    endpoint, mind = model
    async with await LocalGuild.start() as guild:
        viewers = guild.add_role("viewer").id
        guild.add_member("looker", (viewers,))
        home: Path = tmp_path_factory.mktemp("home")
        async with running_bot(home, endpoint, guild, viewers=(str(viewers),), sandbox="host") as one:
            one.app.begin_console()
            assert one.app.console is not None
            await one.app.console.settled.wait()
            yield Whole(one.app, guild, mind)
            mind.go.set()


@pytest.fixture
def here(bot: Whole, model: tuple[ScriptedEndpoint, Mind], monkeypatch: pytest.MonkeyPatch) -> Whole:
    """The same, with the model's key in the environment."""
    for name, value in model[0].environment().items():
        monkeypatch.setenv(name, value)
    model[1].go.clear()
    model[1].asked.clear()
    return bot


@pytest_asyncio.fixture(loop_scope="module")
async def page(chromium: Browser) -> AsyncIterator[Page]:
    one = await chromium.new_page()
    errors: list[str] = []
    one.on("pageerror", lambda error: errors.append(str(error)))
    one.set_default_timeout(40_000)
    yield one
    assert errors == []
    await one.close()


async def opened(here: Whole, page: Page, thread: int) -> None:
    """The task's page, by the link in the chat."""
    said = await here.says(thread, "[details](")
    link = re.search(r"\[details\]\((\S+?)\)", said.content)
    assert link is not None
    await page.goto(link[1])
    await expect(page.locator("#acts")).to_be_visible()


async def press(page: Page, name: str, told: str) -> None:
    await page.get_by_role("button", name=name, exact=True).click()
    await expect(page.locator("#act-said")).to_have_text(told)


async def test_words_reach_the_model_and_what_is_typed_stays_while_the_page_lives(here: Whole, page: Page) -> None:
    thread = await here.mention("hold one")
    await opened(here, page, thread)
    await here.until(lambda: here.mind.asked, "the model is asked")
    box = page.get_by_label("Your words")
    await box.fill("use the second")
    await press(page, "Pause", "⏸ Pausing after this step.")
    await here.says(thread, "Pausing")
    await box.focus()
    await page.keyboard.type(" file")
    here.mind.go.set()
    await expect(page.get_by_role("button", name="Resume")).to_be_visible()  # by the live view, not by a new page
    await expect(box).to_be_focused()
    await expect(box).to_have_value("use the second file")
    await press(page, "Send", "Got it, I'll use that in the next step.")
    await expect(box).to_have_value("")
    await here.says(thread, "wrote on the console:\n>>> use the second file")
    await page.screenshot(path="/tmp/acts-running.png", full_page=True)
    await press(page, "Resume", "▶ Resuming.")
    await here.ended(thread)
    await expect(box).to_be_hidden()
    print(here.mind.asked)
    assert "use the second file" in here.mind.asked[-1]
