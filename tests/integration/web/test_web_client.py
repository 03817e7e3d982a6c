"""Requests to the web over real sockets: what is judged, what is bounded, what becomes of hostile answers."""

from __future__ import annotations

import asyncio
import gzip
import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest

from agentic.egress.host_list import HostList
from agentic.egress.names import Names
from agentic.web.page_reader import AT_ONCE, Page, PageReader
from agentic.web.web_client import (
    Asker,
    WebAnswer,
    WebBounds,
    WebClient,
    WebRefused,
    WebRequest,
    WebTrouble,
    WebUnanswered,
)
from tests.waiting import eventually

from .pages import (
    ARTICLE,
    HOST,
    INSIDE,
    METADATA,
    ORDER,
    OTHER,
    SECONDS,
    Pages,
    drip,
    huge,
    moved,
    packed,
    pages,
    said,
)

ME = Asker()
SMALL = WebBounds(seconds=60.0, size=100_000)


async def why(client: WebClient, there: Pages, url: str) -> WebTrouble:
    with pytest.raises(WebTrouble) as raised:
        await client.page(url, there.policy, ME)
    return raised.value


async def test_a_page_is_read_as_text_with_its_title_links_and_last_address() -> None:
    async with pages() as there:
        there.serves["/old"] = moved("/new#part", "301 Moved Permanently")
        there.serves["/new"] = packed(ARTICLE.format(text=f"Half to even. {ORDER}").encode())
        client, reader = there.client(), PageReader()
        answer = await client.page(f"{there.root}/old", there.policy, ME)
        page = await reader.read(answer)
        [first, _] = there.heard
    assert (page.url, page.title) == (f"{there.root}/new", "Rounding & more")
    assert "Half to even." in page.text
    assert "alert(1)" not in page.text
    assert f"[over there]({there.root}/more?x=1)" in page.text
    assert ("Menu", f"{there.root}/menu") in page.links
    assert not page.cut
    assert answer.private
    assert page.private
    assert {line.split(b":")[0] for line in first.split(b"\r\n")[1:] if line} == {
        b"Host", b"User-Agent", b"Accept", b"Accept-Encoding", b"Connection",
    }  # fmt: skip
    assert there.asked == [HOST, HOST], "each hop is looked up, once"


async def test_nothing_is_sent_to_what_the_policy_does_not_name_or_to_what_is_not_public() -> None:
    """Also behind a redirect, and where only one of a name's addresses is private."""
    async with pages() as there:
        client = there.client()
        to = {
            "/literal": "http://169.254.169.254/latest/meta-data/",
            "/number": "http://2852039166/",
            "/six": "http://[::1]:80/",
            "/name": f"http://{METADATA}/latest/",
            "/inside": f"http://{INSIDE}/",
            "/loopback": f"http://{OTHER}/",
            "/port": f"http://{HOST}:{there.port + 1}/",
            "/scheme": "file:///etc/passwd",
            "/keys": f"http://me:secret@{HOST}:{there.port}/",
            "/circle": "/circle",
            "/odd": "http://[",
        }
        there.serves |= {path: moved(target) for path, target in to.items()}
        told: dict[str, WebTrouble] = {}
        for path, target in to.items():
            told[path] = await why(client, there, f"{there.root}{path}")
            if path not in ("/circle", "/odd"):
                assert isinstance(told[path], WebRefused), (path, told[path])
                assert isinstance(await why(client, there, target), WebRefused), "the same without a redirect"
        assert "redirects more than 5 times" in str(told["/circle"])
        assert there.paths.count("/circle") == 6
        assert set(there.paths) == set(to), "each server heard of the first request and of nothing else"

        async def nothing() -> HostList:
            return HostList()

        async def web() -> HostList:
            return HostList(web=True)

        for policy in (nothing, web):  # what is of the own network is reached only where it is listed by name
            with pytest.raises(WebRefused) as refused:
                await client.page(f"{there.root}/old", policy, ME)
            assert not refused.value.listed
        with pytest.raises(WebRefused, match="not on this channel's list"):
            await client.page(f"http://{METADATA}/", nothing, ME)
        assert there.asked.count(METADATA) == 2, "what is not on the list is not looked up"


async def test_no_thread_whose_names_get_no_answer_takes_the_look_ups_of_another() -> None:
    speaks = threading.Event()
    asked: list[str] = []

    def look(host: str, _port: int) -> Sequence[str]:
        asked.append(host)
        if host.startswith("silent"):
            speaks.wait(SECONDS)
        raise OSError("no such name")

    client = WebClient(names=Names(look, threads=3, each=2))
    one, two = Asker(), Asker()

    async def web() -> HostList:
        return HostList(web=True)

    waiting = [asyncio.create_task(client.page(f"http://silent{n}.test/", web, one)) for n in range(4)]
    try:
        await eventually(lambda: len(asked) >= 2)
        async with asyncio.timeout(SECONDS):
            with pytest.raises(WebUnanswered, match="no address that can be found"):
                await client.page("http://pages.test/", web, two)
        assert asked == ["silent0.test", "silent1.test", "pages.test"]
    finally:
        speaks.set()
        await asyncio.gather(*waiting, return_exceptions=True)
        client.close()


