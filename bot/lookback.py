"""Whether a person may read back what was said in a place: the bot tells nobody what Discord keeps from them."""

from __future__ import annotations

import discord


async def may_look_back(client: discord.Client, channel: int, person: int) -> bool:
    """By their rights now; a person is asked for only where not everyone may."""
    place = client.get_channel(channel) or await client.fetch_channel(channel)
    if isinstance(place, discord.DMChannel):
        return True
    parent = place.parent if isinstance(place, discord.Thread) else place
    if not isinstance(parent, discord.abc.GuildChannel):
        return False
    kept_back = any(overwrite.read_message_history is False for overwrite in parent.overwrites.values())
    if not kept_back and parent.permissions_for(parent.guild.default_role).read_message_history:
        return True
    try:
        member = await parent.guild.fetch_member(person)
    except discord.NotFound:
        return False
    return parent.permissions_for(member).read_message_history
