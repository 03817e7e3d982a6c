"""The conformance run finds no difference where there is none, each one where there are some, and tidies up.

Discord is not to be had here: a second local guild stands for it, over sockets, and a server in front of one that
alters what goes through.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from bot.local_discord import (
    Dropped,
    ErrorAnswer,
    LocalGuild,
    Rule,
    SessionLost,
)
from tests.conformance.__main__ import table
from tests.conformance.comparing import Row, compared
from tests.conformance.sequence import STEPS, TIDYING
from tests.conformance.target import Address, Unreachable

ROOT = Path(__file__).parents[3]
Alter = Callable[[str, Any, dict[str, str]], int | None]


def at(guild: LocalGuild, base: str | None = None) -> Address:
    return Address("guild", base or guild.rest_base, guild.bot_token, str(guild.guild_id))


@contextlib.asynccontextmanager
async def altering(guild: LocalGuild, alter: Alter) -> AsyncIterator[str]:
    """A server in front of the guild's REST API that passes everything on and alters the answers."""
    async with aiohttp.ClientSession() as session:

        async def pass_on(request: web.Request) -> web.Response:
            url = guild.rest_base + request.path_qs.removeprefix("/api/v10")
            kept = {k: v for k, v in request.headers.items() if k in ("Authorization", "Content-Type")}
            async with session.request(request.method, url, data=await request.read(), headers=kept) as got:
                raw = await got.read()
                body = await got.json() if raw else None
                headers = {k: v for k, v in got.headers.items() if k.startswith("X-") or k in ("Retry-After", "Via")}
                status = alter(f"{request.method} {request.path}", body, headers) or got.status
            if body is None:
                return web.Response(status=status, headers=headers)
            return web.Response(body=json.dumps(body), status=status, headers=headers, content_type="application/json")

        app = web.Application()
        app.router.add_route("*", "/{rest:.*}", pass_on)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}/api/v10"
        finally:
            await runner.cleanup()


def found(rows: list[Row]) -> dict[str, tuple[str, ...]]:
    return {row.what: row.differences for row in rows if row.differences}


def is_tidy(guild: LocalGuild) -> bool:
    return [c.name for c in guild.state.channels.values()] == ["general"]


async def test_two_local_guilds_do_not_differ_and_nothing_is_left_of_the_run(guild: LocalGuild) -> None:
    async with await LocalGuild.start() as other:
        rows = await compared(at(guild), at(other), settle=0.05)
        assert found(rows) == {}
        assert [r.what for r in rows] == ["READY and GUILD_CREATE", *(s.what for s in (*STEPS, *TIDYING))]
        assert is_tidy(guild)
        assert is_tidy(other)
        assert table(rows)[-1] == f"{len(rows)} of {len(rows)} steps are the same."


async def test_each_way_in_which_a_server_may_deviate_is_found_where_it_is(guild: LocalGuild) -> None:
    def alter(request: str, body: Any, headers: dict[str, str]) -> int | None:
        if request.endswith("/messages") and request.startswith("POST") and "id" in body:
            body["pinned"] = "no"
            del body["tts"]
            body["_of_our_own"] = 1
        if request.endswith("/users/@me"):
            headers.pop("X-RateLimit-Bucket", None)
        if request.endswith("/roles"):
            body[0]["id"] = int(body[0]["id"])
        if isinstance(body, dict) and body.get("code") == 160004:
            body["code"] = 160005
        return 418 if request.endswith("/typing") else None

    async with await LocalGuild.start() as other, altering(other, alter) as base:
        other.misbehave(Rule("MESSAGE_REACTION_ADD", Dropped()))
        slow_event = "tests.conformance.target.SECONDS"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(slow_event, 1.0)
            rows = await compared(at(other, base), at(guild), settle=0.05)
        differences = found(rows)
        assert differences["a message"] == ("pinned: string / boolean", "tts: missing / there")
        assert differences["the bot"] == ("header x-ratelimit-bucket: missing / there",)
        assert differences["its roles"] == ("[].id: number / snowflake",)
        assert differences["a second one"] == ("code: 160005 / 160004",)
        assert differences["typing"] == ("status: 418 / 204",)
        assert differences["a reaction"] == ("events: none / MESSAGE_REACTION_ADD",)
        assert "the history" not in differences
        assert any("_of_our_own: there / missing" in line for line in table(rows)), "undocumented: noted"
        assert is_tidy(other)


async def test_a_run_that_breaks_off_tidies_up_as_well(guild: LocalGuild) -> None:
    async with await LocalGuild.start() as other:
        limited = ErrorAnswer(429, 0, "wait")
        other.misbehave(Rule("POST */threads", limited, times=None))

        def endless(_: str, body: Any, __: dict[str, str]) -> int | None:
            if isinstance(body, dict) and body.get("message") == "wait":
                body["retry_after"] = 0.0
            return None

        async with altering(other, endless) as base:
            with pytest.raises(Unreachable, match="in a row"):
                await compared(at(guild), at(other, base), settle=0.05)
        assert is_tidy(guild)
        assert is_tidy(other)


async def test_what_the_bot_may_not_do_there_is_said_and_ends_the_run(guild: LocalGuild) -> None:
    async with await LocalGuild.start() as other:
        other.misbehave(Rule("POST /guilds/*/channels", ErrorAnswer(403, 50013, "Missing Permissions"), times=None))
        with pytest.raises(Unreachable, match=r"refuses a new channel .*50013.*must be allowed"):
            await compared(at(other), at(guild))
        assert is_tidy(guild)


async def test_a_token_that_is_refused_is_said_in_one_line(guild: LocalGuild) -> None:
    async with await LocalGuild.start() as other:
        wrong = Address("guild", other.rest_base, "wrong", str(other.guild_id))
        with pytest.raises(Unreachable, match="Check DISCORD_TOKEN"):
            await compared(wrong, at(guild))


async def run(*arguments: str, **environment: str) -> tuple[int | None, str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.conformance", *arguments, cwd=ROOT, env=os.environ | environment,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, errors = await asyncio.wait_for(process.communicate(), 90)
    return process.returncode, out.decode(), errors.decode()


async def test_the_command_prints_a_table_and_exits_with_1_if_there_are_differences(guild: LocalGuild) -> None:
    assert (await run(DISCORD_TOKEN="", GUILD_ID=""))[0] == 2
    code, _, errors = await run("--base", "http://127.0.0.1:9", DISCORD_TOKEN="t", GUILD_ID="1")
    assert (code, errors.count("\n")) == (2, 1), "no traceback"
    given = {"DISCORD_TOKEN": guild.bot_token, "GUILD_ID": str(guild.guild_id)}
    guild.misbehave(Rule("GET */thread-members", ErrorAnswer(403, 50001, "Missing Access")))
    code, out, errors = await run("--base", guild.rest_base, "--limits", "wide", **given)
    assert (code, errors) == (1, "")
    assert "status: 403 / 200" in out
    assert "differs  its members" in out


async def test_a_gateway_that_closes_at_once_is_told(guild: LocalGuild) -> None:
    async with await LocalGuild.start() as other:
        other.misbehave(Rule("READY", SessionLost(close_code=4004)))
        with pytest.raises(Unreachable, match="4004"):
            await compared(at(other), at(guild))