async def test_hostile_answers_take_no_more_than_their_bounds() -> None:
    async with pages() as there:
        client = there.client(SMALL)
        bomb = gzip.compress(b"\0" * 50_000_000)
        there.serves |= {
            "/huge": huge,
            "/drip": drip,
            "/bomb": said(bomb, "text/plain", Content_Encoding="gzip"),
            "/invalid": said(b"no gzip at all", Content_Encoding="gzip"),
            "/half": said(gzip.compress(bytes(range(256)) * 2)[:200], "text/plain", Content_Encoding="gzip"),
            "/brotli": said(b"x", Content_Encoding="br"),
            "/nonsense": b"\xff\xfe no HTTP\r\n\r\n",
        }
        assert len(bomb) < SMALL.size
        for path in ("/huge", "/bomb"):
            answer = await client.page(f"{there.root}{path}", there.policy, ME)
            assert (answer.cut, len(answer.body)) == (True, SMALL.size)
        late = await why(there.client(replace(SMALL, seconds=1.0)), there, f"{there.root}/drip")
        assert str(late) == "no whole answer came within 1 seconds"
        assert (await client.page(f"{there.root}/half", there.policy, ME)).cut
        assert "invalid gzip" in str(await why(client, there, f"{there.root}/invalid"))
        assert "packed in a way that is not read (br)" in str(await why(client, there, f"{there.root}/brotli"))
        assert isinstance(await why(client, there, f"{there.root}/nonsense"), WebUnanswered)
        gone = await why(client, there, "http://nowhere.test/")
        assert (isinstance(gone, WebUnanswered) and gone.sent, str(gone)) == (
            False, "nowhere.test has no address that can be found",
        )  # fmt: skip
        there.serves["/x"] = b"HTTP/1.1 204 No Content\r\n\r\n"
        answer = await client.send(WebRequest(f"{there.root}/x", "HEAD", (("X-Own", "1"),)), there.policy, ME)
        assert (answer.status, b"X-Own: 1" in there.heard[-1]) == (204, True)


async def test_what_is_no_text_is_refused_in_words_and_a_hostile_page_costs_only_its_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nodes = "<html><body>" + "<div><a href=x>y</a>" * 240_000
    async with pages() as there:
        client, reader = there.client(), PageReader()
        there.serves |= {
            "/pdf": said(b"%PDF-1.7 \0\0", "text/html"),
            "/zip": said(b"PK\x03\x04", "application/octet-stream"),
            "/video": said(b"\0\0", "video/mp4"),
            "/empty": said("<html><body><script>document.write('x')</script></body></html>"),
            "/nodes": said(nodes),
            "/lies": said("Größe: 5 €".encode(), "text/plain; charset=utf-16"),
            "/old": said("Größe".encode("cp1252"), "text/plain; charset=zip"),
            "/japan": said("丸め".encode("shift_jis"), "text/plain; charset=Shift_JIS"),
            "/json": said('{"a": 1}', "application/vnd.api+json"),
        }

        async def read(path: str) -> Page:
            return await reader.read(await client.page(f"{there.root}{path}", there.policy, ME))

        for path, words in {
            "/pdf": "is a PDF",
            "/zip": "is an archive",
            "/video": "is video/mp4",
            "/empty": "without running its scripts",
        }.items():
            with pytest.raises(WebUnanswered, match=words):
                await read(path)
        texts = {path: (await read(path)).text for path in ("/lies", "/old", "/japan", "/json")}
        assert texts == {"/lies": "Größe: 5 €", "/old": "Größe", "/japan": "丸め", "/json": '{"a": 1}'}
        answer = await client.page(f"{there.root}/nodes", there.policy, ME)
        assert len(answer.body) > 4_000_000
        monkeypatch.setattr("agentic.web.page_reader.SECONDS", 0.2)
        with pytest.raises(WebUnanswered, match="takes too long or too much memory"):
            await reader.read(answer)


async def test_a_page_waits_for_room_apart_from_its_own_time_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, release, begun = PageReader(), asyncio.Event(), list[bytes]()

    async def held(request: bytes) -> bytes:
        begun.append(request)
        await release.wait()
        return b'{"title": "", "text": "read", "links": []}'

    monkeypatch.setattr("agentic.web.page_reader._asked", held)
    answer = WebAnswer("http://pages.test/", 200, (), "text/html", "", b"<p>")
    reading = [asyncio.create_task(reader.read(answer)) for _ in range(AT_ONCE)]
    async with asyncio.timeout(SECONDS):
        while len(begun) < AT_ONCE:
            await asyncio.sleep(0)
        monkeypatch.setattr("agentic.web.page_reader.ROOM_SECONDS", 0.05)
        with pytest.raises(WebUnanswered, match="other pages are being read"):
            await reader.read(answer)
        release.set()
        assert [page.text for page in await asyncio.gather(*reading)] == ["read"] * AT_ONCE
        assert (await reader.read(answer)).text == "read", "each gives its room back"
