"""Why Discord does not let the bot in, in words that say what to change."""

from __future__ import annotations

import asyncio

import discord


class CannotConnect(Exception):
    """Discord does not let the bot in; the message says what to do."""


def raise_why(connection: asyncio.Task[None]) -> None:
    """Raise ``CannotConnect`` with the reason for which a connection ended."""
    error = None if connection.cancelled() else connection.exception()
    if isinstance(error, discord.LoginFailure):
        raise CannotConnect(
            "Discord refused the token. Copy a new one from the bot's page in the developer portal to DISCORD_TOKEN."
        ) from error
    if isinstance(error, discord.PrivilegedIntentsRequired):
        raise CannotConnect(
            "Discord does not let the bot read messages. Switch on “Message Content Intent” on the bot's page in the "
            "developer portal."
        ) from error
    if error is not None:
        raise CannotConnect(f"The connection to Discord ended: {error}") from error
    raise CannotConnect("The connection to Discord was closed.")
