"""Whoever may not see a thread learns nothing of it: not its words, not its title, not that it is there."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from agentic.core.events.execution_events import Person
from agentic.ports.runtime import SessionRow
from agentic.stores.factory import open_store
from bot.config.home import CONSOLE_SESSIONS, DATABASE
from bot.console import bot_channel, console_context
from bot.console.access import browser_sessions, sight
from bot.console.access.browser_sessions import BrowserSessions
from bot.console.access.sight import Sight
from bot.console.access.viewer import Viewer
from bot.console.bot_channel import TOO_OFTEN, AskedTooOften, BotChannel, BotSilent, Place
from bot.console.console_context import Console
from bot.console.console_server import ROUTES
from bot.console.logs import followers
from bot.console.pages import live
from bot.console.pages.live import NOT_SEEN, SIGNED_OUT
from bot.history import thread_search
from tests.integration.console import logs, overall
from tests.integration.console.doors import EXECUTION, LESSON, OTHER_THREAD, SECRET_WORDS, TOKEN, Door, open_door
from tests.waiting import eventually

EVE, ANN = Person(id="666", name="Eve", level="viewer"), Person(id="7", name="Ann", level="viewer")
KNOWN, UNKNOWN = (logs.THREAD, EXECUTION), ("1575491652707949999", "x1-nosuc")
NOT_YET = "What you may see is still being looked up"
TOLD = (SECRET_WORDS, "surprise party", "Fix the failing test", "pytest -q", "claude-haiku", *KNOWN)
"""What the store knows of the task."""
PARAMETER = re.compile(r"\{(\w+)(?::((?:[^{}]|\{[^{}]*\})*))?\}")
TRIED = (LESSON, "4", "system", "thoughts", "a", "a" * 64)
"""Values for parameters of a path that name no task, of which the first that fits is taken: a call or a lesson, an event, …"""


def address(path: str, thread: str, execution: str) -> str:
    """A route's path with these ids wherever ids can stand, also in the query."""

    def filled(found: re.Match[str]) -> str:
        if found[1] in ("thread", "execution", "a", "b"):
            return thread if found[1] == "thread" else execution
        fitting = next((each for each in TRIED if re.fullmatch(found[2] or r"[^{}/]+", each)), None)
        assert fitting is not None, f"no value for {found[0]} of {path}: add one to TRIED"
        return quote(fitting)

    said = {
        "q": "surprise", "view": "thoughts", "since": "0", "turn": "1", "a": execution, "b": execution, "one": execution,
        "other": execution, "left": execution, "right": execution, "task": execution, "execution": execution, "thread": thread,
        "before": "1", "path": "src/part_3.py",
    }  # fmt: skip
    return f"{PARAMETER.sub(filled, path)}?{urlencode(said)}"


async def tried(door: Door, key: str, ids: tuple[str, str]) -> dict[str, bytes]:
    """What every route of the console answers, without the ids that the request itself named."""
    found: dict[str, bytes] = {}
    for method, path, _ in ROUTES:
        where = address(path, *ids)
        if method == "GET":
            answers = [await door.ask(where), *([await door.ask(where, "HEAD")] if key else [])]
        else:
            form = {"form_key": key, "text": "x", "execution": ids[1], "thread": ids[0]}
            answers = [await door.send(where, form)]
        found[f"{method} {path}"] = b"\n".join(answer.but(*ids) for answer in answers)
    return found


