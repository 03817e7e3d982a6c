"""Threads: created from a message or without one, archived, renamed.

https://discord.com/developers/docs/topics/threads
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from bot.local_discord.model.errors import ApiError, missing_permissions, thread_archived
from bot.local_discord.model.json_fields import JsonObject
from bot.local_discord.model.permission_flags import Permission
from bot.local_discord.model.records import Channel, ChannelType, Message, MessageFlag, MessageType
from bot.local_discord.model.state import GuildState, refuse_if_direct, refuse_unless_text
from bot.local_discord.payloads import guild_payloads
from bot.local_discord.payloads.message_payload import MessageView
from bot.local_discord.threads.system_messages import notice

# A thread from an older message is announced in its channel; how old, Discord does not say.
_OLDER = timedelta(minutes=5)
_TAGS = 5
"""A post bears at most so many tags."""


@dataclass(frozen=True, slots=True)
class ThreadRequest:
    """The properties of a new thread."""

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
    tag_ids: tuple[int, ...] | None = None


def post(
    state: GuildState, user_id: int, parent: Channel, ask: ThreadRequest, say: Callable[[int], Message],
    tag_ids: tuple[int, ...] = (),
) -> Channel:  # fmt: skip
    """Create a post in a forum; ``say`` posts its first message, which has the id of the post, in the thread of that id."""
    if parent.type is not ChannelType.FORUM:
        raise ApiError(400, 50024, "Cannot execute action on this channel type")
    state.require(user_id, parent, Permission.SEND_MESSAGES)
    _check_tags(state, user_id, parent, tag_ids)
    thread = _made(state, state.ids.next(), user_id, parent, ask, tag_ids)
    say(thread.id)
    return state.channel(thread.id)


def _check_tags(state: GuildState, user_id: int, parent: Channel, tag_ids: tuple[int, ...]) -> None:
    """At most five that there are; moderated ones only by who manages threads."""
    known = {tag.id: tag for tag in parent.tags}
    if len(set(tag_ids)) > _TAGS:
        raise ApiError(400, 50035, "Invalid Form Body")
    if unknown := set(tag_ids) - known.keys():
        raise ApiError(400, 10087, f"Unknown Tag ({min(unknown)})")
    if any(known[one].moderated for one in tag_ids):
        state.require(user_id, parent, Permission.MANAGE_THREADS)


def from_message(state: GuildState, view: MessageView, user_id: int, message: Message, ask: ThreadRequest) -> Channel:
    """Create the thread of a message, with the message's id; a second one is refused with 160004."""
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
    if state.clock.now() - message.created_at > _OLDER:
        notice(state, view, parent, user_id, MessageType.THREAD_CREATED, text=ask.name, thread_id=thread.id)
    return state.channel(thread.id)


def standalone(state: GuildState, view: MessageView, user_id: int, parent: Channel, ask: ThreadRequest) -> Channel:
    """Create a thread without a message; the parent gets the system message that announces it."""
    refuse_unless_text(parent)
    needed = Permission.CREATE_PRIVATE_THREADS if ask.private else Permission.CREATE_PUBLIC_THREADS
    state.require(user_id, parent, needed)
    thread = _made(state, state.ids.next(), user_id, parent, ask)
    if not ask.private:
        notice(state, view, parent, user_id, MessageType.THREAD_CREATED, text=ask.name, thread_id=thread.id)
    return thread


def _made(
    state: GuildState, thread_id: int, user_id: int, parent: Channel, ask: ThreadRequest, tag_ids: tuple[int, ...] = ()
) -> Channel:
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
            tag_ids=tag_ids,
        )
    )
    body = guild_payloads.channel(state, thread) | {"newly_created": True}
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
            webhook=starter.webhook,
        )
    )
    state.publish("MESSAGE_CREATE", view.event(first), channel_id=thread.id)


def unarchive_on_post(state: GuildState, view: MessageView, channel: Channel, author_id: int) -> Channel:
    """Reopen an archived thread when a person posts in it, unless it is locked; an app must reopen it itself."""
    if not channel.archived:
        return channel
    author = state.members.get(author_id)
    if author is None or author.bot:
        raise thread_archived()
    if channel.locked and not state.rights(author_id, channel) & Permission.MANAGE_THREADS:
        raise missing_permissions()
    return change(state, view, author_id, channel, ChannelChange(archived=False))


def change(state: GuildState, view: MessageView, user_id: int, channel: Channel, wanted: ChannelChange) -> Channel:
    """Change a channel; an archived thread can only be unarchived."""
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
        tag_ids=channel.tag_ids if wanted.tag_ids is None else wanted.tag_ids,
    )
    if (changed.archived, changed.auto_archive_minutes) != (channel.archived, channel.auto_archive_minutes):
        changed = replace(changed, archive_changed_at=state.clock.now())
    state.put_channel(changed)
    name = "THREAD_UPDATE" if changed.is_thread else "CHANNEL_UPDATE"
    state.publish(name, guild_payloads.channel(state, changed), channel_id=changed.id)
    if changed.is_thread:
        _after(state, view, user_id, channel, changed)
    return state.channel(changed.id)


def _after(state: GuildState, view: MessageView, user_id: int, before: Channel, thread: Channel) -> None:
    me = state.identity.bot_id
    if before.archived and not thread.archived and me in thread.member_ids:
        guild: JsonObject = {"guild_id": str(state.identity.guild_id)}
        state.publish("THREAD_MEMBER_UPDATE", guild_payloads.thread_member(thread, me) | guild, only_for=me)
    if before.name != thread.name:
        notice(state, view, thread, user_id, MessageType.CHANNEL_NAME_CHANGE, text=thread.name)


def _check_thread_change(state: GuildState, user_id: int, thread: Channel, wanted: ChannelChange) -> None:
    have = state.rights(user_id, thread)
    state.require(user_id, thread, Permission.VIEW_CHANNEL)
    manages = bool(have & Permission.MANAGE_THREADS)
    reopening = thread.archived and wanted.archived is False
    if thread.archived and not reopening:
        raise thread_archived()
    if thread.locked and not manages:
        raise missing_permissions()
    if wanted.tag_ids is not None:
        _check_tags(state, user_id, state.channel(thread.parent_id or 0), wanted.tag_ids)
    only_reopening = reopening and wanted == ChannelChange(archived=False)
    if only_reopening:
        state.require(user_id, thread, Permission.SEND_MESSAGES_IN_THREADS)
    elif not manages and (thread.owner_id != user_id or wanted.locked is not None):
        raise missing_permissions()


def delete(state: GuildState, user_id: int, channel: Channel) -> None:
    """Delete a channel or thread with its messages; threads below a channel go with it."""
    refuse_if_direct(channel)
    needed = Permission.MANAGE_THREADS if channel.is_thread else Permission.MANAGE_CHANNELS
    state.require(user_id, channel, needed)
    for below in [c for c in state.channels.values() if c.parent_id == channel.id]:
        _dropped(state, below)
    _dropped(state, channel)


def _dropped(state: GuildState, channel: Channel) -> None:
    body = guild_payloads.channel(state, channel)
    if channel.is_thread:
        body = {k: body[k] for k in ("id", "guild_id", "parent_id", "type")}
    name = "THREAD_DELETE" if channel.is_thread else "CHANNEL_DELETE"
    state.publish(name, body, channel_id=channel.id)
    state.drop_channel(channel)
