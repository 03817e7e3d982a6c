"""Direct messages between the bot and one person, outside the guild.

https://discord.com/developers/docs/resources/user#create-dm
"""

from __future__ import annotations

from bot.local_discord.model.errors import ApiError, unknown
from bot.local_discord.model.records import Channel, ChannelType
from bot.local_discord.model.state import GuildState
from bot.local_discord.payloads import guild_payloads


def opened(state: GuildState, user_id: int) -> Channel:
    """Return the channel between the bot and a person, which is created at its first use."""
    person = state.members.get(user_id)
    if person is None:
        raise unknown("User")
    if user_id == state.identity.bot_id:
        raise ApiError(400, 50033, "Invalid Recipient(s)")
    if person.bot:
        raise ApiError(403, 50007, "Cannot send messages to this user")
    known = next((c for c in state.channels.values() if c.is_direct and user_id in c.recipient_ids), None)
    if known is not None:
        return known
    made = state.put_channel(Channel(state.ids.next(), "", ChannelType.DM, recipient_ids=(user_id,)))
    # apps hear of it with its first message only
    state.publish("CHANNEL_CREATE", guild_payloads.channel(state, made), channel_id=made.id, only_for=user_id)
    return made
