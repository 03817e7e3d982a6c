"""The page of a task in a real browser: what it shows at first, what comes while it is open, what stays."""

from __future__ import annotations

import asyncio
import re

import pytest
from playwright.async_api import Page, Route, expect

from agentic.core.events.execution_events import Asked, CallBlock, Evaluated, ModelAnswered, ModelRequested, Person
from agentic.ports.runtime import SessionRow
from bot.console.logs import followers
from bot.retention.expiry import Retention
from bot.retention.personal_data import PersonalData
from tests.integration.console import logs
from tests.integration.console.grounds import IN_A_BROWSER, ConsoleGround, chromium, consoled, page

__all__ = ["chromium", "consoled", "page"]

pytestmark = IN_A_BROWSER
CONNECTIONS = 6
"""So many a browser opens to one address at most."""
IN_THE_BACKGROUND = 'Object.defineProperty(document, "hidden", { get: () => !window.looked });'
"""What a browser says in a tab until somebody looks at it; without windows it says that all are seen."""
LOOK = '() => { window.looked = true; document.dispatchEvent(new Event("visibilitychange")); }'


async def test_what_happens_comes_to_the_open_page_and_what_is_open_and_selected_stays(
    consoled: ConsoleGround, page: Page
) -> None:
    log = logs.events(3, ended=False)
    lease = await logs.written(consoled.store, "live", log)
    await page.goto(consoled.task("live"))
    await expect(page.locator("#turn-3 .words")).to_have_text("I look at step 3.")
    await page.evaluate("getSelection().selectAllChildren(document.querySelector('#turn-2 .words'))")
    new = logs.turn(4, text="I found it.\n\nTwo lines apart.")
    await logs.added(consoled.store, "live", lease, new[:3], len(log))
    await expect(page.locator("#turn-4 .words")).to_have_text("I found it.\n\nTwo lines apart.")
    await expect(page.locator("#turn-4 .mark")).to_have_text("running")
    await expect(page.locator("#status")).to_contain_text("Running shell")
    assert await page.evaluate("getSelection().toString()") == "I look at step 2."
    call = page.locator("#turn-4 details.call")
    await call.locator("summary").click()
    await logs.added(consoled.store, "live", lease, new[3:], len(log) + 3)
    await expect(page.locator("#turn-4 .mark")).to_have_text("exit 1")
    await expect(page.locator("#turn-4 .words")).to_have_count(1)
    await expect(call).to_have_attribute("open", "")
    await logs.added(consoled.store, "live", lease, logs.end(), len(log) + 5)
    await expect(page.locator("#status")).to_contain_text("Done")
    await expect(page.locator("article.turn")).to_have_count(5)  # the task and four turns, none twice


async def test_tabs_that_nobody_looks_at_keep_no_connection_and_one_that_is_looked_at_follows(
    consoled: ConsoleGround, page: Page
) -> None:
    log = logs.events(3, ended=False)
    lease = await logs.written(consoled.store, "tabs", log)
    await page.context.add_init_script(IN_THE_BACKGROUND)
    for _ in range(CONNECTIONS):
        await (await page.context.new_page()).goto(consoled.task("tabs"))
    await page.goto(consoled.task("tabs"))
    await logs.added(consoled.store, "tabs", lease, logs.turn(4), len(log))
    await page.evaluate(LOOK)
    await expect(page.locator("#turn-4 .mark")).to_have_text("exit 1")
    await expect(page.locator("article.turn")).to_have_count(5)


