"""Bots written with other libraries, unpatched, each in a process of its own; and what each of them needs of the guild."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import sys
from pathlib import Path
from urllib.parse import urlencode

import pytest

from bot.local_discord import LocalGuild, RateLimited, Rule
from tests.integration.local_discord.harness import Raw
from tests.integration.local_discord.libraries.scenario import converse, running
from tests.integration.local_discord.wires import Wires

BOTS = Path(__file__).parent / "libraries"


@pytest.mark.parametrize("name", ["hikari", "disnake"])
async def test_a_bot_of_another_library_works_unpatched(name: str) -> None:
    """The five others: `python -m tests.integration.local_discord.libraries`."""
    async with (
        await LocalGuild.start() as guild,
        running(guild, [sys.executable, str(BOTS / f"{name}_bot.py")]) as bot,
        asyncio.TaskGroup() as tasks,
    ):
        ended = tasks.create_task(bot.wait())
        await converse(guild)
        assert not ended.done(), "the bot gave up"
        ended.cancel()


def test_the_token_is_in_the_shape_of_discords_and_says_whose_it_is(guild: LocalGuild) -> None:
    """reference#authentication; hikari reads the application's id off it"""
    assert re.fullmatch(r"[\w-]{24,28}\.[\w-]{6}\.[\w-]{38}", guild.bot_token)
    number = guild.bot_token.partition(".")[0]
    assert base64.urlsafe_b64decode(number + "=" * (-len(number) % 4)).decode() == str(guild.bot_user_id)


async def test_frames_may_be_binary_and_ready_lists_no_private_channels(wires: Wires, guild: LocalGuild) -> None:
    """hikari sends bytes; eris goes through private_channels without asking whether it is there"""
    wire = await wires.open()
    properties = {"os": "linux", "browser": "t", "device": "t"}
    identify = {"op": 2, "d": {"token": guild.bot_token, "intents": 1, "properties": properties}}
    await wire.ws.send_bytes(json.dumps(identify).encode())
    ready = await wire.event("READY")
    assert ready["private_channels"] == []
    await wire.ws.send_bytes(b"\xff\xfe")
    assert await wire.close_code() == 4002


async def test_a_message_may_come_as_a_form(raw: Raw, guild: LocalGuild) -> None:
    """py-cord sends payload_json without files so"""
    form = urlencode({"payload_json": json.dumps({"content": "told & formed"})})
    for text, expected in ((form, 200), ("payload_json=%7B", 400), ("other=1", 400)):
        headers = {"Authorization": f"Bot {guild.bot_token}", "Content-Type": "application/x-www-form-urlencoded"}
        async with raw.session.post(guild.rest_base + raw.messages, data=text, headers=headers) as response:
            assert response.status == expected
    assert [m.content for m in guild.messages(guild.channel().id)] == ["told & formed"]


async def test_there_are_no_default_sounds(raw: Raw) -> None:
    """resources/soundboard#list-default-soundboard-sounds; py-cord asks for them before it is ready"""
    status, answer, _ = await raw("GET", "/soundboard-default-sounds")
    assert (status, answer) == (200, [])


async def test_a_429_that_is_told_to_come_has_the_headers_of_its_bucket(raw: Raw, guild: LocalGuild) -> None:
    """nextcord reads X-RateLimit-Reset-After of each 429 that is not global"""
    _, _, before = await raw("POST", raw.messages, {"content": "x"})
    guild.misbehave(Rule("POST */messages", RateLimited(retry_after=7.5)))
    status, answer, response = await raw("POST", raw.messages, {"content": "y"})
    assert (status, answer["retry_after"]) == (429, 7.5)
    assert response.headers["X-RateLimit-Remaining"] == "0"
    assert 7 < float(response.headers["X-RateLimit-Reset-After"]) <= 7.5
    assert response.headers["X-RateLimit-Bucket"] == before.headers["X-RateLimit-Bucket"]
    status, _, response = await raw("POST", raw.messages, {"content": "y"})
    assert (status, response.headers["X-RateLimit-Remaining"]) == (200, "48")
