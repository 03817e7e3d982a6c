"""Home, search, lessons, judgement and health, with real stores, over HTTP and in a real browser."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web
from playwright.async_api import Browser, expect

from agentic.core.events.execution_events import ChosenLesson, Level, Person
from agentic.stores.sqlite.file.connection import connect
from bot.config.home import DATABASE
from bot.config.settings import Settings
from bot.console import process
from bot.console.access import sight
from bot.console.access.entrance import Entrance
from bot.console.access.viewer import Viewer
from bot.console.bot_channel import ALONE, BotChannel, BotSilent, Done, LessonDecision, Place
from bot.console.overall.remembered import Remembered
from bot.console.pages import home_page
from reflexion.lessons.changes import approved, retired
from reflexion.lessons.lesson import Scope, reflection_id
from reflexion.ports import LessonStore
from tests.integration.console import logs, overall
from tests.integration.console.overall import BOB, ELSEWHERE, HERE, HOSTILE, FilledHome, filled, thread_of
from tests.integration.local_discord.access import faults
from tests.integration.local_discord.browsers import NEEDS_CHROMIUM, chromium
from tests.waiting import eventually

__all__ = ["chromium"]
pytestmark = pytest.mark.asyncio(loop_scope="module")
SELECTS = """() => {
  window.held = 0;
  window.addEventListener("htmx:before:request", (event) => (held += event.defaultPrevented));
  getSelection().selectAllChildren(document.querySelector("#task-e101 a"));
}"""
"""Selects a task's title, and counts updates that are held back."""
HIDES = """() => {
  getSelection().empty();
  Object.defineProperty(document, "hidden", { value: true, configurable: true });
  held = 0;
}"""
AS_BOB = {"X-As": "bob"}
KEY = "form-key"


class Door(Entrance):
    """Whoever says so is Bob, who sees what Discord shows him; everybody else runs the bot."""

    async def viewer(self, request: web.Request) -> Viewer | None:
        bob = request.headers.get("X-As") == "bob"
        return Viewer(BOB if bob else logs.ANN, not bob, KEY)


class Bot(BotChannel):
    """A bot that tells rights: Bob is in one server alone. It decides about lessons as asked, or ``refuses``."""

    told: dict[str, object] | None = None
    owns: str = ""
    refuses: str = ""

    def __init__(self, lessons: LessonStore) -> None:
        super().__init__()
        self.lessons = lessons
        self.decided: list[tuple[LessonDecision, str]] = []

    async def names(self, ids: Sequence[str]) -> dict[str, str]:
        known = {HERE: "The <b>Bakery</b>", ELSEWHERE: "Night Shift", thread_of(overall.UNTITLED): "No title"}
        return {id: name for id, name in known.items() if id in ids}

    @property
    def connected(self) -> bool:
        return True

    async def decide(self, decision: LessonDecision, viewer: Viewer) -> Done:
        self.decided.append((decision, viewer.person.name))
        if self.refuses:
            return Done(self.refuses, done=False)
        known = await self.lessons.lesson(decision.guild, decision.lesson)
        assert known is not None
        change = approved if decision.approves else retired
        await self.lessons.amend(change(known, by=viewer.person.name, at=datetime.now(UTC)))
        return Done("", done=True)

    async def sees(self, person: Person, thread: str) -> bool:
        return thread in {thread_of(number) for number in (1, 3, 5, 102)}

    async def sees_many(self, person: Person, places: Sequence[Place]) -> list[bool | None]:
        return [await self.sees(person, place[0]) for place in places]

    async def level(self, person: Person, guild: str) -> Level | None:
        return ("owner" if guild == self.owns else "executor") if guild == ELSEWHERE else None

    async def health(self) -> dict[str, object] | None:
        return self.told


