"""The console over bare sockets: foreign pages, renamed hosts, odd requests, slow and many connections."""

from __future__ import annotations

import asyncio
import gzip
import re
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import web

from agentic.ports.errors import StoreCorrupt, StoreUnavailable
from agentic.stores.factory import open_store
from bot.config.home import DATABASE
from bot.console import listener
from bot.console.access import form_data
from bot.console.logs.log_cache import LogCache
from bot.console.pages import downloads
from tests.integration.console import logs
from tests.integration.console.doors import EXECUTION, FORM, SECRET_WORDS, TOKEN, Answer, Door, open_door, parsed
from tests.waiting import eventually
from tests.walls.tally import Wall

TASK = f"/t/{logs.THREAD}/{EXECUTION}"
POLICY = ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'")
GUARDS = {
    "x-content-type-options": "nosniff", "x-frame-options": "DENY", "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin", "cross-origin-resource-policy": "same-origin", "cache-control": "no-store",
}  # fmt: skip


@pytest_asyncio.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with open_door(tmp_path, console_token=TOKEN) as one:
        yield one


def guarded(answer: Answer) -> bool:
    """Whether an answer has every header that keeps other pages away."""
    policy = answer.headers.get("content-security-policy", "")
    kept = all(answer.headers.get(name) == value for name, value in GUARDS.items())
    return kept and all(part in policy for part in POLICY) and "unsafe" not in policy


@pytest.mark.wall("http")
async def test_another_host_or_page_is_refused(door: Door, wall: Wall) -> None:
    port = door.port
    hosts = (
        "evil.test", f"evil.test:{port}", "127.0.0.1", f"127.0.0.1:{port}.evil.test", f"127.0.0.1.evil.test:{port}", "", " ",
        f"x@127.0.0.1:{port}", f"127.0.0.2:{port}", f"[::1]:{port}", f"127.0.0.1:{port}, evil.test", f"0.0.0.0:{port}",
    )  # fmt: skip
    for host in hosts:
        answer = await door.ask("/", headers={"Host": host})
        wall.held(f"Host {host}", answer.status in (400, 421) and SECRET_WORDS not in answer.text)
    two = await door.raw(
        f"GET / HTTP/1.1\r\nHost: {door.name}\r\nHost: evil.test\r\nConnection: close\r\n\r\n".encode()
    )
    wall.held("two hosts", SECRET_WORDS not in two.decode())
    none = await door.raw(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
    wall.held("no host", SECRET_WORDS not in none.decode())
    whole = await door.ask("http://evil.test/", headers={"Host": "evil.test"})
    wall.held("a whole address", whole.status in (400, 421))
    own = f"http://{door.name}"
    for origin in (
        "http://evil.test",
        "null",
        "",
        "-",
        f"https://{door.name}",
        "http://127.0.0.1:1",
        own + ".evil.test",
        own + "/",
    ):
        answer = await door.send("/sign-in", {"token": TOKEN}, {"Origin": origin})
        wall.held(f"Origin {origin}", answer.status == 403 and not answer.cookies)
    for site in ("cross-site", "same-site", "x"):
        posted = await door.send("/sign-in", {"token": TOKEN}, {"Sec-Fetch-Site": site})
        wall.held(f"{site} sends", posted.status == 403 and not posted.cookies)
        for mode, dest in (("no-cors", "script"), ("no-cors", "image"), ("cors", "empty"), ("navigate", "iframe")):
            asked = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}
            answer = await door.ask(TASK, headers=asked)
            wall.held(f"{site} asks for a {dest}", answer.status == 403 and SECRET_WORDS not in answer.text)
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert SECRET_WORDS in (await door.ask(TASK, headers=link)).text, "a link from Discord leads here"
    assert (await door.ask("/", headers={"Host": f"LOCALHOST:{port}"})).status == 200


