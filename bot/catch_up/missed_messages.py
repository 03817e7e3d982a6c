"""Fetch what was missed in a channel: messages after a mark, stops on an execution's messages.

At most a day back and two hundred messages a channel; where more was missed, the thread is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import discord

from bot.inbound.emoji import meaning

AGE = timedelta(hours=24)
MESSAGES = 200
LOOKED_AT = 50
"""Number of messages in a thread that are checked for a 🛑."""


@dataclass(frozen=True, slots=True)
class Missed:
    """Messages after a mark, oldest first; ``cut`` where there were more than are read."""

    messages: tuple[discord.Message, ...]
    cut: bool


async def messages_after(client: discord.Client, channel: str, mark: int, now: datetime) -> Missed:
    """Fetch messages of a channel after a mark, within bounds; ``now`` by Discord's clock. Raises what discord.py
    raises.
    """
    oldest = discord.utils.time_snowflake(now - AGE)
    place = await place_of(client, channel)
    history = place.history(limit=MESSAGES + 1, after=discord.Object(max(mark, oldest)), oldest_first=False)
    found = [message async for message in history]
    messages = tuple(sorted(found[:MESSAGES], key=lambda message: message.id))
    return Missed(messages, cut=len(found) > MESSAGES or (mark < oldest and bool(found)))


async def stops_in(
    client: discord.Client, thread: str, since: datetime, custom: Mapping[str, str]
) -> list[tuple[str, int]]:
    """Return (message, person) of each 🛑 on the bot's messages in a thread since then. Raises what discord.py raises.

    ``custom`` maps ids of custom emoji to the signs they stand for.
    """
    place = await place_of(client, thread)
    own = [m async for m in place.history(limit=LOOKED_AT) if client.user is not None and m.author == client.user]
    return [stop for message in own if message.created_at >= since for stop in await _stops_on(message, custom)]


async def stops_on(
    client: discord.Client, channel: str, message: str, custom: Mapping[str, str]
) -> list[tuple[str, int]]:
    """The same for one message.  Raises what discord.py raises."""
    return await _stops_on(await (await place_of(client, channel)).fetch_message(int(message)), custom)


async def place_of(client: discord.Client, channel: str) -> discord.abc.Messageable:
    """Return the channel, fetched where it is not cached (archived threads, direct messages)."""
    known = client.get_channel(int(channel)) or await client.fetch_channel(int(channel))
    if not isinstance(known, discord.abc.Messageable):
        raise discord.InvalidData(f"channel {channel} holds no messages")
    return known


async def _stops_on(message: discord.Message, custom: Mapping[str, str]) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for reaction in message.reactions:
        sign = reaction.emoji
        name, id = (sign, "") if isinstance(sign, str) else (sign.name, str(sign.id or ""))
        if meaning(name, id, custom) == ("stop", ""):
            found += [(str(message.id), user.id) async for user in reaction.users()]
    return found
