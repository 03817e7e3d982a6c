"""A Chromium for the tests that drive a page: one a file, which runs in one event loop, as the browser outlives its tests."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright, expect

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NEEDS_CHROMIUM = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chromium() -> AsyncIterator[Browser]:
    """The browser of a file."""
    async with async_playwright() as playwright:
        one = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        expect.set_options(timeout=40_000)  # a busy machine is no reason to fail
        yield one
        await one.close()
