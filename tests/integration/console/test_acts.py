"""What people do on the console's pages, in a browser, with a whole bot behind them and the chat beside them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from agentic.core.events.execution_events import InputReceived, Person
from agentic.core.fold.people import MACHINE
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.ports.errors import StoreUnavailable
from agentic.ports.stores import SessionRow
from agentic.runtime.clock import SystemClock
from bot.access import thread_access
from bot.access.denials import ANSWERED, ENDED, VIEWER
from bot.app import app as app_module
from bot.app.app import CONSOLE
from bot.app.console_link import console_answers, person_bound, seen_threads
from bot.app.console_link.console_acts import NO_TASK, ConsoleActs
from bot.app.console_link.console_answers import ConsoleAnswers
from bot.app.console_link.lesson_acts import NO_LESSON
from bot.app.health_checks import discord_check, store_check
from bot.app.services import Roles
from bot.console.bot_channel import Deed, LessonDecision, Wish
from bot.inbound.parse import scene_of
from bot.local_discord import ErrorAnswer, Rule
from bot.local_discord.local_discord import LocalGuild
from bot.local_discord.model.permission_flags import Permission
from bot.messages.lesson_text import EVERYWHERE, decided
from bot.telemetry.process_state import ProcessState
from reflexion.lessons.lesson import Scope
from tests.faults.whole import Mind, Whole
from tests.integration.bot.whole import whole as running_bot
from tests.integration.console.overall import lesson
from tests.integration.local_discord.pages import ON_THE_PAGE, chromium
from tests.waiting import eventually

__all__ = ["chromium"]
pytestmark = ON_THE_PAGE
SENT_TWICE = """async ([id, wish]) => {
  const box = document.querySelector(id);
  if (box.elements.text) box.elements.text.value = "only once";
  const send = () => fetch(box.action, { method: "POST", body: new URLSearchParams([...new FormData(box), ["do", wish]]) });
  return (await Promise.all([send(), send()])).map((answer) => answer.status);
}"""
"""A double click: the same form twice at once, without scripts of ours."""
HEARS = """() => {
  window.heard = [];
  const said = document.querySelector("#act-said");
  new MutationObserver(() => heard.push(said.textContent)).observe(said, { childList: true, subtree: true });
}"""
"""Keeps what the page told of a deed."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model() -> AsyncIterator[tuple[ScriptedEndpoint, Mind]]:
    mind = Mind()
    async with ScriptedEndpoint.start(mind) as endpoint:
        yield endpoint, mind


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bot(model: tuple[ScriptedEndpoint, Mind], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Whole]:
    """A bot that is online, with its console."""
    endpoint, mind = model
    async with await LocalGuild.start() as guild:
        viewers = guild.add_role("viewer").id
        guild.add_member("looker", (viewers,))
        operators = guild.add_role("operator").id
        guild.add_member("worker", (operators,))
        home: Path = tmp_path_factory.mktemp("home")
        async with running_bot(
            home, endpoint, guild, viewers=(str(viewers),), operators=(str(operators),), sandbox="host"
        ) as one:
            one.app.begin_console()
            assert one.app.console is not None
            await one.app.console.settled.wait()
            yield Whole(one.app, guild, mind)
            mind.go.set()


@pytest.fixture
def here(bot: Whole, model: tuple[ScriptedEndpoint, Mind], monkeypatch: pytest.MonkeyPatch) -> Whole:
    """The same, with the model's key in the environment."""
    for name, value in model[0].environment().items():
        monkeypatch.setenv(name, value)
    model[1].go.clear()
    model[1].asked.clear()
    return bot


@pytest_asyncio.fixture(loop_scope="module")
async def page(chromium: Browser) -> AsyncIterator[Page]:
    one = await chromium.new_page()
    errors: list[str] = []
    one.on("pageerror", lambda error: errors.append(str(error)))
    one.set_default_timeout(40_000)
    yield one
    assert errors == []
    await one.close()


async def opened(here: Whole, page: Page, thread: int) -> None:
    """The task's page, by the link in the chat's text."""
    said = await here.says(thread, "[details](")
    link = re.search(r"\[details\]\((\S+?)\)", said.content)
    assert link is not None
    await page.goto(link[1])
    await expect(page.locator("#acts")).to_be_visible()


