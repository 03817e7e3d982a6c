"""Whoever may not see a thread learns nothing of it: not its words, not its title, not that it is there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from agentic.core.events.execution_events import Person
from agentic.ports.runtime import SessionRow
from agentic.stores.factory import open_store
from bot.config.home import CONSOLE_SESSIONS, DATABASE
from bot.console import console_context
from bot.console.access import sight
from bot.console.access.browser_sessions import BrowserSessions
from bot.console.access.sight import Sight
from bot.console.access.viewer import Viewer
from bot.console.bot_channel import Place
from bot.console.console_context import Console
from bot.console.console_server import ROUTES
from bot.history import thread_search
from tests.integration.console import logs, overall
from tests.integration.console.doors import EXECUTION, LESSON, OTHER_THREAD, SECRET_WORDS, TOKEN, Door, open_door

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
