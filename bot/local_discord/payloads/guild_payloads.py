"""Users, members, roles, channels and the guild as the API writes them.

Field by field after https://discord.com/developers/docs/resources/ (user, guild, channel, emoji).
"""

from __future__ import annotations

from bot.local_discord.model.json_fields import Json, JsonObject
from bot.local_discord.model.permission_flags import Permission
from bot.local_discord.model.records import Channel, ChannelType, Member, Role
from bot.local_discord.model.snowflakes import iso, made_at
from bot.local_discord.model.state import GuildState


def user(member: Member) -> JsonObject:
    """https://discord.com/developers/docs/resources/user#user-object"""
    body: JsonObject = {
        "id": str(member.id),
        "username": member.name,
        "discriminator": "0",
        "global_name": None if member.bot else member.name,
        "avatar": None,
        "avatar_decoration_data": None,
        "primary_guild": None,
        "flags": 0,
        "public_flags": 0,
    }
    if member.bot:
        body["bot"] = True
    return body


def webhook_user(number: int, name: str) -> JsonObject:
    """Return the author of a webhook's message: no member, and no user that could be fetched."""
    return {
        "id": str(number),
        "username": name,
        "discriminator": "0000",
        "global_name": None,
        "avatar": None,
        "bot": True,
        "public_flags": 0,
    }


def member(one: Member, *, with_user: bool = True) -> JsonObject:
    """https://discord.com/developers/docs/resources/guild#guild-member-object"""
    body: JsonObject = {
        "nick": None,
        "avatar": None,
        "banner": None,
        "roles": [str(r) for r in one.roles],
        "joined_at": iso(made_at(one.id)),
        "premium_since": None,
        "deaf": False,
        "mute": False,
        "flags": 0,
        "pending": False,
        "communication_disabled_until": None,
    }
    if with_user:
        body["user"] = user(one)
    return body