async def press(page: Page, name: str, told: str) -> None:
    """A press and its receipt, which may be gone again as soon as it has come true."""
    await page.evaluate(HEARS)
    await page.get_by_role("button", name=name, exact=True).press("Enter")
    await eventually(lambda: page.evaluate("told => heard.some((words) => words.includes(told))", told), told)


async def leads_to_its_task(here: Whole, thread: int, words: str) -> None:
    """All links of the card with these words name its task: its thread may have another one when they are clicked."""
    links = re.findall(r"\]\((http\S+?)[)#]", (await here.says(thread, words)).content)
    rows = await here.app.store.executions(str(thread))
    assert {link.partition(f"/t/{thread}")[2] for link in links} == {f"/{rows[0].execution}"}


async def test_words_reach_the_model_and_what_is_typed_stays_while_the_page_lives(here: Whole, page: Page) -> None:
    thread = await here.mention("hold one")
    await leads_to_its_task(here, thread, "[details](")
    await page.goto(here.guild.link())
    await page.get_by_role("button", name=re.compile("^Thread hold one")).first.click()
    async with page.context.expect_page() as clicked:
        await page.get_by_role("link", name="details").click()
    page = await clicked.value
    await here.until(lambda: here.mind.asked, "the model is asked")
    execution = (await here.app.store.executions(str(thread)))[0].execution
    here.app.bot.feed.streamed(execution, "tick 1\n<b>tick 2</b> \x1b[31mred\n")
    await expect(page.locator("#newest")).to_have_text("tick 1\n<b>tick 2</b> red\n")
    here.app.bot.feed.streamed(execution, "tick 3\n")
    await expect(page.locator("#newest")).to_contain_text("tick 3")
    box = page.get_by_label("Your words")
    await box.fill("use the second")
    await press(page, "Pause", "⏸ Pausing after this step.")
    await leads_to_its_task(here, thread, "**Pausing**")
    await box.focus()
    await page.keyboard.type(" file")
    here.mind.go.set()
    await expect(page.get_by_role("button", name="Resume")).to_be_visible()  # by the live view, not by a new page
    await expect(page.locator("#act-said")).to_have_text("")  # it pauses no longer, it is paused
    await expect(box).to_be_focused()
    await expect(box).to_have_value("use the second file")
    await press(page, "Send", "Got it, I'll use that in the next step.")
    await expect(box).to_have_value("")
    await here.says(thread, "wrote on the console:\n>>> use the second file")
    await press(page, "Resume", "▶ Resuming.")
    assert await here.ended(thread) == ["done"]
    await expect(box).to_be_hidden()
    assert "use the second file" in here.mind.asked[-1]


async def test_an_option_answers_a_stop_stops_and_the_chat_shows_both(here: Whole, page: Page) -> None:
    thread = await here.mention("ask one")
    await opened(here, page, thread)
    await press(page, "that", "Got it, thanks.")
    await expect(page.locator("#act-question")).to_have_count(0)
    await expect(page.locator("#act-said")).to_be_focused()  # the button that had the focus is gone
    await here.says(thread, "✔ **that**")
    assert await here.ended(thread) == ["done"]

    thread = await here.mention("ask two")
    await opened(here, page, thread)
    await expect(page.locator("#act-question")).to_be_visible()
    here.guild.deny(here.guild.channel().id, Permission.SEND_MESSAGES_IN_THREADS, member="worker")
    assert await refused(here, "worker", thread, "say", "side", "choose", "stop") == {VIEWER}
    await page.get_by_label("Your words").fill("the second one")
    await press(page, "Send", "Got it, thanks.")
    await here.says(thread, "✔ **that**")
    assert await here.ended(thread) == ["done"]

    thread = await here.mention("work one")
    await here.says(thread, "answered <work one>")
    await opened(here, page, thread)
    await page.get_by_text("Continue from an earlier turn in a new thread").click()
    await page.get_by_label("What to do in the fork").fill("do more")
    await press(page, "Fork into a new thread", "On it. The new thread will be linked in the chat, and under Tasks.")
    linked = await here.says(thread, "<#")
    assert "it starts there with what you wrote" in linked.content
    await page.get_by_text("Redo from an earlier turn in this thread").click()
    redo = page.locator(".act-redo")
    await expect(redo.locator("[name=text]")).to_have_count(0)  # it takes no words
    await redo.get_by_label("Turn").fill("1")
    await press(page, "Redo from the start of that turn", "🔄 On it. I'll say in the thread how it went.")
    await here.says(thread, "turn 1")

    thread = await here.mention("hold two")
    await opened(here, page, thread)
    await press(page, "Stop", "🛑 Stopping.")
    await here.says(thread, "🛑 **Stopped**")
    await expect(page.get_by_role("button", name="Try again")).to_be_visible()
    await expect(page.locator("#act-said")).to_be_focused()  # and not what a second Enter would do
    assert await here.ended(thread) == ["stopped"]
    await press(page, "Try again", "🔄 On it. I'll say in the thread how it went.")
    await goes_on(here, thread)
    assert await here.ended(thread) == ["stopped", "done"]
    assert await page.evaluate(SENT_TWICE, ["#act-retry", "retry"]) == [200, 200]
    await goes_on(here, thread)
    assert await here.ended(thread) == ["stopped", "done", "done"]


