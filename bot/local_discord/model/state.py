"""The guild itself: its members, channels and messages, and the events about them.

Everything that changes the guild goes through `GuildState`, which keeps the records, writes them to the store if there
is one, and publishes what happened.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from bot.local_discord.model.errors import ApiError, missing_access, missing_permissions, unknown
from bot.local_discord.model.event_bus import Event, Feed
from bot.local_discord.model.json_fields import JsonObject
from bot.local_discord.model.permission_flags import ALL, IN_DIRECT, MEMBER_DEFAULT, Permission, granted
from bot.local_discord.model.records import Channel, ChannelType, Member, Message, Role, Tag, Webhook
from bot.local_discord.model.snowflakes import Snowflakes
from bot.local_discord.model.store import Store


@dataclass(slots=True)
class Grants:
    """The privileged intents that the application was granted in its (imagined) settings."""

    members: bool = True
    presences: bool = True
    message_content: bool = True


@dataclass(frozen=True, slots=True)
class Identity:
    """The fixed ids of a guild."""

    guild_id: int
    bot_id: int
    owner_id: int
    bot_role_id: int

    @property
    def everyone_id(self) -> int:
        """The @everyone role has the guild's id."""
        return self.guild_id

    @property
    def application_id(self) -> int:
        """An application and its bot share the id."""
        return self.bot_id


