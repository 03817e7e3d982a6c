"""Why something happened, two tasks compared, and a task as it was: their pages, with and without scripts."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from agentic.core.events.execution_events import (
    Asked,
    CallBlock,
    CheckpointSaved,
    ChosenLesson,
    Decided,
    Event,
    InputReceived,
    ModelAnswered,
    ModelRequested,
    Option,
    Started,
    SubagentFinished,
    ToolFinished,
    WithheldLesson,
)
from agentic.core.events.upcasting import read_envelope
from agentic.core.events.values import FileChange, Segments
from agentic.runtime.effects import Blob, blob
from agentic.workspace.snapshots.snapshot_store import Snapshots
from bot.config.home import CHECKPOINTS, LESSONS
from bot.console.pages.task import TABS
from reflexion.lessons.lesson import reflection_id
from reflexion.stores.factory import open_lessons
from tests.integration.console import logs
from tests.integration.console.grounds import IN_A_BROWSER, ConsoleGround, chromium, consoled, page, read_beside
from tests.integration.console.overall import lesson

__all__ = ["chromium", "consoled", "page", "read_beside"]

pytestmark = IN_A_BROWSER
RUNS = Path(__file__).parents[2] / "golden" / "0.1.0" / "runs"
MARKUP = "<script>document.title='taken'</script>"


def golden(name: str) -> list[Event]:
    """The events of a run that the real loop made."""
    lines = (RUNS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [read_envelope(line).event for line in lines]


def asked_in(events: list[Event], turn: int) -> str:
    return next(each.request for each in events if isinstance(each, ModelRequested) and each.turn == turn)


def prompted(events: list[Event], system: str, **began: object) -> tuple[list[Event], list[Blob]]:
    """With a system prompt in each request, begun in the thread of the tests."""
    text, tools = blob(system.encode()), blob(b"[]", "application/json")
    segments = Segments(system=text[0], tools=tools[0], history_from=0, history_through=2, history_sha="")
    made: list[Event] = []
    for event in events:
        if isinstance(event, ModelRequested):
            made.append(event.model_copy(update={"segments": segments}))
        elif isinstance(event, Started):
            made.append(event.model_copy(update={"thread": logs.THREAD, **began}))
        else:
            made.append(event)
    return made, [text, tools]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def written(consoled: ConsoleGround, tmp_path_factory: pytest.TempPathFactory) -> ConsoleGround:
    """A task of eight turns, a second attempt at it that parts in the third, and one that changes a file in each."""
    workspace = tmp_path_factory.mktemp("workspace")
    (workspace / "a.py").write_text("print('as it was')\n", encoding="utf-8")
    kept = await Snapshots(consoled.home / CHECKPOINTS).save(logs.THREAD, workspace)
    lesson = ChosenLesson(id="l1", kind="strategy", text="Look before you leap.", why="it fits")
    first, blobs = prompted(golden("many_turns_5"), "You are an agent.\nWork with care.")
    second, more = prompted(
        golden("many_turns_5"), "You are an agent.\nWork fast.", trial_of="first", attempt=2, lessons=(lesson,)
    )
    change = FileChange(kind="modified", path="a.py", sha_after=hashlib.sha256(b"print('as it was')\n").hexdigest())
    filed = [
        event.model_copy(update={"manifest": kept.manifest}) if isinstance(event, CheckpointSaved)
        else event.model_copy(update={"changes": (change,)}) if isinstance(event, ToolFinished)
        else event
        for event in first
    ]  # fmt: skip
    answer = ModelAnswered(
        request=asked_in(second, 3),
        blocks=(CallBlock(provider_id="p", tool="act", arguments={"name": "elsewhere"}),),
        usd=0.01,
    )
    second[15:] = [answer, *logs.end("failed", MARKUP)]
    await logs.written(consoled.store, "first", first, blobs=blobs)
    await logs.written(consoled.store, "filed", filed)
    await logs.written(consoled.store, "second", second, blobs=more)
    return consoled


async def got(ground: ConsoleGround, path: str, status: int = 200) -> str:
    """A page as it is without scripts."""
    async with aiohttp.ClientSession() as session, session.get(ground.url + path) as answer:
        assert answer.status == status, await answer.text()
        return await answer.text()


def words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", html)).replace("&#39;", "'")


async def test_two_attempts_are_found_and_compared_with_the_step_where_they_part(
    written: ConsoleGround, page: Page
) -> None:
    await page.set_viewport_size({"width": 390, "height": 800})
    await page.goto(written.task("second"))
    await page.get_by_role("link", name="Compare with another").click()
    await page.locator("li", has_text="the first attempt and attempt 2").get_by_role("link").click()
    await expect(page).to_have_url(f"{written.url}/compare/first/second")
    parts = page.locator("tr.parts").first
    await expect(parts).to_contain_text("3: first difference")
    await expect(parts).to_contain_text("elsewhere")
    sides = page.locator(".sides section")
    await expect(sides.nth(0)).to_contain_text("The rule that answered next: open_calls")
    await expect(sides.nth(1)).to_contain_text("Attempt 2, turn 3")
    await expect(page.get_by_role("row", name="Look before you leap.")).to_contain_text("told: it fits")
    await expect(page.locator(".difference")).to_contain_text("− Work with care.")
    await expect(page.locator(".difference")).to_contain_text("+ Work fast.")
    await expect(page).to_have_title("Compare · Threadwright")
    await _fits(page)


async def test_the_slider_shows_the_task_as_it_was_turn_by_turn(
    written: ConsoleGround, page: Page, read_beside: list[str]
) -> None:
    await page.set_viewport_size({"width": 390, "height": 800})
    await page.goto(written.task("filed", "at?turn=1"))
    moment = page.locator("#moment")
    await expect(moment.locator("h3")).to_have_text("At the end of turn 1 of 8")
    file = moment.get_by_role("row", name="a.py").locator("td")
    await expect(file).to_have_text(["a.py", "modified", "1", "turn 1"])
    await page.get_by_label("Turn", exact=True).focus()
    await page.keyboard.press("ArrowRight")
    await page.keyboard.press("ArrowRight")
    await expect(moment.locator("h3")).to_have_text("At the end of turn 3 of 8")
    await expect(file).to_have_text(["a.py", "modified", "3", "turn 3"])
    await expect(moment.get_by_label("Confidence then")).to_contain_text("none were run; 50% is assumed")
    await expect(page).to_have_url(re.compile(r"/at\?turn=3$"))
    await expect(page.get_by_label("Go to turn")).to_have_value("3")
    fork = moment.locator("form.fork")
    await expect(fork.locator("[name=do]")).to_have_value("fork")
    await expect(fork.locator("option").first).to_have_text("after turn 3")
    assert len(await fork.locator("[name=once]").input_value()) == 16
    assert re.fullmatch("[0-9a-f]{6}", await fork.get_by_label("Saved state").input_value())
    await _fits(page)
    await moment.get_by_role("link", name="a.py").click()
    await expect(page.locator("pre")).to_have_text("print('as it was')\n")
    assert "print('as it was')\n" in read_beside


async def test_pages_need_no_script_and_tell_nothing_of_what_is_not_there(written: ConsoleGround) -> None:
    before = words(await got(written, written.task("first", "at?turn=0").removeprefix(written.url)))
    assert "Before the first turn" in before
    assert "nothing to fork from yet" in before
    gone = words(await got(written, f"/t/{logs.THREAD}/first/at?turn=8"))
    assert "no longer kept" in gone
    why = await got(written, f"/t/{logs.THREAD}/second/why/17")
    assert "<script>document" not in why
    assert "would not have decided this" in words(why)
    for path in ("/compare/first/nobody", "/compare/nobody/first", "/compare?a=first&b=nobody", "/compare?a=nobody"):
        assert "There is no such task, or you may not see it." in words(await got(written, path, 404)), path
    for path in ("why/0", "why/99", "at/file?turn=1&path=/etc/passwd"):
        await got(written, f"/t/{logs.THREAD}/first/{path}", 404)
    by_thread = words(await got(written, f"/compare?a={written.task('first')}&b={logs.THREAD}"))
    assert "Where they differ" in by_thread


async def test_what_a_fork_copied_leads_to_where_it_was_decided(written: ConsoleGround) -> None:
    copied, blobs = prompted(golden("many_turns_5")[:20], "You are an agent.", forked_from=("first", 20))
    await logs.written(written.store, "fork", [*copied, *logs.end()], blobs=blobs)
    why = await got(written, f"/t/{logs.THREAD}/fork/why/8")
    assert f'href="/t/{logs.THREAD}/first/why/8"' in why
    assert "The rule" not in words(why)
    chosen = await got(written, "/compare?a=fork")
    assert 'href="/compare/first/fork"' in chosen
    assert "a task and what goes on from it" in words(chosen)


async def test_a_task_and_what_goes_on_from_it_link_to_each_other(written: ConsoleGround) -> None:
    aside = "1575491652707942888"

    async def task(name: str, thread: str = logs.THREAD, **began: object) -> None:
        log: list[Event] = [logs.started("Sort the seeds", **{"thread": thread, **began}), *logs.turn(1), *logs.end()]
        await logs.written(written.store, name, log, thread=thread)

    await task("seeds")
    await task("again", trial_of="seeds", attempt=2)
    await task("later", forked_from=("seeds", 3))
    await task("aside", aside, forked_from=("seeds", 3))
    await task("stranger", aside, forked_from=("first", 3))
    there = await got(written, f"/t/{logs.THREAD}/seeds/metrics")
    told = "Tried again attempt 2 (compare) · Continued a later task (compare) · Forked Fix the failing test (compare)"
    assert told in words(there)
    assert "stranger" not in there
    for name, thread, back in (
        ("again", logs.THREAD, "Attempt 2 after the first attempt"),
        ("later", logs.THREAD, "Continues an earlier task"),
        ("aside", aside, "Fork of Fix the failing test"),
    ):
        assert f'href="/t/{thread}/{name}"' in there
        assert f'href="/compare/seeds/{name}"' in there
        here = await got(written, f"/t/{thread}/{name}")
        assert back in words(here)
        assert f'href="/t/{logs.THREAD}/seeds"' in here


async def test_a_lesson_is_told_with_the_attempt_it_comes_from_and_one_left_out_by_its_words(
    written: ConsoleGround,
) -> None:
    kept = open_lessons(written.home / LESSONS)
    await kept.amend(lesson("l7", logs.GUILD, logs.BEGAN))
    await kept.close()
    why = "attempt first in this thread scored 33: its check failed"
    reflection = ChosenLesson(id=reflection_id("first"), kind="reflection", text="Key: look first", why=why)
    strategy = ChosenLesson(
        id="l8", kind="strategy", text="Look. → Leap.", why="active lesson of this server; match 1 of 2"
    )
    left_out = tuple(WithheldLesson(id=id, arm="crowded", why="too long; shares rows") for id in ("l7", "l9"))
    log, blobs = prompted(
        golden("many_turns_5")[:20], "You are an agent.", lessons=(reflection, strategy), withheld=left_out
    )
    await logs.written(written.store, "taught", [*log, *logs.end()], blobs=blobs)
    page = await got(written, f"/t/{logs.THREAD}/taught/identity")
    told = words(page)
    assert "Chosen because: attempt 1 (compare) scored 33: its check failed" in told
    assert f'href="/t/{logs.THREAD}/first"' in page
    assert 'href="/compare/first/taught"' in page
    assert "match 1 of 2" not in told
    assert "The parser meets an empty row: others fitted better" in told
    assert "A lesson that was deleted: others fitted better" in told
    assert "too long; same words: rows" in told
    assert not re.search(r"\b(l7|l9)\b", told)


async def test_no_page_of_a_task_shows_an_id_and_figures_have_their_units(written: ConsoleGround) -> None:
    first, second, child = "xfeedfeedfeedfee1", "xfeedfeedfeedfee2", "c0ffee00c0ffee00"
    asked = Asked(question="qfeedfeed1", text="How often?", options=(Option(id="1", label="weekly"),))
    reply = InputReceived(inbox="i", sort="answer", author=logs.ANN, text="1", target="qfeedfeed1")
    helped = SubagentFinished(child=child, result="done", turns=3, spent_usd=0.01)
    decided = Decided(question="qfeedfeed1", by=logs.ANN, choice="1", text="weekly")
    left_out = (WithheldLesson(id="lfeedfeedfee", arm="held_back"),)
    log = [logs.started(withheld=left_out), logs.triaged(), *logs.turn(1), asked, reply, decided, *logs.turn(2), helped]
    await logs.written(written.store, first, [*log, *logs.turn(3), *logs.end()])
    await logs.written(written.store, second, [logs.started(trial_of=first, attempt=2), *logs.turn(1)])
    path = f"/t/{logs.THREAD}/{first}"
    pages = {tab: words(await got(written, f"{path}/{tab}".rstrip("/"))) for tab, _ in TABS if tab != "logs"}
    pages["compare"] = words(await got(written, f"/compare/{first}/{second}"))
    for name, told in pages.items():
        assert not re.search(r"[xcql](feed|0ffee)\w+|\br\d+\.\d", told), name
    assert "2.1k tokens in, 180 out" in pages[""]
    assert "a helper ended: done in 3 turns, $0.010" in pages[""]
    assert re.search(r"Context ?2.1k tokens .*Cached ?\d+% of input", pages["identity"])
    assert "before turn 1" in pages["metrics"]
    assert "Helper 1" in pages["metrics"]
    assert "waiting for a person: an answer" in pages["timeline"]
    assert "attempt 2 · begun" in pages["compare"]


async def _fits(page: Page) -> None:
    """The page itself needs no scrolling to the side."""
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
