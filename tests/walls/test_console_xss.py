"""What people, models and tools write is text on the console wherever it is shown, also on a page that is open."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser

import aiohttp
import pytest
from playwright.async_api import Page, expect

from agentic.ports.runtime import SessionRow
from bot.config.home import LESSONS
from bot.console.console_server import ROUTES
from bot.console.views.story import Story
from reflexion.lessons.lesson import Lesson, Scope
from reflexion.stores.factory import open_lessons
from tests.integration.console import logs
from tests.integration.console.doors import LESSON, ONCE
from tests.integration.console.grounds import IN_A_BROWSER, ConsoleGround, chromium, consoled, page
from tests.integration.console.test_console_rights import address

from .hostile_log import FORMS, PLACES, Words, filled, task_log
from .tally import Wall

__all__ = ["chromium", "consoled", "page"]

pytestmark = IN_A_BROWSER

HOSTILE, HARMLESS, GROWING = "1575491652707940101", "1575491652707940102", "1575491652707940103"
QUERIES = {"/search": "?q=hit", "/turns": "?before=40", "/world": "?turn=3"}
"""What is asked of pages that show only a part."""
COUNT = "window.hits = []; window.hit = (n) => window.hits.push(n);"
POKE = """() => {
    for (const node of document.querySelectorAll("details:not(.reasoning)")) node.open = true;
    for (const node of document.body.querySelectorAll("*"))
        for (const kind of ["focus", "mouseover", "load", "error"]) node.dispatchEvent(new Event(kind));
    return window.hits;
}"""
"""Open all that folds, except what is loaded then and is looked at as a page of its own, and point at everything."""
FOREIGN_NODES = """() => {
    const found = [];
    const bad = ["script:not([src^='/static/'])", "iframe", "object", "embed", "base", "meta[http-equiv]", "link[onerror]",
        "form:not([action^='/'])", "svg[onload]", "math", "style", "template", "img", "video", "audio", "hx-partial", "x"];
    for (const node of document.querySelectorAll(bad.join())) found.push(node.outerHTML.slice(0, 150));
    for (const node of document.querySelectorAll("*")) for (const { name, value } of node.attributes) {
        if (name.startsWith("on") || name.startsWith("hx-on")) found.push(`${name}=${value}`);
        const leads = ["href", "src", "action", "formaction", "data", "hx-get", "hx-post", "hx-sse:connect"].includes(name);
        if (leads && !/^(\\/(?!\\/)|#|data:image\\/|[?]|https:\\/\\/)/.test(value)) found.push(`${name}=${value}`);
    }
    return found;
}"""
"""What a page of the console never has, and links that lead to anything but a page."""


class Tags(HTMLParser):
    """The elements of a page, each with the names of its attributes; ids and addresses differ from task to task."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(" ".join([tag, *(name for name, _ in attrs)]))

    def handle_comment(self, data: str) -> None:
        self.found.append(f"<!--{data}")

    def handle_decl(self, decl: str) -> None:
        self.found.append(f"<!{decl}")


async def _written(ground: ConsoleGround, thread: str, words: Words, upto: int | None = None) -> None:
    log, outcome = task_log(words)
    await ground.store.save_session(
        SessionRow(thread, logs.CHANNEL, logs.GUILD, title=words(1, "task"), created=logs.BEGAN)
    )
    log[0] = log[0].model_copy(update={"thread": thread})
    lease = await logs.written(ground.store, thread, log[:upto], thread=thread)
    if upto is None:
        await ground.store.append_outcome(thread, logs.enveloped(thread, outcome, len(log), lease.fence))


async def _pages(ground: ConsoleGround, thread: str) -> dict[str, tuple[str, str]]:
    """What each route answers about a task, with its type; streams are left out."""
    found: dict[str, tuple[str, str]] = {}
    async with aiohttp.ClientSession() as session:
        for method, path, _ in ROUTES:
            if method == "GET" and not path.endswith("/live"):
                where = address(path, thread, thread).partition("?")[0]
                where += next((query for end, query in QUERIES.items() if where.endswith(end)), "")
                async with session.get(ground.url + where) as answer:
                    assert answer.status != 500, path
                    disposition = answer.headers.get("Content-Disposition", "")
                    sort = f"{answer.content_type} {disposition}" if answer.status == 200 else "none"
                    found[where] = sort, await answer.text(errors="replace")
    return found


@pytest.mark.wall("xss")
async def test_no_form_is_more_than_text_on_any_page(consoled: ConsoleGround, page: Page, wall: Wall) -> None:
    await _written(consoled, HOSTILE, Words(hostile=True))
    lessons = open_lessons(consoled.home / LESSONS)
    learned = filled(Lesson, lambda: Words(hostile=True)(3, "every other"))
    scope = Scope(kind="guild", guild=logs.GUILD)
    await lessons.amend(learned.model_copy(update={"id": LESSON, "scope": scope, "status": "active", "revision": 0}))
    await lessons.close()
    hostile = await _pages(consoled, HOSTILE)
    hits: Counter[int] = Counter()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await page.add_init_script(COUNT)
    shown, seen = 0, set[str]()
    for where, (sort, text) in hostile.items():
        if not sort.startswith("text/html") or "attachment" in sort:
            assert not sort.startswith(("image/svg", "text/xml", "application/x")) or "attachment" in sort, where
            continue
        if not text.startswith("<!doctype") or "hit(" not in text or (plain := ONCE.sub("", text)) in seen:
            continue  # a part of a page: its elements are compared below; or nothing that is not looked at already
        seen.add(plain)
        await page.goto(consoled.url + where)
        hits.update(await page.evaluate(POKE))
        nodes = await page.evaluate(FOREIGN_NODES)
        wall.held(f"nodes and attributes of others at {where}", not nodes, str(nodes[:3]))
        shown += 1
    assert shown > 3, "pages were looked at"
    await _written(consoled, HARMLESS, Words(hostile=False))
    for (where, (sort, text)), (_, same) in zip(
        hostile.items(), (await _pages(consoled, HARMLESS)).values(), strict=True
    ):
        if where.startswith("/t/") and sort.startswith("text/html"):
            ours, found = Counter(Tags(same).found), Counter(Tags(text).found)
            wall.held(f"other elements at {where}", found == ours, str(found - ours))
    for place in PLACES:
        for number, form in enumerate(FORMS):
            wall.held(f"{form!a} as {place}", not hits[1_000 * PLACES.index(place) + number])
    elsewhere = [url for url in asked if not url.startswith(consoled.url)]
    wall.held("requests to others", not elsewhere, str(elsewhere[:3]))


@pytest.mark.wall("xss")
@pytest.mark.parametrize("tab", ["", "logs"])
async def test_no_form_is_more_than_text_where_it_comes_to_an_open_page(
    consoled: ConsoleGround, page: Page, wall: Wall, tab: str
) -> None:
    words, thread = Words(hostile=True), str(int(GROWING) + len(tab))
    log, _ = task_log(words)
    await _written(consoled, thread, words, upto=3)
    await page.add_init_script(COUNT)
    await page.goto(f"{consoled.url}/t/{thread}/{thread}/{tab}".rstrip("/"))
    lease = await consoled.store.acquire(thread, "bot-1", 3600.0)
    assert lease is not None
    story = Story()
    for at in range(0, len(log), 90):
        batch = log[max(at, 3) : at + 90]
        for envelope in logs.enveloped(thread, log[at : at + 90], at):
            story.take(envelope)
        await logs.added(consoled.store, thread, lease, batch, max(at, 3))
        last = f"#line-{at + len(log[at : at + 90]) - 1}" if tab else f"#turn-{story.turns[-1].number}"
        await expect(page.locator(last)).to_be_attached()
    await expect(page.locator("#status")).to_contain_text("Failed")
    events = page.locator("#lines .line" if tab else "article.turn")
    await expect(events).to_have_count(len(log) if tab else len(FORMS) + 2)
    hits = await page.evaluate(POKE)
    nodes = await page.evaluate(FOREIGN_NODES)
    wall.held("a form as it comes in", not hits, str(hits[:5]))
    wall.held("nodes and attributes of others", not nodes, str(nodes[:3]))