@dataclass
class Ground:
    home: FilledHome
    bot: Bot
    url: str
    http: aiohttp.ClientSession

    async def get(self, path: str, status: int = 200, *, bob: bool = False) -> str:
        async with self.http.get(self.url + path, headers=AS_BOB if bob else {}) as answer:
            assert answer.status == status, path
            return await answer.text()

    async def post(self, path: str, revision: int, status: int, *, bob: bool = False) -> str:
        form = {"form_key": KEY, "revision": str(revision)}
        headers = {"Origin": self.url, **(AS_BOB if bob else {})}
        async with self.http.post(self.url + path, data=form, headers=headers, allow_redirects=False) as answer:
            assert answer.status == status, path
            return await answer.text()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ground(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Ground]:
    folder: Path = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logs, "BEGAN", overall.recent())
        patch.setattr(process, "Entrance", Door)
        patch.setattr(home_page, "LOOK_SECONDS", 1)
        home = await filled(folder, datetime.now(UTC))
        bot = Bot(home.lessons)
        settings = Settings(home=folder, max_daily_usd=1.0, max_daily_usd_server=1.0)
        async with process.console(settings, bot) as server, aiohttp.ClientSession() as http:
            await server.open("127.0.0.1", 0)
            one = Ground(home, bot, f"http://127.0.0.1:{server.address[1]}", http)
            yield one
        await home.store.close()
        await home.lessons.close()


async def until(read: Callable[[], Awaitable[str]], *gone: str) -> str:
    """The page once it no longer says that figures are missing; each look waits for them itself."""
    for _ in range(100):
        text = await read()
        if not any(each in text for each in gone):
            return text
    raise AssertionError(gone)


def part(page: str, section: str) -> str:
    """A section of a page, by the id of its heading."""
    found = re.search(rf'id="{section}".*?</section>', page, re.DOTALL)
    assert found is not None
    return found[0]


async def test_home_puts_first_what_needs_somebody(ground: Ground) -> None:
    page = await until(lambda: ground.get("/"), "figures follow", "still to be added")
    needs, running, finished = (part(page, f"{name}-name") for name in ("needs", "running", "finished"))
    assert page.index(needs) < page.index(running) < page.index(finished)
    assert ("Deploy it" in needs, "Rename everything" in needs, "Waiting for an approval" in needs) == (
        True,
        True,
        True,
    )
    assert "May I push?" in needs
    assert "Clean the &lt;img" in running
    assert HOSTILE not in page
    assert finished.count("mend the parser") == 6
    server = '<span title="Server 990">The &lt;b&gt;Bakery&lt;/b&gt;</span>'
    assert f"Ann · Thread 4 · {server} · turn 1 · tier 2 · $0.003 · confidence 81" in finished
    spending = part(page, "spending-name")
    assert "<dd>$0.128</dd>" in spending
    assert all(
        name in spending
        for name in (">The &lt;b&gt;Bakery", ">Night Shift<", "Ann", "Bob", "python-coder", "anthropic/claude-opus-5")
    )


async def test_what_ended_last_stands_first(ground: Ground) -> None:
    text = await until(lambda: ground.get("/"), "figures follow")
    ends = re.findall(r'ended <time datetime="([^"]+)"', text)
    assert len(set(ends)) > 1
    assert ends == sorted(ends, reverse=True)


async def test_somebody_else_sees_and_sums_what_they_see_in_discord(ground: Ground) -> None:
    page = await until(lambda: ground.get("/", bob=True), "figures follow")
    assert page.count("mend the parser") == 3
    assert "Rename everything" in page
    assert "Deploy it" not in page
    assert "Clean the" not in page
    spending = await until(lambda: ground.get("/overview/spending", bob=True), "still to be added")
    assert "<dd>$0.062</dd>" in spending
    assert (HERE in spending, "Ann" in spending) == (False, False)
    found = await ground.get("/search?q=mend", bob=True)
    assert ("Task 0" in found, ">No title</a>" in found) == (False, True)
    assert "never" not in await ground.get("/lessons", bob=True)
    listed = await ground.get("/lessons", bob=True)
    assert ("/lessons/l4" in listed, "/lessons/l1" in listed) == (True, False)
    assert "6 showings" not in listed
    await ground.get("/lessons/l1", 404, bob=True)
    own = await ground.get("/lessons/l4", bob=True)
    assert (">Night Shift</span>" in own, ">Night Shift</span>" in listed) == (True, True)
    assert not any("Bakery" in each for each in (page, spending, found, listed, own)), "he is not in that server"
    assert "The output it is based on" not in own, "as in the chat: for who decides"
    assert "The output it is based on" in await ground.get("/lessons/l4")
    assert "Sign in with the token to see this." in await ground.get("/health", 403, bob=True)
    assert "3 tasks with a known outcome" in await ground.get("/judgement", bob=True)


