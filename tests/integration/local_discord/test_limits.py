"""Every limit of the REST API, met by a client that does not keep to it.

https://discord.com/developers/docs/topics/rate-limits
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.local_discord import (
    DISCORD,
    WIDE,
    Limit,
    LocalGuild,
    Permission,
)
from tests.integration.local_discord.harness import Raw
from tests.integration.local_discord.shapes import keeps_to


async def until_refused(raw: Raw, method: str, path: str, body: object = None, most: int = 60) -> tuple[int, Any, Any]:
    """How many requests got through, and the first refusal with its headers."""
    for n in range(most):
        status, answer, response = await raw(method, path, body)
        if status == 429:
            return n, answer, response.headers
    raise AssertionError(f"{most} requests got through")


def slow(number: int) -> Limit:
    """So many, and no more while the test runs."""
    return Limit(number, 3600.0)


async def test_the_51st_request_of_a_second_is_refused_globally_and_says_nothing_of_a_bucket(
    raw: Raw, guild: LocalGuild
) -> None:
    """#global-rate-limit: whatever the route; the documented answer carries no bucket"""
    guild.allow_requests(replace(DISCORD, everything=slow(50)))
    for n in range(50):
        path = f"/channels/{guild.channel().id}" if n % 2 else "/users/@me"
        assert (await raw("GET", path))[0] == 200
    status, answer, response = await raw("POST", raw.messages, {"content": "x"})  # a route with a bucket
    assert (status, answer["global"]) == (429, True)
    keeps_to(answer, "rate_limited")
    assert response.headers["X-RateLimit-Global"] == "true"
    assert response.headers["X-RateLimit-Scope"] == "global"
    assert int(response.headers["Retry-After"]) >= answer["retry_after"]
    assert "X-RateLimit-Bucket" not in response.headers
    assert DISCORD.everything == WIDE.everything == Limit(50, 1.0), "the published number, always in force"


async def test_interaction_endpoints_are_not_bound_to_the_global_limit(raw: Raw, guild: LocalGuild) -> None:
    guild.allow_requests(replace(DISCORD, everything=slow(1)))
    path = f"/applications/{guild.bot_user_id}/commands"
    await raw("PUT", path, [{"name": "go", "description": "d"}])
    assert (await raw("GET", "/users/@me"))[0] == 429
    asked = guild.interaction(await guild.slash(guild.channel().id, "go"))
    callback = f"/interactions/{asked.id}/{asked.token}/callback"
    status, _, response = await raw("POST", callback, {"type": 4, "data": {"content": "x"}})
    assert (status, "X-RateLimit-Bucket" in response.headers) == (204, False)
    hook = f"/webhooks/{guild.bot_user_id}/{asked.token}"
    status, _, response = await raw("POST", hook, {"content": "more"})
    assert (status, response.headers["X-RateLimit-Limit"]) == (200, "5")


async def test_six_messages_in_a_row_meet_the_bucket_of_their_channel_and_no_other(raw: Raw, guild: LocalGuild) -> None:
    """Top-level resources count apart, under one bucket name; 429s carry every header."""
    messages = replace(DISCORD.routes[0], limit=slow(DISCORD.routes[0].limit.number))
    guild.allow_requests(replace(DISCORD, routes=(messages, *DISCORD.routes[1:])))
    sent, answer, headers = await until_refused(raw, "POST", raw.messages, {"content": "x"})
    assert (sent, guild.refused) == (5, 1)
    keeps_to(answer, "rate_limited")
    assert (answer["global"], headers["X-RateLimit-Scope"], headers["X-RateLimit-Remaining"]) == (False, "user", "0")
    assert 3500 < float(headers["X-RateLimit-Reset-After"]) <= 3600
    assert float(headers["Retry-After"]) > 0
    assert headers["Via"], "without it a client takes this for a ban"
    other = guild.add_channel("other")
    status, _, elsewhere = await raw("POST", f"/channels/{other.id}/messages", {"content": "x"})
    assert (status, elsewhere.headers["X-RateLimit-Remaining"]) == (200, "4")
    assert elsewhere.headers["X-RateLimit-Bucket"] == headers["X-RateLimit-Bucket"]
    guild.pass_time(hours=1)
    assert (await raw("POST", raw.messages, {"content": "x"}))[0] == 200


async def test_reactions_share_a_bucket_with_taking_them_back_and_reading_has_none(raw: Raw, guild: LocalGuild) -> None:
    reactions = replace(DISCORD.routes[3], limit=slow(1))
    guild.allow_requests(replace(DISCORD, routes=(reactions, *DISCORD.routes)))
    sent = await guild.post(guild.channel().id, "x")
    path = f"{raw.messages}/{sent.id}/reactions/👍/@me"
    assert (await raw("PUT", path))[0] == 204
    status, _, response = await raw("DELETE", path)
    assert (status, response.headers["X-RateLimit-Limit"]) == (429, "1")
    _, _, response = await raw("GET", f"{raw.messages}/{sent.id}")
    assert "X-RateLimit-Bucket" not in response.headers, "most routes say nothing of a bucket"