async def goes_on(here: Whole, thread: int) -> None:
    """Something runs again, and then to its end."""
    await here.until(lambda: here.app.threads.state(str(thread)) == "busy", "it is tried again")
    here.mind.go.set()
    await here.app.threads.idle(str(thread))
    here.mind.go.clear()


async def test_a_form_acts_once_with_the_rights_and_the_words_of_the_chat(here: Whole, page: Page) -> None:
    thread = await here.mention("hold three")
    await opened(here, page, thread)
    statuses = await page.evaluate(SENT_TWICE, ["#act-box", "say"])
    assert statuses == [200, 200]
    task = (await here.app.store.executions(str(thread)))[-1].execution
    acts, looker = (
        ConsoleActs(here.app.bot),
        next(m.id for m in here.guild.state.members.values() if m.name == "looker"),
    )
    stop = Deed("a form", str(thread), task, "stop")
    assert (await acts.act(stop, str(looker), everything=False)).words == VIEWER
    assert (await acts.act(stop, "1575491652707949999", everything=False)).words == NO_TASK
    assert here.app.threads.state(str(thread)) == "busy"
    await here.guild.change_thread(thread, locked=True)
    assert await refused(here, "worker", thread, "stop", "say", "side") == {VIEWER}
    await here.guild.change_thread(thread, locked=False)
    old = Deed("an old form", str(thread), "another", "stop")
    assert (await acts.act(old, str(looker), everything=True)).words == ENDED
    late = Deed("a late form", str(thread), task, "say", "yes", question="decided before")
    assert (await acts.act(late, str(looker), everything=True)).words == ANSWERED
    owner = await acts.owner()
    assert owner == Person(id=str(here.guild.state.identity.owner_id), name="you", level="owner")
    assert (await acts.act(stop, owner.id, everything=False)).words == "🛑 Stopping."
    assert await here.ended(thread) == ["stopped"]
    heard = [
        envelope.event
        async for envelope in here.app.store.read(task)
        if isinstance(envelope.event, InputReceived) and envelope.event.author.id != MACHINE.id
    ]
    assert [(event.sort, event.text, event.author.id) for event in heard] == [
        ("guidance", "only once", owner.id),
        ("stop", "", owner.id),
    ]


async def refused(here: Whole, member: str, thread: int, *wishes: Wish) -> set[str]:
    """What a member is told who asks for these, to what is open now."""
    (person,) = (one.id for one in here.guild.state.members.values() if one.name == member)
    scene = await scene_of(here.app.bot.conversation, str(thread), wholly=True)
    said: set[str] = set()
    for wish in wishes:
        deed = Deed(f"{member} {wish}", str(thread), scene.execution, wish, "do it", question=scene.question)
        done = await ConsoleActs(here.app.bot).act(deed, str(person), everything=False)
        assert not done.done
        said.add(done.words)
    return said