@pytest.mark.wall("rights")
@pytest.mark.parametrize(
    "who", ["nobody", "somebody who left", "somebody without rights", "somebody of another thread"]
)
async def test_no_route_tells_anything_of_a_thread_that_somebody_may_not_see(tmp_path: Path, who: str) -> None:
    secret = BrowserSessions(tmp_path / CONSOLE_SESSIONS, TOKEN).begin(EVE, everything=False)
    async with open_door(tmp_path, "0.0.0.0", console_token=TOKEN) as door:
        door.channel.seen = {(EVE.id, OTHER_THREAD)} if who == "somebody of another thread" else set()
        signed_in = who in ("somebody without rights", "somebody of another thread")
        if who != "nobody":
            door.jar = {f"threadwright-session-{door.port}": secret if signed_in else "x" * 43}
        key = (await door.ask("/")).text.partition('name="form_key" value="')[2].partition('"')[0]
        assert bool(key) == signed_in
        known, unknown = await tried(door, key, KNOWN), await tried(door, key, UNKNOWN)
        through = dict.fromkeys(known, b"")
        if door.channel.seen:  # a thread that they may see
            through = await tried(door, key, (OTHER_THREAD, EXECUTION))
            assert through == await tried(door, key, (OTHER_THREAD, UNKNOWN[1]))
        for route, answer in known.items():
            assert answer == unknown[route], route
            for word in TOLD:
                assert word.encode() not in answer + through[route], route
            if "{thread" in route:
                assert answer.startswith(b"404" if signed_in else b"303" if route.startswith("GET") else b"401"), route
        assert ((EVE.id, UNKNOWN[0]) in door.channel.asked) == signed_in, "the same is done for what is not there"


async def test_whoever_may_see_it_does_until_they_may_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = BrowserSessions(tmp_path / CONSOLE_SESSIONS, TOKEN).begin(ANN, everything=False)
    monkeypatch.setattr(sight, "SECONDS", 0.0)
    async with open_door(tmp_path, "0.0.0.0", console_token=TOKEN) as door:
        door.jar = {f"threadwright-session-{door.port}": secret}
        door.channel.seen = {(ANN.id, logs.THREAD)}
        for path in (
            "/",
            "/lessons",
            f"/lessons/{LESSON}",
            f"/t/{logs.THREAD}",
            f"/t/{logs.THREAD}/{EXECUTION}",
            f"/t/{logs.THREAD}/{EXECUTION}/logs",
        ):
            assert SECRET_WORDS in (await door.ask(path)).text, path
        door.channel.seen = set()
        assert (await door.ask(f"/t/{logs.THREAD}/{EXECUTION}")).status == 404


async def test_a_right_is_asked_for_again_after_a_while_and_answers_are_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sight, "ANSWERS", 3)
    asked: list[str] = []
    now = [0.0]

    async def sees(person: Person, thread: str) -> bool:
        asked.append(thread)
        return True

    async def sees_many(person: Person, places: Sequence[Place]) -> list[bool | None]:
        return [await sees(person, place[0]) for place in places]

    async def session(thread: str) -> SessionRow | None:
        return SessionRow(thread, "", "")

    looking = Sight(sees, sees_many, session, lambda: now[0])
    for thread in "1112":
        assert await looking.sees(ANN, thread)
    assert asked == ["1", "2"]
    now[0] = 30.0
    await looking.sees(ANN, "1")
    assert asked == ["1", "2", "1"]
    for thread in "3451":
        await looking.sees(ANN, thread)
    assert asked == ["1", "2", "1", "3", "4", "5", "1"], "the oldest answer went"


async def test_a_bot_that_does_not_answer_makes_nobody_blind_and_shows_nobody_anything(tmp_path: Path) -> None:
    secret = BrowserSessions(tmp_path / CONSOLE_SESSIONS, TOKEN).begin(ANN, everything=False)
    async with open_door(tmp_path, "0.0.0.0", console_token=TOKEN) as door:
        door.jar = {f"threadwright-session-{door.port}": secret}
        door.channel.seen = {(ANN.id, logs.THREAD)}
        door.channel.silent = True
        for path in ("/", "/search?q=surprise", "/lessons", "/judgement"):
            answer = await door.ask(path)
            assert (answer.status, SECRET_WORDS in answer.text) == (200, False), path
            assert NOT_YET in answer.text, path
        refused = [await door.ask(f"/t/{thread}/{task}") for thread, task in (KNOWN, UNKNOWN)]
        assert refused[0].but() == refused[1].but()
        assert refused[0].status == 503
        assert "can&#39;t say just now what you may see" in refused[0].text
        door.channel.silent = False
        assert SECRET_WORDS in (await door.ask(f"/t/{logs.THREAD}/{EXECUTION}")).text, "that was not remembered"


