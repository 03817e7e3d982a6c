"""Nobody who merely reaches the port of the local guild, or whose page stands beside it, gets at what it serves."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from playwright.async_api import async_playwright, expect

from bot.local_discord import LocalGuild
from bot.local_discord.web.page_access import LIFE_SECONDS
from tests.e2e.person import entered
from tests.integration.local_discord.browsers import ARGUMENTS, CHROMIUM, NEEDS_CHROMIUM
from tests.waiting import eventually
from tests.walls.tally import Wall

OPEN = ("/", "/page/app.js", "/embed/avatars/1.png", "/oauth2/authorize")
"""What holds nothing of the guild: the pages as files, and pictures."""
TALKS = ("/ui/live", "/gateway", "/gateway/")
"""Connections, which are let go of unless the first thing said opens them."""
CAPABILITIES = ("/api/v10/webhooks/", "/api/v10/interactions/", "/attachments/")
"""Addresses that carry their own token or signature."""


def routes(guild: LocalGuild) -> Iterator[tuple[str, str]]:
    """Every method and address that is served, with something for each of its variables."""
    app = guild._server._runner.app  # pyright: ignore[reportPrivateUsage]  # whatever is served, not a list of it
    assert app is not None
    names = {"name": "app.js", "rest": "elsewhere", "channel": str(guild.channel().id)}
    for route in app.router.routes():
        assert route.resource is not None
        path = re.sub(r"\{(\w+)\}", lambda found: names.get(found[1], "1"), route.resource.canonical)
        yield ("GET" if route.method == "*" else route.method), path


def expected(method: str, path: str) -> set[int]:
    """What a stranger is answered."""
    if method in ("GET", "HEAD") and path in OPEN:
        return {200}
    if path in TALKS:
        return {400, 401, 426}  # not without a handshake
    if path.startswith(CAPABILITIES) or path == "/api/v10/elsewhere":
        return {401, 403, 404}
    return {401, 403}


async def status(session: aiohttp.ClientSession, method: str, address: str, headers: dict[str, str]) -> int:
    body = {"json": {"content": "x"}} if method in ("POST", "PUT", "PATCH") else {}
    async with session.request(method, address, headers=headers, **body) as response:
        return response.status


@pytest.mark.wall("http")
async def test_no_address_answers_a_stranger(wall: Wall) -> None:
    async with await LocalGuild.start() as guild, await LocalGuild.start() as other, aiohttp.ClientSession() as session:
        _, of_other = await entered(other.link())
        _, expired = await entered(guild.link())
        guild.pass_time(seconds=LIFE_SECONDS + 1)
        _, own = await entered(guild.link())
        strangers = {
            "nobody": {}, "a session of another port": of_other, "an expired session": expired,
            "a session, the bot's way": {"Authorization": own["Authorization"].replace("Bearer", "Bot")},
            "the bot's token of another guild": {"Authorization": f"Bot {other.bot_token}"},
        }  # fmt: skip
        elsewhere = {
            "another Origin": {**own, "Origin": other.url}, "an Origin without a name": {**own, "Origin": "null"},
            "a foreign Host": {**own, "Host": "evil.example"},
            "a page of another port": {**own, "Sec-Fetch-Site": "same-site"},
            "a page of the web": {**own, "Sec-Fetch-Site": "cross-site"},
            "the bot from elsewhere": {"Authorization": f"Bot {guild.bot_token}", "Origin": other.url},
        }  # fmt: skip
        known = list(routes(guild))
        assert {"/ui/state", "/ui/link", "/api/v10/users/@me", *TALKS} <= {path for _, path in known}
        for method, path in known:
            for who, headers in strangers.items():
                got = await status(session, method, guild.url + path, headers)
                wall.held(f"{method} {path} by {who}", got in expected(method, path), str(got))
            for who, headers in elsewhere.items():
                got = await status(session, method, guild.url + path, headers)
                wall.held(f"{method} {path} by {who}", got == 403, str(got))
        assert guild.messages(guild.channel().id) == []


@pytest.mark.wall("http")
async def test_no_connection_hears_a_stranger(wall: Wall) -> None:
    async with await LocalGuild.start() as guild, await LocalGuild.start() as other, aiohttp.ClientSession() as session:
        _, own = await entered(guild.link())
        _, of_other = await entered(other.link())
        own_session, foreign = (one["Authorization"].removeprefix("Bearer ") for one in (own, of_other))
        said = [
            {},
            {"session": ""},
            {"session": None},
            {"session": foreign},
            {"session": guild.bot_token},
            [],
            "x",
            {"session": [own_session]},
        ]
        for first in said:
            async with session.ws_connect(guild.url + "/ui/live", headers=own) as live:  # a header opens nothing here
                await live.send_json(first)
                end = await live.receive(timeout=60)
                wall.held(f"live: {first}", end.type is aiohttp.WSMsgType.CLOSE and end.data == 4003, str(end))
        for token in (own_session, other.bot_token, "", f"Bearer {own_session}"):
            async with session.ws_connect(guild.gateway_url) as gateway:
                await gateway.receive()
                await gateway.send_json({"op": 2, "d": {"token": token, "intents": 1, "properties": {}}})
                end = await gateway.receive(timeout=60)
                wall.held(f"gateway: {token}", end.type is aiohttp.WSMsgType.CLOSE and end.data == 4004, str(end))
        async with session.ws_connect(guild.url + "/ui/live") as live:
            await live.send_json({"session": own_session})
            hearing = asyncio.create_task(live.receive_json(timeout=60))

            async def comes() -> bool:  # it says nothing once it is open
                await guild.post(guild.channel().id, "hello")
                return hearing.done()

            await eventually(comes)
            assert (await hearing)["d"]["content"] == "hello"


async def exchanged(session: aiohttp.ClientSession, address: str, key: object) -> tuple[int, str]:
    async with session.post(f"{address}/ui/session", json={"key": key}) as answer:
        return answer.status, await answer.text()


@pytest.mark.wall("keys")
async def test_a_link_works_once_and_a_wrong_one_says_so_and_locks_nobody_out(wall: Wall) -> None:
    async with await LocalGuild.start() as guild, await LocalGuild.start() as other, aiohttp.ClientSession() as session:
        key, good = (guild.link().partition("#key=")[2] for _ in range(2))
        assert (await exchanged(session, guild.url, key))[0] == 200
        foreign = other.link().partition("#key=")[2]
        for tried in (
            key,
            foreign,
            good + "x",
            good[:-1],
            good.swapcase(),
            "",
            None,
            7,
            [good],
            "é" * 10_000,
            "\ud800",
        ):
            code, words = await exchanged(session, guild.url, tried)
            refused = code == 400 or (code == 401 and "opens the page once" in words)
            wall.held(f"key {str(tried)[:20]!a}", refused, f"{code} {words}")
        for number in range(30):
            code, words = await exchanged(session, guild.url, f"guess {number}")
            wall.held(f"guess {number}", code in (401, 429), f"{code} {words}")
        assert code == 429
        assert "threadwright page" in words
        assert (await exchanged(session, guild.url, good))[0] == 200, "a neighbour's guesses lock nobody out"


@pytest.mark.wall("keys")
async def test_a_session_outlives_the_process_at_its_port_and_no_file_holds_what_opens_the_page(tmp_path: Path) -> None:
    async with await LocalGuild.start(state=tmp_path / "guild") as first, aiohttp.ClientSession() as session:
        unused, token, port = first.link(), first.bot_token, int(first.url.rpartition(":")[2])
        address, own = await entered(first.link())
        assert await status(session, "GET", f"{address}/ui/state", own) == 200
        files = [file for file in (tmp_path / "guild").rglob("*") if file.is_file()]
        assert {file.name for file in files} >= {"guild.sqlite3", "guild.sqlite3-wal"}
        for secret in (unused.partition("#key=")[2], token, own["Authorization"].removeprefix("Bearer ")):
            assert not [file for file in files if secret.encode() in file.read_bytes()]
        assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
        assert (tmp_path / "guild").stat().st_mode & 0o777 == 0o700
    with socket.create_server(("127.0.0.1", port)):
        async with await LocalGuild.start(state=tmp_path / "guild") as moved, aiohttp.ClientSession() as session:
            assert await status(session, "GET", f"{moved.url}/ui/state", own) == 401, (
                "who took the old port has no use of it"
            )
    async with await LocalGuild.start(state=tmp_path / "guild", port=port) as again, aiohttp.ClientSession() as session:
        assert await status(session, "GET", f"{again.url}/ui/state", own) == 200
        assert (await entered(unused))[0] == again.url


HOSTILE = """async ([guild, channel]) => {
  const told = {};
  const posting = `${guild}/ui/channels/${channel}/messages`;
  const tried = async (name, act) => { try { told[name] = String(await act()); } catch (error) { told[name] = 'refused'; } };
  const json = { method: 'POST', credentials: 'include', body: JSON.stringify({ content: 'hostile' }) };
  await tried('read', async () => (await fetch(`${guild}/ui/state`, { credentials: 'include' })).text());
  await tried('read blindly', async () =>
    (await fetch(`${guild}/ui/state`, { credentials: 'include', mode: 'no-cors' })).text());
  await tried('post', async () => (await fetch(posting, { ...json, headers: { 'Content-Type': 'application/json' } })).text());
  await tried('post blindly', async () => (await fetch(posting, { ...json, mode: 'no-cors' })).text());
  await tried('header', async () => (await fetch(posting, { ...json, headers: { Authorization: 'Bearer x' } })).text());
  await tried('exchange', async () =>
    (await fetch(`${guild}/ui/session`, { ...json, body: '{"key": "x"}', mode: 'no-cors' })).text());
  await tried('link', async () => (await fetch(`${guild}/ui/link`, { ...json, mode: 'no-cors' })).text());
  await tried('kept', () => JSON.stringify(localStorage) + document.cookie);
  await tried('socket', () => new Promise((done) => {
    const socket = new WebSocket(guild.replace('http', 'ws') + '/ui/live');
    socket.onmessage = (event) => done(event.data);
    socket.onopen = () => socket.send('{"session": "x"}');
    socket.onclose = () => done('refused');
  }));
  await tried('script', () => new Promise((done) => {
    const one = document.createElement('script');
    Object.assign(one, { type: 'module', src: `${guild}/page/net.js` });
    Object.assign(one, { onload: () => done('loaded'), onerror: () => done('refused') });
    document.body.append(one);
  }));
  const frame = (name, fill) => tried(name, () => new Promise((done) => {
    const one = document.createElement('iframe');
    one.name = name.replace(' ', '-');
    one.onload = () => { try { done(one.contentDocument.body.textContent); } catch { done('refused'); } };
    document.body.append(one);
    fill(one);
  }));
  await frame('frame', (one) => { one.src = guild + '/'; });
  await frame('form', (one) => {
    const form = document.createElement('form');
    Object.assign(form, { method: 'POST', action: posting, enctype: 'text/plain', target: one.name });
    const field = document.createElement('input');
    Object.assign(field, { name: '{"content":"hostile","x":"', value: '"}' });
    form.append(field); document.body.append(form); form.submit();
  });
  await tried('window', async () => {
    const other = window.open(guild + '/');
    if (!other) return 'refused';
    for (let n = 0; n < 100 && !other.closed; n += 1) await new Promise((go) => setTimeout(go, 20));
    return other.closed ? 'refused' : other.document.body.textContent;
  });
  return told;
}"""


@asynccontextmanager
async def hostile_page() -> AsyncIterator[tuple[str, list[str]]]:
    """A page at another port of this machine, and all that its server is sent."""
    heard: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        heard.append(f"{request.raw_path} {dict(request.headers)} {await request.text()}")
        return web.Response(text="<!doctype html><title>hostile</title><body>", content_type="text/html")

    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", heard
    finally:
        await runner.cleanup()


@pytest.mark.chromium
@NEEDS_CHROMIUM
@pytest.mark.wall("http")
async def test_a_page_at_another_port_of_this_machine_gets_nothing(wall: Wall) -> None:
    async with (
        asyncio.timeout(120), await LocalGuild.start() as guild,
        hostile_page() as (elsewhere, heard), async_playwright() as playwright,
    ):  # fmt: skip
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        person = await (context := await browser.new_context()).new_page()
        await person.goto(guild.link())
        await expect(person.get_by_text("Connected", exact=True)).to_be_visible(timeout=40_000)
        assert "key" not in person.url, "the key is used up and out of sight"
        kept = await person.evaluate("localStorage.getItem('session')")
        await guild.post(guild.channel().id, "a secret of the guild")
        page = await context.new_page()
        await page.goto(elsewhere)
        told = await page.evaluate(HOSTILE, [guild.url, str(guild.channel().id)])
        assert len(told) == 13
        for name, what in told.items():
            empty = what in ("", "refused", "{}") or "of its own" in what
            wall.held(f"hostile page: {name}", empty, what[:200])
        wall.held("its server hears nothing", not [one for one in heard if kept in one or "Cookie" in one], str(heard))
        wall.held("nothing was said for the person", len(guild.messages(guild.channel().id)) == 1)
        await page.goto(f"{guild.url}/#key=guessed")  # a link to the page with a wrong key signs nobody out
        await expect(page.get_by_text("Connected", exact=True)).to_be_visible(timeout=40_000)
        await browser.close()


@pytest.mark.chromium
@NEEDS_CHROMIUM
@pytest.mark.wall("keys")
async def test_a_browser_without_a_link_is_told_where_one_is_and_gets_in_by_one_from_another(tmp_path: Path) -> None:
    async with asyncio.timeout(120), await LocalGuild.start() as guild, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        first, second = [await (await browser.new_context()).new_page() for _ in range(2)]
        for page in (first, second):
            page.set_default_timeout(40_000)
        link = guild.link()
        await first.goto(link)
        await expect(first.get_by_text("Connected", exact=True)).to_be_visible(timeout=40_000)
        await first.screenshot(path=tmp_path / "open.png")
        await second.goto(guild.url)
        await expect(second.get_by_text("This page opens by its link.")).to_be_visible()
        await expect(second.locator(".shell")).to_be_hidden()
        await second.screenshot(path=tmp_path / "door.png")
        await second.goto(link)
        await expect(second.get_by_text("each link opens the page once")).to_be_visible(timeout=40_000)
        await first.get_by_role("button", name="Link for another browser").click()
        shown = first.get_by_label("Link", exact=True)
        await expect(shown).not_to_have_value("", timeout=40_000)  # it is fetched
        another = await shown.input_value()
        await first.screenshot(path=tmp_path / "another.png")
        await second.goto(another)
        await expect(second.get_by_text("Connected", exact=True)).to_be_visible(timeout=40_000)
        await second.evaluate("localStorage.setItem('session', 'forged')")
        await second.reload()
        await expect(second.get_by_text("You are signed out here.", exact=True)).to_be_visible(timeout=40_000)
        await browser.close()
