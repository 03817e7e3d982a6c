"""Threads: made from a message or alone, joined, archived, renamed.

https://discord.com/developers/docs/topics/threads
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.guild import payloads
from bot.guild.errors import ApiError, missing_permissions, thread_archived
from bot.guild.message_view import MessageView
from bot.guild.permissions import Permission
from bot.guild.records import Channel, ChannelType, Message, MessageFlag, MessageType
from bot.guild.state import GuildState, refuse_if_direct, refuse_unless_text
from bot.guild.wire import Json, JsonObject


@dataclass(frozen=True, slots=True)
class ThreadRequest:
    """What is asked of a new thread."""

    name: str
    auto_archive_minutes: int = 1_440
    private: bool = False


@dataclass(frozen=True, slots=True)
class ChannelChange:
    """A change to a channel or thread; None leaves a part as it is."""

    name: str | None = None
    topic: str | None = None
    archived: bool | None = None
    locked: bool | None = None
    auto_archive_minutes: int | None = None


def from_message(state: GuildState, view: MessageView, user_id: int, message: Message, ask: ThreadRequest) -> Channel:
    """The thread of a message, with the message's id; a second one is refused with 160004."""
    parent = state.channel(message.channel_id)
    refuse_unless_text(parent)
    state.require(user_id, parent, Permission.CREATE_PUBLIC_THREADS | Permission.READ_MESSAGE_HISTORY)
    if message.id in state.channels or message.thread_id is not None:
        raise ApiError(400, 160004, "A thread has already been created for this message")
    thread = _made(state, message.id, user_id, parent, ask)
    flags = message.flags | int(MessageFlag.HAS_THREAD)
    starter = state.put_message(replace(message, thread_id=thread.id, flags=flags))
    state.publish("MESSAGE_UPDATE", view.event(starter), channel_id=parent.id)
    _first_message(state, view, thread, starter)
    return state.channel(thread.id)


def standalone(state: GuildState, view: MessageView, user_id: int, parent: Channel, ask: ThreadRequest) -> Channel:
    """A thread of its own; the parent gets the system message that announces it."""
    refuse_unless_text(parent)
    needed = Permission.CREATE_PRIVATE_THREADS if ask.private else Permission.CREATE_PUBLIC_THREADS
    state.require(user_id, parent, needed)
    thread = _made(state, state.ids.next(), user_id, parent, ask)
    if not ask.private:
        notice = state.put_message(
            Message(
                state.ids.next(),
                parent.id,
                user_id,
                ask.name,
                state.clock.now(),
                type=MessageType.THREAD_CREATED,
                thread_id=thread.id,
                flags=int(MessageFlag.HAS_THREAD),
            )
        )
        state.publish("MESSAGE_CREATE", view.event(notice), channel_id=parent.id)
    return thread


def _made(state: GuildState, thread_id: int, user_id: int, parent: Channel, ask: ThreadRequest) -> Channel:
    thread = state.put_channel(
        Channel(
            thread_id,
            ask.name,
            ChannelType.PRIVATE_THREAD if ask.private else ChannelType.PUBLIC_THREAD,
            parent_id=parent.id,
            owner_id=user_id,
            auto_archive_minutes=ask.auto_archive_minutes,
            member_ids=(user_id,),
            archive_changed_at=state.clock.now(),
        )
    )
    body = payloads.channel(state, thread) | {"newly_created": True}
    state.publish("THREAD_CREATE", body, channel_id=thread.id)
    return thread


def _first_message(state: GuildState, view: MessageView, thread: Channel, starter: Message) -> None:
    first = state.put_message(
        Message(
            state.ids.next(),
            thread.id,
            starter.author_id,
            "",
            state.clock.now(),
            type=MessageType.THREAD_STARTER_MESSAGE,
            reply_to=starter.id,
        )
    )
    state.publish("MESSAGE_CREATE", view.event(first), channel_id=thread.id)


def join_thread(state: GuildState, thread: Channel, user_ids: tuple[int, ...]) -> None:
    """Adds members to a thread and says so; those already in it are left alone."""
    thread = state.channel(thread.id)
    fresh = tuple(dict.fromkeys(u for u in user_ids if u not in thread.member_ids))
    if not fresh:
        return
    thread = state.put_channel(replace(thread, member_ids=thread.member_ids + fresh))
    added: list[Json] = [_joined(state, thread, u) for u in fresh]
    state.publish(
        "THREAD_MEMBERS_UPDATE",
        {
            "id": str(thread.id),
            "guild_id": str(state.identity.guild_id),
            "member_count": len(thread.member_ids),
            "added_members": added,
        },
        channel_id=thread.id,
    )


