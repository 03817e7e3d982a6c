"""A browser at the local guild's page, and pictures of what a reader sees there."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Locator, Page, ViewportSize, async_playwright, expect

from tests.integration.local_discord.browsers import ARGUMENTS, CHROMIUM

IMAGES = Path(__file__).parents[2] / "docs" / "images"
ABOVE, BELOW = 10, 3
NARROW: ViewportSize = {"width": 390, "height": 1400}
"""As wide as a phone, and high enough to show a whole answer."""

expect.set_options(timeout=30_000)  # what must come is waited for, also on a busy machine


@asynccontextmanager
async def browsing(url: str, width: int = 1240, height: int = 860, scale: float = 1.5) -> AsyncGenerator[Page]:
    """A page that is open; an error in its scripts fails the test."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = await browser.new_page(viewport={"width": width, "height": height}, device_scale_factor=scale)
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
    await _shot(page, path, of)
    assert 8_000 < path.stat().st_size < 300_000, path
    await looked_at(page, Path(name).stem, *of)


async def _shot(page: Page, path: Path, of: tuple[Locator, ...]) -> None:
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


async def looked_at(page: Page, name: str, *of: Locator) -> None:
    """See the same on a phone, where nothing may stick out.

    With LOOK_AT=FOLDER all four views are put there, light and dark, wide and narrow, for somebody to look at.
    """
    wide = page.viewport_size
    assert wide is not None
    was_dark = await page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    looks = os.environ.get("LOOK_AT")
    for size in (wide, NARROW):
        await page.set_viewport_size(size)
        for scheme in ("light", "dark") if looks else ():
            await page.emulate_media(color_scheme=scheme)
            await _shot(page, Path(looks or "") / f"{name}-{size['width']}-{scheme}.png", of)
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out on a phone"
    await page.emulate_media(color_scheme="dark" if was_dark else "light")
    await page.set_viewport_size(wide)