async def test_a_link_to_a_turn_that_is_not_on_the_page_leads_to_it_and_the_page_is_live_too(
    consoled: ConsoleGround, page: Page
) -> None:
    log = logs.events(120, ended=False)
    lease = await logs.written(consoled.store, "long", log)
    await page.goto(f"{consoled.task('long')}#turn-7")
    await expect(page.locator("#turn-7")).to_be_in_viewport()
    assert await page.locator("#turn-110").count() == 0
    asked = Asked(question="q1", sort="question", text="Which one?")
    await logs.added(consoled.store, "long", lease, [*logs.turn(121), asked], len(log))
    await expect(page.locator("#act-question")).to_contain_text("Which one?")
    await expect(page.locator("#status")).to_contain_text("Waiting for an answer")
    more = page.get_by_role("button", name="later turns")
    for first in (27, 67, 107):
        await more.press("Enter")
        await expect(page.locator(f"#turn-{first}-name a")).to_be_focused()
    await expect(more).to_have_count(0)
    await logs.added(consoled.store, "long", lease, logs.turn(122), len(log) + 6)
    await expect(page.locator("#turn-122 .mark")).to_have_text("exit 1")
    numbers = [await each.get_attribute("id") for each in await page.locator("article.turn").all()]
    assert numbers == [f"turn-{number}" for number in range(123)], "in order, each once"


async def test_the_log_shows_each_event_and_can_be_filtered(consoled: ConsoleGround, page: Page) -> None:
    log = logs.events(2, ended=False)
    lease = await logs.written(consoled.store, "lines", log)
    await page.goto(consoled.task("lines", "logs"))
    await expect(page.locator("#lines .line")).to_have_count(len(log))
    await logs.added(consoled.store, "lines", lease, [logs.guidance("mind the tabs")], len(log))
    await expect(page.locator("#lines .line").last).to_contain_text("mind the tabs")
    await page.goto(consoled.task("lines", "logs?before=8"))
    await logs.added(consoled.store, "lines", lease, logs.turn(3), len(log) + 1)
    await expect(page.locator("#status div", has_text="Turn")).to_contain_text("3")
    await expect(page.locator("#lines .line")).to_have_count(8)
    await page.goto(consoled.task("lines", "logs"))
    await page.get_by_label("Kind").select_option("tool_finished")
    await page.get_by_role("button", name="Filter").click()
    await expect(page.locator("#lines .line")).to_have_count(3)
    await page.locator("#lines .line a").first.click()
    await expect(page.locator("pre.whole")).to_contain_text('"outcome": "ok"')


async def test_an_erasure_leaves_no_page_with_what_was_said_and_a_title_that_came_later_is_shown(
    consoled: ConsoleGround, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followers, "RESTED_SECONDS", 0.05)
    thread, bob = "1575491652707942888", Person(id="8", name="Bob Miller", level="executor")
    said = logs.guidance("call 555-0199").model_copy(update={"author": bob})
    log = [logs.started(thread=thread), *logs.turn(1), said, *logs.turn(2), *logs.end()]
    store, path = consoled.store, f"{consoled.url}/t/{thread}/erased"
    await store.save_session(SessionRow(thread, logs.CHANNEL, logs.GUILD))
    await store.release(await logs.written(store, "erased", log, thread=thread))
    tabs = ("", "/logs", "/event/7", "/why/7", "/world?turn=2", "/export.html", "/export.jsonl")

    async def told() -> list[bool]:
        answers = [await (await page.request.get(path + tab)).text() for tab in tabs]
        return ["555-0199" in text or "Bob Miller" in text for text in answers]

    assert await told() == [True] * len(tabs)
    await page.goto(path)
    await expect(page.locator("h1")).to_have_text("Fix the failing test")
    await expect(page.locator("#turn-1")).to_contain_text("call 555-0199")
    await store.save_session(SessionRow(thread, logs.CHANNEL, logs.GUILD, title="The shop"))
    await PersonalData(store, None, Retention(store, 0)).erase("8", "Bob Miller")
    await expect(page.locator("#live-state")).to_have_text(followers.CHANGED)
    await expect(page.locator("#turn-1")).to_contain_text("[erased]")
    await expect(page.locator("main")).not_to_contain_text("555-0199")
    await expect(page.locator("h1")).to_have_text("The shop")
    assert await told() == [False] * len(tabs)


