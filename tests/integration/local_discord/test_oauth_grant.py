"""An application learns who somebody is by OAuth2, once they allow it on the page, and nothing else."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from urllib.parse import parse_qs, urlencode, urlsplit

import aiohttp
import pytest

from bot.local_discord import LocalGuild
from tests.e2e.person import entered
from tests.integration.local_discord.harness import Raw

BACK = "http://127.0.0.1:8094/sign-in/discord/back"
VERIFIER = "v" * 43
CHALLENGE = urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()


def asked(guild: LocalGuild, **other: str) -> str:
    said = {
        "response_type": "code", "client_id": str(guild.bot_user_id), "scope": "identify", "redirect_uri": BACK, "state": "s",
        "code_challenge": CHALLENGE, "code_challenge_method": "S256",
    }  # fmt: skip
    return urlencode(said | other)


async def answered(raw: Raw, query: str, session: dict[str, str], *, authorize: bool = True) -> tuple[int, str]:
    address = f"{raw.guild.url}/ui/oauth2/authorize?{query}"
    async with raw.session.post(address, json={"authorize": authorize}, headers=session) as answer:
        body = await answer.json()
        return answer.status, str(body.get("location", body.get("message")))


async def exchanged(raw: Raw, form: dict[str, str], secret: str | None = None) -> tuple[int, dict[str, str]]:
    client = aiohttp.encode_basic_auth(str(raw.guild.bot_user_id), secret or raw.guild.client_secret)
    address = raw.guild.rest_base + "/oauth2/token"
    async with raw.session.post(address, data=form, headers={"Authorization": client}) as answer:
        return answer.status, await answer.json()


async def test_a_code_is_given_for_a_token_once_and_the_token_says_who_it_was(raw: Raw, guild: LocalGuild) -> None:
    ana = guild.add_member("ana")
    _, session = await entered(guild.link())
    status, location = await answered(raw, asked(guild), session | {"X-As": str(ana.id)})
    back = {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}
    assert (status, location.partition("?")[0], back["state"]) == (200, BACK, "s")
    form = {"grant_type": "authorization_code", "code": back["code"], "redirect_uri": BACK, "code_verifier": VERIFIER}
    assert (await exchanged(raw, form, "wrong")) == (401, {"error": "invalid_client"})
    status, token = await exchanged(raw, form)
    assert (status, token["token_type"], token["scope"]) == (200, "Bearer", "identify")
    own = {"Authorization": f"Bearer {token['access_token']}"}
    async with raw.session.get(guild.rest_base + "/users/@me", headers=own) as answer:
        user = await answer.json()
    assert (user["id"], user["username"], user.get("email")) == (str(ana.id), "ana", None)
    async with raw.session.get(guild.rest_base + f"/guilds/{guild.guild_id}", headers=own) as answer:
        assert answer.status == 401
    assert (await exchanged(raw, form))[1]["error"] == "invalid_grant"


@pytest.mark.wall("http")
async def test_what_is_not_in_order_is_refused(raw: Raw, guild: LocalGuild) -> None:
    _, session = await entered(guild.link())
    for other in (
        {"client_id": "1"}, {"scope": "identify email"}, {"response_type": "token"}, {"code_challenge_method": "plain"},
        {"redirect_uri": "https://evil.test/"}, {"redirect_uri": "http://127.0.0.1.evil.test/"}, {"redirect_uri": "http://["},
        {"redirect_uri": "javascript:x"},
    ):  # fmt: skip
        assert (await answered(raw, asked(guild, **other), session))[0] == 400, other
    assert (await answered(raw, asked(guild), {}))[0] == 401
    denied = await answered(raw, asked(guild), session, authorize=False)
    assert denied[1].startswith(BACK + "?error=access_denied")
    for wrong in (
        {"code_verifier": "w" * 43},
        {"code_verifier": "v"},
        {"redirect_uri": BACK + "2"},
        {"grant_type": "password"},
    ):
        code = (await answered(raw, asked(guild), session))[1].partition("code=")[2].partition("&")[0]
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK, "code_verifier": VERIFIER}
        assert (await exchanged(raw, form | wrong))[0] == 400, wrong
