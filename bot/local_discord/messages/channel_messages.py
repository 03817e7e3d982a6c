"""Create, edit and delete messages, for bots and people alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from bot.local_discord.messages.limits import text_of
from bot.local_discord.messages.mentions import AllowedMentions, merged, resolve
from bot.local_discord.messages.message_params import Draft, Revision
from bot.local_discord.messages.post_rules import (
    check_rights,
    check_voice,
    forwarded,
    reply_target,
    sending,
    stored,
    thread_locked,
)
from bot.local_discord.model.clock import Clock
from bot.local_discord.model.errors import (
    ApiError,
    empty_message,
    legacy_fields,
    missing_permissions,
    thread_archived,
    unknown,
)
from bot.local_discord.model.json_fields import Json, JsonObject
from bot.local_discord.model.permission_flags import Permission
from bot.local_discord.model.records import (
    Attachment,
    Channel,
    InteractionSource,
    Message,
    MessageFlag,
    MessageType,
    Pings,
)
from bot.local_discord.model.snowflakes import made_at
from bot.local_discord.model.state import GuildState, refuse_if_direct
from bot.local_discord.payloads import guild_payloads, poll_payload
from bot.local_discord.payloads.message_payload import MessageView
from bot.local_discord.threads.members import join_thread
from bot.local_discord.threads.threads import unarchive_on_post

NONCE_SECONDS = 300.0
"""Seconds for which a nonce is remembered; Discord says a few minutes."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a message that is not simply posted: an interaction or the system."""

    type: MessageType = MessageType.DEFAULT
    source: InteractionSource | None = None
    visible_to: int | None = None
    unchecked: bool = False
    webhook: str | None = None
    id: int = 0
    """Of a forum's post, whose first message has its id; 0 for the next one."""