async def test_search_finds_words_and_leads_to_the_turn(ground: Ground) -> None:
    page = await ground.get("/search?q=%22python+-m%22+PYTEST")
    assert "<mark>pytest</mark>" in page
    link = re.search(r'href="(/t/\d+/e\d+/at/\d+)"', page)
    assert link is not None
    async with ground.http.get(ground.url + link[1], allow_redirects=False) as answer:
        assert answer.headers["Location"] == f"{link[1].partition('/at/')[0]}?turn=1#turn-1"
    hostile = await ground.get("/search?q=onerror")
    assert "<mark>onerror</mark>" in hostile
    assert "<img" not in hostile
    odd = {
        "": "Type words", "%00%20": "Type words", "%21%3F": "There is no letter", "zzzz": "Nothing has all",
        "a" * 900: "Nothing has all", "%22": "There is no letter", "mend&page=9999": "Nothing has all",
        "mend&page=x": "<mark>",
    }  # fmt: skip
    for query, words in odd.items():
        assert words in await ground.get(f"/search?q={query}"), query
    with closing(connect(str(ground.home.folder / DATABASE))) as beside:
        assert beside.execute("SELECT position FROM search_progress").get == 0, "the index is left to the bot"


async def test_a_lesson_says_where_it_comes_from_and_which_tasks_were_told(ground: Ground) -> None:
    page = await ground.get("/lessons/l1")
    assert "/t/1575491652707950000/e0" in page
    assert "told of it: went well" in page
    assert "withheld at random, to measure it: went well" in page
    assert "95% interval" in page
    assert re.search(r"Uplift [+−±]\d+ points, 95% interval [+−±]\d+ to ", await ground.get("/lessons"))
    await ground.get("/lessons/none", 404)
    left = await ground.get(f"/lessons/r1?thread={thread_of(0)}")
    assert ("It guessed" in left, "/t/1575491652707950000/e0" in left, "<img" in left) == (True, True, False)
    await ground.get(f"/lessons/r1?thread={thread_of(0)}", 404, bob=True)


async def test_a_task_and_a_lesson_say_the_same_of_what_a_retry_was_told(ground: Ground) -> None:
    left, store, thread = reflection_id("e0"), ground.home.store, thread_of(0)
    chosen = ChosenLesson(id=left, kind="reflection", text="Next time: look first", why="it failed")
    again = logs.started("Mend it again", thread=thread, lessons=(chosen,), attempt=2)
    copied = logs.started("Mend it once more", thread=thread, lessons=(chosen,), forked_from=("e300", 9))
    await logs.written(store, "e300", [again, logs.triaged(), *logs.turn(1)], thread=thread)
    await logs.written(store, "e301", [again, logs.triaged()], thread=thread)
    await logs.written(store, "e302", [copied, logs.triaged(), *logs.turn(1)], thread=thread)
    await ground.home.lessons.keep_reflection(overall.reflection(left, datetime.now(UTC)))
    await ground.home.lessons.amend(overall.lesson("l7", HERE, datetime.now(UTC), status="candidate"))
    page = await ground.get(f"/t/{thread}/e300/identity")
    assert f'<a href="/lessons/{left}?thread={thread}">From an earlier attempt</a>: Next time: look first' in page
    for path in (f"/lessons/{left}?thread={thread}", "/lessons/l7"):
        told = await ground.get(path)
        assert f'<a href="/t/{thread}/e300">Mend it again</a>' in told
        assert ("/e301" in told, "/e302" in told) == (False, False), "no model read that, or it read it in e300"
    assert "not told to any task as a lesson yet" in told
    assert 'href="/lessons/l7"' in await ground.get(f"/lessons/{left}?thread={thread}")