async def test_a_threads_link_leads_to_its_task_and_not_to_a_question_beside_it(
    consoled: ConsoleGround, page: Page
) -> None:
    thread = "1575491652707942777"
    await logs.written(consoled.store, "main", [logs.started("Mend it", thread=thread), *logs.turn(1)], thread=thread)
    aside = logs.started("How long will it take?", thread=thread, side=True, parent="main")
    await logs.written(consoled.store, "aside", [aside, *logs.end()], thread=thread)
    await page.goto(f"{consoled.url}/t/{thread}")
    await expect(page.locator("#turn-0 .words")).to_have_text("Mend it")
    await page.goto(f"{consoled.url}/t/{thread}/aside")
    await page.get_by_role("link", name="the task beside it").click()
    await expect(page.locator("#turn-0 .words")).to_have_text("Mend it")


async def test_a_long_event_is_read_in_pages_to_its_end_and_a_turn_that_is_not_there_is_said(
    consoled: ConsoleGround, page: Page
) -> None:
    call = CallBlock(provider_id="p", tool="write", arguments={"path": "a", "content": "x" * 600_000 + " the end"})
    asked = ModelRequested(request="r1", turn=1, tier=2, model="m/x", reserved_usd=0)
    await logs.written(consoled.store, "wide", [logs.started(), asked, ModelAnswered(request="r1", blocks=(call,))])
    path = consoled.task("wide", "event/3")
    first, last, world = [
        await (await page.request.get(each)).text()
        for each in (path, f"{path}?page=10", consoled.task("wide", "world?against=999"))
    ]
    assert "Page 1 of 10" in first
    assert "in 10 pages" in first
    assert max(len(first), len(last)) < 80_000
    assert "x the end" in last
    assert "There is no turn 999 to compare with." in world


async def test_a_page_that_is_far_behind_begins_anew_with_the_newest(consoled: ConsoleGround, page: Page) -> None:
    log = logs.events(120, ended=False)
    lease = await logs.written(consoled.store, "behind", log)
    loaded = asyncio.Event()

    async def long_ago(route: Route) -> None:
        await loaded.wait()
        await route.continue_(url=re.sub(r"since=\d+", "since=1", route.request.url))

    await page.route(re.compile("/live"), long_ago)
    await page.goto(consoled.task("behind"))
    await page.locator("#turn-81").evaluate("each => each.remove()")
    loaded.set()
    await expect(page.locator("#turn-81")).to_be_attached()
    await page.get_by_role("button", name="Show 40 earlier turns").press("Enter")
    await expect(page.locator("#turn-41-name a")).to_be_focused()
    await logs.added(consoled.store, "behind", lease, logs.turn(121), len(log))
    await expect(page.locator("#turn-121")).to_be_attached()
    numbers = [await each.get_attribute("id") for each in await page.locator("article.turn").all()]
    assert numbers == [f"turn-{number}" for number in range(41, 122)], "in order, each once"
    for tab, one, shown in (
        ("logs", "#lines .line", 300), ("terminal", ".command", 40), ("metrics", "#rows tr[id]", 100),
        ("timeline", "#turns tbody[id]", 40),
    ):  # fmt: skip
        await page.goto(consoled.task("behind", tab))
        await expect(
            page.get_by_role("link", name=re.compile("^Load the page anew|^Earlier events")).last
        ).to_be_visible()
        await expect(page.locator(one)).to_have_count(shown)
    await expect(page.locator("#turns thead")).to_have_count(1)


async def test_what_came_after_the_end_has_no_number_and_no_link_to_another_event(
    consoled: ConsoleGround, page: Page
) -> None:
    await logs.written(consoled.store, "judged", logs.events(1))
    judged = logs.enveloped("judged", [Evaluated(score=92, parts={})])
    await consoled.store.append_outcome("judged", judged)
    await page.goto(consoled.task("judged", "logs"))
    last = page.locator("#lines .line").last
    await expect(last.locator(".seq")).to_have_text("after")
    await expect(last.get_by_role("link")).to_have_count(0)


