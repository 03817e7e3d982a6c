"""Messages as the API writes them, to whoever looks.

Field by field after https://discord.com/developers/docs/resources/message
"""

from __future__ import annotations

from urllib.parse import quote

from bot.guild.payloads import channel, emoji, member, user
from bot.guild.records import Attachment, Member, Message, MessageType, Reaction
from bot.guild.snowflakes import iso
from bot.guild.state import GuildState
from bot.guild.wire import Json, JsonObject


def attachment(base: str, message: Message, one: Attachment) -> JsonObject:
    """https://discord.com/developers/docs/resources/message#attachment-object"""
    url = f"{base}/attachments/{message.channel_id}/{one.id}/{quote(one.filename, safe='')}"
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
            body |= self._reply_part(one)
        if one.source is not None:
            body |= self._source_part(one)
        return body

    def event(self, one: Message) -> JsonObject:
        """The same with what MESSAGE_CREATE and MESSAGE_UPDATE add.

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
        return {
            "id": str(one.id),
            "channel_id": str(one.channel_id),
            "author": user(state.members[one.author_id]),
            "content": one.content,
            "timestamp": iso(one.created_at),
            "edited_timestamp": iso(one.edited_at) if one.edited_at else None,
            "tts": False,
            "mention_everyone": one.pings.everyone,
            "mentions": [user(state.members[u]) for u in one.pings.users if u in state.members],
            "mention_roles": [str(r) for r in one.pings.roles],
            "attachments": [attachment(self._cdn_base, one, a) for a in one.attachments],
            "embeds": embeds,
            "components": [*one.components],
            "pinned": False,
            "type": int(one.type),
            "flags": one.flags,
        }

    def _reply_part(self, one: Message) -> JsonObject:
        state = self._state
        where = one.channel_id
        if one.type is MessageType.THREAD_STARTER_MESSAGE:
            where = state.channels[one.channel_id].parent_id or where
        target = state.messages.get(where, {}).get(one.reply_to or 0)
        referenced: Json = None
        if target is not None:
            referenced = self._core(target)
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
