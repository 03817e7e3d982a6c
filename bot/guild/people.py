"""What people do beyond posting: they join, click, use commands, and change the guild they own."""

from __future__ import annotations

from dataclasses import replace

from bot.guild import payloads
from bot.guild.commands import Commands, invocation
from bot.guild.errors import unknown
from bot.guild.interactions import Interaction, Interactions, Kind
from bot.guild.permissions import Permission
from bot.guild.records import Channel, Member, Message, Role
from bot.guild.state import GuildState, text_channel
from bot.guild.wire import Fields, Json, JsonObject

_BUTTON = 2
_USER, _CHANNEL, _ROLE = 6, 7, 8


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
        self._state.publish(event, payloads.member(member) | guild)

    def add_role(self, role: Role) -> Role:
        """A further role."""
        self._state.put_role(role)
        guild_id = str(self._state.identity.guild_id)
        self._state.publish("GUILD_ROLE_CREATE", {"guild_id": guild_id, "role": payloads.role(role)})
        return role

    def remove_bot(self) -> None:
        """The bot is kicked: it is told, and from then on sees nothing."""
        self._state.bot_removed = True
        self._state.publish("GUILD_DELETE", {"id": str(self._state.identity.guild_id)})

    def readmit_bot(self) -> None:
        """The bot is invited again."""
        self._state.bot_removed = False
        body = payloads.guild(self._state, all_members=True)
        del body["unavailable"]  # only a guild that the bot was in before has it
        self._state.publish("GUILD_CREATE", body)

    def add_channel(self, name: str) -> Channel:
        """A further text channel."""
        channel = text_channel(self._state, name)
        body = payloads.channel(self._state, channel)
        self._state.publish("CHANNEL_CREATE", body, channel_id=channel.id)
        return channel

    def set_overwrites(self, channel: Channel) -> Channel:
        """A channel's overwrites change; who loses sight of it still hears of that."""
        self._state.put_channel(channel)
        self._state.publish("CHANNEL_UPDATE", payloads.channel(self._state, channel))
        return channel

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
        channel = self._state.channel(channel_id)
        self._state.require(who.id, channel, Permission.USE_APPLICATION_COMMANDS)
        first, *path = name.split()
        command = self._commands.named(first)
        if command is None:
            raise LookupError(f"No command {first!r} is registered; the bot must sync it first.")
        data = invocation(command, path, values)
        resolved = self._resolved(Fields(data))
        if resolved:
            data["resolved"] = resolved
        return self._interactions.begin(Kind.COMMAND, who.id, channel_id, data)

    def submit(self, asked: Interaction, values: dict[str, str]) -> Interaction:
        """Fills in the form that `asked` was answered with."""
        if asked.modal is None:
            raise LookupError("That interaction was not answered with a form.")
        rows: list[Json] = [
            {"type": 1, "components": [{"type": 4, "custom_id": name, "value": value, "id": n}]}
            for n, (name, value) in enumerate(values.items(), 1)
        ]
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
            number = option.snowflake("value") if option.integer("type") in (_USER, _CHANNEL, _ROLE) else None
            if option.integer("type") == _USER and number is not None:
                users[str(number)] = payloads.user(self._state.member(number))
                members[str(number)] = payloads.member(self._state.member(number), with_user=False)
            elif option.integer("type") == _CHANNEL and number is not None:
                channels[str(number)] = payloads.channel(self._state, self._state.channel(number))
            elif number is not None:
                roles[str(number)] = payloads.role(self._state.roles[number])
        found: JsonObject = {"users": users, "members": members, "channels": channels, "roles": roles}
        return {name: part for name, part in found.items() if part}


def _leaves(data: Fields) -> list[Fields]:
    options = data.objects("options") or []
    return [leaf for o in options for leaf in ([o] if o.has("value") else _leaves(o))]