LIVE = f"/t/{logs.THREAD}/{EXECUTION}/live?view=status&since=0"


async def rest(reader: asyncio.StreamReader) -> str:
    """What else comes until the stream ends."""
    async with asyncio.timeout(60):
        return (await reader.readuntil(b"\r\n0\r\n\r\n")).decode()


async def lives(door: Door) -> bool:
    """Whether a page is kept up to date."""
    reader, writer = await asyncio.open_connection(door.host, door.port)
    cookies = "; ".join(f"{name}={value}" for name, value in door.jar.items())
    writer.write(f"GET {LIVE} HTTP/1.1\r\nHost: {door.name}\r\nCookie: {cookies}\r\n\r\n".encode())
    answer = await reader.readline()
    writer.close()
    return answer == b"HTTP/1.1 200 OK\r\n"


async def test_open_pages_of_a_session_end_with_it_at_once_and_those_of_others_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "BEAT_SECONDS", 1_000.0)
    monkeypatch.setattr(browser_sessions, "OF_ONE", 2)
    async with open_door(tmp_path, "0.0.0.0", console_token=TOKEN) as door:
        await door.signed_in()
        first, key = (
            door.jar.copy(),
            (await door.ask("/")).text.partition('name="form_key" value="')[2].partition('"')[0],
        )
        async with door.watching(LIVE) as tab, door.watching(LIVE) as another:
            await door.signed_in()
            second = door.jar.copy()
            async with door.watching(LIVE) as others:
                door.jar = first
                assert (await door.send("/sign-out", {"form_key": key})).status == 303
                for each in (tab, another):
                    assert f"event: over\ndata: {SIGNED_OUT}\n\n" in await rest(each)
                await door.signed_in()
                door.jar = second
                async with door.watching(LIVE) as still:
                    door.jar = {}
                    await door.signed_in()  # one too many of one person: their oldest ends
                    for each in (others, still):
                        assert SIGNED_OUT in await rest(each)
        door.jar = second
        refused = await door.ask(LIVE, headers={"Sec-Fetch-Mode": "cors"})
        assert (refused.status, refused.headers["hx-refresh"]) == (401, "true")


def no_longer(sessions: BrowserSessions, key: str) -> bool:
    """A session whose time is over."""
    return False


async def test_an_open_page_asks_again_whether_its_session_lasts_and_its_reader_may_see_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = BrowserSessions(tmp_path / CONSOLE_SESSIONS, TOKEN).begin(ANN, everything=False)
    monkeypatch.setattr(sight, "SECONDS", 0.0)
    monkeypatch.setattr(live, "BEAT_SECONDS", 0.02)
    async with open_door(tmp_path, "0.0.0.0", console_token=TOKEN) as door:
        door.jar = {f"threadwright-session-{door.port}": secret}
        door.channel.seen = {(ANN.id, logs.THREAD)}
        async with door.watching(LIVE) as tab:
            async with asyncio.timeout(60):
                await tab.readuntil(b": still here")
            door.channel.silent = True
            left = await rest(tab)
            assert ("event: over" in left, "HTTP/1.1" in left) == (False, False), "not known: the browser comes back"
        assert (await door.ask(LIVE)).status == 503
        door.channel.silent = False
        async with door.watching(LIVE) as tab:
            door.channel.seen = set()
            assert f"event: over\ndata: {NOT_SEEN}\n\n" in await rest(tab)
        assert (await door.ask(LIVE)).status == 404
        door.channel.seen = {(ANN.id, logs.THREAD)}
        async with door.watching(LIVE) as tab:
            monkeypatch.setattr(BrowserSessions, "lasts", no_longer)
            assert SIGNED_OUT in await rest(tab)


