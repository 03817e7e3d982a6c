"""A client's message or edit, checked and typed."""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.local_discord.messages import limits
from bot.local_discord.messages.mentions import AllowedMentions
from bot.local_discord.model.errors import invalid, legacy_fields, required, too_long
from bot.local_discord.model.json_fields import Fields, JsonObject
from bot.local_discord.model.records import MessageFlag, Poll
from bot.local_discord.payloads.poll_payload import parse_poll


@dataclass(frozen=True, slots=True)
class Upload:
    """An uploaded file; `stated_size` is a size that is reported instead of the true one."""

    filename: str
    content: bytes
    content_type: str
    description: str | None = None
    duration_secs: float | None = None
    waveform: str | None = None
    stated_size: int | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A message that is to be created."""

    content: str = ""
    embeds: tuple[JsonObject, ...] = ()
    components: tuple[JsonObject, ...] = ()
    uploads: tuple[Upload, ...] = ()
    flags: int = 0
    nonce: str | int | None = None
    enforce_nonce: bool = False
    reply_to: int | None = None
    reply_must_exist: bool = True
    allowed: AllowedMentions = field(default_factory=AllowedMentions)
    poll: Poll | None = None
    forward_of: tuple[int, int] | None = None
    stickers: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        if self.poll or self.forward_of or self.stickers:
            return False
        return not (self.content or self.embeds or self.components or self.uploads)


@dataclass(frozen=True, slots=True)
class Revision:
    """A change to a message; None leaves a part as it is."""

    content: str | None = None
    embeds: tuple[JsonObject, ...] | None = None
    components: tuple[JsonObject, ...] | None = None
    uploads: tuple[Upload, ...] = ()
    kept_attachments: frozenset[int] | None = None
    flags: int | None = None
    allowed: AllowedMentions = field(default_factory=AllowedMentions)


_SETTABLE = (
    MessageFlag.SUPPRESS_EMBEDS
    | MessageFlag.SUPPRESS_NOTIFICATIONS
    | MessageFlag.IS_COMPONENTS_V2
    | MessageFlag.IS_VOICE_MESSAGE
)
_FORWARD = 1


def parse_draft(fields: Fields, uploads: tuple[Upload, ...], *, extra_flags: int = 0) -> Draft:
    """Read the message of a request, and check each limit."""
    flags = (fields.integer("flags") or 0) & (_SETTABLE | extra_flags)
    version_2 = bool(flags & MessageFlag.IS_COMPONENTS_V2)
    _refuse_mixed(fields, version_2=version_2)
    reference = fields.object("message_reference") or Fields({})
    forwards = reference.integer("type") == _FORWARD
    return Draft(
        content=limits.check_content(fields) or "",
        embeds=limits.check_embeds(fields),
        components=limits.check_components(fields, version_2=version_2),
        uploads=uploads,
        flags=flags,
        nonce=_nonce(fields),
        enforce_nonce=fields.flag("enforce_nonce") or False,
        reply_to=None if forwards else reference.snowflake("message_id"),
        reply_must_exist=reference.flag("fail_if_not_exists") is not False,
        allowed=AllowedMentions.parse(fields.object("allowed_mentions")),
        poll=parse_poll(fields.object("poll")),
        forward_of=_forward(reference) if forwards else None,
    )


def _forward(reference: Fields) -> tuple[int, int]:
    channel, message = reference.snowflake("channel_id"), reference.snowflake("message_id")
    if channel is None or message is None:
        raise required(reference.at("channel_id" if channel is None else "message_id"))
    return channel, message


def parse_revision(fields: Fields, uploads: tuple[Upload, ...], old_flags: int = 0) -> Revision:
    """Read the edit of a request; null empties a part, absence keeps it.

    Components of version 2 cannot be switched off again: https://discord.com/developers/docs/components/reference
    """
    flags = fields.integer("flags")
    version_2 = bool(((flags or 0) | old_flags) & MessageFlag.IS_COMPONENTS_V2)
    _refuse_mixed(fields, version_2=version_2)
    kept = fields.objects("attachments")
    return Revision(
        content=(limits.check_content(fields) or "") if fields.has("content") else None,
        embeds=limits.check_embeds(fields) if fields.has("embeds") else None,
        components=limits.check_components(fields, version_2=version_2) if fields.has("components") else None,
        uploads=uploads,
        kept_attachments=frozenset(a.snowflake("id") or 0 for a in kept) if kept is not None else None,
        flags=flags,
        allowed=AllowedMentions.parse(fields.object("allowed_mentions")),
    )


def _nonce(fields: Fields) -> str | int | None:
    nonce = fields.data.get("nonce")
    if nonce is None or (isinstance(nonce, (str, int)) and not isinstance(nonce, bool)):
        if len(str(nonce or "")) > limits.NONCE:
            raise too_long(fields.at("nonce"), limits.NONCE)
        return nonce
    raise invalid(fields.at("nonce"), "NONCE_TYPE_INVALID", "Must be an integer or a string.")


def _refuse_mixed(fields: Fields, *, version_2: bool) -> None:
    if not version_2:
        return
    for name in ("content", "embeds", "sticker_ids", "poll"):
        if fields.data.get(name):
            raise legacy_fields(name, fields.at(name))