async def test_a_decision_goes_to_the_bot_and_stands_on_the_page_with_who_made_it(ground: Ground) -> None:
    bot = ground.bot
    known = await bot.lessons.lesson(ELSEWHERE, "l4")
    assert known is not None
    await ground.post("/lessons/l1/retire", known.revision, 404, bob=True)
    await ground.post("/lessons/l4/retire", -1, 400)
    assert bot.decided == []
    bot.refuses = "It was <b>changed</b> meanwhile."
    assert "It was &lt;b&gt;changed" in await ground.post("/lessons/l4/retire", known.revision, 409, bob=True)
    bot.refuses = ""
    await ground.post("/lessons/l4/retire", known.revision, 303, bob=True)
    asked = LessonDecision("l4", ELSEWHERE, approves=False, revision=known.revision)
    assert bot.decided == [(asked, "Bob"), (asked, "Bob")]
    page = await ground.get("/lessons/l4", bob=True)
    assert re.search(r'<p role="status"><strong>Retired by Bob\.</strong> <time', page)
    assert "Retired by Bob. · pitfall" in await ground.get("/lessons", bob=True)

    async def silent(*_: object) -> Done:
        raise BotSilent(ALONE)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bot, "decide", silent)
        assert "so nothing was done" in await ground.post("/lessons/l4/approve", known.revision + 1, 409)
    again = await bot.lessons.lesson(ELSEWHERE, "l4")
    assert again is not None
    assert (again.status, again.revision) == ("retired", known.revision + 1), "the console changes nothing itself"


