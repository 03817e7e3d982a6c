"""The two ways in which tests talk to the local guild: the real discord.py, and bare HTTP."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import discord
from discord import app_commands

from bot.local_discord import LocalGuild

TIMEOUT = 60.0


class Client(discord.Client):
    """discord.py as it comes, remembering what it was told."""

    def __init__(self, intents: discord.Intents, **options: Any) -> None:
        super().__init__(intents=intents, guild_ready_timeout=0.1, **options)
        self.tree = app_commands.CommandTree(self)
        self.heard: list[tuple[str, object]] = []
        self._news: asyncio.Event = asyncio.Event()

    def dispatch(self, event: str, /, *args: object, **kwargs: object) -> None:
        super().dispatch(event, *args, **kwargs)
        self.heard.append((event, args[0] if len(args) == 1 else args))
        self._news.set()

    def of(self, event: str) -> list[object]:
        """What was told under one name."""
        return [what for name, what in self.heard if name == event]

    async def hears(self, event: str, count: int = 1, timeout: float = TIMEOUT) -> list[object]:
        """Waits until an event was told `count` times."""
        async with asyncio.timeout(timeout):
            while len(self.of(event)) < count:
                self._news.clear()
                await self._news.wait()
        return self.of(event)

    async def message(self) -> discord.Message:
        """The only message so far, waited for."""
        [message] = await self.hears("message")
        assert isinstance(message, discord.Message)
        return message


def wanted_intents() -> discord.Intents:
    """What the bot needs, with the two privileged ones."""
    intents = discord.Intents.default()
    intents.message_content = True
    intents.members = True
    return intents


@contextlib.asynccontextmanager
async def logged_in(
    guild: LocalGuild, intents: discord.Intents | None = None, *, client: Client | None = None
) -> AsyncIterator[Client]:
    """The client, ready, and gone again at the end."""
    client = client or Client(intents or wanted_intents())
    await client.login(guild.bot_token)
    running = asyncio.create_task(client.connect())
    try:
        await asyncio.wait_for(client.wait_until_ready(), TIMEOUT)
        yield client
    finally:
        await client.close()
        await asyncio.wait_for(asyncio.gather(running, return_exceptions=True), TIMEOUT)


class Raw:
    """HTTP as it is: no library of Discord's in between."""

    def __init__(self, session: aiohttp.ClientSession, guild: LocalGuild) -> None:
        self.session = session
        self.guild = guild

    async def __call__(
        self, method: str, path: str, body: object = None, *, token: str | None = None, **kwargs: Any
    ) -> tuple[int, Any, aiohttp.ClientResponse]:
        headers = {"Authorization": f"Bot {token or self.guild.bot_token}"}
        if body is not None:
            kwargs["json"] = body
        url = path if path.startswith("http") else self.guild.rest_base + path
        async with self.session.request(method, url, headers=headers, **kwargs) as response:
            raw = await response.read()
            is_json = response.content_type == "application/json"
            return response.status, (await response.json() if raw and is_json else {}), response

    @property
    def messages(self) -> str:
        """The path of the first channel's messages."""
        return f"/channels/{self.guild.channel().id}/messages"

    async def post(self, **body: object) -> Any:
        """A message of the bot's, which must succeed."""
        status, answer, _ = await self("POST", self.messages, body)
        assert status == 200, answer
        return answer