def role(one: Role) -> JsonObject:
    """https://discord.com/developers/docs/topics/permissions#role-object"""
    return {
        "id": str(one.id),
        "name": one.name,
        "color": one.color,
        "colors": {"primary_color": one.color, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "icon": None,
        "unicode_emoji": None,
        "position": one.position,
        "permissions": str(one.permissions),
        "managed": False,
        "mentionable": one.mentionable,
        "flags": 0,
    }


def channel(state: GuildState, one: Channel) -> JsonObject:
    """https://discord.com/developers/docs/resources/channel#channel-object"""
    if one.is_direct:
        return _direct(state, one)
    body: JsonObject = {
        "id": str(one.id),
        "type": int(one.type),
        "guild_id": str(state.identity.guild_id),
        "name": one.name,
        "parent_id": str(one.parent_id) if one.parent_id else None,
        "last_message_id": str(one.last_message_id) if one.last_message_id else None,
        "rate_limit_per_user": 0,
        "flags": 0,
    }
    return body | (_thread_part(state, one) if one.is_thread else _text_part(one))


def _direct(state: GuildState, one: Channel) -> JsonObject:
    """Return a direct message channel as the bot gets it: its recipient is the other person."""
    return {
        "id": str(one.id),
        "type": int(one.type),
        "last_message_id": str(one.last_message_id) if one.last_message_id else None,
        "recipients": [user(state.member(i)) for i in one.recipient_ids],
        "flags": 0,
    }


def _text_part(one: Channel) -> JsonObject:
    tags: list[Json] = [
        {"id": str(tag.id), "name": tag.name, "moderated": tag.moderated, "emoji_id": None, "emoji_name": None}
        for tag in one.tags
    ]
    forum: JsonObject = {"available_tags": tags, "default_reaction_emoji": None, "default_forum_layout": 0}
    body: JsonObject = {
        "position": one.position,
        "topic": one.topic,
        "nsfw": False,
        "permission_overwrites": [
            {
                "id": str(o.target_id),
                "type": int(o.is_member),
                "allow": str(o.allow),
                "deny": str(o.deny),
            }
            for o in one.overwrites
        ],
    }
    return body | forum if one.type is ChannelType.FORUM else body


def _thread_part(state: GuildState, one: Channel) -> JsonObject:
    body: JsonObject = {
        "owner_id": str(one.owner_id),
        "applied_tags": [str(tag) for tag in one.tag_ids],
        "message_count": min(one.message_count, 50),
        "total_message_sent": one.message_count,
        "member_count": min(len(one.member_ids), 50),
        "thread_metadata": {
            "archived": one.archived,
            "auto_archive_duration": one.auto_archive_minutes,
            "archive_timestamp": iso(one.archive_changed_at or made_at(one.id)),
            "locked": one.locked,
            "create_timestamp": iso(made_at(one.id)),
        },
    }
    if state.identity.bot_id in one.member_ids:
        body["member"] = thread_member(one, state.identity.bot_id)
    return body


def thread_member(one: Channel, user_id: int) -> JsonObject:
    """https://discord.com/developers/docs/resources/channel#thread-member-object"""
    return {
        "id": str(one.id),
        "user_id": str(user_id),
        "join_timestamp": iso(made_at(one.id)),
        "flags": 0,
    }


def emoji(key: str) -> JsonObject:
    """A partial emoji: https://discord.com/developers/docs/resources/emoji#emoji-object"""
    name, _, number = key.rpartition(":")
    if name and number.isdigit():
        return {"id": number, "name": name}
    return {"id": None, "name": key}


def guild(state: GuildState, *, all_members: bool) -> JsonObject:
    """GUILD_CREATE: https://discord.com/developers/docs/events/gateway-events#guild-create"""
    everyone = [*state.members.values()]
    mine = [m for m in everyone if all_members or m.id == state.identity.bot_id]
    visible = [c for c in state.channels.values() if not c.is_direct and _visible(state, c)]
    extra: JsonObject = {
        "joined_at": iso(made_at(state.identity.bot_id)),
        "large": False,
        "unavailable": False,
        "member_count": len(everyone),
        "voice_states": [],
        "members": [member(m) for m in mine],
        "channels": [channel(state, c) for c in visible if not c.is_thread],
        "threads": [channel(state, c) for c in visible if c.is_thread and not c.archived],
        "presences": [],
        "stage_instances": [],
        "guild_scheduled_events": [],
        "soundboard_sounds": [],
    }
    return guild_core(state) | extra


def _visible(state: GuildState, one: Channel) -> bool:
    return bool(state.rights(state.identity.bot_id, one) & Permission.VIEW_CHANNEL)


def guild_core(state: GuildState) -> JsonObject:
    """https://discord.com/developers/docs/resources/guild#guild-object"""
    return {
        "id": str(state.identity.guild_id),
        "name": state.name,
        "icon": None,
        "splash": None,
        "discovery_splash": None,
        "owner_id": str(state.identity.owner_id),
        "afk_channel_id": None,
        "afk_timeout": 300,
        "region": "deprecated",
        "widget_enabled": False,
        "widget_channel_id": None,
        "verification_level": 0,
        "default_message_notifications": 1,
        "explicit_content_filter": 0,
        "roles": [role(r) for r in state.roles.values()],
        "emojis": [],
        "features": [],
        "mfa_level": 0,
        "application_id": None,
        "system_channel_id": None,
        "system_channel_flags": 0,
        "rules_channel_id": None,
        "max_members": 500_000,
        "max_presences": None,
        "max_video_channel_users": 25,
        "max_stage_video_channel_users": 50,
        "vanity_url_code": None,
        "description": None,
        "banner": None,
        "premium_tier": 0,
        "premium_subscription_count": 0,
        "preferred_locale": "en-US",
        "public_updates_channel_id": None,
        "nsfw_level": 0,
        "premium_progress_bar_enabled": False,
        "safety_alerts_channel_id": None,
        "incidents_data": None,
        "stickers": [],
    }
