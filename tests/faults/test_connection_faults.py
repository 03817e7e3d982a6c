"""Row 7 of the fault catalogue: the real process, shut out by Discord, says in a line what to change, and ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.local_discord.local_discord import LocalGuild
from tests.e2e.processes import Running, environment, started
from tests.faults.staging import guild

__all__ = ["guild"]

TOKEN, INTENT = "DISCORD_TOKEN", "Message Content Intent"


def told(home: Path, guild: LocalGuild, token: str = "") -> dict[str, str]:
    """A process for which the local guild is Discord."""
    return environment(
        home, {}, THREADWRIGHT_DISCORD_API=guild.rest_base, DISCORD_TOKEN=token or guild.bot_token,
        THREADWRIGHT_SANDBOX="bubblewrap",
    )  # fmt: skip


def one_clear_line(running: Running, words: str) -> None:
    trouble = "".join(running.troubles).strip()
    assert words in trouble, running.output
    assert "Traceback" not in running.output
    assert len([line for line in trouble.splitlines() if line.strip()]) == 1, trouble


async def test_f7_a_wrong_token_ends_the_process_with_what_to_change(guild: LocalGuild, tmp_path: Path) -> None:
    async with started("run", env=told(tmp_path, guild, "MTIz.wrong.token"), cwd=tmp_path) as running:
        assert await running.ended() == 1
        one_clear_line(running, TOKEN)
    assert sum("/gateway" in request.what for request in guild.asked) <= 1


async def test_f7_a_missing_intent_ends_the_process_with_what_to_change(guild: LocalGuild, tmp_path: Path) -> None:
    guild.grant_intents(message_content=False)
    async with started("run", env=told(tmp_path, guild), cwd=tmp_path) as running:
        assert await running.ended() == 1
        one_clear_line(running, INTENT)
    assert sum("/gateway" in request.what for request in guild.asked) <= 1


@pytest.mark.parametrize(("code", "words"), [(4004, TOKEN), (4014, INTENT)])
async def test_f7_being_shut_out_while_it_runs_ends_it_without_a_reconnect(
    guild: LocalGuild, tmp_path: Path, code: int, words: str
) -> None:
    async with started("run", env=told(tmp_path, guild), cwd=tmp_path) as running:
        await running.until_said("is online. Mention it")
        asked = sum("/gateway" in request.what for request in guild.asked)
        guild.disconnect(code)
        assert await running.ended() == 1
        one_clear_line(running, words)
    assert sum("/gateway" in request.what for request in guild.asked) == asked
    assert not guild.online