async def test_a_lesson_is_decided_on_its_page_by_whoever_may_in_the_chat_and_its_message_follows_at_once(
    here: Whole, page: Page
) -> None:
    here.mind.go.set()
    lessons, bot = here.app.bot.backstage.lessons, here.app.bot
    assert lessons is not None
    thread, guild = await here.mention("teach me"), str(here.guild.guild_id)
    await here.says(thread, "answered <teach me>")
    task = (await here.app.store.executions(str(thread)))[-1].execution
    waits = lesson("lwaits", guild, datetime.now(UTC), status="quarantined", executions=(task,))
    secret = here.guild.add_channel("hidden").id
    apart = await here.guild.post(secret, f"{here.guild.bot.mention} teach me there")
    await here.says(apart.id, "answered")
    here.guild.deny(secret, Permission.VIEW_CHANNEL, member="looker")
    own = Scope(kind="thread", guild=guild, thread=str(apart.id))
    hidden = waits.model_copy(update={"id": "lhidden", "scope": own})
    everywhere = waits.model_copy(update={"id": "lwide", "scope": Scope(kind="global"), "author_trust": "operator"})
    for each in (waits, hidden, everywhere):
        await lessons.amend(each)
    assert await bot.approving.ask(waits, str(thread), task)
    message = await here.says(thread, "A lesson waits for approval")

    answers = answers_of(here)
    members = {member.name: str(member.id) for member in here.guild.state.members.values()}

    async def decide(person: str, id: str, revision: int, *, approves: bool = True) -> str:
        asked = asdict(LessonDecision(id, "" if id == "lwide" else guild, approves, revision))
        said = {"ask": "decide", "decision": asked, "person": members.get(person, person), "everything": False}
        return str((await answers.answer(said))["words"])

    assert await decide("looker", "lwaits", 0) == VIEWER
    assert "Only an owner can do that" in await decide("worker", "lwaits", 0)
    assert await decide("1575491652707949999", "lwaits", 0) == NO_LESSON
    assert await decide("looker", "lhidden", 0) == NO_LESSON, "he does not see where it came from"
    assert await decide("worker", "lhidden", 0) != NO_LESSON
    assert await decide("you", "lwide", 0) == EVERYWHERE
    assert await decide("you", "lgone", 0) == NO_LESSON
    assert await lessons.lesson(guild, "lwaits") == waits

    await page.goto(f"{bot.feed.links.url}/lessons/lwaits")
    await page.get_by_role("button", name="Approve").press("Enter")
    await expect(page.get_by_role("status")).to_contain_text("Approved by you.")
    await expect(page.get_by_text("A pitfall for Local server")).to_be_visible()
    shown = await here.says(thread, "✅ **Approved** by you")
    assert shown.id == message.id
    known = await lessons.lesson(guild, "lwaits")
    assert known is not None
    assert "was changed meanwhile: Approved by you." in await decide("you", "lwaits", 0, approves=False)
    retired = await asyncio.gather(*(decide("you", "lwaits", known.revision, approves=False) for _ in range(3)))
    assert set(retired) == {decided(known.model_copy(update={"status": "retired"}))}
    await here.says(thread, "🗑️ **Retired** by you")
    known = await lessons.lesson(guild, "lwaits")
    assert known is not None
    assert [change.what for change in known.history] == ["Approved by you.", "Retired by you."]
    assert "is retired already" in await decide("you", "lwaits", known.revision, approves=False)


async def test_a_person_sees_what_they_see_in_the_chat(here: Whole) -> None:
    here.mind.go.set()
    members = {member.name: str(member.id) for member in here.guild.state.members.values()}
    channel = here.guild.add_channel("secret")
    posted = await here.guild.post(channel.id, f"{here.guild.bot.mention} hide this")
    alone = await here.guild.post((await here.guild.open_dm("you")).id, "tell nobody")
    await here.says(posted.id, "answered")
    await here.says(alone.channel_id, "answered")

    async def sees(person: str, thread: int) -> bool:
        asked = {"ask": "sees", "person": members.get(person, person), "thread": str(thread)}
        return (await answers_of(here).answer(asked))["sees"] is True

    assert await sees("looker", posted.id)
    here.guild.deny(channel.id, Permission.VIEW_CHANNEL, member="looker")
    assert not await sees("looker", posted.id)
    assert await sees("you", posted.id)
    assert not await sees("1575491652707949999", posted.id)
    assert not await sees("nonsense", posted.id)
    assert not await sees("you", 1575491652707949998)
    assert await sees("you", alone.channel_id)
    assert not await sees("looker", alone.channel_id)
    places = {str(here.guild.guild_id): here.guild.state.name, str(channel.id): "secret"}
    places[str(posted.id)] = here.guild.state.channels[posted.id].name
    ids = [*places, str(alone.channel_id), "1575491652707949999", "x", "9" * 30]
    assert (await answers_of(here).answer({"ask": "names", "ids": ids}))["names"] == places
    health = await answers_of(here).answer({"ask": "health"})
    assert {part["name"] for part in health["parts"]} == {"store", "discord"}  # type: ignore[attr-defined]
    assert (health["threads"], health["sandboxes"]) == ({"idle": 1}, 0)


