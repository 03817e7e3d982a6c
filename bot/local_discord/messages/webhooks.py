"""Webhooks: addresses at which programs that are no members post into a channel.

https://discord.com/developers/docs/resources/webhook
"""

from __future__ import annotations

import secrets

from bot.local_discord.messages.channel_messages import Messages, Origin
from bot.local_discord.messages.message_params import Draft
from bot.local_discord.model.errors import ApiError, unknown
from bot.local_discord.model.json_fields import JsonObject
from bot.local_discord.model.records import Channel, Message, Webhook
from bot.local_discord.model.state import GuildState, refuse_unless_text
from bot.local_discord.payloads import guild_payloads


def created(state: GuildState, channel: Channel, name: str) -> Webhook:
    """Create a webhook of a channel; it lives as long as the process."""
    refuse_unless_text(channel)
    made = Webhook(state.ids.next(), secrets.token_urlsafe(48), channel.id, name)
    state.webhooks[made.id] = made
    return made


def found(state: GuildState, webhook_id: int, token: str) -> Webhook:
    """Return the webhook at an address, or raise 10015, or 50027 for a wrong token."""
    one = state.webhooks.get(webhook_id)
    if one is None:
        raise unknown("Webhook")
    if not secrets.compare_digest(one.token.encode(), token.encode()):
        raise ApiError(401, 50027, "Invalid Webhook Token")
    return one


def executed(messages: Messages, webhook: Webhook, draft: Draft, thread_id: int | None) -> Message:
    """Post through the webhook, in its channel or a thread below it."""
    origin = Origin(unchecked=True, webhook=webhook.name)
    where = messages.place_below(webhook.channel_id, thread_id)
    return messages.create(webhook.id, where, draft, origin)


def payload(state: GuildState, one: Webhook, base: str) -> JsonObject:
    """https://discord.com/developers/docs/resources/webhook#webhook-object"""
    return {
        "id": str(one.id),
        "type": 1,
        "guild_id": str(state.identity.guild_id),
        "channel_id": str(one.channel_id),
        "user": guild_payloads.user(state.member(state.identity.owner_id)),
        "name": one.name,
        "avatar": None,
        "token": one.token,
        "application_id": None,
        "url": f"{base}/webhooks/{one.id}/{one.token}",
    }
