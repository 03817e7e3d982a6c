"""A local guild with a bot in it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.talking import Scenery, running_bot


@pytest.fixture
async def guild() -> AsyncIterator[LocalGuild]:
    """An empty guild on loopback."""
    async with await LocalGuild.start() as guild:
        yield guild


@pytest.fixture
async def scenery(guild: LocalGuild) -> AsyncIterator[Scenery]:
    """The guild with the bot online."""
    async with running_bot(guild) as scenery:
        yield scenery
