"""Reactions on messages.

https://discord.com/developers/docs/resources/message#create-reaction
"""

from __future__ import annotations

from dataclasses import replace

from bot.local_discord.messages import limits
from bot.local_discord.model.errors import ApiError, thread_archived, unknown
from bot.local_discord.model.json_fields import JsonObject
from bot.local_discord.model.permission_flags import Permission
from bot.local_discord.model.records import Message, Reaction
from bot.local_discord.model.state import GuildState
from bot.local_discord.payloads import guild_payloads


def add(state: GuildState, user_id: int, message: Message, emoji: str) -> Message:
    """Add a reaction; adding one's own again changes nothing."""
    channel = state.channel(message.channel_id)
    present = message.reactors(emoji)
    needed = Permission.READ_MESSAGE_HISTORY
    if not present:
        needed |= Permission.ADD_REACTIONS
    state.require(user_id, channel, needed)
    if channel.archived:
        raise thread_archived()
    _check_emoji(emoji)
    if user_id in present:
        return message
    if not present and len(message.reactions) >= limits.REACTIONS:
        raise ApiError(400, 30010, "Maximum number of reactions reached (20)")
    changed = state.put_message(replace(message, reactions=_with(message.reactions, emoji, (*present, user_id))))
    body = _event(state, changed, emoji, user_id)
    if not channel.is_direct:
        body["member"] = guild_payloads.member(state.member(user_id))
    body["message_author_id"] = str(message.author_id)
    state.publish("MESSAGE_REACTION_ADD", body, channel_id=channel.id)
    return changed


def remove(state: GuildState, actor_id: int, user_id: int, message: Message, emoji: str) -> Message:
    """Remove a reaction; another user's needs MANAGE_MESSAGES."""
    channel = state.channel(message.channel_id)
    state.require(actor_id, channel, Permission.VIEW_CHANNEL)
    if actor_id != user_id:
        state.require(actor_id, channel, Permission.MANAGE_MESSAGES)
    present = message.reactors(emoji)
    if user_id not in present:
        if actor_id == user_id:
            return message
        raise unknown("Emoji")
    left = tuple(u for u in present if u != user_id)
    changed = state.put_message(replace(message, reactions=_with(message.reactions, emoji, left)))
    state.publish("MESSAGE_REACTION_REMOVE", _event(state, changed, emoji, user_id), channel_id=channel.id)
    return changed


def clear(state: GuildState, actor_id: int, message: Message, emoji: str | None = None) -> Message:
    """Remove all reactions, or all of one emoji."""
    channel = state.channel(message.channel_id)
    state.require(actor_id, channel, Permission.MANAGE_MESSAGES)
    kept = tuple(r for r in message.reactions if emoji is not None and r.emoji != emoji)
    changed = state.put_message(replace(message, reactions=kept))
    body: JsonObject = {"message_id": str(message.id), **state.place(channel.id)}
    if emoji is None:
        state.publish("MESSAGE_REACTION_REMOVE_ALL", body, channel_id=channel.id)
    else:
        body["emoji"] = guild_payloads.emoji(emoji)
        state.publish("MESSAGE_REACTION_REMOVE_EMOJI", body, channel_id=channel.id)
    return changed


def _event(state: GuildState, message: Message, emoji: str, user_id: int) -> JsonObject:
    """https://discord.com/developers/docs/events/gateway-events#message-reaction-add"""
    return {
        "user_id": str(user_id),
        "message_id": str(message.id),
        **state.place(message.channel_id),
        "emoji": guild_payloads.emoji(emoji),
        "burst": False,
        "type": 0,
    }


def _with(reactions: tuple[Reaction, ...], emoji: str, user_ids: tuple[int, ...]) -> tuple[Reaction, ...]:
    if not any(r.emoji == emoji for r in reactions):
        return (*reactions, Reaction(emoji, user_ids))
    replaced = (Reaction(emoji, user_ids) if r.emoji == emoji else r for r in reactions)
    return tuple(r for r in replaced if r.user_ids)


def _check_emoji(emoji: str) -> None:
    name, _, number = emoji.rpartition(":")
    custom = bool(name) and number.isdigit()
    if not custom and (emoji.isascii() or len(emoji) > 32):
        raise unknown("Emoji")
