"""The objects of the guild, as frozen records; a change replaces the record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, IntFlag

from bot.local_discord.model.json_fields import Json, JsonObject


class ChannelType(IntEnum):
    """https://discord.com/developers/docs/resources/channel#channel-object-channel-types"""

    TEXT = 0
    DM = 1
    PUBLIC_THREAD = 11
    PRIVATE_THREAD = 12
    FORUM = 15


class MessageType(IntEnum):
    """https://discord.com/developers/docs/resources/message#message-object-message-types"""

    DEFAULT = 0
    RECIPIENT_ADD = 1
    RECIPIENT_REMOVE = 2
    CHANNEL_NAME_CHANGE = 4
    THREAD_CREATED = 18
    REPLY = 19
    CHAT_INPUT_COMMAND = 20
    THREAD_STARTER_MESSAGE = 21
    CONTEXT_MENU_COMMAND = 23

    @property
    def is_system(self) -> bool:
        """Whether Discord itself wrote it."""
        return self in _SYSTEM


_SYSTEM = frozenset(
    {
        MessageType.RECIPIENT_ADD,
        MessageType.RECIPIENT_REMOVE,
        MessageType.CHANNEL_NAME_CHANGE,
        MessageType.THREAD_CREATED,
        MessageType.THREAD_STARTER_MESSAGE,
    }
)


class MessageFlag(IntFlag):
    """https://discord.com/developers/docs/resources/message#message-object-message-flags"""

    SUPPRESS_EMBEDS = 1 << 2
    HAS_THREAD = 1 << 5
    EPHEMERAL = 1 << 6
    LOADING = 1 << 7
    SUPPRESS_NOTIFICATIONS = 1 << 12
    IS_VOICE_MESSAGE = 1 << 13
    HAS_SNAPSHOT = 1 << 14
    IS_COMPONENTS_V2 = 1 << 15


@dataclass(frozen=True, slots=True)
class Role:
    id: int
    name: str
    permissions: int
    position: int = 0
    color: int = 0
    mentionable: bool = False


@dataclass(frozen=True, slots=True)
class Member:
    id: int
    name: str
    bot: bool = False
    roles: tuple[int, ...] = ()

    @property
    def mention(self) -> str:
        """The text that mentions this member."""
        return f"<@{self.id}>"


@dataclass(frozen=True, slots=True)
class Overwrite:
    """Permissions that a channel allows or denies a role or member beyond their roles."""

    target_id: int
    is_member: bool
    allow: int = 0
    deny: int = 0


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag that posts of a forum can bear; a moderated one is set by who manages threads."""

    id: int
    name: str
    moderated: bool = False


@dataclass(frozen=True, slots=True)
class Channel:
    """A text channel, a forum, a thread (or post) if it has a parent, or a direct conversation of the bot and one person."""

    id: int
    name: str
    type: ChannelType = ChannelType.TEXT
    position: int = 0
    topic: str | None = None
    overwrites: tuple[Overwrite, ...] = ()
    last_message_id: int | None = None
    parent_id: int | None = None
    owner_id: int | None = None
    archived: bool = False
    locked: bool = False
    archive_changed_at: datetime | None = None
    auto_archive_minutes: int = 1440
    member_ids: tuple[int, ...] = ()
    message_count: int = 0
    recipient_ids: tuple[int, ...] = ()
    tags: tuple[Tag, ...] = ()
    """Of a forum, those that there are."""
    tag_ids: tuple[int, ...] = ()
    """Of a post, those that it bears."""

    @property
    def is_thread(self) -> bool:
        """Whether it has a parent channel."""
        return self.type in (ChannelType.PUBLIC_THREAD, ChannelType.PRIVATE_THREAD)

    @property
    def is_direct(self) -> bool:
        """Whether this is private between the bot and one person, outside the guild."""
        return self.type is ChannelType.DM


@dataclass(frozen=True, slots=True)
class Attachment:
    id: int
    filename: str
    size: int
    content_type: str
    description: str | None = None
    duration_secs: float | None = None
    waveform: str | None = None


@dataclass(frozen=True, slots=True)
class PollAnswer:
    """One answer of a poll, and who chose it."""

    text: str
    emoji: str | None = None
    voters: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Poll:
    """A question that people vote on."""

    question: str
    answers: tuple[PollAnswer, ...]
    hours: int = 24
    multiple: bool = False
    ended: bool = False
    ends_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address at which a program that is no member posts into a channel."""

    id: int
    token: str
    channel_id: int
    name: str


@dataclass(frozen=True, slots=True)
class Reaction:
    """One kind of reaction: the emoji as in the URL ("🛑" or "name:id") and who reacted."""

    emoji: str
    user_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Pings:
    """Who is notified by a message: its mentions that `allowed_mentions` and permissions left."""

    everyone: bool = False
    users: tuple[int, ...] = ()
    roles: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return self.everyone or bool(self.users) or bool(self.roles)


@dataclass(frozen=True, slots=True)
class InteractionSource:
    """The interaction that a message answers."""

    id: int
    type: int
    user_id: int
    name: str | None = None
    message_id: int | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """A message; `pings` says whom it really notifies, `ever_pinged` includes earlier edits.

    `forwarded` is a copy of the message that it forwards; `webhook` is the name under which a webhook posted it.
    """

    id: int
    channel_id: int
    author_id: int
    content: str
    created_at: datetime
    type: MessageType = MessageType.DEFAULT
    edited_at: datetime | None = None
    embeds: tuple[JsonObject, ...] = ()
    components: tuple[JsonObject, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    reactions: tuple[Reaction, ...] = ()
    reply_to: int | None = None
    nonce: str | int | None = None
    flags: int = 0
    pings: Pings = field(default_factory=Pings)
    ever_pinged: Pings = field(default_factory=Pings)
    thread_id: int | None = None
    source: InteractionSource | None = None
    visible_to: int | None = None
    poll: Poll | None = None
    forwarded: Message | None = None
    stickers: tuple[str, ...] = ()
    webhook: str | None = None

    @property
    def ephemeral(self) -> bool:
        """Whether only one person sees it."""
        return self.visible_to is not None

    @property
    def silent(self) -> bool:
        """Whether it was sent with SUPPRESS_NOTIFICATIONS."""
        return bool(self.flags & MessageFlag.SUPPRESS_NOTIFICATIONS)

    def reactors(self, emoji: str) -> tuple[int, ...]:
        """Who reacted with `emoji`."""
        return next((r.user_ids for r in self.reactions if r.emoji == emoji), ())

    def component(self, custom_id: str) -> JsonObject | None:
        """The button or select of that id on it."""
        return next((c for c in self.interactive() if c["custom_id"] == custom_id), None)

    def interactive(self) -> list[JsonObject]:
        """The buttons and selects that can be used, in order."""
        return [c for c in _nested(self.components) if isinstance(c.get("custom_id"), str)]

    def custom_ids(self) -> tuple[str, ...]:
        """The ids of the buttons and selects on it, in order."""
        return tuple(str(c["custom_id"]) for c in self.interactive())


def _nested(components: Iterable[Json]) -> Iterator[JsonObject]:
    """Components with all that stands in them."""
    for one in components:
        if isinstance(one, dict):
            yield one
            inner = one.get("components")
            yield from _nested(inner if isinstance(inner, list) else ())