@pytest.mark.wall("http")
async def test_every_answer_keeps_other_pages_away(door: Door, wall: Wall) -> None:
    for method, path, headers, status in (
        ("GET", "/", {}, 200), ("GET", TASK + "/logs", {}, 200), ("GET", "/sign-in", {}, 200), ("GET", "/none", {}, 404),
        ("GET", "/t/1/none", {}, 404), ("PUT", "/", {"Origin": f"http://{door.name}"}, 405), ("GET", "/", {"Host": "x"}, 421),
        ("POST", "/sign-in", {}, 403), ("GET", "/", {"X-Forwarded-For": "1.2.3.4"}, 303), ("HEAD", "/", {}, 200),
        ("GET", TASK + "/live?view=none", {}, 404), ("HEAD", TASK + "/live?view=thoughts", {}, 200),
        ("GET", "/sign-in/discord", {}, 404), ("GET", "/sign-in/discord/back?code=x&state=", {}, 404),
    ):  # fmt: skip
        answer = await door.ask(path, method, headers)
        assert answer.status == status, (method, path)
        if headers.get("Host") == "x":  # over plain HTTP from elsewhere a browser ignores that one, and says so
            answer.headers.setdefault("cross-origin-opener-policy", "same-origin")
        wall.held(f"{method} {path}", guarded(answer), str(answer.headers))
        assert (answer.content == b"") == (method == "HEAD" or status == 303)
    live = await door.ask(TASK + "/live", "HEAD")
    assert live.headers["x-accel-buffering"] == "no"
    page = (await door.ask("/")).text
    static = await door.ask("/static/console.css")
    wall.held("a file", guarded(Answer(200, static.headers | {"cache-control": "no-store"}, b"")))
    assert static.headers["cache-control"] == "private, no-cache"
    files = re.findall(r'(?:href|src)="(/static/[^"]+)"', page)
    assert len(files) == 5
    for path in files:
        name = path.partition("?")[0]
        kept = {each: (await door.ask(each)).headers["cache-control"] for each in (path, name + "?v=0ld")}
        assert kept == {path: "private, max-age=31536000, immutable", name + "?v=0ld": "private, no-cache"}


@pytest.mark.wall("http")
async def test_odd_requests_are_refused_in_few_words_and_paths_lead_nowhere_else(
    door: Door, wall: Wall, caplog: pytest.LogCaptureFixture
) -> None:
    for path in (
        "/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2fserver.py", "/static/..%5cserver.py", "/static/..",
        "/static/.", "/static/", "/static", "/static/%00", "/static//etc/passwd", "/static/%2fetc%2fpasswd", "/static/x.css",
        "/static/console.css%00.js", "//etc/passwd", "/../../etc/passwd", "/t/../static/../../process.py", "/base.html",
        f"{TASK}/event/0", f"{TASK}/event/99999999999999999999", f"{TASK}/event/\u0663", f"{TASK}%2flogs", "/t/" + "9" * 400,
        f"/t/{logs.THREAD}/" + "x" * 400, "/%", "/%ff", "*", "\\",
    ):  # fmt: skip
        answer = await door.ask(path)
        wall.held(path, answer.status in (400, 404) and b"root:" not in answer.content, str(answer.status))
    for method in ("PUT", "DELETE", "PATCH", "TRACE", "OPTIONS", "PROPFIND", "CONNECT", "get", "X" * 300, "POST"):
        answer = await door.ask("/", method, {"Origin": f"http://{door.name}"})
        wall.held(method, answer.status in (400, 403, 404, 405), str(answer.status))
    assert (await door.ask("/", "PUT", {"Origin": f"http://{door.name}"})).headers["allow"] == "GET,HEAD"
    for name, sent in {
        "a long line": b"GET /" + b"x" * 9_000 + b" HTTP/1.1\r\n\r\n",
        "a long header": b"GET / HTTP/1.1\r\nX: " + b"x" * 9_000 + b"\r\n\r\n",
        "many headers": b"GET / HTTP/1.1\r\n" + b"".join(b"X%d: x\r\n" % n for n in range(400)) + b"\r\n",
        "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 200,
        "both lengths": b"POST /sign-in HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "a folded header": b"GET / HTTP/1.1\r\nX: a\r\n Host: b\r\n\r\n",
    }.items():
        answer = parsed(await door.raw(sent))
        answer.headers.setdefault("cross-origin-opener-policy", "same-origin")
        few = answer.status == 400 and len(answer.content) < 9_500 and answer.headers["server"] == "Threadwright"
        wall.held(name, few and guarded(answer), f"{answer.status} {answer.content[:200]!r}")
    big = gzip.compress(b"token=" + b"x" * 3_000_000)
    bodies = {
        "JSON": ({"Content-Type": "application/json"}, b"{}", 415),
        "several parts": ({"Content-Type": "multipart/form-data; boundary=x"}, b"--x--\r\n", 415),
        "no such letters": ({"Content-Type": f"{form_data.SENT_AS}; charset=klingon"}, b"token=x", 400),
        "no letters": ({"Content-Type": f"{form_data.SENT_AS}; charset=utf-8"}, b"token=\xff\xfe", 400),
        "too much": (FORM, b"token=" + b"x" * 300_000, 413),
        "much from little": (FORM | {"Content-Encoding": "gzip"}, big, 413),
    }
    for name, (headers, body, status) in bodies.items():
        answer = await door.ask("/sign-in", "POST", {"Origin": f"http://{door.name}", **headers}, body)
        wall.held(name, answer.status == status and guarded(answer), str(answer.status))
    assert caplog.text == ""
    assert SECRET_WORDS in (await door.ask("/")).text