class GuildState:
    """All records of one guild, by id."""

    def __init__(self, identity: Identity, ids: Snowflakes, store: Store, bot_name: str) -> None:
        self.identity = identity
        self.ids = ids
        self.clock = ids.clock
        self.feed = Feed()
        self.grants = Grants()
        self.store = store
        self.name = "Local server"
        self.notice = ""
        """What everybody at the page is to know before they write; of this process, so it is not kept."""
        self.members: dict[int, Member] = {}
        self.roles: dict[int, Role] = {
            identity.everyone_id: Role(identity.everyone_id, "@everyone", int(MEMBER_DEFAULT)),
            identity.bot_role_id: Role(
                identity.bot_role_id,
                bot_name,
                int(ALL & ~Permission.ADMINISTRATOR & ~Permission.MENTION_EVERYONE),
                position=1,
            ),
        }
        self.channels: dict[int, Channel] = {}
        self.messages: dict[int, dict[int, Message]] = {}
        self.bot_removed = False
        self.closed_to_bot: set[int] = set()
        self.departed: set[int] = set()
        """People who left the guild; what they wrote stays, as they stay users."""
        self.webhooks: dict[int, Webhook] = {}

    # -- looking up ---------------------------------------------------------------------------

    def member(self, user_id: int) -> Member:
        """The member, or 10007."""
        if user_id not in self.members:
            raise unknown("Member")
        return self.members[user_id]

    def role(self, role_id: int) -> Role:
        """The role, or 10011."""
        if role_id not in self.roles:
            raise unknown("Role")
        return self.roles[role_id]

    def channel(self, channel_id: int) -> Channel:
        """The channel or thread, or 10003."""
        if channel_id not in self.channels:
            raise unknown("Channel")
        return self.channels[channel_id]

    def message(self, channel_id: int, message_id: int) -> Message:
        """The message, or 10008."""
        found = self.messages.get(channel_id, {}).get(message_id)
        if found is None:
            raise unknown("Message")
        return found

    def find_message(self, message_id: int) -> Message:
        """The message wherever it stands, or 10008."""
        for in_channel in self.messages.values():
            if message_id in in_channel:
                return in_channel[message_id]
        raise unknown("Message")

    def history(self, channel_id: int, viewer: int | None = None) -> list[Message]:
        """The messages of a channel, oldest first; `viewer` also sees what only they may see."""
        return [
            m
            for _, m in sorted(self.messages.get(channel_id, {}).items())
            if m.visible_to is None or m.visible_to == viewer
        ]

    def place(self, channel_id: int) -> JsonObject:
        """Return how events name a channel: a direct message belongs to no guild."""
        found = self.channels.get(channel_id)
        here: JsonObject = {"channel_id": str(channel_id)}
        return here if found and found.is_direct else here | {"guild_id": str(self.identity.guild_id)}

    def rights(self, user_id: int, channel: Channel) -> Permission:
        """Return a member's permissions in a channel; threads take their parent's overwrites."""
        if channel.is_direct:
            return IN_DIRECT if user_id in (self.identity.bot_id, *channel.recipient_ids) else Permission(0)
        if user_id in self.departed or (self.bot_removed and user_id == self.identity.bot_id):
            return Permission(0)
        place = self.channels.get(channel.parent_id or 0, channel) if channel.is_thread else channel
        one = self.identity
        return granted(self.member(user_id), place, self.roles, one.everyone_id, one.owner_id)

    def require(self, user_id: int, channel: Channel, needed: Permission) -> None:
        """Raise 50001 if the channel cannot be seen, 50013 if a needed permission is missing."""
        have = self.rights(user_id, channel)
        if not have & Permission.VIEW_CHANNEL:
            raise missing_access()
        if have & needed != needed:
            raise missing_permissions()

    # -- changing -----------------------------------------------------------------------------

    def put_member(self, member: Member) -> Member:
        """Store a new or changed member."""
        self.members[member.id] = member
        self.store.save(member)
        return member

    def put_role(self, role: Role) -> Role:
        """Store a new or changed role."""
        self.roles[role.id] = role
        self.store.save(role)
        return role

    def drop_role(self, role: Role) -> None:
        """Remove a role."""
        del self.roles[role.id]
        self.store.remove(role)

    def put_channel(self, channel: Channel) -> Channel:
        """Store a new or changed channel."""
        self.channels[channel.id] = channel
        self.store.save(channel)
        return channel

    def put_message(self, message: Message) -> Message:
        """Store a new or changed message, and update the channel's count."""
        in_channel = self.messages.setdefault(message.channel_id, {})
        is_new = message.id not in in_channel
        in_channel[message.id] = message
        if not message.ephemeral:
            self.store.save(message)
        if is_new and not message.ephemeral:
            channel = self.channels[message.channel_id]
            counted = channel.message_count + (message.type != 21)
            self.put_channel(replace(channel, last_message_id=message.id, message_count=counted))
        return message

    def drop_message(self, message: Message) -> None:
        """Remove a message."""
        del self.messages[message.channel_id][message.id]
        self.store.remove(message)

    def drop_channel(self, channel: Channel) -> None:
        """Remove a channel with its messages."""
        del self.channels[channel.id]
        self.messages.pop(channel.id, None)
        self.store.remove(channel)

    def publish(
        self,
        name: str,
        data: JsonObject,
        *,
        channel_id: int | None = None,
        only_for: int | None = None,
    ) -> None:
        """Publish an event to all listeners."""
        self.feed.publish(Event(name, data, channel_id, only_for))


def text_channel(state: GuildState, name: str) -> Channel:
    """Add a text channel below the others."""
    return state.put_channel(Channel(state.ids.next(), name, position=_below(state)))


def forum(state: GuildState, name: str, tags: Iterable[str] = ()) -> Channel:
    """Add a forum below the other channels, with these tags."""
    made = tuple(Tag(state.ids.next(), tag) for tag in tags)
    return state.put_channel(Channel(state.ids.next(), name, ChannelType.FORUM, position=_below(state), tags=made))


def _below(state: GuildState) -> int:
    return sum(1 for c in state.channels.values() if c.type in (ChannelType.TEXT, ChannelType.FORUM))


def refuse_unless_text(channel: Channel) -> None:
    """Raise 50024 for anything but a text channel."""
    if channel.type is not ChannelType.TEXT:
        raise ApiError(400, 50024, "Cannot execute action on this channel type")


def refuse_if_direct(channel: Channel) -> None:
    """Raise 50003 for a direct conversation."""
    if channel.is_direct:
        raise ApiError(400, 50003, "Cannot execute action on a DM channel")
