"""What the user guide shows, in the real product: each scene is played by a person at the page, and its picture taken.

``make pictures`` puts the pictures into ``docs/images``.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import FilePayload, Locator, Page, ViewportSize, expect

from agentic.models.scripted.endpoint import ScriptedEndpoint
from bot.config.home import LESSONS
from reflexion.stores.sqlite import SQLiteLessonStore
from tests.e2e import scenes, vendored
from tests.e2e.browsing import CHROMIUM, browsing, picture
from tests.e2e.living import ADDRESS
from tests.e2e.processes import environment, started
from tests.integration.bot.seeded_lessons import seed_few
from tests.waiting import eventually

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed"),
    pytest.mark.asyncio(loop_scope="module"),
]
LONG = 40_000
"""Milliseconds for what takes a few turns, on a busy machine."""
TALL: ViewportSize = {"width": 1040, "height": 1200}
DESK: ViewportSize = {"width": 1040, "height": 680}
PHONE: ViewportSize = {"width": 390, "height": 844}
SHOP = {"price.py": scenes.PRICE, "test_price.py": scenes.TESTS}


@dataclass
class Stage:
    """A person at the page of a running Threadwright."""

    page: Page
    mind: scenes.Mind
    home: Path
    folder: Path

    @property
    def log(self) -> Locator:
        return self.page.get_by_role("log")

    async def shows(self, words: str | re.Pattern[str]) -> Locator:
        """The newest message that holds the words, waited for; it stays the same when other words replace them."""
        found = self.log.locator("article", has=self.page.locator(".body", has_text=words)).last
        await expect(found).to_be_visible(timeout=LONG)
        return self.page.locator(f"#{await found.get_attribute('id')}")

    async def say(self, text: str, *files: FilePayload) -> None:
        """Write into what is open."""
        if files:
            await self.page.locator("#files").set_input_files(list(files))
        await self.page.get_by_label("Message", exact=True).fill(text)
        await self.page.keyboard.press("Enter")

    async def give(self, task: str, files: Mapping[str, str] | None = None) -> Path:
        """Give a task in the channel and open its thread; returns the thread's folder, with such files in it."""
        self.mind.ready.clear()
        await self.page.get_by_role("button", name=re.compile("^Channel general")).click()
        await self.say(f"@Threadwright {task}")
        await self.page.get_by_role("button", name=re.compile(f"^Thread {re.escape(task[:20])}")).first.click()
        await expect(self.page.locator("#room-note")).to_contain_text("Thread in")
        here = await self.page.locator(".place-link[aria-current]").get_attribute("data-key")
        folder = self.home / "workspaces" / str(here)
        await eventually(folder.is_dir)
        for name, content in (files or {}).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content)
        self.mind.ready.set()
        return folder

    async def picture(self, name: str, *of: Locator) -> None:
        await picture(self.page, name, self.folder, *of)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Stage]:
    """One process and one browser for all scenes."""
    folder, mind = tmp_path_factory.mktemp("guide"), scenes.Mind()
    home = folder / "home"
    async with ScriptedEndpoint.start(mind) as endpoint:
        env = environment(
            home, endpoint.environment(), THREADWRIGHT_TIER_2="anthropic/claude-haiku-4-5", THREADWRIGHT_SANDBOX="bubblewrap",
            THREADWRIGHT_LESSONS_HELD_BACK="0", THREADWRIGHT_DRAIN_SECONDS="0.2", THREADWRIGHT_JUDGE="off",
        )  # fmt: skip
        async with started("run", env=env, cwd=folder) as running:
            url = (await running.until_said(ADDRESS))[1]
            async with browsing(url, **TALL) as page:
                yield Stage(page, mind, home, folder)
            assert await running.end() == 0


async def test_the_card_says_what_was_changed_how_it_is_known_and_undoes_it(stage: Stage) -> None:
    folder = await stage.give(scenes.ROUNDING, SHOP)
    card = await stage.shows("How I know")
    for words in (
        "rounded up: 0.505 becomes 0.51", "What I changed", "price.py +2 −2", "ROUND_HALF_UP",
        "✔ The tests pass — python3 -m unittest → exit 0", "unproven: Nothing else in the shop", "4 turns",
    ):  # fmt: skip
        await expect(card).to_contain_text(words)
    done = await stage.shows("Done")
    await expect(done).to_contain_text("Ran the tests")
    await stage.picture("card.png", done, card)
    assert "ROUND_HALF_UP" in (folder / "price.py").read_text()
    await stage.page.emulate_media(color_scheme="dark")
    await stage.page.set_viewport_size(PHONE)
    await expect(card).to_be_in_viewport()
    await stage.picture("phone.png")
    await stage.page.set_viewport_size(TALL)
    await stage.page.emulate_media(color_scheme="light")
    await card.get_by_role("button", name="Undo").click()
    undone = await stage.shows(re.compile("[Pp]ut back|[Uu]ndone"))
    assert (folder / "price.py").read_text() == scenes.PRICE
    await stage.picture("undo.png", undone)


async def test_progress_is_one_message_and_words_steer_what_runs(stage: Stage) -> None:
    folder = await stage.give(scenes.LINKS, {"check.py": scenes.CHECK})
    progress = await stage.shows("backup.md: 8 links")
    for words in ("Running", "Try every link", "turn 2"):
        await expect(progress).to_contain_text(words)
    await stage.picture("progress.png", progress)
    await stage.say("Leave out the archive, please.")
    guidance = await stage.shows("Leave out the archive")
    await expect(guidance.get_by_role("button", name="Seen")).to_be_visible()
    await stage.say(f". {scenes.CHANGES}")
    await stage.shows("Queued")
    await stage.say(f". btw {scenes.ASIDE}")
    aside = await stage.shows("Three: setup, deploy and backup.")
    await stage.picture("steering.png", guidance, aside)
    (folder / "go").touch()
    await stage.shows("All 51 links work")
    await stage.shows("Here is the entry")
    assert any("Leave out the archive" in heard for heard in stage.mind.heard)