async def test_a_link_that_copied_has_its_name_again(consoled: ConsoleGround, page: Page) -> None:
    await logs.written(consoled.store, "copied", logs.events(1))
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await page.clock.install()
    await page.goto(consoled.task("copied"))
    await page.get_by_text("Download or copy").click()
    link = page.locator(".exports a[data-copy]")
    await link.click()
    await expect(link).to_have_text("Copied")
    await page.clock.run_for(2_000)
    await expect(link).to_have_text("Copy as Markdown")
    assert "Fix the failing test" in await page.evaluate("navigator.clipboard.readText()")


async def test_of_many_visible_pages_of_a_browser_the_last_ones_are_live_and_all_of_them_open(
    consoled: ConsoleGround, page: Page
) -> None:
    log = logs.events(2, ended=False)
    lease = await logs.written(consoled.store, "many", log)
    await page.goto(consoled.task("many"))
    others = [await page.context.new_page() for _ in range(6)]
    for each in others:
        await each.goto(
            consoled.task("many", "logs")
        )  # a browser has six connections: the last one would wait for ever
    told = [each.locator("#live-state") for each in (page, *others)]
    await expect(told[0]).to_contain_text("Not live while you look at 4 other pages of the console.")
    await logs.added(consoled.store, "many", lease, logs.turn(3), len(log))
    await expect(others[-1].locator("#lines .line")).to_have_count(len(log) + 5)
    await expect(page.locator("#turn-3")).to_have_count(0)
    await page.evaluate("dispatchEvent(new Event('focus'))")
    await expect(page.locator("#turn-3 .words")).to_have_text("I look at step 3.")
    await expect(told[0]).to_be_empty()
    await expect(told[3]).to_contain_text("Not live")
    for each in others[3:]:
        await each.close(run_before_unload=False)
    await expect(told[3]).to_be_empty()
    await expect(others[2].locator("#lines .line")).to_have_count(len(log) + 5)


async def test_each_tab_tells_what_the_task_does_now_and_world_that_there_is_more(
    consoled: ConsoleGround, page: Page
) -> None:
    log = [*logs.events(1, ended=False), *logs.turn(2)[:1]]
    lease = await logs.written(consoled.store, "alltabs", log)
    await page.goto(consoled.task("alltabs", "world"))
    await expect(page.get_by_text("None yet.")).to_be_visible()
    await logs.added(consoled.store, "alltabs", lease, logs.turn(2)[1:], len(log))
    await page.get_by_role("link", name="Show it").press("Enter")
    await expect(page.get_by_text("I look at step 2.")).to_be_in_viewport()
    for number, tab in enumerate(("identity", "at", "why/3", "world?turn=1"), 3):
        await page.goto(consoled.task("alltabs", tab))
        await logs.added(consoled.store, "alltabs", lease, logs.turn(number), 2 + 5 * (number - 1))
        await expect(page.locator("#status div", has_text="Turn")).to_contain_text(str(number))
    await expect(page.locator("#newer")).to_have_text("A newer request was sent: turn 6")
    await page.locator("#newer a").press("Enter")
    await expect(page.get_by_role("heading", name="Turn 6: the request")).to_be_visible()
    await expect(page.locator("#newer")).to_have_text("")


async def test_a_page_of_a_task_that_was_deleted_shows_it_no_more(
    consoled: ConsoleGround, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followers, "RESTED_SECONDS", 0.05)
    await logs.written(consoled.store, "deleted", logs.events(1))
    one = await page.context.new_page()  # a browser reports the answer 404 as an error of the page
    async with one.expect_response(re.compile("/live")):  # it is followed from then on
        await one.goto(consoled.task("deleted"))
    await consoled.store.bury(["deleted"])
    await expect(one.get_by_role("main")).to_contain_text("There is no such task, or you may not see it.")
    await expect(one.locator("#turn-1")).to_have_count(0)
