"""Pages elsewhere on the web cannot reach the guild: DNS rebinding, CSRF, foreign sockets."""

from __future__ import annotations

import aiohttp
import pytest

from bot.local_discord import LocalGuild
from tests.e2e.person import entered
from tests.integration.local_discord.harness import Raw


@pytest.mark.wall("http")
@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "[", "10.0.0.1"])
@pytest.mark.parametrize("path", ["/", "/ui/state", "/ui/live", "/gateway", "/api/v10/users/@me", "/attachments/1/1/a"])
async def test_a_foreign_host_is_refused_everywhere(raw: Raw, host: str, path: str) -> None:
    headers = {"Host": host, "Authorization": f"Bot {raw.guild.bot_token}"}
    async with raw.session.get(raw.guild.url + path, headers=headers) as response:
        assert response.status == 403


@pytest.mark.wall("http")
@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://{own}", "http://localhost"]
)
async def test_a_foreign_origin_is_refused_even_with_the_session(raw: Raw, guild: LocalGuild, origin: str) -> None:
    address, session = await entered(guild.link())
    headers = {"Origin": origin.format(own=address.removeprefix("http://")), **session}
    async with raw.session.post(posting(guild), json={"content": "x"}, headers=headers) as response:
        assert response.status == 403
    with pytest.raises(aiohttp.WSServerHandshakeError):
        await raw.session.ws_connect(guild.url + "/ui/live", headers=headers)
    assert guild.messages(guild.channel().id) == []


def posting(guild: LocalGuild) -> str:
    return f"{guild.url}/ui/channels/{guild.channel().id}/messages"


@pytest.mark.wall("http")
async def test_the_page_sets_no_cookie_and_runs_its_own_scripts_only(raw: Raw) -> None:
    async with raw.session.get(raw.guild.url + "/") as response:
        assert "Set-Cookie" not in response.headers
        assert "script-src 'self'" in response.headers["Content-Security-Policy"]
        assert response.headers["X-Frame-Options"] == "DENY"
        assert response.headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.wall("http")
async def test_without_a_session_nothing_happens(raw: Raw, guild: LocalGuild) -> None:
    _, session = await entered(guild.link())
    said = session["Authorization"]
    wrong = (
        "",
        said + "x",
        said[:-1],
        said.removeprefix("Bearer "),
        f"Bot {guild.bot_token}",
        f"Bearer {guild.bot_token}",
    )
    for one in wrong:
        async with raw.session.post(posting(guild), json={"content": "x"}, headers={"Authorization": one}) as response:
            assert response.status == 401, one
    async with raw.session.get(guild.url + "/ui/state", headers={"Cookie": f"session={said}"}) as response:
        assert response.status == 401
    assert guild.messages(guild.channel().id) == []
    async with raw.session.post(posting(guild), json={"content": "x"}, headers=session) as response:
        assert response.status == 200


@pytest.mark.wall("http")
async def test_it_listens_on_loopback_only() -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        with pytest.raises(ValueError, match="loopback"):
            await LocalGuild.start(host=host)


@pytest.mark.wall("http")
async def test_paths_out_of_the_page_folder_are_not_served(raw: Raw, guild: LocalGuild) -> None:
    for path in ("/page/../ui.py", "/page/%2e%2e/ui.py", "/page/..%2fui.py", "/page/index.html", "/page/none.js"):
        async with raw.session.get(guild.url + path) as response:
            assert response.status == 404