async def test_several_questions_are_answered_by_press_and_by_words(stage: Stage) -> None:
    await stage.give(scenes.NEWSLETTER)
    question = await stage.shows("Which language?")
    await question.get_by_role("button", name=re.compile("Every month")).click()
    await expect(question).to_contain_text("✔ Every month – you")
    await stage.picture("question.png", await stage.shows("Waiting for your answer"), question)
    await stage.say("2: both, 3: Loose Ends")
    await stage.shows("“Loose Ends” is set up")
    await expect(question).to_contain_text("Answered by you")
    assert "Loose Ends" in stage.mind.heard[-1]


async def test_what_destroys_waits_for_a_yes(stage: Stage) -> None:
    old = {f"reports/{year}/{month:02}.csv": "a;b" for year in (2019, 2020) for month in range(1, 13)}
    folder = await stage.give(scenes.REPORTS, old)
    approval = await stage.shows("Approval needed")
    for words in ("rm -r reports/2019", "this one command", "Denied automatically"):
        await expect(approval).to_contain_text(words)
    assert (folder / "reports/2019/01.csv").exists()
    await stage.picture("approval.png", await stage.shows("Waiting for your approval"), approval)
    await approval.get_by_role("button", name="Allow once").click()
    await stage.shows("The reports of 2019 are gone")
    await expect(approval).to_contain_text("Allowed once by you")
    assert sorted(each.name for each in (folder / "reports").iterdir()) == ["2020"]


async def test_a_branch_is_offered_and_merged_by_a_press(stage: Stage) -> None:
    folder = await stage.give(scenes.REPOSITORY, SHOP)
    await stage.shows("It is a repository now")
    await stage.say(scenes.BRANCH)
    await stage.shows("nothing changes until you decide")
    done = await stage.shows("Prepared a branch")
    offer = await stage.shows("A branch for you")
    for words in ("For main · 1 file · +2 −2", "Round half a cent up", "merges it into main"):
        await expect(offer).to_contain_text(words)
    assert (folder / "price.py").read_text() == scenes.PRICE
    await stage.picture("branch.png", done, offer)
    await offer.get_by_role("button", name=re.compile("Merge")).click()
    await expect(offer).to_contain_text("you merged it into main", timeout=LONG)
    assert "ROUND_HALF_UP" in (folder / "price.py").read_text()


async def test_a_lesson_is_asked_about_said_better_and_listed_and_what_was_used_is_named(stage: Stage) -> None:
    page = stage.page
    await stage.give(vendored.TASK, vendored.FILES)
    progress = await stage.shows("Ran the tests (python3 -m unittest -v)")
    card = await stage.shows(vendored.FAILED)
    await expect(card).to_contain_text("learned: The tests of the report need the module tabulate")
    await expect(card).to_contain_text("waits for an owner's approval, see below")
    asked = await stage.shows("A lesson waits for approval")
    await expect(asked).to_contain_text(f"Run `{vendored.COMMAND}` before the tests of the report.")
    await expect(asked).to_contain_text("It waits because it contains a command")
    await stage.picture("lesson.png", progress, asked)

    await asked.get_by_role("button", name="Edit").click()
    await expect(page.get_by_label("When does it apply?")).to_have_value(re.compile("could not be imported"))
    await page.get_by_label("What should I do then?").fill(vendored.BETTER)
    await page.get_by_role("button", name="Submit").click()
    await expect(asked).to_contain_text("Reworded by you")
    await expect(asked).to_contain_text(vendored.BETTER)

    await card.get_by_role("button", name="Try again").click()
    done = await stage.shows(vendored.DONE)
    await expect(done).to_contain_text("from an attempt here that scored")
    await expect(done).to_contain_text("That took 2 attempts")
    await expect(done).to_contain_text("on probation; same words: tests, report")
    await stage.picture("lesson-used.png", await stage.shows("Starting that task over"), done)

    store = SQLiteLessonStore(stage.home / LESSONS)
    (learned,) = await store.lessons(None)
    await seed_few(store, learned.scope.guild)
    await store.close()
    await stage.say("!lessons list")
    listed = await stage.shows("Lessons of this server")
    for words in (
        learned.id,
        vendored.BETTER,
        "used in matching tasks",
        "1 retired",
        "of 8 without",
        "An owner decides what waits",
    ):
        await expect(listed).to_contain_text(words)
    await stage.picture("lessons.png", listed)
    await stage.say(f"!lessons show {learned.id}")
    shown = await stage.shows("History")
    await expect(shown).to_contain_text("reworded it; nothing in it needs approval any more")
    await stage.picture("lesson-page.png", shown)


async def test_a_direct_message_with_a_file_is_a_task_too(stage: Stage) -> None:
    stage.mind.ready.set()
    await stage.page.get_by_role("button", name=re.compile("(Write to|Direct messages with) Threadwright")).click()
    await expect(stage.page.get_by_role("heading", name="Threadwright", exact=True)).to_be_visible()
    await stage.say(scenes.DIRECT, FilePayload(name="sales.csv", mimeType="text/csv", buffer=scenes.SALES.encode()))
    await expect(await stage.shows("May, with 5,310 euros")).to_contain_text("→ exit 0")
    await stage.shows("Done")
    await stage.page.emulate_media(color_scheme="dark")
    await stage.page.set_viewport_size(DESK)
    await stage.picture("direct.png")
