"""Who comes in to the console: the user of this machine, whoever signs in, and nobody else."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from agentic.core.events.execution_events import Person
from bot.config.home import CONSOLE_SESSIONS
from bot.console.access import browser_sessions, same_user
from bot.console.access.browser_sessions import BrowserSessions
from bot.console.access.console_address import ConsoleAddress
from bot.console.access.entrance import NoWayIn
from bot.console.access.sign_in import local_path
from tests.integration.console.doors import SECRET_WORDS, TOKEN, open_door

HTTPS = "https://console.example.org"
ANN, BEN = Person(id="7", name="Ann"), Person(id="8", name="Ben")


async def test_the_user_of_this_machine_needs_no_sign_in_unless_the_request_was_passed_on(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        entered = await door.ask("/")
        assert SECRET_WORDS in entered.text
        assert entered.headers["cross-origin-opener-policy"] == "same-origin"
        for header in ("X-Forwarded-For", "X-Forwarded-Proto", "Forwarded", "X-Real-IP", "Via", "CF-Connecting-IP"):
            passed_on = await door.ask("/", headers={header: "127.0.0.1"})
            assert (passed_on.status, SECRET_WORDS in passed_on.text) == (403, False), header


async def test_another_user_of_this_machine_signs_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(same_user.os, "geteuid", lambda: os.getuid() + 12_345)
    async with open_door(tmp_path) as door:
        assert (await door.ask("/")).status == 403
    async with open_door(tmp_path, console_token=TOKEN) as door:
        asked = await door.ask("/t/1575491652707942400/x1-known?turn=1")
        assert (asked.status, asked.headers["location"]) == (
            303,
            "/sign-in?to=/t/1575491652707942400/x1-known%3Fturn%3D1",
        )
        entered = await door.signed_in(to="/t/1575491652707942400/x1-known?turn=1")
        assert (entered.status, entered.headers["location"]) == (303, "/t/1575491652707942400/x1-known?turn=1")
        assert SECRET_WORDS in (await door.ask(entered.headers["location"])).text


@pytest.mark.parametrize("settings", [{"console_url": HTTPS}, {"host": "0.0.0.0"}])
async def test_where_others_reach_it_everybody_signs_in(tmp_path: Path, settings: dict[str, str]) -> None:
    with pytest.raises(NoWayIn, match="THREADWRIGHT_CONSOLE_TOKEN"):
        async with open_door(tmp_path, **settings):
            pass
    async with open_door(tmp_path, **settings, console_token=TOKEN) as door:
        asked = await door.ask("/", headers={"Host": "console.example.org"} if "console_url" in settings else {})
        assert asked.status == 303
        assert asked.headers["location"].endswith("/sign-in?to=/")
        plain = await door.ask("/", headers={"Host": "elsewhere.example.org"})
        assert ("cross-origin-opener-policy" in plain.headers) == ("console_url" in settings), (
            "not over http from elsewhere"
        )
        assert (await door.ask("/", headers={"Sec-Fetch-Mode": "cors"})).status == 401


async def test_a_session_is_a_cookie_that_no_script_reads_and_that_ends(tmp_path: Path) -> None:
    async with open_door(tmp_path, console_url=HTTPS, console_token=TOKEN) as door:
        own = {"Host": "console.example.org"}
        entered = await door.send("/sign-in", {"token": TOKEN}, {**own, "Origin": HTTPS})
        set_cookie = entered.headers["set-cookie"]
        assert set_cookie.startswith("__Host-threadwright-session=")
        for part in ("HttpOnly", "Secure", "SameSite=Lax", "Path=/", "Max-Age="):
            assert part in set_cookie
        assert "Domain" not in set_cookie
        page = (await door.ask("/", headers=own)).text
        assert SECRET_WORDS in page
        key = page.partition('name="form_key" value="')[2].partition('"')[0]
        kept = door.jar.copy()
        assert (await door.send("/sign-out", {"form_key": "x"}, {**own, "Origin": HTTPS})).status == 403
        assert (await door.send("/sign-out", {"form_key": key}, {**own, "Origin": HTTPS})).status == 303
        assert door.jar == {}
        door.jar = kept
        assert (await door.ask("/", headers=own)).status == 303, "the session itself has ended"


async def test_a_session_outlives_the_console_and_ends_with_another_token(tmp_path: Path) -> None:
    async with open_door(tmp_path, "0.0.0.0", console_token=TOKEN) as door:
        secret = next(iter((await door.signed_in()).cookies.values()))
    file = tmp_path / CONSOLE_SESSIONS
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert secret not in file.read_text()
    for token, status in ((TOKEN, 200), (TOKEN + "2", 303)):
        async with open_door(tmp_path, "0.0.0.0", console_token=token) as door:
            door.jar = {f"threadwright-session-{door.port}": secret}
            assert (await door.ask("/")).status == status


async def test_wrong_tokens_are_refused_and_a_right_one_never_because_of_them(tmp_path: Path) -> None:
    async with open_door(tmp_path, "0.0.0.0", console_token=TOKEN) as door:
        wrong = [
            "",
            " ",
            "x",
            TOKEN[:-1],
            TOKEN + "x",
            TOKEN.upper(),
            "ü" * 2_000,
            "\0",
            "%00",
            "' or 1=1",
            "x" * 50_000,
        ]
        answers = [await door.signed_in(token) for token in wrong]
        assert [answer.status for answer in answers] == [403] * 10 + [429]
        assert all("set-cookie" not in answer.headers for answer in answers)
        assert (await door.signed_in()).status == 303
        assert SECRET_WORDS in (await door.ask("/")).text


async def test_a_sign_in_leads_to_pages_of_the_console_alone(tmp_path: Path) -> None:
    elsewhere = (
        "//evil.test", "/\\evil.test", "\\\\evil.test", "https://evil.test", "javascript:x", "/\t/evil.test", "/\n/evil.test",
        "evil.test", "", "/ä", "/" + "x" * 5_000, " //evil.test", "/x\r\nSet-Cookie: a=b",
    )  # fmt: skip
    assert [local_path(to) for to in elsewhere] == ["/"] * len(elsewhere)
    assert local_path("/t/1/x1/logs?q=a%20b&kind=") == "/t/1/x1/logs?q=a%20b&kind="
    async with open_door(tmp_path, console_token=TOKEN) as door:
        for to in elsewhere:
            assert (await door.signed_in(to=to)).headers["location"] == "/"


def test_sessions_are_bounded_and_somebody_pushes_out_their_own_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser_sessions, "SESSIONS", 6)
    monkeypatch.setattr(browser_sessions, "OF_ONE", 3)
    now = [1_000.0]
    sessions = BrowserSessions(tmp_path / "s", TOKEN, lambda: now[0])
    ben = sessions.begin(BEN, everything=False)
    anns = [sessions.begin(ANN, everything=False) for _ in range(5)]
    assert sessions.find(ben) is not None
    assert [sessions.find(one) is not None for one in anns] == [False, False, True, True, True]
    more = [sessions.begin(Person(id=str(n), name="x"), everything=False) for n in range(100, 104)]
    assert len(json.loads((tmp_path / "s").read_text())) == 6
    assert sessions.find(ben) is None
    now[0] += browser_sessions.LIFE_SECONDS
    assert [one for one in more if sessions.find(one)] == []
    (tmp_path / "s").write_text("[broken")
    assert BrowserSessions(tmp_path / "s", TOKEN).find(more[0]) is None


def test_an_address_says_hosts_origins_and_cookies() -> None:
    here = ConsoleAddress("127.0.0.1", 8094)
    assert here.local
    assert here.hosts == {"127.0.0.1:8094", "localhost:8094"}
    assert ConsoleAddress("::1", 80).hosts >= {"[::1]", "localhost"}
    assert not ConsoleAddress("0.0.0.0", 8094).local
    behind = ConsoleAddress("127.0.0.1", 8094, "https://Console.example.org/")
    assert (behind.local, behind.secure, behind.public) == (False, True, HTTPS)
    assert behind.origins == {HTTPS, "http://127.0.0.1:8094", "http://localhost:8094"}
    assert ConsoleAddress("127.0.0.1", 8094, "http://localhost:9000").local
    assert not ConsoleAddress("127.0.0.1", 8094, "http://192.168.1.5:9000").local