async def test_as_many_pages_as_may_be_are_kept_up_to_date_and_all_others_still_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followers, "PAGES_OF_ONE", 2)
    monkeypatch.setattr(followers, "PAGES", 3)
    secret = BrowserSessions(tmp_path / CONSOLE_SESSIONS, TOKEN).begin(ANN, everything=False)
    async with open_door(tmp_path, "0.0.0.0", console_token=TOKEN) as door:
        await door.signed_in()
        owner, ann = door.jar.copy(), {f"threadwright-session-{door.port}": secret}
        door.channel.seen = {(ANN.id, logs.THREAD)}

        async def refused(jar: dict[str, str]) -> None:
            door.jar = jar.copy()
            answer = await door.ask(LIVE)
            assert (answer.status, answer.headers["retry-after"]) == (503, "10")
            assert "Too many pages of the console are kept up to date" in answer.text
            assert SECRET_WORDS in (await door.ask(f"/t/{logs.THREAD}/{EXECUTION}")).text

        async with door.watching(LIVE):
            async with door.watching(LIVE):
                await refused(owner)
                door.jar = ann
                async with door.watching(LIVE):
                    await refused(ann)
            await eventually(lambda: lives(door), "the server hears a moment later that a page was closed")


async def test_somebody_who_asked_for_too_much_is_told_so_and_nothing_is_denied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = BrowserSessions(tmp_path / CONSOLE_SESSIONS, TOKEN).begin(ANN, everything=False)
    async with open_door(tmp_path, "0.0.0.0", console_token=TOKEN) as door:
        door.jar = {f"threadwright-session-{door.port}": secret}
        door.channel.seen = {(ANN.id, logs.THREAD)}
        door.channel.trouble = AskedTooOften(TOO_OFTEN)
        door.channel.unknown = {logs.THREAD}
        answer = await door.ask(f"/t/{logs.THREAD}/{EXECUTION}")
        assert (answer.status, answer.headers["retry-after"], SECRET_WORDS in answer.text) == (429, "10", False)
        assert "You asked for too much at once" in answer.text
        for path in ("/", "/lessons"):
            listed = await door.ask(path)
            assert (listed.status, SECRET_WORDS in listed.text, NOT_YET in listed.text) == (200, False, True), path
        door.channel.unknown = set()
        monkeypatch.setattr(sight, "NOT_NOW_SECONDS", 0.0)
        door.channel.trouble = None
        assert SECRET_WORDS in (await door.ask("/")).text
        assert SECRET_WORDS in (await door.ask(f"/t/{logs.THREAD}/{EXECUTION}")).text, "that was not remembered"
        door.channel.levels = {ANN.id: "viewer"}
        assert f"{SECRET_WORDS} anywhere" in (await door.ask("/lessons")).text


class AnsweringChannel(BotChannel):
    """A bot that answers every question with the same."""

    def __init__(self, answer: dict[str, object]) -> None:
        super().__init__()
        self._answer = answer

    async def _ask(self, what: str, said: Mapping[str, object], seconds: float) -> dict[str, object]:
        return self._answer


@pytest.mark.parametrize(
    ("answer", "told"), [({"too_often": True}, TOO_OFTEN), ({"words": "That failed."}, bot_channel.UNKNOWN)]
)
async def test_what_the_bot_does_not_know_now_is_no_denial(answer: dict[str, object], told: str) -> None:
    channel = AnsweringChannel(answer)
    with pytest.raises(BotSilent, match=re.escape(told)):
        await channel.sees(ANN, "1")
    with pytest.raises(BotSilent, match=re.escape(told)):
        await channel.level(ANN, "")
    known = AnsweringChannel({"sees": False, "level": None})
    assert (await known.sees(ANN, "1"), await known.level(ANN, "")) == (False, None)


