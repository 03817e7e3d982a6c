"""Names, keys and prompts in what the process prints."""

from __future__ import annotations

import asyncio
import io
import logging
import sys
from pathlib import Path

import aiohttp
import pytest

from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bot.config.log_format import FORM, Entries
from bot.config.settings import (
    Settings,
    SettingsMistaken,
    read_settings,
    variable,
)
from bot.local_discord import LocalGuild
from tests.e2e.processes import environment, started
from tests.walls.tally import Wall

SIGNS = [chr(n) for n in (*range(32), *range(127, 160), 0x200E, 0x202E, 0x2028, 0x2029, 0x2066, 0xFEFF)]
KEYS = (
    "sk-ant-api03-AbCdEf1234567890AbCdEf1234567890", "sk-proj-Ab12Cd34Ef56Gh78Ij90Kl12",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "gsk_1a2B3c4D5e6F7g8H9i0J1k2L3m4N5o6P", "0123456789abcdef0123456789abcdef", "xai-1a2B3c4D5e6F7g8H9i0J1k2L3m4N5o6P",
)  # fmt: skip


@pytest.mark.wall("output")
@pytest.mark.parametrize("where", ["message", "error"])
def test_no_name_begins_a_line_of_the_log_or_steers_a_terminal(wall: Wall, where: str) -> None:
    for sign in SIGNS:
        out = io.StringIO()
        handler = logging.StreamHandler(out)
        handler.setFormatter(Entries(FORM))
        log = logging.Logger("bot.test")
        log.addHandler(handler)
        name = f"a{sign}2026-11-23 10:00:00,000 ERROR root: forged"
        if where == "message":
            log.warning("attachment %s was not taken", name)
        else:
            try:
                raise OSError(name)
            except OSError:
                log.exception("it failed")
        lines = out.getvalue().split("\n")[:-1]
        marked = all(line.startswith("  | ") for line in lines[1:])
        plain = not any(each in line for line in lines for each in SIGNS)
        wall.held(f"U+{ord(sign):04X}", marked and plain and (where == "error" or len(lines) == 1))


@pytest.mark.wall("keys")
def test_a_key_in_a_wrong_setting_is_not_shown(monkeypatch: pytest.MonkeyPatch, wall: Wall) -> None:
    for field in Settings.model_fields:
        for key in KEYS:
            with monkeypatch.context() as patch:
                patch.setenv(variable(field), key)
                try:
                    told = repr(read_settings())[:0]
                except SettingsMistaken as mistaken:
                    told = str(mistaken)
                wall.held(f"{variable(field)}={key}", key not in told and key[:12] not in told, told)


@pytest.mark.wall("keys")
@pytest.mark.parametrize("model", ["anthropic/claude-haiku-4-5", "openai/gpt-4o-mini"])
async def test_a_debug_log_holds_no_prompt(tmp_path: Path, model: str) -> None:
    finish = Reply(calls=(("finish", {"answer": "It is done, canary-answer."}),))
    async with asyncio.timeout(90), ScriptedEndpoint.start([finish]) as endpoint:
        env = environment(
            tmp_path / "home", endpoint.environment(), THREADWRIGHT_TIER_2=model, THREADWRIGHT_SANDBOX="bubblewrap",
            THREADWRIGHT_LOG_LEVEL="debug", THREADWRIGHT_STORE="memory",
        )  # fmt: skip
        async with started("task", "Say canary-prompt-8131 please.", env=env, cwd=tmp_path) as running:
            assert await running.ended(80) in (0, 1), running.output
        logged = "".join(running.troubles)
    assert "canary" not in logged
    assert endpoint.environment()[next(name for name in endpoint.environment() if name.endswith("KEY"))] not in logged


@pytest.mark.wall("http")
async def test_an_id_of_five_thousand_digits_is_refused(wall: Wall) -> None:
    sys.set_int_max_str_digits(4300)
    long = "9" * 5_000
    async with await LocalGuild.start() as guild, aiohttp.ClientSession() as session:
        headers = {"Authorization": f"Bot {guild.bot_token}"}
        channel = guild.channel().id
        for path in (
            f"/channels/{long}", f"/channels/{long}/messages", f"/channels/{channel}/messages/{long}", f"/guilds/{long}",
            f"/users/{long}", f"/channels/{channel}/messages?before={long}", f"/channels/{channel}/messages?limit={long}",
            f"/channels/{channel}/polls/{long}/answers/1", f"/guilds/{guild.guild_id}/members/{long}",
        ):  # fmt: skip
            async with session.get(guild.rest_base + path, headers=headers) as response:
                wall.held(path[:40], response.status in (400, 404), str(response.status))
        for body in (f'{{"content": {long}}}', f'{{"content": "x", "message_reference": {{"message_id": "{long}"}}}}',
                     f'{{"content": "<@{long}> <#{long}> <@&{long}>"}}',
                     f'{{"content": "x", "flags": "{long}"}}'):  # fmt: skip
            where = f"{guild.rest_base}/channels/{channel}/messages"
            send = {**headers, "Content-Type": "application/json"}
            async with session.post(where, headers=send, data=body) as response:
                wall.held(body[:40], response.status < 500, str(response.status))
