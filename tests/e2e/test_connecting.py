"""When Discord does not let the bot in, it says why and what to do, and ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.app.app import App, AppHome
from bot.app.discord_connection import CannotConnect
from bot.config.settings import Settings
from bot.local_discord import LocalGuild

ROOT = Path(__file__).parents[2]


@pytest.fixture
async def guild() -> AsyncIterator[LocalGuild]:
    """A guild that stands where Discord stands, for a bot that knows its token or does not."""
    async with await LocalGuild.start() as one:
        one.attach()
        yield one


def settings(home: Path, token: str) -> Settings:
    return Settings.model_construct(**{**Settings().model_dump(), "home": home, "discord_token": SecretStr(token)})


async def test_a_wrong_token_is_said_with_where_to_get_a_right_one(guild: LocalGuild, tmp_path: Path) -> None:
    async with asyncio.timeout(60), App.open(settings(tmp_path, "not.the.token"), AppHome(tmp_path)) as app:
        with pytest.raises(CannotConnect, match="DISCORD_TOKEN"):
            await app.online()


async def test_a_missing_intent_is_said_with_where_to_switch_it_on(guild: LocalGuild, tmp_path: Path) -> None:
    guild.grant_intents(message_content=False)
    async with asyncio.timeout(60), App.open(settings(tmp_path, guild.bot_token), AppHome(tmp_path)) as app:
        with pytest.raises(CannotConnect, match="Message Content Intent"):
            await app.online()


async def test_with_a_token_it_works_as_on_discord(guild: LocalGuild, tmp_path: Path) -> None:
    async with asyncio.timeout(60), App.open(settings(tmp_path, guild.bot_token), AppHome(tmp_path)) as app:
        await app.online()
        message = await guild.post(guild.channel().id, f"{guild.bot.mention} hello")
        await guild.wait_for(
            lambda g: [m for t in g.threads() for m in g.messages(t.id) if "scripted tour" in m.content] or None
        )
        await app.threads.idle(str(message.id))
        assert (await app.threads.status(str(message.id))).finished == "tour"
