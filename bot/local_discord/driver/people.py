"""What people do beyond posting: they join, click, use commands, and change the guild they own."""

from __future__ import annotations

from dataclasses import replace

from bot.local_discord.interactions.command_options import (
    Option,
    filled_in,
    level_of,
    unfinished,
)
from bot.local_discord.interactions.commands import CHAT_INPUT, Commands
from bot.local_discord.interactions.interactions import Interaction, Interactions, Kind
from bot.local_discord.interactions.modals import filled_form
from bot.local_discord.model.errors import missing_permissions, unknown
from bot.local_discord.model.json_fields import Fields, Json, JsonObject
from bot.local_discord.model.permissions import Permission
from bot.local_discord.model.records import (
    Channel,
    Member,
    Message,
    Role,
)
from bot.local_discord.model.state import GuildState, text_channel
from bot.local_discord.payloads import guild_payloads

_BUTTON = 2
_ON_USER, _ON_MESSAGE = 2, 3
_IN_DIRECT = 1
_REFERENCES = (Option.USER, Option.CHANNEL, Option.ROLE, Option.MENTIONABLE)


class People:
    """Acts as members of the guild."""

    def __init__(self, state: GuildState, interactions: Interactions, commands: Commands) -> None:
        self._state = state
        self._interactions = interactions
        self._commands = commands

    def add(self, name: str, roles: tuple[int, ...], *, bot: bool) -> Member:
        """A further person, or another bot, joins."""
        member = self._state.put_member(Member(self._state.ids.next(), name, bot, roles))
        self._tell_member("GUILD_MEMBER_ADD", member)
        return member

    def set_roles(self, member: Member, roles: tuple[int, ...]) -> Member:
        """Gives a member other roles."""
        changed = self._state.put_member(replace(member, roles=roles))
        self._tell_member("GUILD_MEMBER_UPDATE", changed)
        return changed

    def _tell_member(self, event: str, member: Member) -> None:
        guild: JsonObject = {"guild_id": str(self._state.identity.guild_id)}
        self._state.publish(event, guild_payloads.member(member) | guild)

    def add_role(self, role: Role) -> Role:
        """A further role."""
        self._state.put_role(role)
        guild_id = str(self._state.identity.guild_id)
        self._state.publish("GUILD_ROLE_CREATE", {"guild_id": guild_id, "role": guild_payloads.role(role)})
        return role

    def change_role(self, role: Role) -> Role:
        """A role has other rights from now on."""
        self._state.put_role(role)
        guild_id = str(self._state.identity.guild_id)
        self._state.publish("GUILD_ROLE_UPDATE", {"guild_id": guild_id, "role": guild_payloads.role(role)})
        return role

    def remove_role(self, role: Role) -> None:
        """A role goes, and with it what its members had of it."""
        for one in [m for m in self._state.members.values() if role.id in m.roles]:
            self.set_roles(one, tuple(r for r in one.roles if r != role.id))
        self._state.drop_role(role)
        guild_id = str(self._state.identity.guild_id)
        self._state.publish("GUILD_ROLE_DELETE", {"guild_id": guild_id, "role_id": str(role.id)})

    def remove_bot(self) -> None:
        """The bot is kicked: it is told, and from then on sees nothing."""
        self._state.bot_removed = True
        self._state.publish("GUILD_DELETE", {"id": str(self._state.identity.guild_id)})

    def readmit_bot(self) -> None:
        """The bot is invited again."""
        self._state.bot_removed = False
        body = guild_payloads.guild(self._state, all_members=True)
        del body["unavailable"]  # only a guild that the bot was in before has it
        self._state.publish("GUILD_CREATE", body)

    def add_channel(self, name: str) -> Channel:
        """A further text channel."""
        channel = text_channel(self._state, name)
        body = guild_payloads.channel(self._state, channel)
        self._state.publish("CHANNEL_CREATE", body, channel_id=channel.id)
        return channel

    def set_overwrites(self, channel: Channel) -> Channel:
        """A channel's overwrites change; who loses sight of it still hears of that."""
        me = self._state.identity.bot_id
        saw = self._state.rights(me, self._state.channel(channel.id)) & Permission.VIEW_CHANNEL
        self._state.put_channel(channel)
        self._state.publish("CHANNEL_UPDATE", guild_payloads.channel(self._state, channel))
        if not saw:
            self._sync_threads(channel)
        return channel

    def _sync_threads(self, channel: Channel) -> None:
        """https://discord.com/developers/docs/topics/threads#gaining-access-to-channels"""
        me = self._state.identity.bot_id
        below = [c for c in self._state.channels.values() if c.parent_id == channel.id and not c.archived]
        mine = [c for c in below if me in c.member_ids]
        body: JsonObject = {
            "guild_id": str(self._state.identity.guild_id),
            "channel_ids": [str(channel.id)],
            "threads": [guild_payloads.channel(self._state, c) for c in below],
            "members": [guild_payloads.thread_member(c, me) for c in mine],
        }
        self._state.publish("THREAD_LIST_SYNC", body, channel_id=channel.id, only_for=me)

    def click(self, who: Member, message: Message, custom_id: str, values: list[str]) -> Interaction:
        """Clicks a button, or chooses `values` in a select."""
        channel = self._state.channel(message.channel_id)
        self._state.require(who.id, channel, Permission.VIEW_CHANNEL)
        component = message.component(custom_id)
        if message.visible_to not in (None, who.id) or component is None:
            raise unknown("Message")
        if component.get("disabled"):
            raise ValueError(f"{custom_id!r} is disabled.")
        data: JsonObject = {
            "custom_id": custom_id,
            "component_type": component["type"],
        }
        if component["type"] != _BUTTON:
            data["values"] = [*values]
        return self._interactions.begin(Kind.COMPONENT, who.id, channel.id, data, message)

    def slash(self, who: Member, channel_id: int, name: str, values: dict[str, Json]) -> Interaction:
        """Uses a registered command."""
        first, *path = name.split()
        command = self._command(who, channel_id, first, CHAT_INPUT)
        filled = filled_in(level_of(Fields(command), path), values)
        data = _invoked(command, path, filled)
        resolved = self._resolved(Fields(data))
        if resolved:
            data["resolved"] = resolved
        return self._interactions.begin(Kind.COMMAND, who.id, channel_id, data)

    def complete(
        self, who: Member, channel_id: int, name: str, option: str, typed: str, values: dict[str, Json]
    ) -> Interaction:
        """Types in an option that the bot completes; the other options may be missing."""
        first, *path = name.split()
        command = self._command(who, channel_id, first, CHAT_INPUT)
        level = level_of(Fields(command), path)
        unfinished(level, option)
        data = _invoked(command, path, filled_in(level, values | {option: typed}, focused=option))
        return self._interactions.begin(Kind.AUTOCOMPLETE, who.id, channel_id, data)

    def use_on(self, who: Member, channel_id: int, name: str, target: Member | Message) -> Interaction:
        """Uses a command of the menu of a member or message."""
        on_message = isinstance(target, Message)
        command = self._command(who, channel_id, name, _ON_MESSAGE if on_message else _ON_USER)
        data = _invoked(command, [], [])
        del data["options"]
        number = str(target.id)
        if on_message:
            data["resolved"] = {"messages": {number: self._interactions.view.payload(target)}}
        else:
            users: JsonObject = {number: guild_payloads.user(target)}
            members: JsonObject = {number: guild_payloads.member(target, with_user=False)}
            data["resolved"] = {"users": users, "members": members}
        data["target_id"] = number
        return self._interactions.begin(Kind.COMMAND, who.id, channel_id, data)

    def _command(self, who: Member, channel_id: int, name: str, kind: int) -> JsonObject:
        """The command that this person can use here; the guild's own come before global ones."""
        channel = self._state.channel(channel_id)
        self._state.require(who.id, channel, Permission.USE_APPLICATION_COMMANDS)
        scopes = [None] if channel.is_direct else [self._state.identity.guild_id, None]
        found = [c for scope in scopes for c in self._commands.all(scope) if (c["name"], c["type"]) == (name, kind)]
        usable = [c for c in found if not channel.is_direct or _works_in_direct(Fields(c))]
        if not usable:
            raise LookupError(f"No command {name!r} is registered here; the bot must sync it first.")
        needed = Permission(Fields(usable[0]).integer("default_member_permissions") or 0)
        if not channel.is_direct and self._state.rights(who.id, channel) & needed != needed:
            raise missing_permissions()
        return usable[0]

    def submit(self, asked: Interaction, values: dict[str, Json]) -> Interaction:
        """Fills in the form that `asked` was answered with."""
        if asked.modal is None:
            raise LookupError("That interaction was not answered with a form.")
        rows = filled_form(Fields(asked.modal), values)
        data: JsonObject = {"custom_id": asked.modal.get("custom_id"), "components": rows}
        message = None
        if asked.message_id is not None:
            message = self._state.message(asked.channel_id, asked.message_id)
        return self._interactions.begin(Kind.MODAL, asked.user_id, asked.channel_id, data, message)

    def _resolved(self, data: Fields) -> JsonObject:
        users: JsonObject = {}
        members: JsonObject = {}
        channels: JsonObject = {}
        roles: JsonObject = {}
        for option in _leaves(data):
            kind = option.integer("type")
            number = option.snowflake("value") if kind in _REFERENCES else None
            if number is None:
                continue
            if kind == Option.CHANNEL:
                channels[str(number)] = guild_payloads.channel(self._state, self._state.channel(number))
            elif kind == Option.ROLE or (kind == Option.MENTIONABLE and number in self._state.roles):
                roles[str(number)] = guild_payloads.role(self._state.role(number))
            else:
                users[str(number)] = guild_payloads.user(self._state.member(number))
                members[str(number)] = guild_payloads.member(self._state.member(number), with_user=False)
        found: JsonObject = {"users": users, "members": members, "channels": channels, "roles": roles}
        return {name: part for name, part in found.items() if part}


def _leaves(data: Fields) -> list[Fields]:
    options = data.objects("options") or []
    return [leaf for o in options for leaf in ([o] if o.has("value") else _leaves(o))]


def _works_in_direct(command: Fields) -> bool:
    contexts = command.array("contexts")
    return command.flag("dm_permission") is not False if contexts is None else _IN_DIRECT in contexts


def _invoked(command: JsonObject, path: list[str], options: list[Json]) -> JsonObject:
    """The `data` of an interaction: the command, down to its subcommand."""
    level = Fields(command)
    kinds: list[int | None] = []
    for name in path:
        level = next(o for o in level.objects("options") or [] if o.text("name") == name)
        kinds.append(level.integer("type"))
    for name, kind in zip(reversed(path), reversed(kinds), strict=True):
        options = [{"name": name, "type": kind, "options": options}]
    data: JsonObject = {"id": command["id"], "name": command["name"], "type": command["type"], "options": options}
    if "guild_id" in command:
        data["guild_id"] = command["guild_id"]
    return data
