"""Conditions that a message must satisfy before it is posted: permissions, references, and the rules of its type."""

from __future__ import annotations

from bot.local_discord.messages.message_params import Draft, Upload
from bot.local_discord.model.errors import ApiError, invalid
from bot.local_discord.model.permission_flags import Permission
from bot.local_discord.model.records import Attachment, Channel, ChannelType, Message, MessageFlag, MessageType
from bot.local_discord.model.state import GuildState

_FORWARDED = (MessageType.DEFAULT, MessageType.REPLY, MessageType.CHAT_INPUT_COMMAND)


def check_rights(state: GuildState, author_id: int, channel: Channel, draft: Draft) -> None:
    """Check that the author may post such a message there."""
    if channel.type is ChannelType.FORUM:
        raise ApiError(400, 50008, "Cannot send messages in a non-text channel")
    state.require(author_id, channel, sending(channel))
    if channel.is_direct and author_id == state.identity.bot_id and state.closed_to_bot & {*channel.recipient_ids}:
        raise ApiError(403, 50007, "Cannot send messages to this user")
    if draft.uploads:
        state.require(author_id, channel, Permission.ATTACH_FILES)
    if draft.embeds:
        state.require(author_id, channel, Permission.EMBED_LINKS)
    if draft.poll is not None:
        state.require(author_id, channel, Permission.SEND_POLLS)
    if draft.flags & MessageFlag.IS_VOICE_MESSAGE:
        state.require(author_id, channel, Permission.SEND_VOICE_MESSAGES)
    if draft.reply_to is not None and not state.rights(author_id, channel) & Permission.READ_MESSAGE_HISTORY:
        raise ApiError(400, 160002, "Cannot reply without permission to read message history")
    if channel.locked and not state.rights(author_id, channel) & Permission.MANAGE_THREADS:
        raise ApiError(400, 50083, "Thread is archived") if channel.archived else thread_locked()


def thread_locked() -> ApiError:
    """The error for changes in a locked thread, which only its moderators may make."""
    return ApiError(400, 160005, "Thread is locked")


def sending(channel: Channel) -> Permission:
    """Return the permission that posting needs: threads have one of their own."""
    return Permission.SEND_MESSAGES_IN_THREADS if channel.is_thread else Permission.SEND_MESSAGES


def check_voice(draft: Draft) -> None:
    """Check that a voice message is one sound with its length and its waveform, and nothing else.

    https://discord.com/developers/docs/resources/message#message-object-voice-messages
    """
    if not draft.flags & MessageFlag.IS_VOICE_MESSAGE:
        return
    sounds = [u for u in draft.uploads if u.content_type.startswith("audio/")]
    if len(draft.uploads) != 1 or not sounds:
        raise ApiError(400, 50160, "Voice messages must have a single audio attachment.")
    if sounds[0].duration_secs is None or sounds[0].waveform is None:
        raise ApiError(400, 50161, "Voice messages must have supporting metadata.")
    if draft.content or draft.embeds or draft.components or draft.stickers or draft.poll:
        raise invalid(("content",), "MESSAGE_VOICE_NO_CONTENT", "Voice messages do not support additional content.")


def reply_target(state: GuildState, channel_id: int, draft: Draft) -> int | None:
    """Return the message that is replied to."""
    if draft.reply_to is None:
        return None
    if draft.reply_to in state.messages.get(channel_id, {}):
        return draft.reply_to
    if draft.reply_must_exist:
        raise invalid(("message_reference",), "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
    return None


def forwarded(state: GuildState, author_id: int, draft: Draft) -> Message | None:
    """Return a copy of the forwarded message; its sender must be able to read it."""
    if draft.forward_of is None:
        return None
    channel_id, message_id = draft.forward_of
    channel = state.channel(channel_id)
    state.require(author_id, channel, Permission.VIEW_CHANNEL | Permission.READ_MESSAGE_HISTORY)
    original = state.message(channel_id, message_id)
    ours = author_id == state.identity.bot_id
    if ours and not state.grants.message_content and not channel.is_direct and original.author_id != author_id:
        raise ApiError(403, 160014, "You cannot forward a message whose content you cannot read")
    if original.type not in _FORWARDED or original.poll is not None or original.ephemeral:
        raise invalid(("message_reference",), "MESSAGE_REFERENCE_NOT_FORWARDABLE", "This message cannot be forwarded.")
    # what was forwarded already is passed on itself
    return original.forwarded or original


def stored(state: GuildState, uploads: tuple[Upload, ...]) -> tuple[Attachment, ...]:
    """Store files, and return their descriptions."""
    kept: list[Attachment] = []
    for upload in uploads:
        one = Attachment(
            state.ids.next(),
            upload.filename,
            len(upload.content) if upload.stated_size is None else upload.stated_size,
            upload.content_type,
            upload.description,
            upload.duration_secs,
            upload.waveform,
        )
        try:
            state.store.save_file(one.id, upload.content)
        except OSError as error:
            raise ApiError(
                507, 0, f"{upload.filename} could not be kept ({error.strerror}). Make room and send it again."
            ) from error
        kept.append(one)
    return tuple(kept)
