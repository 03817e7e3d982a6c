"""Change the guild as its owner would: members, roles, channels and their permissions, and the bot's membership."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeAlias

from bot.local_discord.model.json_fields import JsonObject
from bot.local_discord.model.permission_flags import Permission
from bot.local_discord.model.records import Channel, Member, Overwrite, Role
from bot.local_discord.model.state import forum, text_channel
from bot.local_discord.payloads import guild_payloads
from bot.local_discord.rest.endpoint import Api

# Whoever acts: a member, an id or a name; None is the person at the page (in direct messages, their person).
Person: TypeAlias = Member | int | str | None


class GuildDriver:
    """Members, roles and channels; the bot is told of every change as Discord would."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.state = api.state

    @property
    def you(self) -> Member:
        """The person at the page, who owns the guild."""
        return self.state.member(self.state.identity.owner_id)

    def _person(self, who: Person) -> Member:
        if who is None:
            return self.you
        if isinstance(who, Member):
            return who
        if isinstance(who, int):
            return self.state.member(who)
        named = [m for m in self.state.members.values() if m.name == who]
        if not named:
            raise LookupError(f"Nobody here is called {who!r}; add_member({who!r}) first.")
        return named[0]

    def _author(self, channel_id: int, who: Person) -> Member:
        channel = self.state.channels.get(channel_id)
        if who is None and channel is not None and channel.is_direct:
            return self.state.member(channel.recipient_ids[0])
        return self._person(who)

    def _publish(self, event: str, body: JsonObject) -> None:
        self.state.publish(event, {"guild_id": str(self.state.identity.guild_id)} | body)

    # -- members and roles --------------------------------------------------------------------

    def add_member(self, name: str, roles: Iterable[int] = (), *, bot: bool = False) -> Member:
        """A further person, or another bot; `roles` are ids from `add_role`."""
        member = self.state.put_member(Member(self.state.ids.next(), name, bot, tuple(roles)))
        self._publish("GUILD_MEMBER_ADD", guild_payloads.member(member))
        return member

    def set_roles(self, who: Person, roles: Iterable[int]) -> Member:
        """Give somebody other roles."""
        changed = self.state.put_member(replace(self._person(who), roles=tuple(roles)))
        self._publish("GUILD_MEMBER_UPDATE", guild_payloads.member(changed))
        return changed

    def remove_member(self, who: Person) -> None:
        """Somebody leaves; they stay a user, and what they wrote stays theirs."""
        member = self._person(who)
        self.state.departed.add(member.id)
        self._publish("GUILD_MEMBER_REMOVE", {"user": guild_payloads.user(member)})

    def add_role(self, name: str, *rights: Permission, mentionable: bool = False) -> Role:
        """A further role, with rights beyond those of everyone."""
        number, position = self.state.ids.next(), len(self.state.roles)
        role = self.state.put_role(Role(number, name, _combined(rights), position, mentionable=mentionable))
        self._publish("GUILD_ROLE_CREATE", {"role": guild_payloads.role(role)})
        return role

    def change_role(self, role_id: int, *rights: Permission) -> Role:
        """Give a role these rights instead of those it had."""
        role = self.state.put_role(replace(self.state.role(role_id), permissions=_combined(rights)))
        self._publish("GUILD_ROLE_UPDATE", {"role": guild_payloads.role(role)})
        return role

    def remove_role(self, role_id: int) -> None:
        """Remove a role, from its members too."""
        role = self.state.role(role_id)
        for one in [m for m in self.state.members.values() if role_id in m.roles]:
            self.set_roles(one, (r for r in one.roles if r != role_id))
        self.state.drop_role(role)
        self._publish("GUILD_ROLE_DELETE", {"role_id": str(role_id)})

    def remove_bot(self) -> None:
        """Kick the bot: it is told, and every further request is answered with 50001."""
        self.state.bot_removed = True
        self.state.publish("GUILD_DELETE", {"id": str(self.state.identity.guild_id)})

    def readmit_bot(self) -> None:
        """Invite the bot again."""
        self.state.bot_removed = False
        body = guild_payloads.guild(self.state, all_members=True)
        del body["unavailable"]  # only a guild that the bot was in before has it
        self.state.publish("GUILD_CREATE", body)

    def refuse_direct(self, who: Person = None, *, refused: bool = True) -> None:
        """Make a person refuse direct messages from the bot (50007), or accept them again."""
        number = self._person(who).id
        self.state.closed_to_bot = self.state.closed_to_bot - {number} | ({number} if refused else set())

    # -- channels -----------------------------------------------------------------------------

    def add_channel(self, name: str) -> Channel:
        """A further text channel."""
        channel = text_channel(self.state, name)
        self.state.publish("CHANNEL_CREATE", guild_payloads.channel(self.state, channel), channel_id=channel.id)
        return channel

    def add_forum(self, name: str, tags: Iterable[str] = ()) -> Channel:
        """A forum, whose posts can bear these tags."""
        channel = forum(self.state, name, tags)
        self.state.publish("CHANNEL_CREATE", guild_payloads.channel(self.state, channel), channel_id=channel.id)
        return channel

    def deny(self, channel_id: int, *rights: Permission, member: Person = None, role: int | None = None) -> None:
        """Deny permissions in a channel to the bot, a member, or a role; without any, restore them."""
        self._overwrite(channel_id, member, role, deny=_combined(rights))

    def allow(self, channel_id: int, *rights: Permission, member: Person = None, role: int | None = None) -> None:
        """Grant permissions in a channel beyond those of the roles."""
        self._overwrite(channel_id, member, role, allow=_combined(rights))

    def _overwrite(self, channel_id: int, member: Person, role: int | None, *, allow: int = 0, deny: int = 0) -> None:
        """Change a channel's overwrites; members who can no longer see it are still told."""
        me = self.state.identity.bot_id
        target = role or (me if member is None else self._person(member).id)
        channel = self.state.channel(channel_id)
        others = (o for o in channel.overwrites if o.target_id != target)
        saw = self.state.rights(me, channel) & Permission.VIEW_CHANNEL
        overwrites = (*others, Overwrite(target, role is None, allow, deny))
        changed = self.state.put_channel(replace(channel, overwrites=overwrites))
        self.state.publish("CHANNEL_UPDATE", guild_payloads.channel(self.state, changed))
        if not saw:
            self._sync_threads(changed)

    def _sync_threads(self, channel: Channel) -> None:
        """https://discord.com/developers/docs/topics/threads#gaining-access-to-channels"""
        me = self.state.identity.bot_id
        below = [c for c in self.state.channels.values() if c.parent_id == channel.id and not c.archived]
        body: JsonObject = {
            "guild_id": str(self.state.identity.guild_id),
            "channel_ids": [str(channel.id)],
            "threads": [guild_payloads.channel(self.state, c) for c in below],
            "members": [guild_payloads.thread_member(c, me) for c in below if me in c.member_ids],
        }
        self.state.publish("THREAD_LIST_SYNC", body, channel_id=channel.id, only_for=me)


def _combined(rights: tuple[Permission, ...]) -> int:
    combined = Permission(0)
    for right in rights:
        combined |= right
    return int(combined)
