"""Why Discord does not let the bot in, in words that say what to change."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

import aiohttp
import discord


class CannotConnect(Exception):
    """Discord does not let the bot in; the message says what to do."""


REFUSED = "Discord refused the token. Copy a new one from the bot's page in the developer portal to DISCORD_TOKEN."
INTENT = (
    "Discord doesn't let the bot read messages. Turn on “Message Content Intent” on the bot's page in the developer "
    "portal."
)
_CLOSED = {4004: REFUSED, 4014: INTENT}
"""What the gateway's close codes ask for that no new connection would change."""


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
