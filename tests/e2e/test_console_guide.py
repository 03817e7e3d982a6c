"""The console as somebody finds it from the chat: fifteen questions about real tasks, each answered within three clicks.

The bot is a process of its own and so is its console; a model that can do the task only with the lesson from its first
try works on it twice. ``make pictures`` puts the pictures of the views into ``docs/images``.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, ViewportSize, expect

from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from tests.e2e.browsing import CHROMIUM, browsing, looked_at, still
from tests.e2e.living import ADDRESS
from tests.e2e.orders import CHECK, Orders
from tests.e2e.person import person
from tests.e2e.processes import environment, started

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed"),
    pytest.mark.asyncio(loop_scope="module"),
]
TASK = f"Write the total of the attached orders into total.txt. `{CHECK}` says whether it is right."
ASKING = "Set up our newsletter"
LINK = re.compile(r"\[details\]\((http[^)]+)\)")
PICTURES = {
    "which rule ended it": "console-why.png",
    "which lesson was used and why": "console-identity.png",
    "where did these two part": "console-compare.png",
    "what did the model see": "console-world.png",
    "what did the command print": "console-terminal.png",
    "what did it change": "console-files.png",
    "what did a turn cost": "console-metrics.png",
    "where did the time go": "console-timeline.png",
    "how was it before": "console-time-travel.png",
    "what happened, event by event": "console-logs.png",
    "what needs me": "console-home.png",
    "what was learned and waits for me": "console-lessons.png",
    "how often is its confidence right": "console-judgement.png",
    "is the bot well": "console-health.png",
    "where was that said": "console-search.png",
    "what is it doing": "console-thoughts.png",
}
"""The question after which a view is shown, and its picture."""
DESK: ViewportSize = {"width": 1040, "height": 900}
CLICKS = 3


@dataclass
class Shown:
    """The console in a browser; ``links`` are those that the chat holds, of the task that ended and of the one that asks."""

    page: Page
    links: tuple[str, str]
    state: str
    """What only the failed check told."""
    folder: Path

    async def answered(self, start: str, clicks: Sequence[str], *told: str) -> None:
        """From an address, click what has these names; then the page tells all of this."""
        assert len(clicks) <= CLICKS
        await self.page.goto(start)
        for name in clicks:
            await self.named(name).click()
        for words in told:
            await expect(self.page.locator("main")).to_contain_text(words)

    def named(self, name: str) -> Locator:
        """A link; 'Turn 2: Why' is the one in that turn, 'Ended: Why' the one at the end, '…words' one that holds them."""
        place, _, inner = name.rpartition(": ")
        if place == "Ended":
            within = self.page.locator(".said-end")
        else:
            within = self.page.get_by_role("article", name=place, exact=True) if place else self.page.locator("body")
        return within.get_by_role("link", name=inner.lstrip("…"), exact=not inner.startswith("…")).first

    async def picture(self, name: str) -> None:
        """The page as it is, for the guide; on a phone nothing sticks out."""
        path = still(name, self.folder)
        await self.page.screenshot(path=path, animations="disabled")
        assert 8_000 < path.stat().st_size < 400_000, path
        await looked_at(self.page, Path(name).stem)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shown(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Shown]:
    """A failed try, its retry with what was learned, and a task that asks; then the chat in a browser."""
    folder, orders = tmp_path_factory.mktemp("console-guide"), Orders()

    def model(request: CapturedRequest) -> Reply:
        if ASKING in request.text() and orders.state not in request.text():
            return Reply(calls=(("ask_user", {"question": "Weekly or monthly?", "options": ["weekly", "monthly"]}),))
        return orders.model(request)

    async with ScriptedEndpoint.start(model) as endpoint:
        env = environment(
            folder / "home", endpoint.environment(), THREADWRIGHT_TIER_2="anthropic/claude-haiku-4-5",
            THREADWRIGHT_SANDBOX="bubblewrap", THREADWRIGHT_LESSONS_HELD_BACK="0", THREADWRIGHT_DRAIN_SECONDS="0.2",
            THREADWRIGHT_EMBEDDINGS="off", THREADWRIGHT_CONSOLE="127.0.0.1:0",
        )  # fmt: skip
        async with started("run", env=env, cwd=folder) as running:
            chat = (await running.until_said(ADDRESS))[1]
            console = (await running.until_said(r"is shown at (http://127\.0\.0\.1:\d+)"))[1]
            async with person(chat) as somebody:
                thread = await somebody.mention(TASK, orders.files(5, 7, 11, 13, 17))
                failed = await somebody.sees(thread, "the total is wrong")
                await somebody.sees(thread, r"(?s)the total is wrong.*learned: ", seconds=150)
                seen = len(await somebody.reads(thread))
                await somebody.react(failed.id, "🔄")
                done = await somebody.sees(thread, r"The total is in total\.txt", after=seen)
                asking = await somebody.mention(ASKING)
                await somebody.sees(asking, "Weekly or monthly")
                told = [said.text for said in await somebody.reads(asking)]
                links = tuple(LINK.findall("\n".join(texts))[-1] for texts in ([done.text], told))
                assert all(link.startswith(f"{console}/t/") for link in links)
                async with browsing(f"{console}/", **DESK, scale=1.0) as page:
                    yield Shown(page, (links[0], links[1]), orders.state, folder)
            assert await running.end() == 0


async def test_fifteen_questions_are_each_answered_within_three_clicks(shown: Shown) -> None:
    done, asking = shown.links
    compared = ["Compare with another attempt or task", "…the first attempt and attempt 2"]
    questions: dict[str, tuple[str, list[str], tuple[str, ...]]] = {
        "what is it doing": (asking, [], ("Waiting for an answer", "Weekly or monthly?")),
        "which rule ended it": (done, ["Ended: Why"], ("completed", "finished")),
        "why did it do that": (done, ["Turn 2: Why"], ("think", "paused is none", "money are used up")),
        "what did a turn cost": (done, ["Metrics"], ("$0.001", "By turn")),
        "which lesson was used and why": (
            done,
            ["Identity"],
            ("Chosen because: attempt 1 (compare) scored 33", shown.state),
        ),
        "where did these two part": (done, compared, ("Where they differ", "first difference", "nothing", shown.state)),
        "what did the model see": (done, ["Turn 2: Request"], ("exactly as sent", "Messages", shown.state)),
        "who asked for it, and what may it do": (
            done,
            ["Identity"],
            ("you (owner)", "python-coder", "runs commands in the sandbox"),
        ),
        "what did the command print": (done, ["Terminal"], ("the total is right", "exit 0")),
        "what did it change": (done, ["Files", "total.txt"], ("35",)),
        "where did the time go": (done, ["Timeline"], ("waiting for a person", "unattributed", "In all")),
        "how was it before": (done, ["Time travel", "The turn before"], ("end of turn 2 of 3", "Fork from here")),
        "what happened, event by event": (done, ["Logs"], ("checkpoint saved", "scored 92 of 100")),
        "what needs me": (done, ["Tasks"], ("Needs you (2)", "Weekly or monthly?")),
        "what did it cost today, and by whom": (done, ["Tasks"], ("Spending", "By person", "By model")),
        "what was learned and waits for me": (done, ["Lessons"], ("waiting (1)", shown.state)),
        "how often is its confidence right": (done, ["Judgement"], ("2 tasks with a known outcome", "Brier")),
        "is the bot well": (done, ["Health"], ("commands run in bubblewrap", "Longest pause")),
    }
    for question, (start, clicks, told) in questions.items():
        try:
            await shown.answered(start, clicks, *told)
        except AssertionError as error:
            pytest.fail(f"{question}: {error}")
        if name := PICTURES.get(question):
            await shown.picture(name)
    await shown.page.goto(done)
    await shown.page.get_by_role("searchbox").fill("total.txt")
    await shown.page.keyboard.press("Enter")
    await expect(shown.page.locator(".hits li").first).to_contain_text("total.txt")
    await shown.picture(PICTURES["where was that said"])
    await shown.page.locator(".hits a").last.click()
    await expect(shown.page.locator(".turn:target")).to_be_visible()
