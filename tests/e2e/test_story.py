"""The moving picture of the README: a failing test, a “done” that the evidence contradicts, the fix, undo, and redo.

The process, its sandbox and the page are real; the model's words are written here.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from PIL import Image
from playwright.async_api import FilePayload, Page, expect
from pydantic import JsonValue

from agentic.models.scripted.endpoint import ScriptedEndpoint
from tests.e2e.browsing import CHROMIUM, browsing, looked_at
from tests.e2e.film import Film
from tests.e2e.living import ADDRESS
from tests.e2e.paced_mind import PacedMind, message
from tests.e2e.processes import environment, started
from tests.e2e.scenes import finishes, uses

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed"),
]

TASK = "The tests fail. Please fix price.py."
PRICE = """from decimal import Decimal

CENT = Decimal("0.01")


def to_pay(net, rate, voucher=0):
    return (net * (1 + rate)).quantize(CENT) - voucher
"""
TESTS = """import unittest
from decimal import Decimal

from price import to_pay


class ToPay(unittest.TestCase):
    def test_half_a_cent_is_rounded_up(self):
        self.assertEqual(to_pay(Decimal("0.50"), Decimal("0.01")), Decimal("0.51"))

    def test_a_large_voucher_leaves_nothing_to_pay(self):
        self.assertEqual(to_pay(Decimal(5), 0, voucher=8), 0)
"""
FILES = [
    FilePayload(name="price.py", mimeType="text/x-python", buffer=PRICE.encode()),
    FilePayload(name="test_price.py", mimeType="text/x-python", buffer=TESTS.encode()),
]
CHECK = "cd attachments && python3 -m unittest"
PASSED: dict[str, JsonValue] = {"text": "All tests pass", "command": CHECK, "exit_code": 0}
FIXED = (
    "Two things were wrong in `price.py`: half a cent was rounded down, and a large voucher gave a price below zero."
)
STEPS = (
    uses("shell", "I run the tests first.", command=CHECK),
    uses("read", "Two fail. I look at the code.", path="attachments/price.py"),
    uses(
        "multi_edit", "Half a cent is rounded to the even cent. I make it round up.", path="attachments/price.py",
        edits=[
            {"old": "from decimal import Decimal\n", "new": "from decimal import ROUND_HALF_UP, Decimal\n"},
            {"old": "quantize(CENT)", "new": "quantize(CENT, ROUND_HALF_UP)"},
        ],
    ),
    uses("shell", "Now the tests again.", command=CHECK),
    finishes("Half a cent is rounded up now.", PASSED),
    uses(
        "edit", "Right, one test still fails: a large voucher gives a price below zero.", path="attachments/price.py",
        old="return (net * (1 + rate)).quantize(CENT, ROUND_HALF_UP) - voucher",
        new="return max((net * (1 + rate)).quantize(CENT, ROUND_HALF_UP) - voucher, 0)",
    ),
    uses("shell", "And once more.", command=CHECK),
    finishes(FIXED, PASSED),
)  # fmt: skip


async def test_done_is_contradicted_by_the_tests_then_true_then_undone_and_redone(tmp_path: Path) -> None:
    mind = PacedMind(lambda _: STEPS)
    async with asyncio.timeout(150), ScriptedEndpoint.start(mind) as endpoint:
        env = environment(
            tmp_path / "home", endpoint.environment(), THREADWRIGHT_TIER_2="anthropic/claude-haiku-4-5",
            THREADWRIGHT_SANDBOX="bubblewrap", THREADWRIGHT_DRAIN_SECONDS="0.2", THREADWRIGHT_JUDGE="off",
        )  # fmt: skip
        async with started("run", env=env, cwd=tmp_path) as running:
            url = (await running.until_said(ADDRESS))[1]
            async with browsing(url, 580, 660, 2) as page:
                film = Film(page, tmp_path)
                price = await _played(page, film, mind, tmp_path / "home")
                assert price.read_text().count("max(") == 1
            assert await running.end() == 0
    for path in (film.write("light", "story-light.webp"), film.write("dark", "story-dark.webp")):
        with Image.open(path) as shown:
            assert getattr(shown, "n_frames", 1) > 8
            assert shown.info["loop"] == 0


async def _played(page: Page, film: Film, mind: PacedMind, home: Path) -> Path:
    """The story, frame by frame; returns the file that it is about."""
    log = page.get_by_role("log")
    await page.locator("#files").set_input_files(FILES)
    await page.get_by_label("Message", exact=True).fill(f"@Threadwright {TASK}")
    await film.take("Your tests fail. You ask for a fix.", 2.5)
    await page.keyboard.press("Enter")
    opened = log.get_by_role("button", name=re.compile("The tests fail"))
    await expect(opened).to_be_visible()
    await expect(log).to_contain_text("👀")
    await film.take("A thread opens for the task.", 2)
    await opened.click()
    progress = message(page, log, "Thinking")
    await expect(progress).to_be_visible()

    await mind.step(progress, "exit 1")
    await film.take("It runs the tests: both fail.", 2.5)
    await mind.step(progress, "Read attachments/price.py")
    await mind.step(progress, "✔ Edited")
    await film.take("It edits the code …", 2)
    await mind.step(progress, "Now the tests again")
    await film.take("… and runs the tests again: one still fails.", 2.5)
    await mind.step(progress, "does not count yet")
    await expect(progress).to_contain_text("1 of 2 tests failed")
    await film.take("It says “done”. The evidence contradicts it, so it goes on.", 4.5)
    await looked_at(page, "story-contradicted")
    await mind.step(progress, "Right, one test still fails")
    await film.take("It looks again, and mends the rest.", 2.5)
    await mind.step(progress, "And once more")
    await film.take("Now the tests pass.", 2.5)
    mind.ends()
    card = message(page, log, "How I know")
    await expect(card).to_contain_text("✔ All tests pass")
    undo = card.get_by_role("button", name="Undo")
    await expect(undo).to_be_in_viewport()
    await film.take("The answer: what was changed, and the evidence for it.", 5)
    (price,) = home.glob("workspaces/*/attachments/price.py")
    assert "max(" in price.read_text()
    await film.take("Not what you wanted? Press Undo.", 2.5, undo)
    await undo.click()
    await expect(message(page, log, "Undone")).to_be_in_viewport()
    redo = log.get_by_role("button", name="Redo").last
    await expect(redo).to_be_in_viewport()
    await expect(undo).to_be_hidden()
    assert price.read_text() == PRICE
    await film.take("The file is as it was. Redo brings the fix back.", 4)
    await looked_at(page, "story-undone")
    await redo.click()
    await expect(card.get_by_role("button", name="Undo")).to_be_visible()
    return price
