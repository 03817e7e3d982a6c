"""The tabs Identity and World in a browser, reasoning on request, and parts of requests in pages."""

from __future__ import annotations

import re

import aiohttp
from playwright.async_api import Page, expect

from agentic.core.events.execution_events import ChosenLesson, Compacted, Event
from agentic.runtime.effects import blob
from tests.integration.console.grounds import IN_A_BROWSER, ConsoleGround, chromium, consoled, page
from tests.integration.console.logs import end, started, triaged, turn, written
from tests.unit.console.sent_logs import sent

__all__ = ["chromium", "consoled", "page"]
pytestmark = IN_A_BROWSER
TOKEN = "ghp_" + "a1B2" * 9
LESSON = ChosenLesson(id="l1", kind="pitfall", text="<b>Migrate</b> first.", why="it names migrations")


async def test_a_task_is_explained_from_its_prompt_to_each_request(consoled: ConsoleGround, page: Page) -> None:
    log: list[Event] = [started(instructions=f"Use {TOKEN}.", lessons=(LESSON,)), triaged()]
    for number in range(1, 41):
        if number == 30:
            log.append(Compacted(through_seq=len(log), summary="What was before.", kept=4, head=1, why="length"))
        log += turn(number, "python - <<X\n1\nX", result="a result <script>\n" * (600 if number == 39 else 1))
    whole = blob(b"a longer line of it\n" * 520_000)
    log[-7] = log[-7].model_copy(update={"output": whole[0]})
    made, blobs = sent([*log, *end()])
    await written(consoled.store, "w1", made, blobs=(*blobs.values(), whole))

    await page.goto(consoled.task("w1", "identity"))
    await expect(page.get_by_text("The parts below, joined, are the stored prompt, word for word.")).to_be_visible()
    await expect(page.get_by_text("Use [redacted].")).to_be_visible()
    assert TOKEN not in await page.content()
    await expect(page.get_by_role("link", name="Pitfall")).to_have_attribute("href", "/lessons/l1")
    await expect(page.get_by_text("Chosen because: it names migrations")).to_be_visible()

    await page.get_by_role("link", name="turn 40").press("Enter")
    await expect(page.get_by_text("exactly as sent", exact=True)).to_be_visible()
    await page.get_by_role("link", name="Turn 39").press("Enter")
    await page.get_by_role("link", name="Turn 40").press("Enter")
    result = page.locator(".message .piece-result", has_text="10,800 characters")
    assert len(await result.locator("pre").inner_text()) < 4_000
    await result.get_by_role("link", name="Show all").press("Enter")
    await expect(
        page.get_by_role("heading", name="Result of shell in message 27 of the request of turn 40")
    ).to_be_visible()
    assert (await page.locator("pre").inner_text()).count("a result <script>") == 600

    await page.go_back()
    await result.get_by_role("link", name="Whole output (10.4 MB)").press("Enter")
    await expect(page.get_by_text("Piece 1 of 159")).to_be_visible()
    await page.goto(consoled.task("w1"))
    call = page.locator("#turn-39 details.call")
    await call.locator("summary").press("Enter")
    await expect(call.get_by_role("link", name="Whole result (10.4 MB)")).to_be_visible()

    await page.goto(consoled.task("w1", "world?turn=30&against=29"))
    await expect(page.get_by_role("heading", name="The history was shortened before this request")).to_be_visible()
    await expect(page.get_by_text("Message 2 is the first that differs")).to_be_visible()
    await expect(page.locator(".added .mark", has_text="added").first).to_be_visible()
    await page.get_by_label("Compare with turn").fill("28")
    await page.get_by_label("Compare with turn").press("Enter")
    await expect(page.get_by_role("heading", name="Against turn 28")).to_be_visible()
    await expect(page).to_have_url(re.compile("turn=30&against=28"))

    await page.goto(consoled.task("w1"))
    thought = page.locator("#reasoning-40")
    await thought.locator("summary").press("Enter")
    await expect(thought.get_by_text("I think about step 40.")).to_be_visible()

    async with aiohttp.ClientSession() as client:
        async with client.get(consoled.task("w1", "reasoning/7")) as answer:
            assert "<h1>Reasoning of turn 7</h1>" in await answer.text()
        await written(consoled.store, "w2", sent([started(instructions="Gone."), triaged(), *turn(1)])[0])
        for tab, words in (
            ("identity", "The stored prompt has been deleted"),
            ("world", "have been deleted, as old data is"),
        ):
            async with client.get(consoled.task("w2", tab)) as answer:
                assert words in await answer.text()
        for missing in ("world?turn=77", "world?request=1", "world/1/system", "reasoning/99"):
            async with client.get(consoled.task("w1", missing)) as answer:
                assert answer.status == 404
