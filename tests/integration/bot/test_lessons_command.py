"""`threadwright lessons` over real stores, and its page in a real browser."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from bot.cli import perform
from bot.state import LESSONS
from reflexion.lessons import Lesson
from reflexion.stores.sqlite import SQLiteLessonStore
from tests.integration.bot.seeded_lessons import GUILD, HOSTILE, SAID, UNTRUSTED, seed
from tests.integration.guild.browsers import ARGUMENTS, CHROMIUM, NEEDS_CHROMIUM

OTHER = "1190000000000000099"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("THREADWRIGHT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def seeded(home: Path, executions: int, *, hostile: bool = False) -> None:
    async def work() -> None:
        store = SQLiteLessonStore(home / LESSONS)
        await seed(store, executions=executions, hostile=hostile)
        await store.close()

    asyncio.run(work())


def kept(home: Path, guild: str | None) -> list[Lesson]:
    async def work() -> list[Lesson]:
        store = SQLiteLessonStore(home / LESSONS)
        found = await store.lessons(guild)
        await store.close()
        return list(found)

    return asyncio.run(work())


def test_an_empty_home_an_empty_store_and_a_broken_one_each_say_what_to_do(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for act in ("report", "list", "export"):
        assert perform(["lessons", act]) == 1
        assert "There are no lessons" in capsys.readouterr().err
    assert not home.exists(), "looking makes no store"
    seeded(home, 0)
    assert perform(["lessons", "report", "--guild", "77"]) == 1
    assert "Nothing is known of server 77." in capsys.readouterr().err
    for wrong in (["lessons"], ["lessons", "import", "x"], ["lessons", "import", "x", "--guild", "7", "--everywhere"]):
        with pytest.raises(SystemExit) as mistaken:
            perform(wrong)
        assert mistaken.value.code == 64
    capsys.readouterr()
    (home / LESSONS).write_bytes(b"no database at all, but long enough to be looked at as one" * 40)
    for act in ("report", "list", "export"):
        assert perform(["lessons", act]) == 1
        said = capsys.readouterr()
        assert "The lessons cannot be read" in said.err
        assert "`threadwright doctor`" in said.err
        assert said.out == ""
    assert not (home.parent / "threadwright-lessons.html").exists()


def test_few_showings_are_said_to_be_too_few_and_only_a_report_is_written_over(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seeded(home, 14)
    file = home.parent / "threadwright-lessons.html"
    assert perform(["lessons", "report"]) == 0
    assert "showings so far" in file.read_text()
    assert "takes about" in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    first = file.read_text()
    assert perform(["lessons", "report", "--guild", GUILD]) == 0
    assert f"Server {GUILD}" in file.read_text() != first
    mine = home.parent / "mine.html"
    mine.write_text("my own page")
    capsys.readouterr()
    assert perform(["lessons", "report", "--out", str(mine)]) == 1
    assert "is no report of mine" in capsys.readouterr().err
    assert mine.read_text() == "my own page"


def test_lessons_are_listed_and_go_to_another_server_only_by_a_file_and_looked_at_anew(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seeded(home, 60)
    assert perform(["lessons", "list"]) == 0
    listed = capsys.readouterr().out
    assert all(f"{trigger[:20]}" in listed for trigger, _, _ in SAID)
    assert "1 wait for approval" in listed
    assert perform(["lessons", "list", "--guild", OTHER]) == 1
    file = home.parent / "lessons.jsonl"
    assert perform(["lessons", "export", str(file)]) == 0
    assert perform(["lessons", "export", str(file)]) == 1
    assert perform(["lessons", "export"]) == 0
    assert capsys.readouterr().out.count("\n") == len(SAID) + 1
    assert perform(["lessons", "import", str(file), "--guild", OTHER]) == 0
    assert "1 of them to be approved first" in capsys.readouterr().out
    before, now = {each.id: each for each in kept(home, GUILD)}, kept(home, OTHER)
    assert {each.trigger for each in now} < {each.trigger for each in before.values()}, (
        "retired ones stay where they were"
    )
    assert not {each.id for each in now} & set(before)
    assert {each.status for each in now} <= {"probation", "candidate", "quarantined"}
    assert next(each for each in now if each.trigger == UNTRUSTED[0]).status == "quarantined"
    assert sum(each.life.shown + each.life.held_back for each in now) == 0
    assert sum(each.life.shown for each in before.values()) > 0
    file.write_text('{"id": 7}\n')
    assert perform(["lessons", "import", str(file), "--guild", OTHER]) == 1
    assert "line 1 is no lesson" in capsys.readouterr().err
    assert perform(["lessons", "import", str(home), "--everywhere"]) == 1


@pytest.mark.chromium
@NEEDS_CHROMIUM
def test_the_page_shows_what_a_hostile_lesson_says_and_runs_none_of_it_and_fits_a_phone_in_both_colours(
    home: Path,
) -> None:
    seeded(home, 300, hostile=True)
    assert perform(["lessons", "report"]) == 0
    file = home.parent / "threadwright-lessons.html"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for scheme in ("light", "dark"):
            context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme)  # type: ignore[arg-type]
            page, asked = context.new_page(), list[str]()
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.goto(file.as_uri())
            assert asked == [file.as_uri()], "nothing is fetched"
            _nothing_ran(page)
            _reads_well(page)
            context.close()
        browser.close()


def _nothing_ran(page: Page) -> None:
    expect(page).to_have_title("What the lessons are worth · Threadwright")
    assert page.locator("script, img, iframe, object, link, [onerror], [href], [src]").count() == 0
    summary = page.locator("summary", has_text="<script>")
    expect(summary.locator(".words")).to_have_text(HOSTILE)
    summary.click()
    whole = page.locator("details[open]")
    expect(whole).to_contain_text(HOSTILE)
    assert "\u202e" not in page.content(), "nothing turns the text around"


def _reads_well(page: Page) -> None:
    """No part of it is wider than a phone, every section is there, and text stands out from what is behind it."""
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    headings = page.locator("h2").all_inner_texts()
    assert headings == [
        "Waiting for approval", "What each lesson does", "The lessons' lives", "What was held back", "The judge",
        "Retired", "Every lesson",
    ]  # fmt: skip
    expect(page.locator(".hero .number")).to_contain_text("points")
    expect(page.locator(".waiting")).to_contain_text("a command")
    assert page.locator(".effect svg").count() >= 5
    assert page.locator(".life svg circle").count() > 50
    assert page.locator(".facts").inner_text().split("\n")[1] == "openai/gpt-4o-mini"
    colours = page.evaluate("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]")
    assert abs(_light(colours[0]) - _light(colours[1])) > 0.6


def _light(colour: str) -> float:
    """0-1, of ``rgb(…)`` or ``color(srgb …)``."""
    inside = colour[colour.index("(") + 1 : -1].replace("srgb", "").replace(",", " ").split()[:3]
    scale = 1.0 if colour.startswith("color") else 255.0
    return sum(float(each) for each in inside) / 3 / scale
