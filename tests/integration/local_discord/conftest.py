"""A local guild on a free port for each test, and the real discord.py logged in to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import aiohttp
import discord
import pytest
import pytest_asyncio

from bot.local_discord import LocalGuild, Message
from tests.integration.local_discord.harness import TIMEOUT, Client, Raw, logged_in
from tests.integration.local_discord.wires import Wire, Wires


@pytest_asyncio.fixture
async def guild() -> AsyncIterator[LocalGuild]:
    async with await LocalGuild.start() as one:
        one.attach()
        yield one


@pytest_asyncio.fixture
async def client(guild: LocalGuild) -> AsyncIterator[Client]:
    async with logged_in(guild) as one:
        yield one


@pytest.fixture
def channel(guild: LocalGuild, client: Client) -> discord.TextChannel:
    found = client.get_channel(guild.channel().id)
    assert isinstance(found, discord.TextChannel)
    return found


@pytest_asyncio.fixture
async def raw(guild: LocalGuild) -> AsyncIterator[Raw]:
    async with aiohttp.ClientSession() as session:
        yield Raw(session, guild)


@pytest.fixture
def said(guild: LocalGuild) -> Callable[[str], Awaitable[Message]]:
    """Waits for the message with exactly this text, wherever it stands."""

    async def find(text: str) -> Message:
        def look(one: LocalGuild) -> Message | None:
            everywhere = [c.id for c in one.threads()] + [one.channel().id]
            return next((m for c in everywhere for m in one.messages(c) if m.content == text), None)

        return await guild.wait_for(look, TIMEOUT)

    return find


@pytest_asyncio.fixture
async def wires(guild: LocalGuild) -> AsyncIterator[Wires]:
    async with aiohttp.ClientSession() as session:
        yield Wires(session, guild)


@pytest_asyncio.fixture
async def wire(wires: Wires) -> Wire:
    """A connection that has identified itself and got the guild."""
    return (await wires.begun())[0]
