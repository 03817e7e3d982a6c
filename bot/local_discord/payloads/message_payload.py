"""Messages as the API writes them for each viewer.

Field by field after https://discord.com/developers/docs/resources/message
"""

from __future__ import annotations

from bot.local_discord.model.json_fields import Json, JsonObject
from bot.local_discord.model.records import Attachment, Member, Message, MessageType, Reaction
from bot.local_discord.model.snowflakes import iso
from bot.local_discord.model.state import GuildState
from bot.local_discord.payloads import poll_payload
from bot.local_discord.payloads.guild_payloads import channel, emoji, member, user, webhook_user
from bot.local_discord.payloads.signed_urls import Signer

# What a message that passes another on says of it.
_SNAPSHOT = (
    "type",
    "content",
    "embeds",
    "attachments",
    "timestamp",
    "edited_timestamp",
    "flags",
    "mentions",
    "mention_roles",
    "sticker_items",
    "components",
)
_FORWARD = 1


def attachment(url: str, one: Attachment) -> JsonObject:
    """https://discord.com/developers/docs/resources/message#attachment-object"""
    body: JsonObject = {
        "id": str(one.id),
        "filename": one.filename,
        "size": one.size,
        "url": url,
        "proxy_url": url,
        "content_type": one.content_type,
    }
    if one.description is not None:
        body["description"] = one.description
    if one.duration_secs is not None:
        body |= {"duration_secs": one.duration_secs, "waveform": one.waveform}
    return body


def reaction(one: Reaction, viewer: int) -> JsonObject:
    """https://discord.com/developers/docs/resources/message#reaction-object"""
    return {
        "count": len(one.user_ids),
        "count_details": {"burst": 0, "normal": len(one.user_ids)},
        "me": viewer in one.user_ids,
        "me_burst": False,
        "emoji": emoji(one.emoji),
        "burst_colors": [],
    }


def _mentioned(one: Member) -> JsonObject:
    extra: JsonObject = {"member": member(one, with_user=False)}
    return user(one) | extra


class MessageView:
    """Messages as the API writes them, as `viewer` would get them."""

    def __init__(self, state: GuildState, cdn_base: str) -> None:
        self._state = state
        self._cdn_base = cdn_base
        self.signer = Signer(state.clock)

    def payload(self, one: Message, *, viewer: int | None = None) -> JsonObject:
        """https://discord.com/developers/docs/resources/message#message-object"""
        state = self._state
        viewer = viewer or state.identity.bot_id
        body = self._core(one)
        if one.reactions:
            body["reactions"] = [reaction(r, viewer) for r in one.reactions]
        if one.nonce is not None:
            body["nonce"] = one.nonce
        if one.thread_id in state.channels:
            body["thread"] = channel(state, state.channels[one.thread_id])
        if one.reply_to is not None:
            body |= self._reply_part(one, viewer)
        if one.forwarded is not None:
            body |= self._forward_part(one.forwarded)
        if one.type is MessageType.THREAD_CREATED and one.thread_id is not None:
            body["message_reference"] = {"type": 0, **state.place(one.thread_id)}
        if one.poll is not None:
            body["poll"] = poll_payload.payload(one.poll, viewer)
        if one.source is not None:
            body |= self._source_part(one)
        return body

    def event(self, one: Message) -> JsonObject:
        """Return the payload with the fields that MESSAGE_CREATE and MESSAGE_UPDATE add.

        https://discord.com/developers/docs/events/gateway-events#message-create
        """
        state = self._state
        body = self.payload(one)
        body |= state.place(one.channel_id)
        body["channel_type"] = int(state.channels[one.channel_id].type)
        if state.channels[one.channel_id].is_direct:
            return body
        if one.author_id in state.members:
            body["member"] = member(state.members[one.author_id], with_user=False)
        body["mentions"] = [_mentioned(state.members[u]) for u in one.pings.users if u in state.members]
        return body

    def _core(self, one: Message) -> JsonObject:
        state = self._state
        embeds: list[Json] = [*one.embeds] if not one.flags & 4 else []
        body: JsonObject = {
            "id": str(one.id),
            "channel_id": str(one.channel_id),
            "author": self._author(one),
            "content": one.content,
            "timestamp": iso(one.created_at),
            "edited_timestamp": iso(one.edited_at) if one.edited_at else None,
            "tts": False,
            "mention_everyone": one.pings.everyone,
            "mentions": [user(state.members[u]) for u in one.pings.users if u in state.members],
            "mention_roles": [str(r) for r in one.pings.roles],
            "attachments": [attachment(self.url(one.channel_id, a), a) for a in one.attachments],
            "embeds": embeds,
            "components": [*one.components],
            "pinned": False,
            "type": int(one.type),
            "flags": one.flags,
        }
        if one.webhook is not None:
            body["webhook_id"] = str(one.author_id)
        if one.stickers:
            body["sticker_items"] = [
                {"id": str(one.id + n), "name": s, "format_type": 1} for n, s in enumerate(one.stickers)
            ]
        return body

    def _author(self, one: Message) -> JsonObject:
        known = self._state.members.get(one.author_id)
        return user(known) if known is not None else webhook_user(one.author_id, one.webhook or "Webhook")

    def url(self, channel_id: int, one: Attachment) -> str:
        """A fresh address of an attachment."""
        return self._cdn_base + self.signer.path(channel_id, one.id, one.filename)

    def _forward_part(self, original: Message) -> JsonObject:
        """https://discord.com/developers/docs/resources/message#message-reference-types"""
        whole = self._core(original)
        place = self._state.place(original.channel_id)
        return {
            "message_reference": {"type": _FORWARD, "message_id": str(original.id), **place},
            "message_snapshots": [{"message": {name: whole[name] for name in _SNAPSHOT if name in whole}}],
        }

    def _reply_part(self, one: Message, viewer: int) -> JsonObject:
        state = self._state
        where = one.channel_id
        if one.type is MessageType.THREAD_STARTER_MESSAGE:
            where = state.channels[one.channel_id].parent_id or where
        target = state.messages.get(where, {}).get(one.reply_to or 0)
        referenced: Json = None
        if target is not None:
            referenced = self._core(target)
            if target.reactions:
                referenced["reactions"] = [reaction(each, viewer) for each in target.reactions]
        return {
            "message_reference": {
                "type": 0,
                "message_id": str(one.reply_to),
                **state.place(where),
            },
            "referenced_message": referenced,
        }

    def _source_part(self, one: Message) -> JsonObject:
        source = one.source
        if source is None:
            return {}
        state = self._state
        who = user(state.members[source.user_id])
        about: JsonObject = {
            "id": str(source.id),
            "type": source.type,
            "user": who,
            "authorizing_integration_owners": {"0": str(state.place(one.channel_id).get("guild_id", "0"))},
        }
        if source.message_id is not None:
            about["interacted_message_id"] = str(source.message_id)
        body: JsonObject = {
            "application_id": str(state.identity.application_id),
            "webhook_id": str(state.identity.application_id),
            "interaction_metadata": about,
        }
        if source.name is not None:
            old: JsonObject = {"id": str(source.id), "type": source.type, "name": source.name, "user": who}
            body["interaction"] = old
        return body
