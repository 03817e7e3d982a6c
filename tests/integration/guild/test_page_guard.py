"""Pages elsewhere on the web cannot reach the guild: DNS rebinding, CSRF, foreign sockets."""

from __future__ import annotations

import aiohttp
import pytest

from bot.guild import LocalGuild
from bot.guild.ui import PAGE_HEADER
from tests.integration.guild.harness import Raw


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "[", "10.0.0.1"])
@pytest.mark.parametrize("path", ["/", "/ui/state", "/ui/live", "/gateway", "/api/v10/users/@me", "/attachments/1/1/a"])
async def test_a_foreign_host_is_refused_everywhere(raw: Raw, host: str, path: str) -> None:
    headers = {"Host": host, "Authorization": f"Bot {raw.guild.bot_token}"}
    async with raw.session.get(raw.guild.url + path, headers=headers) as response:
        assert response.status == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://{own}", "http://localhost"]
)
async def test_a_foreign_origin_is_refused_even_with_the_session(raw: Raw, guild: LocalGuild, origin: str) -> None:
    cookie = await session_cookie(raw)
    own = guild.url.removeprefix("http://")
    headers = {"Origin": origin.format(own=own), "Cookie": cookie, PAGE_HEADER: "page"}
    async with raw.session.post(posting(guild), json={"content": "x"}, headers=headers) as response:
        assert response.status == 403
    with pytest.raises(aiohttp.WSServerHandshakeError):
        await raw.session.ws_connect(guild.url + "/ui/live", headers=headers)
    assert guild.messages(guild.channel().id) == []


def posting(guild: LocalGuild) -> str:
    return f"{guild.url}/ui/channels/{guild.channel().id}/messages"


async def session_cookie(raw: Raw) -> str:
    """The cookie that the page gets, with its protections."""
    async with raw.session.get(raw.guild.url + "/") as response:
        header = response.headers["Set-Cookie"]
        assert "HttpOnly" in header
        assert "SameSite=Strict" in header
        assert "script-src 'self'" in response.headers["Content-Security-Policy"]
        return header.split(";")[0]


async def test_without_session_or_page_header_nothing_happens(raw: Raw, guild: LocalGuild) -> None:
    cookie = await session_cookie(raw)
    raw.session.cookie_jar.clear()
    for headers in ({}, {PAGE_HEADER: "page"}, {"Cookie": cookie}, {"Cookie": cookie + "x", PAGE_HEADER: "page"}):
        async with raw.session.post(posting(guild), json={"content": "x"}, headers=headers) as response:
            assert response.status == 403
    async with raw.session.get(guild.url + "/ui/state") as response:
        assert response.status == 403
    assert guild.messages(guild.channel().id) == []
    headers = {"Cookie": cookie, PAGE_HEADER: "page"}
    async with raw.session.post(posting(guild), json={"content": "x"}, headers=headers) as response:
        assert response.status == 200


async def test_it_listens_on_loopback_only() -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        with pytest.raises(ValueError, match="loopback"):
            await LocalGuild.start(host=host)


async def test_paths_out_of_the_page_folder_are_not_served(raw: Raw, guild: LocalGuild) -> None:
    for path in ("/page/../ui.py", "/page/%2e%2e/ui.py", "/page/..%2fui.py", "/page/index.html", "/page/none.js"):
        async with raw.session.get(guild.url + path) as response:
            assert response.status == 404
