"""The main job as a newcomer sees it: a fresh home, `threadwright run`, a browser, a mention, work, an answer with a file."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import expect

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from tests.e2e.browsing import CHROMIUM, browsing, looked_at, picture
from tests.e2e.living import ADDRESS
from tests.e2e.processes import environment, started

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed"),
]

TASK = "Which of the first 50 numbers are happy? Please check with a script and give me a table."
SCRIPT = '''"""Happy numbers: the sum of the squares of the digits, again and again, comes to 1."""


def steps(number):
    seen = [number]
    while number not in (1, 4):
        number = sum(int(digit) ** 2 for digit in str(number))
        seen.append(number)
    return seen


rows = [(n, steps(n)) for n in range(1, 51) if steps(n)[-1] == 1]
print("| number | steps | way to 1 |")
print("|---:|---:|---|")
for number, way in rows:
    print(f"| {number} | {len(way) - 1} | {' → '.join(map(str, way))} |")
'''
RUN = "python3 happy.py > happy.md && cat happy.md"
HAPPY = "1, 7, 10, 13, 19, 23, 28, 31, 32, 44, 49"


def works(request: CapturedRequest) -> Reply:
    """Writes a script, runs it, and says only what the output shows."""
    results = request.answers
    if not results:
        call = ("write", {"path": "happy.py", "content": SCRIPT})
        return Reply("I will write a short script and let it count.", calls=(call,))
    if len(results) == 1:
        return Reply(
            "Now I run it.", calls=(("shell", {"command": RUN, "expectation": "a table that ends before 51"}),)
        )
    table = results[1].text
    found = [
        line.split("|")[1].strip() for line in table.splitlines() if line.startswith("| ") and "number" not in line
    ]
    assert ", ".join(found) == HAPPY, table
    answer = f"**{len(found)} of the first 50 numbers are happy:** {HAPPY}.\n\nThe table shows each number's way to 1."
    claims = [
        {"text": "The script ran and printed the table.", "command": RUN, "exit_code": 0},
        {"text": "The script is in the workspace.", "file": "happy.py"},
    ]
    return Reply(calls=(("finish", {"answer": answer, "claims": claims, "files": ["happy.md", "happy.py"]}),))


async def test_a_newcomer_mentions_the_bot_and_gets_an_answer_with_its_files(tmp_path: Path) -> None:
    async with asyncio.timeout(150), ScriptedEndpoint.start(works) as endpoint:
        env = environment(
            tmp_path / "home", endpoint.environment(), THREADWRIGHT_TIER_2="anthropic/claude-haiku-4-5",
            THREADWRIGHT_SANDBOX="bubblewrap",
        )  # fmt: skip
        async with started("run", env=env, cwd=tmp_path) as running:
            url = (await running.until_said(ADDRESS))[1]
            async with browsing(url) as page:
                await expect(page.get_by_role("heading", name="# general")).to_be_visible()
                await page.get_by_label("Message", exact=True).press_sequentially("@thr")
                await expect(page.get_by_role("option", name="Threadwright")).to_be_visible()
                await page.keyboard.press("Tab")
                await page.keyboard.type(TASK)
                await page.keyboard.press("Enter")
                await expect(page.get_by_text(re.compile("👀|☑")).first).to_be_visible(timeout=20_000)
                await page.get_by_role("button", name="Which of the first 50").first.click()
                log = page.get_by_role("log")
                await expect(log).to_contain_text("11 of the first 50 numbers are happy", timeout=60_000)
                await expect(log).to_contain_text("Done", timeout=20_000)
                async with page.expect_download() as downloading:
                    await page.get_by_role("link", name="happy.md").first.click()
                content = Path(await (await downloading.value).path()).read_text()
                assert content.count("→") > 10
                assert content.splitlines()[-1].startswith("| 49 |")
                await picture(page, "first-task.png", tmp_path)
                await page.get_by_label("Act as").select_option("viewer")
                await expect(page.get_by_role("heading", name="Which of the first 50")).to_be_visible()
                await page.get_by_label("Message", exact=True).fill("@Threadwright and up to 100?")
                await page.keyboard.press("Enter")
                await expect(page.get_by_role("log")).to_contain_text("You're a viewer here.")
            assert await running.end() == 0


async def test_the_page_says_that_no_model_is_configured_until_there_is_one(tmp_path: Path) -> None:
    async with asyncio.timeout(120), ScriptedEndpoint.start([]) as endpoint:
        home = tmp_path / "home"
        async with started("run", env=environment(home, {}, THREADWRIGHT_SANDBOX="bubblewrap"), cwd=tmp_path) as first:
            url = (await first.until_said(ADDRESS))[1]
            async with browsing(url) as page:
                notice = page.get_by_text("No model is configured")
                await expect(notice).to_be_visible()
                await expect(notice).to_contain_text("ANTHROPIC_API_KEY")
                await expect(notice).to_contain_text("start Threadwright again")
                await looked_at(page, "no-model")
                assert await first.end() == 0
                await expect(page.get_by_text("The connection is lost")).to_be_visible()
                env = environment(
                    home, endpoint.environment(), THREADWRIGHT_TIER_2="anthropic/claude-haiku-4-5",
                    THREADWRIGHT_SANDBOX="bubblewrap", THREADWRIGHT_GUILD_PORT=str(urlsplit(url).port),
                )  # fmt: skip
                async with started("run", env=env, cwd=tmp_path) as second:
                    await expect(page.get_by_text("Connected", exact=True)).to_be_visible()
                    await expect(page.get_by_label("Message", exact=True)).to_be_visible()
                    await expect(notice).to_be_hidden()
                    assert await second.end() == 0
