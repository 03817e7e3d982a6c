"""Servers and channels with what their rights need, also for a process that has no connection to the gateway.

discord.py keeps what the gateway tells. Without one nothing is kept, so it is asked for: a server with its roles, and channels
that know this server.
"""

from __future__ import annotations

import discord


async def guild_of(client: discord.Client, guild: int) -> discord.Guild:
    """A server, with its roles. Raises what discord.py raises."""
    return client.get_guild(guild) or await client.fetch_guild(guild, with_counts=False)


async def place_of(client: discord.Client, channel: int) -> tuple[object, object]:
    """A channel, and for a thread the one it hangs in, else itself. Raises what discord.py raises."""
    place = client.get_channel(channel) or await client.fetch_channel(channel)
    if not isinstance(place, discord.abc.GuildChannel | discord.Thread):
        return place, place
    if client.get_guild(place.guild.id) is not None:
        return place, place.parent if isinstance(place, discord.Thread) else place
    guild = await guild_of(client, place.guild.id)
    return place, await guild.fetch_channel(place.parent_id if isinstance(place, discord.Thread) else place.id)
