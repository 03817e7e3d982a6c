"""A browser at the local guild's page, and pictures of what a reader sees there."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Locator, Page, async_playwright, expect

from tests.integration.local_discord.browsers import ARGUMENTS, CHROMIUM

IMAGES = Path(__file__).parents[2] / "docs" / "images"
ABOVE, BELOW = 10, 3

expect.set_options(timeout=30_000)  # what must come is waited for, also on a busy machine


@asynccontextmanager
async def browsing(url: str, width: int = 1240, height: int = 860) -> AsyncGenerator[Page]:
    """A page that is open; an error in its scripts fails the test."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = await browser.new_page(viewport={"width": width, "height": height}, device_scale_factor=1.5)
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.set_default_timeout(20_000)
        await page.goto(url)
        yield page
        await browser.close()
        assert errors == []


def still(name: str, folder: Path) -> Path:
    """Where a picture goes: among those of the documents with UPDATE_IMAGES=1, else into the folder."""
    path = (IMAGES if os.environ.get("UPDATE_IMAGES") else folder) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


async def picture(page: Page, name: str, folder: Path, *of: Locator) -> None:
    """A picture of the whole page, or from the first to the last of some messages; kept with UPDATE_IMAGES=1."""
    path = still(name, folder)
    await page.mouse.move(1, 1)
    await page.evaluate("document.activeElement.blur()")
    clip = None
    if of:
        boxes = [await each.bounding_box() for each in of]
        log = await page.get_by_role("log").bounding_box()
        assert log is not None
        tops = [box["y"] for box in boxes if box]
        ends = [box["y"] + box["height"] for box in boxes if box]
        top, end = max(min(tops) - ABOVE, log["y"]), min(max(ends) + BELOW, log["y"] + log["height"])
        clip = {"x": log["x"], "y": top, "width": log["width"], "height": end - top}
    await page.screenshot(path=path, clip=clip, animations="disabled")  # pyright: ignore[reportArgumentType]
    assert 8_000 < path.stat().st_size < 300_000, path