class Messages:
    """The messages of a guild, with their rules."""

    def __init__(self, state: GuildState, view: MessageView) -> None:
        self._state = state
        self.view = view
        self.nonces = Nonces(state.clock)

    def create(self, author_id: int, channel_id: int, draft: Draft, origin: Origin | None = None) -> Message:
        """Create a message; with `enforce_nonce`, return the one that already has the nonce."""
        origin = origin or Origin()
        channel = self._state.channel(channel_id)
        if not origin.unchecked:
            check_rights(self._state, author_id, channel, draft)
        known = self.nonces.known(author_id, channel_id, draft)
        if known is not None:
            return self._state.message(channel_id, known)
        if draft.is_empty and not draft.flags & MessageFlag.LOADING:
            raise empty_message()
        check_voice(draft)
        channel = unarchive_on_post(self._state, self.view, channel, author_id)
        message = self._made(author_id, channel, draft, origin)
        self._state.put_message(message)
        self.nonces.remember(author_id, channel_id, draft, message.id)
        self._tell_created(message, author_id)
        return message

    def place_below(self, channel_id: int, thread_id: int | None) -> int:
        """Return the channel itself, or a thread of it, or raise 10003."""
        if thread_id is None:
            return channel_id
        if self._state.channel(thread_id).parent_id != channel_id:
            raise unknown("Channel")
        return thread_id

    def edit(
        self, editor_id: int, channel_id: int, message_id: int, revision: Revision, *, via_interaction: bool = False
    ) -> Message:
        """Edit a message; others than its author may only suppress its embeds."""
        message = self._state.message(channel_id, message_id)
        if message.flags & MessageFlag.IS_VOICE_MESSAGE:
            raise ApiError(400, 50162, "Voice messages cannot be edited.")
        if message.poll is not None:
            raise ApiError(400, 520003, "Cannot edit a poll message")
        if not via_interaction:
            self._check_edit(editor_id, message, revision)
        content = message.content if revision.content is None else revision.content
        changed = replace(
            message,
            content=content,
            embeds=message.embeds if revision.embeds is None else revision.embeds,
            components=message.components if revision.components is None else revision.components,
            attachments=self._kept(message, revision) + stored(self._state, revision.uploads),
            flags=_edited_flags(message, revision) & ~MessageFlag.LOADING,
            # filling in a deferred answer does not count as an edit
            edited_at=message.edited_at if message.flags & MessageFlag.LOADING else self._state.clock.now(),
        )
        if not (changed.content or changed.embeds or changed.components or changed.attachments):
            raise empty_message()
        if changed.flags & MessageFlag.IS_COMPONENTS_V2 and (changed.content or changed.embeds):
            raise legacy_fields("content" if changed.content else "embeds")
        if revision.content is not None:
            pings = self._pings(changed, revision.allowed)
            changed = replace(changed, pings=pings, ever_pinged=merged(message.ever_pinged, pings))
        self._state.put_message(changed)
        self.tell_changed(changed)
        return changed

    def delete(self, actor_id: int, channel_id: int, message_id: int, *, via_interaction: bool = False) -> None:
        """Delete a message: one's own, or anyone's with MANAGE_MESSAGES."""
        channel = self._state.channel(channel_id)
        if not via_interaction:
            self._state.require(actor_id, channel, Permission.VIEW_CHANNEL)
        message = self._state.message(channel_id, message_id)
        if message.author_id != actor_id and not via_interaction:
            self._state.require(actor_id, channel, Permission.MANAGE_MESSAGES)
        if message.type.is_system and message.type is not MessageType.THREAD_CREATED:
            raise ApiError(403, 50021, "Cannot execute action on a system message")
        if (
            channel.archived
            and channel.locked
            and not self._state.rights(actor_id, channel) & Permission.MANAGE_THREADS
        ):
            raise thread_archived()
        self._state.drop_message(message)
        self._state.publish(
            "MESSAGE_DELETE",
            {"id": str(message_id), **self._state.place(channel_id)},
            channel_id=channel_id,
            only_for=message.visible_to,
        )

    def delete_many(self, actor_id: int, channel: Channel, message_ids: list[int]) -> None:
        """Delete 2 to 100 messages of the last two weeks at once, with one event; unknown ones are ignored.

        https://discord.com/developers/docs/resources/message#bulk-delete-messages
        """
        refuse_if_direct(channel)
        self._state.require(actor_id, channel, Permission.MANAGE_MESSAGES)
        if not 2 <= len(message_ids) <= 100:
            raise ApiError(400, 50016, "Provided too few or too many messages to delete (2 to 100).")
        oldest = self._state.clock.now() - timedelta(days=14)
        if any(made_at(number) < oldest for number in message_ids):
            raise ApiError(400, 50034, "You can only bulk delete messages that are under 14 days old.")
        found = [m for m in map(self._state.messages.get(channel.id, {}).get, message_ids) if m and not m.ephemeral]
        for message in found:
            self._state.drop_message(message)
        ids: list[Json] = [str(m.id) for m in found]
        if found:
            body: JsonObject = {"ids": ids, **self._state.place(channel.id)}
            self._state.publish("MESSAGE_DELETE_BULK", body, channel_id=channel.id)

    def unfurl(self, message: Message) -> Message:
        """Add a link preview: MESSAGE_UPDATE is sent, edited_timestamp does not change."""
        preview: JsonObject = {"type": "link", "title": "A preview", "url": "https://example.com/"}
        changed = self._state.put_message(replace(message, embeds=(*message.embeds, preview)))
        self.tell_changed(changed)
        return changed

    def tell_changed(self, message: Message) -> None:
        """Publish the message as it now is."""
        self._state.publish(
            "MESSAGE_UPDATE",
            self.view.event(message),
            channel_id=message.channel_id,
            only_for=message.visible_to,
        )

    def typing(self, user_id: int, channel_id: int) -> None:
        """Show that somebody is typing."""
        channel = self._state.channel(channel_id)
        self._state.require(user_id, channel, sending(channel))
        at = int(self._state.clock.time())
        body: JsonObject = {**self._state.place(channel_id), "user_id": str(user_id), "timestamp": at}
        if not channel.is_direct:
            body["member"] = guild_payloads.member(self._state.member(user_id))
        self._state.publish("TYPING_START", body, channel_id=channel_id)

    # -- creating, step by step ---------------------------------------------------------------

    def _made(self, author_id: int, channel: Channel, draft: Draft, origin: Origin) -> Message:
        reply_to = reply_target(self._state, channel.id, draft)
        passed_on = forwarded(self._state, author_id, draft)
        kind = origin.type
        if reply_to is not None and kind is MessageType.DEFAULT:
            kind = MessageType.REPLY
        flags = draft.flags | (MessageFlag.EPHEMERAL if origin.visible_to else 0)
        flags |= MessageFlag.HAS_SNAPSHOT if passed_on else 0
        at = self._state.clock.now()
        message = Message(
            id=origin.id or self._state.ids.next(),
            channel_id=channel.id,
            author_id=author_id,
            content=draft.content,
            created_at=at,
            type=kind,
            embeds=draft.embeds,
            components=draft.components,
            attachments=stored(self._state, draft.uploads),
            reply_to=reply_to,
            nonce=draft.nonce,
            flags=int(flags),
            source=origin.source,
            visible_to=origin.visible_to,
            poll=poll_payload.opened(draft.poll, at),
            forwarded=passed_on,
            stickers=draft.stickers,
            webhook=origin.webhook,
        )
        pings = self._pings(message, draft.allowed)
        return replace(message, pings=pings, ever_pinged=pings)

    def _tell_created(self, message: Message, author_id: int) -> None:
        channel = self._state.channel(message.channel_id)
        if channel.is_thread and not message.ephemeral and message.webhook is None:
            join_thread(self._state, channel, (author_id, *message.pings.users))
        self._state.publish(
            "MESSAGE_CREATE",
            self.view.event(message),
            channel_id=message.channel_id,
            only_for=message.visible_to,
        )

    def _pings(self, message: Message, allowed: AllowedMentions) -> Pings:
        state = self._state
        channel = state.channel(message.channel_id)
        may_everyone = message.webhook is not None or bool(
            state.rights(message.author_id, channel) & Permission.MENTION_EVERYONE
        )
        replied = state.messages.get(channel.id, {}).get(message.reply_to or 0)
        return resolve(
            message.content or text_of(message.components),
            allowed,
            members=frozenset(state.members),
            roles=frozenset(r.id for r in state.roles.values() if r.mentionable or may_everyone),
            may_everyone=may_everyone,
            replied_to=replied.author_id if replied and replied.author_id != message.author_id else None,
        )

    # -- editing, step by step ----------------------------------------------------------------

    def _check_edit(self, editor_id: int, message: Message, revision: Revision) -> None:
        channel = self._state.channel(message.channel_id)
        self._state.require(editor_id, channel, Permission.VIEW_CHANNEL)
        if channel.archived:
            raise thread_archived()
        if channel.locked and not self._state.rights(editor_id, channel) & Permission.MANAGE_THREADS:
            raise thread_locked()
        if message.author_id == editor_id:
            return
        only_flags = replace(revision, flags=None, allowed=AllowedMentions()) == Revision()
        if not only_flags:
            raise ApiError(403, 50005, "Cannot edit a message authored by another user")
        if not self._state.rights(editor_id, channel) & Permission.MANAGE_MESSAGES:
            raise missing_permissions()

    def _kept(self, message: Message, revision: Revision) -> tuple[Attachment, ...]:
        if revision.kept_attachments is None:
            return message.attachments
        return tuple(a for a in message.attachments if a.id in revision.kept_attachments)