async def test_too_many_invalid_requests_are_banned_at_the_edge_in_html(raw: Raw, guild: LocalGuild) -> None:
    """#invalid-request-limit-aka-cloudflare-bans: 401, 403 and 429 count, what others used up does not"""
    assert WIDE.invalid == DISCORD.invalid == Limit(10_000, 600.0)
    guild.allow_requests(replace(WIDE, invalid=Limit(4, 600.0)))
    thread = await guild.create_thread(guild.channel().id, "t")
    for n in range(5):
        await raw("PATCH", f"/channels/{thread.id}", {"name": f"n{n}"})  # the last three: 429, shared
    guild.deny(guild.channel().id, Permission.SEND_MESSAGES)
    await raw("GET", "/users/@me", token="wrong")
    await raw("POST", raw.messages, {"content": "x"})
    await raw("GET", f"/channels/{10**18}")  # 404 does not count
    await raw("GET", "/users/@me", token="wrong")
    assert (await raw("GET", "/users/@me"))[0] == 200, "three so far"
    assert (await raw("POST", raw.messages, {"content": "x"}))[0] == 403
    status, _, response = await raw("GET", "/users/@me")
    assert (status, response.content_type, "Via" in response.headers) == (429, "text/html", False)
    assert 500 < int(response.headers["Retry-After"]) <= 600
    guild.pass_time(minutes=10)
    assert (await raw("GET", "/users/@me"))[0] == 200


async def test_messages_over_an_hour_old_take_few_edits_then_30046(raw: Raw, guild: LocalGuild) -> None:
    sent = await raw.post(content="x")
    path = f"{raw.messages}/{sent['id']}"
    for n in range(10):
        assert (await raw("PATCH", path, {"content": f"young {n}"}))[0] == 200
    guild.pass_time(minutes=61)
    edited, answer, headers = await until_refused(raw, "PATCH", path, {"content": "old"})
    assert edited == 3
    keeps_to(answer, "rate_limited")
    assert answer["code"] == 30046
    assert int(headers["X-RateLimit-Remaining"]) > 0, "the bucket is not what is empty"
    fresh = await raw.post(content="young")
    assert (await raw("PATCH", f"{raw.messages}/{fresh['id']}", {"content": "y"}))[0] == 200
    guild.pass_time(seconds=21)
    assert (await raw("PATCH", path, {"content": "again"}))[0] == 200


async def test_two_titles_in_ten_minutes_and_then_a_third(raw: Raw, guild: LocalGuild) -> None:
    thread = await guild.create_thread(guild.channel().id, "t")
    path = f"/channels/{thread.id}"
    for n in range(2):
        assert (await raw("PATCH", path, {"name": f"name {n}"}))[0] == 200
    status, answer, response = await raw("PATCH", path, {"name": "name 3"})
    assert (status, response.headers["X-RateLimit-Scope"]) == (429, "shared")
    assert 500 < answer["retry_after"] <= 600
    assert (await raw("PATCH", path, {"auto_archive_duration": 60}))[0] == 200, "only titles are counted"
    guild.pass_time(minutes=10)
    assert (await raw("PATCH", path, {"name": "name 3"}))[0] == 200


@pytest.mark.parametrize("in_guild", [False, True])
async def test_200_creates_of_commands_a_day_then_30034(raw: Raw, guild: LocalGuild, in_guild: bool) -> None:
    """interactions/application-commands#registering-a-command; what is there already is no create"""
    guild.limit_requests(1_000)
    scope = f"/guilds/{guild.guild_id}" if in_guild else ""
    path = f"/applications/{guild.bot_user_id}{scope}/commands"
    for batch in "ab":
        commands = [{"name": f"{batch}{n}", "description": "d"} for n in range(100)]
        assert (await raw("PUT", path, commands))[0] == 200
    assert (await raw("PUT", path, commands))[0] == 200, "the same once more"
    status, answer, _ = await raw("POST", path, {"name": "b1", "description": "new words"})
    assert (status, answer["description"]) == (200, "new words")
    assert (await raw("PUT", path, []))[0] == 200
    status, answer, _ = await raw("POST", path, {"name": "b1", "description": "d"})
    assert (status, answer["code"]) == (400, 30034)
    keeps_to(answer, "error")
    assert (await raw("GET", path))[1] == []
    guild.pass_time(hours=24)
    status, made, _ = await raw("POST", path, {"name": "b1", "description": "d"})
    assert (status, made["name"]) == (201, "b1"), "201 for what is new"


async def test_the_101st_command_is_30032_however_it_comes(raw: Raw, guild: LocalGuild) -> None:
    path = f"/applications/{guild.bot_user_id}/commands"
    commands = [{"name": f"c{n}", "description": "d"} for n in range(101)]
    assert (await raw("PUT", path, commands))[1]["code"] == 30032
    assert (await raw("PUT", path, commands[:100]))[0] == 200
    assert (await raw("POST", path, commands[100]))[1]["code"] == 30032


async def test_a_quiet_thread_archives_after_its_time_and_refuses_then(raw: Raw, guild: LocalGuild) -> None:
    """topics/threads#active-archived-threads"""
    _, thread, _ = await raw(
        "POST", f"/channels/{guild.channel().id}/threads", {"name": "t", "type": 11, "auto_archive_duration": 60}
    )
    path = f"/channels/{thread['id']}"
    guild.pass_time(minutes=50)
    assert (await raw("POST", path + "/messages", {"content": "x"}))[0] == 200
    guild.pass_time(minutes=50)
    assert (await raw("GET", path))[1]["thread_metadata"]["archived"] is False
    assert (await raw("PATCH", path, {"auto_archive_duration": 1440}))[0] == 200
    assert (await raw("PATCH", path, {"auto_archive_duration": 60}))[0] == 200, "that counts as activity"
    guild.pass_time(minutes=50)
    assert (await raw("GET", path))[1]["thread_metadata"]["archived"] is False
    guild.pass_time(minutes=11)
    assert (await raw("GET", path))[1]["thread_metadata"]["archived"] is True
    assert (await raw("POST", path + "/messages", {"content": "x"}))[1]["code"] == 50083
    assert (await raw("PATCH", path, {"archived": False}))[0] == 200
    assert (await raw("POST", path + "/messages", {"content": "x"}))[0] == 200
