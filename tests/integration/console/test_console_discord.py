"""Signing in to the console with Discord: the local one, over real sockets, as a person does it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from agentic.ports.runtime import SessionRow
from bot.console.access import sight
from bot.console.access.entrance import NoWayIn
from bot.console.access.viewer import Viewer
from bot.console.console_context import Console
from bot.console.logs import followers
from bot.console.pages import live
from bot.console.pages.live import NOT_SEEN, SIGNED_OUT
from bot.local_discord import ErrorAnswer, LocalGuild, Rule
from tests.e2e.person import entered
from tests.integration.console import logs
from tests.integration.console.doors import EXECUTION, SECRET_WORDS, TOKEN, Answer, Door, ToldChannel, open_door
from tests.integration.console.grounds import IN_A_BROWSER, chromium
from tests.integration.local_discord.access import faults
from tests.waiting import eventually

__all__ = ["chromium"]

pytestmark = pytest.mark.asyncio(loop_scope="module")

TASK = f"/t/{logs.THREAD}/{EXECUTION}"


@pytest_asyncio.fixture(loop_scope="module")
async def guild() -> AsyncIterator[LocalGuild]:
    async with await LocalGuild.start() as one:
        yield one


@pytest_asyncio.fixture(loop_scope="module")
async def door(guild: LocalGuild, tmp_path: Path) -> AsyncIterator[Door]:
    """A console that others reach, at which people of this machine sign in with the guild, others by the token."""
    async with open_door(tmp_path, "0.0.0.0", **with_discord(guild), console_token=TOKEN) as one:
        yield one


def with_discord(guild: LocalGuild) -> dict[str, str]:
    """Settings by which people sign in with it."""
    return {
        "discord_api": guild.rest_base,
        "DISCORD_CLIENT_ID": str(guild.bot_user_id),
        "DISCORD_CLIENT_SECRET": guild.client_secret,
    }


async def allowed(guild: LocalGuild, to: str, member: int) -> str:
    """Authorize at the page of the local Discord; returns where the browser is sent back to, as a path."""
    _, session = await entered(guild.link())
    there = Door("127.0.0.1", urlsplit(guild.url).port or 0, Path(), ToldChannel())
    query = urlsplit(to).query
    own = session | {"Content-Type": "application/json", "Origin": guild.url, "X-As": str(member)}
    answer = await there.ask(f"/ui/oauth2/authorize?{query}", "POST", own, b'{"authorize": true}')
    back = urlsplit(answer.text.partition('"location":"')[2].partition('"')[0])
    return f"{back.path}?{back.query}"


@pytest.mark.chromium
@IN_A_BROWSER[1]
async def test_somebody_signs_in_as_who_they_are_and_sees_what_they_see_there(
    door: Door, guild: LocalGuild, chromium: Browser
) -> None:
    page = await chromium.new_page()
    page.set_default_timeout(40_000)
    ana = guild.add_member("ana")
    door.channel.seen = {(str(ana.id), logs.THREAD)}
    await page.goto(guild.link())
    await expect(page.get_by_text("Local server").first).to_be_visible()
    await eventually(lambda: page.evaluate("localStorage.getItem('session')"))
    await page.goto(f"http://{door.name}{TASK}#turn-1")
    await page.get_by_role("link", name="Sign in with Discord").click()
    await expect(page.get_by_role("heading", name="Threadwright asks who you are")).to_be_visible()
    assert await faults(page) == []
    await page.get_by_role("button", name="Cancel").click()
    await expect(page.get_by_role("alert")).to_contain_text("not allowed")
    await page.get_by_role("link", name="Sign in with Discord").click()
    await page.get_by_label("Sign in as").select_option("ana")
    await page.get_by_role("button", name="Authorize").click()
    await page.wait_for_url(f"**{TASK}#turn-1")
    await expect(page.get_by_text(SECRET_WORDS).first).to_be_visible()
    await page.get_by_role("button", name="Sign out").click()
    await page.goto(f"http://{door.name}{TASK}")
    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    await page.close()


@pytest.mark.chromium
@IN_A_BROWSER[1]
async def test_a_page_that_is_not_kept_up_to_date_says_why_and_comes_back_where_it_can(
    door: Door, chromium: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sight, "SECONDS", 0.0)
    monkeypatch.setattr(live, "BEAT_SECONDS", 0.05)
    context = await chromium.new_context()
    for name, value in (await door.signed_in()).cookies.items():
        await context.add_cookies([{"name": name, "value": value, "url": f"http://{door.name}"}])
    page, other = [await context.new_page() for _ in range(2)]
    page.set_default_timeout(40_000)
    await page.clock.install()
    told, stream = page.locator("#live-state"), page.locator("#live")
    monkeypatch.setattr(followers, "PAGES", 0)
    await page.goto(f"http://{door.name}{TASK}")
    await expect(told).to_contain_text("If many are open, close some; this one tries again by itself.")
    monkeypatch.setattr(followers, "PAGES", 400)
    await page.clock.run_for(10_000)
    await expect(told).to_be_empty()
    monkeypatch.setattr(Console, "sees", no_longer)
    await expect(told).to_have_text(NOT_SEEN)
    await expect(stream).to_have_count(0)
    monkeypatch.undo()
    for each in (page, other):
        await each.goto(f"http://{door.name}{TASK}/logs")
        await expect(each.locator("#live")).to_have_count(1)
    await other.get_by_role("button", name="Sign out").click()
    await expect(told).to_have_text(SIGNED_OUT)
    await expect(stream).to_have_count(0)
    await context.close()


async def no_longer(console: Console, viewer: Viewer, session: SessionRow | None) -> bool:
    return False


@pytest.mark.wall("http")
async def test_a_sign_in_belongs_to_the_browser_that_began_it(door: Door, guild: LocalGuild) -> None:
    eve = guild.add_member("eve")
    begun = await door.ask(f"/sign-in/discord?to={TASK}")
    asked = {name: values[0] for name, values in parse_qs(urlsplit(begun.headers["location"]).query).items()}
    assert (asked["scope"], asked["code_challenge_method"], len(asked["code_challenge"])) == ("identify", "S256", 43)
    assert "HttpOnly" in begun.headers["set-cookie"]
    back = await allowed(guild, begun.headers["location"], eve.id)
    cookie = door.jar.copy()
    for jar in ({}, {name: "x" + value for name, value in cookie.items()}, dict.fromkeys(cookie, "x" * 5_000)):
        door.jar = jar
        answer = await door.ask(back)
        assert (answer.status, "session" in str(answer.cookies)) == (403, False)
    door.jar = cookie.copy()
    for wrong in ("?state=" + asked["state"], "?code=x", "?", f"?code=%00&state={asked['state']}", "?state=%ff&code=x"):
        answer = await door.ask("/sign-in/discord/back" + wrong)
        assert (answer.status, "session" in str(answer.cookies)) == (403, False)
        door.jar = cookie.copy()
    verifier = cookie[next(iter(cookie))].split(".")[1]
    door.jar = {name: value.replace(verifier, "v" * 64) for name, value in cookie.items()}
    assert (await door.ask(back)).status == 403, "the code of another browser, as one that was stolen is tried"
    begun = await door.ask(f"/sign-in/discord?to={TASK}")
    entered_by = await door.ask(await allowed(guild, begun.headers["location"], eve.id))
    assert (entered_by.status, entered_by.headers["location"]) == (303, TASK)
    assert (await door.ask(TASK)).status == 404, "eve may see nothing of it"
    assert [person for person, _ in door.channel.asked] == [str(eve.id)]


async def test_a_discord_that_fails_signs_nobody_in(door: Door, guild: LocalGuild) -> None:
    for rule in ("POST /oauth2/token", "GET /users/@me"):
        begun = await door.ask("/sign-in/discord")
        back = await allowed(guild, begun.headers["location"], guild.add_member("ben").id)
        if rule.startswith("GET"):
            guild.misbehave(Rule(rule, ErrorAnswer(500, 0, "x")))
        else:
            back = back.replace("code=", "code=x")
        answer = await door.ask(back)
        assert answer.status == 403
        assert "Discord did not accept this sign-in" in answer.text
        assert (await door.ask("/")).status == 303


async def test_the_discord_of_this_machine_is_no_way_in_for_other_machines(
    door: Door, guild: LocalGuild, tmp_path_factory: pytest.TempPathFactory
) -> None:
    def offers(answer: Answer) -> list[bool]:
        return [words in answer.text for words in ("Sign in with Discord", 'name="token"')]

    home = tmp_path_factory.mktemp("home")
    with pytest.raises(
        NoWayIn, match=r"reach the local Discord.* Set THREADWRIGHT_CONSOLE_TOKEN \(make.*\), or let it"
    ):
        async with open_door(home, "0.0.0.0", **with_discord(guild)):
            pass
    async with open_door(
        home, "0.0.0.0", **with_discord(guild) | {"discord_api": "https://discord.com/api/v10"}
    ) as one:
        assert offers(await one.ask("/sign-in")) == [True, False]
    assert offers(await door.ask("/sign-in")) == [True, True], "by this machine"
    url = "https://console.example.org"
    async with open_door(home, **with_discord(guild), console_token=TOKEN, console_url=url) as one:
        for host in (one.name, "console.example.org"):
            assert offers(await one.ask("/sign-in", headers={"Host": host})) == [False, True]
            assert (await one.ask("/sign-in/discord", headers={"Host": host})).status == 404
