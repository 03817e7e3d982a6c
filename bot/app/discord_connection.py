"""The connection to Discord: when it is ready, and why Discord does not let the bot in, in words that say what to change."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING

import aiohttp
import discord
from discord.state import ConnectionState

if TYPE_CHECKING:
    from discord.types import gateway


class CannotConnect(Exception):
    """Discord does not let the bot in; the message says what to do."""


REFUSED = "Discord refused the token. Copy a new one from the bot's page in the developer portal to DISCORD_TOKEN."
INTENT = (
    "Discord doesn't let the bot read messages. Turn on “Message Content Intent” on the bot's page in the developer "
    "portal."
)
_CLOSED = {4004: REFUSED, 4014: INTENT}
"""What the gateway's close codes ask for that no new connection would change."""
MISSING_SECONDS = 2.0
"""How long, after the last server, one that does not come is waited for: Discord has an outage there."""
COMPLETE_SECONDS = 0.001
"""As short as can be, but not 0, which would leave servers out that have come and were not read yet."""


class PromptReady(ConnectionState[discord.Client]):
    """Ready as soon as every server that Discord named has come; discord.py would wait two seconds for more."""

    def parse_ready(self, data: gateway.ReadyEvent) -> None:
        """Begin a session, in which nothing but the names of its servers has come."""
        self.guild_ready_timeout = MISSING_SECONDS
        super().parse_ready(data)
        self._hurry_if_complete()

    def parse_guild_create(self, data: gateway.GuildCreateEvent) -> None:
        """One of them has come, or the bot has joined one."""
        super().parse_guild_create(data)
        self._hurry_if_complete()

    def _hurry_if_complete(self) -> None:
        if not any(guild.unavailable for guild in self.guilds):
            self.guild_ready_timeout = COMPLETE_SECONDS


def raise_why(connection: asyncio.Task[None]) -> None:
    """Raise ``CannotConnect`` with the reason for which a connection ended."""
    error = None if connection.cancelled() else connection.exception()
    unauthorized = isinstance(error, aiohttp.ClientResponseError) and error.status == HTTPStatus.UNAUTHORIZED
    if isinstance(error, discord.LoginFailure) or unauthorized:
        raise CannotConnect(REFUSED) from error
    if isinstance(error, discord.PrivilegedIntentsRequired):
        raise CannotConnect(INTENT) from error
    if isinstance(error, discord.ConnectionClosed) and error.code in _CLOSED:
        raise CannotConnect(_CLOSED[error.code]) from error
    if error is not None:
        raise CannotConnect(f"The connection to Discord ended: {error}") from error
    raise CannotConnect("The connection to Discord was closed.")
