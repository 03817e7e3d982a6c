"""What a page must satisfy so that everyone can use it, as axe sees it: names, roles, structure, contrast."""

from __future__ import annotations

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page

_RUN = """() => axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations.flatMap(
  (one) => one.nodes.map((node) => `${one.id}: ${node.html.slice(0, 160)} ${node.failureSummary ?? ''}`)))"""


async def faults(page: Page) -> list[str]:
    """Return axe's findings about what is shown, each with its rule and the element."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(Axe().axe_script)
    return await page.evaluate(_RUN)
