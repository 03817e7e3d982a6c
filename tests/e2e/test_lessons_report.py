"""The page of `threadwright lessons report` as a reader sees it, over half a year of lessons, one of them hostile.

``make pictures`` puts the picture into ``docs/images``.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from bot.config.home import LESSONS
from reflexion.stores.sqlite import SQLiteLessonStore
from tests.e2e.browsing import CHROMIUM, browsing, picture
from tests.e2e.processes import environment, started
from tests.integration.bot.seeded_lessons import HOSTILE, seed

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed"),
]
SECTIONS = [
    "Waiting for approval", "What each lesson does", "The lessons' lives", "What was held back", "The judge", "Retired",
    "Every lesson",
]  # fmt: skip


async def test_the_report_shows_all_of_it_runs_nothing_of_it_and_reads_well_on_a_phone_light_and_dark(
    tmp_path: Path,
) -> None:
    store = SQLiteLessonStore(tmp_path / "home" / LESSONS)
    await seed(store, hostile=True)
    await store.close()
    file = tmp_path / "report.html"
    env = environment(tmp_path / "home", {})
    async with (
        asyncio.timeout(120),
        started("lessons", "report", "--out", str(file), env=env, cwd=tmp_path) as running,
    ):
        assert await running.ended() == 0, running.output
    async with asyncio.timeout(120), browsing(file.as_uri(), 1040, 1040) as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        await page.reload()
        assert asked == [file.as_uri()], "nothing is fetched"
        assert await page.locator("h2").all_inner_texts() == SECTIONS
        await _says_what_the_store_says(page)
        await picture(page, "lessons-report.png", tmp_path)
        await _nothing_ran(page)
        await page.set_viewport_size({"width": 390, "height": 844})
        assert await page.evaluate("document.documentElement.scrollWidth") == 390, "no part is wider than a phone"
        light = await _colours(page)
        await page.emulate_media(color_scheme="dark")
        dark = await _colours(page)
        assert light[0] < 0.3 < 0.7 < light[1]
        assert dark[1] < 0.3 < 0.7 < dark[0]


async def _says_what_the_store_says(page: Page) -> None:
    await expect(page.locator(".hero .number")).to_contain_text("points")
    await expect(page.locator(".hero")).to_contain_text("95% interval")
    await expect(page.locator(".waiting")).to_contain_text("It contains an address and a command")
    assert await page.locator(".effect svg").count() >= 5
    assert await page.locator(".life svg circle").count() > 50
    await expect(page.locator(".facts")).to_contain_text("openai/gpt-4o-mini")
    retired = page.locator("section", has=page.get_by_role("heading", name="Retired", exact=True))
    await expect(retired).to_contain_text("Retired by Anna: the client is written by hand now")


async def _nothing_ran(page: Page) -> None:
    """What a lesson says is text, whatever it says."""
    await expect(page).to_have_title("What the lessons are worth · Threadwright")
    assert await page.locator("script, img, iframe, object, link, [onerror], [href], [src]").count() == 0
    summary = page.locator("summary", has_text="<script>")
    await expect(summary.locator(".words")).to_have_text(HOSTILE)
    await summary.click()
    await expect(page.locator("details[open]")).to_contain_text(HOSTILE)
    assert "\u202e" not in await page.content(), "nothing turns the text around"


async def _colours(page: Page) -> tuple[float, float]:
    """How light the ink and the paper are, 0-1."""
    said: list[list[int]] = await page.evaluate("""() => ["color", "backgroundColor"].map(name => {
        const pen = document.createElement("canvas").getContext("2d");
        pen.fillStyle = getComputedStyle(document.body)[name];
        pen.fillRect(0, 0, 1, 1);
        return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
    })""")
    return sum(said[0]) / 765, sum(said[1]) / 765