async def test_somebody_who_looks_around_does_not_have_discord_asked_about_everything(
    here: Whole, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.mind.go.set()
    clock = [1_000.0]
    for module in (console_answers, person_bound, seen_threads, thread_access):
        monkeypatch.setattr(module, "monotonic", lambda: clock[0])
    store, guild = here.app.store, str(here.guild.state.identity.guild_id)
    members = {member.name: str(member.id) for member in here.guild.state.members.values()}
    mine = (await here.guild.open_dm("you")).id
    answers, stranger = answers_of(here), "1575491652707949999"
    gone = [str(number) for number in range(1575491652707940000, 1575491652707940030)]
    for thread in gone[:15]:  # direct conversations and threads that Discord does not know any more
        await store.save_session(SessionRow(thread, "", ""))
    for thread in gone[15:]:
        await store.save_session(SessionRow(thread, "", guild))
    await store.save_session(SessionRow(str(mine), "", ""))

    async def sees(person: str, *threads: str) -> list[object]:
        asked = [answers.answer({"ask": "sees", "person": person, "thread": thread}) for thread in threads]
        return [
            answer.get("sees", "too often" if answer.get("too_often") else "not known now")
            for answer in await asyncio.gather(*asked)
        ]

    async def level(person: str, guild: str) -> object:
        answer = await answers.answer({"ask": "level", "person": person, "guild": guild})
        return answer.get("level", "too often" if answer.get("too_often") else "not known now")

    def asks() -> int:
        return sum(each.what.startswith("GET ") for each in here.guild.asked)

    before = asks()
    assert await sees(stranger, *gone, gone[0]) == [False] * 30 + ["too often"], "so many looks"
    assert asks() == before + 16, "whoever is not in a server is asked for once"
    assert await sees(stranger, "1575491652707941234") == ["too often"], "no other answer for what is not there"
    clock[0] += 11
    assert await sees(stranger, *gone[:15], "1575491652707941234", "1575491652707941235") == [False] * 17
    assert asks() == before + 17, "that they are gone is known for a while; as much is asked for what is not there"
    here.guild.misbehave(Rule("GET /*", ErrorAnswer(503, 0, "x"), times=None))
    clock[0] += 11
    unknown = await sees(stranger, gone[20], "1575491652707941234")
    here.guild.misbehaviour.clear()
    assert unknown == ["not known now"] * 2, "that Discord fails denies nothing, and is the same for what is not there"
    assert await sees(stranger, gone[20]) == [False]
    assert await sees(members["you"], str(mine)) == [True]
    before = asks()
    clock[0] += 100
    assert await sees(stranger, str(mine), str(mine)) == [False, False]
    assert asks() == before + 1, "whose a conversation is never changes"

    levels = [await level(person, place) for place in ("", guild) for person in (members["worker"], stranger)]
    assert levels == ["operator", None, "operator", None]
    before = asks()
    assert await asyncio.gather(*(level(members["worker"], guild) for _ in range(5))) == ["operator"] * 5
    clock[0] += 11
    await asyncio.gather(*(level(members["worker"], guild) for _ in range(5)))
    assert asks() == before + 1
    clock[0] += 11
    here.guild.misbehave(Rule("GET /guilds/*/members/*", ErrorAnswer(503, 0, "x"), times=None))
    assert [await level(members["worker"], guild), *await sees(members["worker"], gone[15])] == ["not known now"] * 2
    here.guild.misbehaviour.clear()
    assert await level(members["worker"], guild) == "operator", "a Discord that failed was no denial to remember"
    many = [await level(members["worker"], str(int(guild) + after)) for after in range(1, 11)]
    assert (many[:3], many[-1]) == ([None] * 3, "too often")


async def test_lists_ask_discord_little_and_say_what_is_not_known_now(
    here: Whole, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1_000.0]
    for module in (person_bound, seen_threads, thread_access):
        monkeypatch.setattr(module, "monotonic", lambda: clock[0])
    members = {member.name: member.id for member in here.guild.state.members.values()}
    worker, guild, room = str(members["worker"]), str(here.guild.guild_id), here.guild.add_channel("closed")
    private = [await here.guild.create_thread(room.id, f"p{n}", private=True) for n in range(12)]
    open_ones = [await here.guild.create_thread(room.id, f"o{n}") for n in range(20)]
    secret = here.guild.add_channel("more secret")
    hidden = [await here.guild.create_thread(secret.id, f"h{n}", private=True) for n in range(12)]
    here.guild.deny(secret.id, Permission.VIEW_CHANNEL, member="worker")
    alone = (await here.guild.open_dm("worker")).id
    places = [(str(thread.id), str(thread.parent_id), guild) for thread in (*open_ones, *hidden, *private)]
    foreign = [(str(number), "1", str(9_000 + number)) for number in range(3)]
    answers = answers_of(here)

    async def sees(person: str = worker, among: Sequence[tuple[str, str, str]] = places) -> list[object]:
        answer = await answers.answer({"ask": "sees_many", "person": person, "threads": among})
        return answer["sees"]  # type: ignore[return-value]

    def asks() -> int:
        return sum(each.what.startswith("GET ") for each in here.guild.asked)

    await here.until(lambda: here.app.bot.get_channel(hidden[-1].id), "the bot knows of all of them")
    before = asks()
    first = await sees()
    assert first[:32] == [True] * 20 + [False] * 12, "channels and their rights are at hand"
    assert first[32:] == [False] * 9 + [None] * 3, "who is in private threads is asked for within bounds"
    assert asks() == before + 1 + 9 * 2, "who they are, and each private thread with its people"
    clock[0] += 11
    assert await sees() == [True] * 20 + [False] * 24
    before = asks()
    clock[0] += 60
    assert await sees() == [True] * 20 + [False] * 24
    assert asks() == before + 1, "who is in a thread is known for minutes"
    await here.guild.add_to_thread(private[0].id, "worker")
    opened = await answers.answer({"ask": "sees", "person": worker, "thread": places[32][0]})
    assert opened == {"sees": False}, "no session is there"
    await here.app.store.save_session(SessionRow(*places[32]))
    clock[0] += 11
    assert (await answers.answer({"ask": "sees", "person": worker, "thread": places[32][0]}))["sees"] is True
    assert (await sees())[32] is True, "what was asked as the task was opened counts for lists"
    assert await sees(among=[(str(alone), "", ""), *foreign]) == [True, False, False, False]
    assert await sees(str(members["looker"]), [(str(alone), "", "")]) == [False]
    assert await sees("nonsense") == [False] * 44
    old = [await here.guild.create_thread(here.guild.channel().id, f"a{n}") for n in range(12)]
    await here.until(lambda: here.app.bot.get_channel(old[-1].id), "the bot knows of all of them")
    for thread in old:
        await here.guild.archive(thread.id)
    await here.until(lambda: here.app.bot.get_channel(old[-1].id) is None, "they are archived")
    clock[0] += 11
    before = asks()
    assert await sees(among=[(str(thread.id), str(thread.parent_id), guild) for thread in old]) == [True] * 12
    assert asks() == before + 2, "who they are, and what is archived there"
    clock[0] += 400
    here.guild.misbehave(Rule("GET /*", ErrorAnswer(503, 0, "x"), times=None))
    assert await sees() == [None] * 44, "a Discord that fails denies nothing"
    here.guild.misbehaviour.clear()
    assert (await sees())[:20] == [True] * 20


async def test_where_the_console_is_is_stored_once_the_store_takes_it(
    here: Whole, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, really, full = here.app, here.app.store.set_fact, [True]

    async def set_fact(name: str, value: str) -> None:
        if full.pop() if full else False:
            raise StoreUnavailable("the disk is full")
        await really(name, value)

    monkeypatch.setattr(app_module, "CONSOLE_SECONDS", 0.01)
    monkeypatch.setattr(app, "roles", Roles(works=False))
    monkeypatch.setattr(app.store, "set_fact", set_fact)
    await app._found_console("http://127.0.0.1:9")  # pyright: ignore[reportPrivateUsage]
    assert await app.store.fact(CONSOLE) is None

    async def found() -> bool:
        return await app.store.fact(CONSOLE) == "http://127.0.0.1:9"

    await eventually(found)


def answers_of(here: Whole) -> ConsoleAnswers:
    """As they are for a console that was just started: nothing is remembered."""
    state = ProcessState(here.app.store, SystemClock(), lambda _: 0.0, lambda: {"idle": 1})
    checks = (store_check(here.app.store), discord_check(here.app.bot))
    return ConsoleAnswers(here.app.bot, checks, state, lambda: 0.0, lambda: 0)