@pytest.mark.wall("http")
async def test_slow_clients_are_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "IDLE_SECONDS", 0.2)
    monkeypatch.setattr(listener, "LINGER_SECONDS", 0.1)
    monkeypatch.setattr(form_data, "SECONDS", 0.2)
    async with open_door(tmp_path, console_token=TOKEN) as door:
        assert await door.raw(b"") == b""
        assert await door.raw(b"GET / HTTP/1.1\r\nHost: ") == b""
        head = f"POST /sign-in HTTP/1.1\r\nHost: {door.name}\r\nOrigin: http://{door.name}\r\n"
        slow = head + f"Content-Type: {form_data.SENT_AS}\r\nContent-Length: 100\r\nConnection: close\r\n\r\ntoken="
        assert parsed(await door.raw(slow.encode())).status == 408


async def test_files_are_made_a_few_at_once_and_who_does_not_take_one_is_let_go(
    door: Door, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await door.signed_in()
    taken, begun = asyncio.Event(), asyncio.Semaphore(0)
    write = web.StreamResponse.write

    async def held(self: web.StreamResponse, piece: bytes) -> None:
        begun.release()
        await taken.wait()
        await write(self, piece)

    monkeypatch.setattr(web.StreamResponse, "write", held)
    monkeypatch.setattr(downloads, "WAIT_SECONDS", 0.05)
    async with asyncio.timeout(60):
        four = [asyncio.create_task(door.ask(f"{TASK}/export.md")) for _ in range(4)]
        for _ in four:
            await begun.acquire()
        refused = await door.ask(f"{TASK}/export.jsonl")
        assert (refused.status, "Other files are being made now" in refused.text) == (503, True)
        taken.set()
        assert [answer.status for answer in await asyncio.gather(*four)] == [200] * 4
    taken.clear()
    monkeypatch.setattr(downloads, "WAIT_SECONDS", 20.0)
    monkeypatch.setattr(downloads, "SEND_SECONDS", 0.05)
    get = f"GET {TASK}/export.md HTTP/1.1\r\nHost: {door.name}\r\nCookie: {'; '.join(map('='.join, door.jar.items()))}\r\n\r\n"
    ended = await asyncio.gather(*(door.raw(get.encode()) for _ in range(6)), return_exceptions=True)
    bodies = [one.partition(b"\r\n\r\n")[2] if isinstance(one, bytes) else one for one in ended]
    assert [one for one in bodies if one != b"" and not isinstance(one, ConnectionResetError)] == [], (
        "cut off, not ended"
    )
    assert caplog.text == ""
    taken.set()
    assert (await door.ask(f"{TASK}/export.jsonl")).status == 200


SLOWLY = 1_000
"""Turns of the event loop between two pieces."""


async def taken_slowly(door: Door, path: str, most: int, begun: asyncio.Event, hurries: asyncio.Event) -> int:
    """Take a file so many bytes at a time, slowly until it ``hurries``; how many came."""
    loop, taken = asyncio.get_running_loop(), 0
    with socket.socket() as end:
        end.setblocking(False)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        await loop.sock_connect(end, (door.host, door.port))
        cookies = "; ".join(map("=".join, door.jar.items()))
        sent = f"GET {path} HTTP/1.1\r\nHost: {door.name}\r\nConnection: close\r\nCookie: {cookies}\r\n\r\n"
        await loop.sock_sendall(end, sent.encode())
        while piece := await loop.sock_recv(end, most - taken % most):
            begun.set()
            taken += len(piece)
            for _ in range(SLOWLY if taken % most == 0 and not hurries.is_set() else 0):
                await asyncio.sleep(0)
    return taken


async def test_whoever_takes_a_file_too_slowly_makes_room_for_others(
    door: Door, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(door.home / DATABASE)
    lease = await logs.written(store, "large", [logs.started("Print much")])
    for number in range(1, 16):
        much = logs.turn(number, result="all work and no play " * 5_000)
        await logs.added(store, "large", lease, much, 1 + (number - 1) * len(much))
    await store.close()
    await door.signed_in()
    monkeypatch.setattr(downloads, "SEND_SECONDS", 0.1)
    monkeypatch.setattr(downloads, "SEND_RATE", 1_000_000_000)
    monkeypatch.setattr(downloads, "WAIT_SECONDS", 1_000.0)
    prepare = web.StreamResponse.prepare

    async def prepared(self: web.StreamResponse, request: web.BaseRequest) -> object:
        """Have the kernel keep little of what is sent, so that it soon depends on who takes it."""
        assert request.transport is not None
        request.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65_536)
        return await prepare(self, request)

    monkeypatch.setattr(web.StreamResponse, "prepare", prepared)
    path, begun = f"/t/{logs.THREAD}/large/export.jsonl", [asyncio.Event() for _ in range(4)]
    hurry = asyncio.Event()
    async with asyncio.timeout(60), asyncio.TaskGroup() as readers:
        ends = [  # one at a time, and enough of them that no piece of the file waits long
            readers.create_task(taken_slowly(door, path, most, each, hurry))
            for most, each in zip((1, 1, 65_536, 65_536), begun, strict=True)
        ]
        for each in begun:
            await each.wait()
        monkeypatch.setattr(downloads, "SEND_SECONDS", 60.0)
        others = await asyncio.gather(*(door.ask(f"{TASK}/export.md") for _ in range(4)))
        assert [each.status for each in others] == [200] * 4
        hurry.set()
        assert [await each < 1_500_000 for each in ends[2:]] == [True, True], "neither came whole"
        for each in ends[:2]:
            each.cancel()
    assert caplog.text == ""


async def test_an_answer_that_cannot_go_on_is_cut_off_and_one_without_a_body_has_none(
    door: Door, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await door.signed_in()
    head = f"Host: {door.name}\r\nCookie: {'; '.join(map('='.join, door.jar.items()))}\r\n"
    kept = "".join(f"HEAD {TASK}/{file} HTTP/1.1\r\n{head}\r\n" for file in ("export.jsonl", "live"))
    both = await door.raw(f"{kept}GET / HTTP/1.1\r\n{head}Connection: close\r\n\r\n".encode())
    answers = [parsed(b"HTTP/1.1 " + one) for one in both.split(b"HTTP/1.1 ")[1:]]
    assert [(answer.status, answer.content == b"") for answer in answers] == [(200, True), (200, True), (200, False)]

    def breaks(log: object) -> Iterator[str]:
        yield "{}\n" * downloads.AT_ONCE
        raise StoreUnavailable("away")

    monkeypatch.setattr(downloads, "_lines", breaks)
    with suppress(ConnectionResetError):
        content = await door.raw(f"GET {TASK}/export.jsonl HTTP/1.1\r\n{head}\r\n".encode())
        assert b"503" not in content
        assert not content.endswith(b"\r\n0\r\n\r\n")
    assert f"cut off, GET {TASK}/export.jsonl: The store doesn't answer now: away." in caplog.text


async def test_an_error_page_has_the_menu_for_whoever_is_signed_in_and_says_what_helps(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    await door.signed_in()
    proxied = {"X-Forwarded-For": "1.2.3.4"}
    for path in ("/none", "/t/1/none"):
        answer = await door.ask(path, headers=proxied)
        assert (answer.status, "Sign out" in answer.text, "Judgement" in answer.text) == (404, True, True)

    async def damaged(self: LogCache, execution: str) -> None:
        raise StoreCorrupt("event 3 does not match its checksum: restore the database from a backup")

    monkeypatch.setattr(LogCache, "task", damaged)
    answer = await door.ask(TASK, headers=proxied)
    assert (answer.status, "Sign out" in answer.text, "Try again" in answer.text) == (503, True, False)
    assert "restore the database from a backup" in answer.text
    door.jar.clear()
    assert "Judgement" not in (await door.ask("/none", headers=proxied)).text


@pytest.mark.wall("http")
async def test_two_hundred_open_tabs_work_and_too_many_are_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "CONNECTIONS", 205)
    monkeypatch.setattr(listener, "TURNED_AWAY", 5)
    monkeypatch.setattr(listener, "LINGER_SECONDS", 0.2)
    async with open_door(tmp_path, console_token=TOKEN) as door:
        await door.signed_in()
        head = f"Host: {door.name}\r\nCookie: {'; '.join(map('='.join, door.jar.items()))}\r\n\r\n"
        live = f"GET {TASK}/live?view=status&since=0 HTTP/1.1\r\n{head}".encode()
        tabs = [await asyncio.open_connection(door.host, door.port) for _ in range(200)]
        for _, writer in tabs:
            writer.write(live)
        for reader, _ in tabs:
            async with asyncio.timeout(60):
                await reader.readuntil(b"Turn")
        assert (await door.ask(TASK)).status == 200
        more = [await asyncio.open_connection(door.host, door.port) for _ in range(5)]
        refused = await door.ask(TASK)
        assert (refused.status, refused.headers["retry-after"]) == (503, "10")
        assert "Close some" in refused.text
        refused.headers.setdefault("cross-origin-opener-policy", "same-origin")
        assert guarded(refused)
        silent = [await asyncio.open_connection(door.host, door.port) for _ in range(30)]
        async with asyncio.timeout(60):
            ended = await asyncio.gather(*(reader.read() for reader, _ in silent), return_exceptions=True)
        assert all(one == b"" or isinstance(one, ConnectionResetError) for one in ended), "they are cut off"
        for _, writer in (*tabs, *more, *silent):
            writer.close()

        async def answers() -> bool:
            return (await door.ask(TASK)).status == 200

        await eventually(answers)
