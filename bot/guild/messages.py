"""Making, changing and deleting messages, for bots and people alike."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.guild import payloads
from bot.guild.drafts import Draft, Revision, Upload
from bot.guild.errors import (
    ApiError,
    empty_message,
    invalid,
    missing_permissions,
    thread_archived,
)
from bot.guild.mentions import AllowedMentions, merged, resolve
from bot.guild.message_view import MessageView
from bot.guild.permissions import Permission
from bot.guild.records import (
    Attachment,
    Channel,
    InteractionSource,
    Message,
    MessageFlag,
    MessageType,
    Pings,
)
from bot.guild.state import GuildState
from bot.guild.threads import join_thread, unarchive_on_post
from bot.guild.wire import JsonObject

NONCE_MEMORY_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a message comes from when it is not simply posted: an interaction or the system."""

    type: MessageType = MessageType.DEFAULT
    source: InteractionSource | None = None
    visible_to: int | None = None
    unchecked: bool = False


class Messages:
    """The messages of a guild, with their rules."""

    def __init__(self, state: GuildState, view: MessageView) -> None:
        self._state = state
        self.view = view
        self._nonces: dict[tuple[int, int, str], tuple[float, int]] = {}

    def create(self, author_id: int, channel_id: int, draft: Draft, origin: Origin | None = None) -> Message:
        """The new message; with `enforce_nonce`, the one that already carries the nonce."""
        origin = origin or Origin()
        channel = self._state.channel(channel_id)
        if not origin.unchecked:
            self._check_rights(author_id, channel, draft)
        known = self._known(author_id, channel_id, draft)
        if known is not None:
            return known
        if draft.is_empty and not draft.flags & MessageFlag.LOADING:
            raise empty_message()
        reply_to = self._reply_target(channel_id, draft)
        channel = unarchive_on_post(self._state, channel, author_id)
        message = self._made(author_id, channel, draft, origin, reply_to)
        self._state.put_message(message)
        self._remember(author_id, channel_id, draft, message)
        self._tell_created(message, author_id)
        return message

    def edit(
        self, editor_id: int, channel_id: int, message_id: int, revision: Revision, *, via_interaction: bool = False
    ) -> Message:
        """The message as changed; only its author may change more than its embeds' visibility."""
        message = self._state.message(channel_id, message_id)
        if not via_interaction:
            self._check_edit(editor_id, message, revision)
        content = message.content if revision.content is None else revision.content
        changed = replace(
            message,
            content=content,
            embeds=message.embeds if revision.embeds is None else revision.embeds,
            components=message.components if revision.components is None else revision.components,
            attachments=self._kept(message, revision) + self._stored(revision.uploads),
            flags=_edited_flags(message, revision) & ~MessageFlag.LOADING,
            # filling in a deferred answer does not count as an edit
            edited_at=message.edited_at if message.flags & MessageFlag.LOADING else self._state.clock.now(),
        )
        if not (changed.content or changed.embeds or changed.components or changed.attachments):
            raise empty_message()
        if revision.content is not None:
            pings = self._pings(changed, revision.allowed)
            changed = replace(changed, pings=pings, ever_pinged=merged(message.ever_pinged, pings))
        self._state.put_message(changed)
        self.tell_changed(changed)
        return changed

    def delete(self, actor_id: int, channel_id: int, message_id: int, *, via_interaction: bool = False) -> None:
        """Deletes a message: one's own, or anyone's with MANAGE_MESSAGES."""
        channel = self._state.channel(channel_id)
        if not via_interaction:
            self._state.require(actor_id, channel, Permission.VIEW_CHANNEL)
        message = self._state.message(channel_id, message_id)
        if message.author_id != actor_id and not via_interaction:
            self._state.require(actor_id, channel, Permission.MANAGE_MESSAGES)
        if message.type is MessageType.THREAD_STARTER_MESSAGE:
            raise ApiError(403, 50021, "Cannot execute action on a system message")
        if channel.archived:
            raise thread_archived()
        self._state.drop_message(message)
        self._state.publish(
            "MESSAGE_DELETE",
            {"id": str(message_id), **self._state.place(channel_id)},
            channel_id=channel_id,
            only_for=message.visible_to,
        )

    def unfurl(self, message: Message) -> Message:
        """The message with a link preview: MESSAGE_UPDATE comes, edited_timestamp does not change."""
        preview: JsonObject = {"type": "link", "title": "A preview", "url": "https://example.com/"}
        changed = self._state.put_message(replace(message, embeds=(*message.embeds, preview)))
        self.tell_changed(changed)
        return changed

    def tell_changed(self, message: Message) -> None:
        """Publishes the message as it now is."""
        self._state.publish(
            "MESSAGE_UPDATE",
            self.view.event(message),
            channel_id=message.channel_id,
            only_for=message.visible_to,
        )

    def typing(self, user_id: int, channel_id: int) -> None:
        """Shows that somebody is typing."""
        channel = self._state.channel(channel_id)
        self._state.require(user_id, channel, _sending(channel))
        at = int(self._state.clock.time())
        body: JsonObject = {**self._state.place(channel_id), "user_id": str(user_id), "timestamp": at}
        if not channel.is_direct:
            body["member"] = payloads.member(self._state.member(user_id))
        self._state.publish("TYPING_START", body, channel_id=channel_id)

    # -- creating, step by step ---------------------------------------------------------------

    def _check_rights(self, author_id: int, channel: Channel, draft: Draft) -> None:
        state = self._state
        state.require(author_id, channel, _sending(channel))
        if channel.is_direct and author_id == state.identity.bot_id and state.closed_to_bot & {*channel.recipient_ids}:
            raise ApiError(403, 50007, "Cannot send messages to this user")
        if draft.uploads:
            state.require(author_id, channel, Permission.ATTACH_FILES)
        if draft.embeds:
            state.require(author_id, channel, Permission.EMBED_LINKS)
        if draft.reply_to is not None:
            have = state.rights(author_id, channel)
            if not have & Permission.READ_MESSAGE_HISTORY:
                raise ApiError(400, 160002, "Cannot reply without permission to read message history")

    def _known(self, author_id: int, channel_id: int, draft: Draft) -> Message | None:
        if draft.nonce is None or not draft.enforce_nonce:
            return None
        at, message_id = self._nonces.get((author_id, channel_id, str(draft.nonce)), (0.0, 0))
        if not message_id or self._state.clock.monotonic() - at > NONCE_MEMORY_SECONDS:
            return None
        return self._state.message(channel_id, message_id)

    def _remember(self, author_id: int, channel_id: int, draft: Draft, made: Message) -> None:
        if draft.nonce is not None:
            now = self._state.clock.monotonic()
            while self._nonces and now - next(iter(self._nonces.values()))[0] > NONCE_MEMORY_SECONDS:
                del self._nonces[next(iter(self._nonces))]  # oldest first
            key = (author_id, channel_id, str(draft.nonce))
            self._nonces.pop(key, None)
            self._nonces[key] = (now, made.id)

    def forget_nonces(self) -> None:
        """Behaves as if the few minutes for which nonces are remembered had passed."""
        self._nonces.clear()

    def _reply_target(self, channel_id: int, draft: Draft) -> int | None:
        if draft.reply_to is None:
            return None
        if draft.reply_to in self._state.messages.get(channel_id, {}):
            return draft.reply_to
        if draft.reply_must_exist:
            raise invalid(("message_reference",), "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
        return None

    def _made(self, author_id: int, channel: Channel, draft: Draft, origin: Origin, reply_to: int | None) -> Message:
        kind = origin.type
        if reply_to is not None and kind is MessageType.DEFAULT:
            kind = MessageType.REPLY
        flags = draft.flags | (MessageFlag.EPHEMERAL if origin.visible_to else 0)
        message = Message(
            id=self._state.ids.next(),
            channel_id=channel.id,
            author_id=author_id,
            content=draft.content,
            created_at=self._state.clock.now(),
            type=kind,
            embeds=draft.embeds,
            components=draft.components,
            attachments=self._stored(draft.uploads),
            reply_to=reply_to,
            nonce=draft.nonce,
            flags=int(flags),
            source=origin.source,
            visible_to=origin.visible_to,
        )
        pings = self._pings(message, draft.allowed)
        return replace(message, pings=pings, ever_pinged=pings)

    def _tell_created(self, message: Message, author_id: int) -> None:
        channel = self._state.channel(message.channel_id)
        if channel.is_thread and not message.ephemeral:
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
        may_everyone = bool(state.rights(message.author_id, channel) & Permission.MENTION_EVERYONE)
        replied = state.messages.get(channel.id, {}).get(message.reply_to or 0)
        return resolve(
            message.content,
            allowed,
            members=frozenset(state.members),
            roles=frozenset(r.id for r in state.roles.values() if r.mentionable or may_everyone),
            may_everyone=may_everyone,
            replied_to=replied.author_id if replied and replied.author_id != message.author_id else None,
        )

    def _stored(self, uploads: tuple[Upload, ...]) -> tuple[Attachment, ...]:
        stored: list[Attachment] = []
        for upload in uploads:
            one = Attachment(
                self._state.ids.next(),
                upload.filename,
                len(upload.content),
                upload.content_type,
                upload.description,
            )
            self._state.keeper.save_file(one.id, upload.content)
            stored.append(one)
        return tuple(stored)

    # -- editing, step by step ----------------------------------------------------------------

    def _check_edit(self, editor_id: int, message: Message, revision: Revision) -> None:
        channel = self._state.channel(message.channel_id)
        self._state.require(editor_id, channel, Permission.VIEW_CHANNEL)
        if channel.archived:
            raise thread_archived()
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


def _sending(channel: Channel) -> Permission:
    if channel.is_thread:
        return Permission.SEND_MESSAGES_IN_THREADS
    return Permission.SEND_MESSAGES


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