def _edited_flags(message: Message, revision: Revision) -> int:
    if revision.flags is None:
        return message.flags
    settable = MessageFlag.SUPPRESS_EMBEDS | MessageFlag.IS_COMPONENTS_V2
    return message.flags & ~MessageFlag.SUPPRESS_EMBEDS | revision.flags & settable


def found_in_history(
    messages: list[Message], *, before: int | None, after: int | None, around: int | None, limit: int
) -> list[Message]:
    """A page of history, newest first, as Get Channel Messages selects it."""
    if around is not None:
        half = limit // 2
        older = [m for m in messages if m.id <= around][-(half + 1) :]
        newer = [m for m in messages if m.id > around][:half]
        return [*older, *newer][::-1]
    if after is not None:
        return [m for m in messages if m.id > after][:limit][::-1]
    chosen = messages if before is None else [m for m in messages if m.id < before]
    return chosen[-limit:][::-1]


class Nonces:
    """The nonces of the last minutes, by author and channel, with their messages."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[tuple[int, int, str], tuple[float, int]] = {}

    def known(self, author_id: int, channel_id: int, draft: Draft) -> int | None:
        """Return the message that already has the draft's nonce, if that is to be enforced."""
        if draft.nonce is None or not draft.enforce_nonce:
            return None
        at, message_id = self._seen.get((author_id, channel_id, str(draft.nonce)), (0.0, 0))
        if not message_id or self._clock.monotonic() - at > NONCE_SECONDS:
            return None
        return message_id

    def remember(self, author_id: int, channel_id: int, draft: Draft, message_id: int) -> None:
        """Note the message of a nonce."""
        if draft.nonce is None:
            return
        now = self._clock.monotonic()
        while self._seen and now - next(iter(self._seen.values()))[0] > NONCE_SECONDS:
            del self._seen[next(iter(self._seen))]  # oldest first
        key = (author_id, channel_id, str(draft.nonce))
        self._seen.pop(key, None)
        self._seen[key] = (now, message_id)

    def forget(self) -> None:
        """Behave as if those minutes had passed."""
        self._seen.clear()