async def test_a_lesson_that_waits_needs_whoever_may_decide_about_it(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    bot, now = ground.bot, datetime.now(UTC)
    scope = Scope(kind="thread", guild=ELSEWHERE, thread=thread_of(4))
    await bot.lessons.amend(overall.lesson("l5", ELSEWHERE, now, status="quarantined"))
    await bot.lessons.amend(overall.lesson("l6", ELSEWHERE, now, status="quarantined", scope=scope))

    async def needs(*, bob: bool) -> str:
        return part(await until(lambda: ground.get("/", bob=bob), "figures follow"), "needs-name")

    def forgotten(*_: object) -> None:
        """Nothing is remembered."""

    async def silent(*_: object) -> Level:
        raise BotSilent

    mine = await needs(bob=False)
    assert [f'href="/lessons/l{n}"' in mine for n in (1, 2, 5, 6)] == [False, True, True, True]
    assert "Needs you (5)" in mine
    assert "<img" not in mine
    assert "Needs you (1)" in await needs(bob=True)
    monkeypatch.setattr(Remembered, "get", forgotten)
    monkeypatch.setattr(bot, "owns", ELSEWHERE)
    owns = await needs(bob=True)
    assert ("Needs you (2)" in owns, 'href="/lessons/l5"' in owns) == (True, True), (
        "l6 came from a thread he does not see"
    )
    monkeypatch.setattr(bot, "level", silent)
    assert "Needs you (1)" in await needs(bob=True)
    listed = await ground.get("/lessons", bob=True)
    assert ("still being looked up" in listed, "/lessons/l4" in listed) == (True, False)
    assert await ground.get("/lessons/l4", 503, bob=True) == await ground.get("/lessons/none", 503, bob=True)
    await ground.post("/lessons/l5/approve", 0, 303)
    await ground.post("/lessons/l6/retire", 0, 303)
    assert "Needs you (3)" in await needs(bob=False)


async def test_what_somebody_may_not_answer_is_not_under_needs_you(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    bot, levels = ground.bot, dict[str, Level]()

    async def sees(person: Person, thread: str) -> bool:
        return thread in (thread_of(101), thread_of(102))

    async def level(person: Person, guild: str) -> Level:
        if guild not in levels:
            raise BotSilent
        return levels[guild]

    def forgotten(*_: object) -> None:
        """Nothing is remembered."""

    async def waits() -> tuple[bool, bool]:
        """Whether the approval, and the pause, wait for Bob himself."""
        page = await until(lambda: ground.get("/", bob=True), "figures follow")
        mine = part(page, "needs-name")
        others = part(page, "others-name") if 'id="others-name"' in page else ""
        assert all((title in mine) != (title in others) for title in ("Deploy it", "Rename everything"))
        return "Deploy it" in mine, "Rename everything" in mine

    monkeypatch.setattr(Remembered, "get", forgotten)
    monkeypatch.setattr(sight, "SECONDS", 0.0)
    monkeypatch.setattr(bot, "sees", sees)
    monkeypatch.setattr(bot, "level", level)
    assert await waits() == (True, True), "he asked for both; what he may is not known now"
    cases: tuple[tuple[Level, Level, tuple[bool, bool]], ...] = (
        ("executor", "executor", (False, True)),
        ("operator", "viewer", (True, False)),
        ("viewer", "owner", (False, True)),
    )
    for here, elsewhere, expected in cases:
        levels.update({HERE: here, ELSEWHERE: elsewhere})
        assert await waits() == expected, (here, elsewhere)


async def test_judgement_tells_calibration_ladder_and_judge(ground: Ground) -> None:
    page = await until(lambda: ground.get("/judgement"), "still to be read")
    assert "6 tasks with a known outcome, 83% right" in page
    assert "2 tasks of 6 handed over to a stronger model" in page
    assert "openai/gpt-judge" in page
    assert "as checks: 5 of 6" in page


async def test_health_tells_what_the_store_knows_and_what_the_bot_says(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = await ground.get("/health")
    assert "No bot is connected, so only stored data is shown." in page
    assert "Thread 101" in part(page, "leases")
    assert 'aria-current="page">Health<' in page
    assert "Thread 0" in part(page, "outbox")
    assert "the whole bot" in part(page, "budgets")
    assert 'title="Server 990">The &lt;b&gt;Bakery' in part(page, "budgets")
    state = {"name": "discord", "state": "failing", "what": "it is not connected", "todo": "Check the network"}
    ground.bot.told = {"parts": [state], "longest_stall_seconds": 0.9, "queues": {"slots": 4, "oldest, seconds": 0.0}}
    told = await ground.get("/health/now")
    assert ("it is not connected" in told, "Check the network" in told, "0.90 s" in told, "slots" in told) == (
        True,
    ) * 4
    assert re.search(r"<th[^>]*>Queue</th><th[^>]*>Waiting</th>.*<td>oldest</td><td>0 s</td>", told, re.DOTALL)
    assert 'hx-trigger="every 10s"' in told
    ground.bot.told = None
    monkeypatch.setattr(Settings, "aws_place", object())
    assert 'hx-trigger="every 60s"' in await ground.get("/health/now"), "each look at that store costs money"


async def test_a_page_that_is_not_there_says_so(ground: Ground) -> None:
    page = await ground.get("/nowhere", 404)
    assert "<h1>Page not found</h1>" in page
    assert "Not Found" not in page


@pytest.mark.chromium
@NEEDS_CHROMIUM
async def test_the_pages_in_a_browser(ground: Ground, chromium: Browser) -> None:
    """Nothing of a model's words runs, no page is wider than a phone, home keeps up, and a lesson is approved by keyboard."""
    page = await chromium.new_page(viewport={"width": 390, "height": 800})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    paths = ("/health", "/judgement", "/lessons", "/search?q=onerror", "/lessons/l1", "/lessons/l2", "/")
    for number, path in enumerate(paths):
        await page.emulate_media(color_scheme="dark" if number % 2 else "light")
        await page.goto(ground.url + path)
        assert await page.evaluate("document.documentElement.scrollWidth") <= 390, path
        assert "Threadwright" in await page.title()
        assert await page.locator("h1").count() == 1
        assert await faults(page) == [], path
    await expect(page.locator("#task-e200")).to_have_count(0)
    await page.get_by_role("link", name="Deploy it").focus()
    begun = [logs.started("A task that began later", thread=thread_of(200)), *logs.turn(1)]
    await logs.written(ground.home.store, "e200", begun, thread=thread_of(200))
    await expect(page.locator("#task-e200")).to_contain_text("turn 1")
    assert await page.evaluate("document.activeElement.textContent") == "Deploy it"
    await page.evaluate(SELECTS)
    later = [logs.started("A task that began last", thread=thread_of(201)), *logs.turn(1)]
    await logs.written(ground.home.store, "e201", later, thread=thread_of(201))
    await eventually(lambda: page.evaluate("held > 0"))
    assert await page.evaluate("() => getSelection().toString()") == "Deploy it"
    await page.evaluate(
        "getSelection().empty(); held = 0; Object.defineProperty(document, 'hidden', { value: true, configurable: true })"
    )
    await eventually(lambda: page.evaluate("held > 0"))
    await expect(page.locator("#task-e201")).to_have_count(0)
    await page.evaluate("() => delete document.hidden")
    await expect(page.locator("#task-e201")).to_contain_text("turn 1")
    await page.goto(f"{ground.url}/lessons/l2")
    await page.get_by_role("button", name="Approve").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Approved by Ann.").first).to_be_visible()
    assert (await page.title(), errors) == ("Lesson l2 · Threadwright", [])
    await page.close()