async def test_lists_sums_and_search_take_few_questions_and_tell_nothing_of_what_is_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "BEGAN", overall.recent())
    monkeypatch.setattr(thread_search, "LOOKED_THROUGH", 4)
    monkeypatch.setattr(thread_search, "AT_A_TIME", 2)
    tmp_path.chmod(0o700)
    store, threads = open_store(tmp_path / DATABASE), [overall.thread_of(number) for number in range(60)]
    for number, thread in enumerate(threads):
        log = [logs.started(f"Confidential {number}", thread=thread), *(logs.end() if number % 2 else ())]
        await logs.written(store, f"h{number}", log, thread=thread)
    sessions = BrowserSessions(tmp_path / CONSOLE_SESSIONS, TOKEN)
    secrets = {person.id: sessions.begin(person, everything=False) for person in (ANN, EVE)}
    async with open_door(tmp_path, "0.0.0.0", console_token=TOKEN) as door:
        door.channel.unknown, door.channel.seen = set(threads[6:]), {(ANN.id, thread) for thread in threads[:6]}
        for person in (EVE, ANN):
            door.jar, shown = {f"threadwright-session-{door.port}": secrets[person.id]}, person is ANN
            home = (await door.ask("/")).text
            assert sorted(re.findall(r'id="task-(\w+)"', home)) == ([f"h{n}" for n in range(6)] if shown else [])
            found = [(await door.ask(f"/search?q={word}")).text for word in ("confidential", "nowhere")]
            assert all(NOT_YET in text for text in (home, *found))
            assert ("<mark>Confidential</mark> 5" in found[0], "Confidential 6" in found[0]) == (shown, False)
            if not shown:
                assert found[0].replace("confidential", "nowhere") == found[1], "as if there were nothing to be found"
                assert ("still to be added" in home, "figures follow" in home) == (False, False)
        assert door.channel.asked == []
        asked = len(door.channel.many)
        assert asked <= 12, "not one for each thread"
        door.channel.unknown = set()
        monkeypatch.setattr(sight, "NOT_NOW_SECONDS", 0.0)
        assert NOT_YET not in (await door.ask("/")).text
        assert asked < len(door.channel.many) <= asked + 6
    await store.close()


async def test_a_refusal_takes_as_long_whether_something_is_there_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    async def evenly(console: Console, viewer: Viewer, began: float, parts: int = 1) -> None:
        waited.append(began)

    secret = BrowserSessions(tmp_path / CONSOLE_SESSIONS, TOKEN).begin(EVE, everything=False)
    with monkeypatch.context() as patch:
        patch.setattr(Console, "evenly", evenly)
        async with open_door(tmp_path, "0.0.0.0", console_token=TOKEN) as door:
            door.jar = {f"threadwright-session-{door.port}": secret}
            for known, unknown in (
                (f"/t/{KNOWN[0]}", f"/t/{UNKNOWN[0]}"),
                (f"/compare/{EXECUTION}/x2", "/compare/x1-nosuc/x2"),
                (f"/lessons/{LESSON}", "/lessons/none"),
                ("/search?q=surprise", "/search?q=nowhere"),
            ):
                counts: list[int] = []
                for path in (known, unknown):
                    await door.ask(path)
                    counts.append(len(waited))
                    waited.clear()
                assert counts == [1, 1], known
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(console_context, "EVEN_SECONDS", 1.0)
    monkeypatch.setattr(console_context, "monotonic", lambda: 12.25)
    monkeypatch.setattr(console_context.asyncio, "sleep", sleep)
    for everything, began in ((False, 12.0), (False, 10.0), (True, 12.0)):
        await Console.evenly(None, Viewer(EVE, everything, ""), began)  # type: ignore[arg-type]
    await Console.evenly(None, Viewer(EVE, False, ""), 12.0, 2)  # type: ignore[arg-type]
    assert slept == [0.75, 0.75, 0.25]