def _joined(state: GuildState, thread: Channel, user_id: int) -> JsonObject:
    extra: JsonObject = {"member": payloads.member(state.member(user_id)), "presence": None}
    return payloads.thread_member(thread, user_id) | extra


def leave_thread(state: GuildState, thread: Channel, user_id: int) -> None:
    """Takes a member out of a thread."""
    if user_id not in thread.member_ids:
        return
    left = tuple(u for u in thread.member_ids if u != user_id)
    state.put_channel(replace(thread, member_ids=left))
    state.publish(
        "THREAD_MEMBERS_UPDATE",
        {
            "id": str(thread.id),
            "guild_id": str(state.identity.guild_id),
            "member_count": len(left),
            "removed_member_ids": [str(user_id)],
        },
        channel_id=thread.id,
    )


def unarchive_on_post(state: GuildState, channel: Channel, author_id: int) -> Channel:
    """A post by a person reopens an archived thread, unless locked; an app must reopen it itself."""
    if not channel.archived:
        return channel
    if state.member(author_id).bot:
        raise thread_archived()
    if channel.locked and not state.rights(author_id, channel) & Permission.MANAGE_THREADS:
        raise missing_permissions()
    return change(state, author_id, channel, ChannelChange(archived=False))


def change(state: GuildState, user_id: int, channel: Channel, wanted: ChannelChange) -> Channel:
    """The channel as changed; an archived thread takes nothing but being unarchived."""
    if channel.is_thread:
        _check_thread_change(state, user_id, channel, wanted)
    else:
        refuse_if_direct(channel)
        state.require(user_id, channel, Permission.MANAGE_CHANNELS)
    changed = replace(
        channel,
        name=channel.name if wanted.name is None else wanted.name,
        topic=channel.topic if wanted.topic is None else wanted.topic,
        archived=channel.archived if wanted.archived is None else wanted.archived,
        locked=channel.locked if wanted.locked is None else wanted.locked,
        auto_archive_minutes=wanted.auto_archive_minutes or channel.auto_archive_minutes,
    )
    if changed.archived != channel.archived:
        changed = replace(changed, archive_changed_at=state.clock.now())
    state.put_channel(changed)
    name = "THREAD_UPDATE" if changed.is_thread else "CHANNEL_UPDATE"
    state.publish(name, payloads.channel(state, changed), channel_id=changed.id)
    return changed


def _check_thread_change(state: GuildState, user_id: int, thread: Channel, wanted: ChannelChange) -> None:
    have = state.rights(user_id, thread)
    state.require(user_id, thread, Permission.VIEW_CHANNEL)
    manages = bool(have & Permission.MANAGE_THREADS)
    reopening = thread.archived and wanted.archived is False
    if thread.archived and not reopening:
        raise thread_archived()
    if thread.locked and not manages:
        raise missing_permissions()
    only_reopening = reopening and wanted == ChannelChange(archived=False)
    if only_reopening:
        state.require(user_id, thread, Permission.SEND_MESSAGES_IN_THREADS)
    elif not manages and (thread.owner_id != user_id or wanted.locked is not None):
        raise missing_permissions()


def delete(state: GuildState, user_id: int, channel: Channel) -> None:
    """Deletes a channel or thread with its messages; threads below a channel go with it."""
    refuse_if_direct(channel)
    needed = Permission.MANAGE_THREADS if channel.is_thread else Permission.MANAGE_CHANNELS
    state.require(user_id, channel, needed)
    for below in [c for c in state.channels.values() if c.parent_id == channel.id]:
        _dropped(state, below)
    _dropped(state, channel)


def _dropped(state: GuildState, channel: Channel) -> None:
    body = payloads.channel(state, channel)
    if channel.is_thread:
        body = {k: body[k] for k in ("id", "guild_id", "parent_id", "type")}
    name = "THREAD_DELETE" if channel.is_thread else "CHANNEL_DELETE"
    state.publish(name, body, channel_id=channel.id)
    state.drop_channel(channel)
