"""The members of threads, and the system messages about who added or removed somebody.

https://discord.com/developers/docs/topics/threads#new-message-types
"""

from __future__ import annotations

from dataclasses import replace

from bot.local_discord.model.errors import thread_archived, unknown
from bot.local_discord.model.json_fields import Json, JsonObject
from bot.local_discord.model.records import Channel, MessageType, Pings
from bot.local_discord.model.state import GuildState
from bot.local_discord.payloads import guild_payloads
from bot.local_discord.payloads.message_payload import MessageView
from bot.local_discord.threads.system_messages import notice


def join_thread(state: GuildState, thread: Channel, user_ids: tuple[int, ...]) -> None:
    """Add members to a thread and publish that; those already in it are left alone."""
    thread = state.channel(thread.id)
    fresh = tuple(dict.fromkeys(u for u in user_ids if u not in thread.member_ids))
    if not fresh:
        return
    thread = state.put_channel(replace(thread, member_ids=thread.member_ids + fresh))
    added: list[Json] = [_joined(state, thread, u) for u in fresh]
    _tell(state, thread, {"added_members": added})


def _joined(state: GuildState, thread: Channel, user_id: int) -> JsonObject:
    extra: JsonObject = {"member": guild_payloads.member(state.member(user_id)), "presence": None}
    return guild_payloads.thread_member(thread, user_id) | extra


def leave_thread(state: GuildState, thread: Channel, user_id: int) -> None:
    """Remove a member from a thread."""
    if user_id not in thread.member_ids:
        return
    left = tuple(u for u in thread.member_ids if u != user_id)
    thread = state.put_channel(replace(thread, member_ids=left))
    _tell(state, thread, {"removed_member_ids": [str(user_id)]})


def _tell(state: GuildState, thread: Channel, what: JsonObject) -> None:
    body: JsonObject = {
        "id": str(thread.id),
        "guild_id": str(state.identity.guild_id),
        "member_count": len(thread.member_ids),
    }
    state.publish("THREAD_MEMBERS_UPDATE", body | what, channel_id=thread.id)


def add(state: GuildState, view: MessageView, actor_id: int, thread: Channel, user_id: int) -> None:
    """Add another member, with a system message, or join."""
    if thread.archived:
        raise thread_archived()
    if user_id in thread.member_ids:
        return
    join_thread(state, thread, (user_id,))
    if actor_id != user_id:
        notice(state, view, thread, actor_id, MessageType.RECIPIENT_ADD, about=Pings(users=(user_id,)))


def remove(state: GuildState, view: MessageView, actor_id: int, thread: Channel, user_id: int) -> None:
    """Remove another member, with a system message, or leave."""
    if user_id not in thread.member_ids:
        return
    leave_thread(state, thread, user_id)
    if actor_id != user_id:
        notice(state, view, thread, actor_id, MessageType.RECIPIENT_REMOVE, about=Pings(users=(user_id,)))


def listed(state: GuildState, thread: Channel, user_id: int, *, with_member: bool) -> JsonObject:
    """Return one member of a thread as listings write them, or raise 10007."""
    if user_id not in thread.member_ids:
        raise unknown("Member")
    body = guild_payloads.thread_member(thread, user_id)
    if with_member:
        body["member"] = guild_payloads.member(state.member(user_id))
    return body
