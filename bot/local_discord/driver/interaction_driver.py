"""Act in the guild as a person would: react, click, use commands, open threads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bot.local_discord.driver.guild_driver import Person
from bot.local_discord.driver.message_driver import MessageDriver
from bot.local_discord.interactions.command_options import Option, filled_in, level_of, unfinished
from bot.local_discord.interactions.commands import CHAT_INPUT
from bot.local_discord.interactions.interactions import Interaction, Kind
from bot.local_discord.interactions.modals import filled_form
from bot.local_discord.messages import message_reactions
from bot.local_discord.model.errors import missing_permissions, unknown
from bot.local_discord.model.json_fields import Fields, Json, JsonObject
from bot.local_discord.model.permission_flags import Permission
from bot.local_discord.model.records import Channel, Member, Message
from bot.local_discord.payloads import guild_payloads
from bot.local_discord.threads import direct_messages, members, threads
from bot.local_discord.threads.threads import ChannelChange, ThreadRequest

_BUTTON = 2
_ON_USER, _ON_MESSAGE = 2, 3
_IN_DIRECT = 1
_REFERENCES = (Option.USER, Option.CHANNEL, Option.ROLE, Option.MENTIONABLE)


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that the bot offers while somebody types."""

    name: str
    value: Json


class InteractionDriver(MessageDriver):
    """A person's actions; each takes the same way as a client's request."""

    async def open_dm(self, who: Person = None) -> Channel:
        """Open the direct messages between the bot and a person, who is the default author there."""
        return direct_messages.opened(self.state, self._person(who).id)

    async def react(self, message_id: int, emoji: str, *, author: Person = None) -> Message:
        """React: "🛑", or "name:id" for a custom emoji."""
        message = self.state.find_message(message_id)
        return message_reactions.add(self.state, self._author(message.channel_id, author).id, message, emoji)

    async def unreact(self, message_id: int, emoji: str, *, author: Person = None) -> Message:
        """Remove a reaction."""
        message = self.state.find_message(message_id)
        who = self._author(message.channel_id, author).id
        return message_reactions.remove(self.state, who, who, message, emoji)

    async def typing(self, channel_id: int, *, author: Person = None) -> None:
        """Show a person as typing."""
        self._api.messages.typing(self._author(channel_id, author).id, channel_id)

    async def create_thread(self, where: int, name: str, *, author: Person = None, private: bool = False) -> Channel:
        """Create a thread from a message (its id), or without one in a channel (its id)."""
        who, ask = self._person(author).id, ThreadRequest(name, private=private)
        view = self._api.view
        if where in self.state.channels:
            return threads.standalone(self.state, view, who, self.state.channel(where), ask)
        return threads.from_message(self.state, view, who, self.state.find_message(where), ask)

    async def archive(self, thread_id: int, *, locked: bool | None = None, author: Person = None) -> Channel:
        """Archive a thread, and lock it if asked."""
        return await self.change_thread(thread_id, archived=True, locked=locked, author=author)

    async def change_thread(
        self,
        thread_id: int,
        *,
        name: str | None = None,
        archived: bool | None = None,
        locked: bool | None = None,
        author: Person = None,
    ) -> Channel:
        """Rename, archive or lock a thread, or undo the latter two."""
        change = ChannelChange(name=name, archived=archived, locked=locked)
        thread, view = self.state.channel(thread_id), self._api.view
        return threads.change(self.state, view, self._person(author).id, thread, change)

    async def add_to_thread(self, thread_id: int, who: Person, *, author: Person = None) -> None:
        """Add somebody to a thread, which a system message says there."""
        thread, view = self.state.channel(thread_id), self._api.view
        members.add(self.state, view, self._person(author).id, thread, self._person(who).id)

    async def remove_from_thread(self, thread_id: int, who: Person, *, author: Person = None) -> None:
        """Remove somebody from a thread, which a system message says there."""
        thread, view = self.state.channel(thread_id), self._api.view
        members.remove(self.state, view, self._person(author).id, thread, self._person(who).id)

    async def delete_channel(self, channel_id: int, *, author: Person = None) -> None:
        """Delete a channel or thread."""
        threads.delete(self.state, self._person(author).id, self.state.channel(channel_id))

    async def click(self, message_id: int, custom_id: str, *, author: Person = None, values: Iterable[str] = ()) -> str:
        """Click a button or choose in a select; the result is the interaction's id."""
        message = self.state.find_message(message_id)
        who = self._author(message.channel_id, author)
        self.state.require(who.id, self.state.channel(message.channel_id), Permission.VIEW_CHANNEL)
        component = message.component(custom_id)
        if message.visible_to not in (None, who.id) or component is None:
            raise unknown("Message")
        if component.get("disabled"):
            raise ValueError(f"{custom_id!r} is disabled.")
        data: JsonObject = {"custom_id": custom_id, "component_type": component["type"]}
        if component["type"] != _BUTTON:
            data["values"] = [*values]
        return str(self._api.interactions.begin(Kind.COMPONENT, who.id, message.channel_id, data, message).id)

    async def slash(
        self, channel_id: int, name: str, options: Mapping[str, Json] | None = None, *, author: Person = None
    ) -> str:
        """Use a slash command ("lessons list" for a subcommand); the result is the interaction's id."""
        who = self._author(channel_id, author)
        first, *path = name.split()
        command = self._command(who, channel_id, first, CHAT_INPUT)
        data = _invoked(command, path, filled_in(level_of(Fields(command), path), dict(options or {})))
        resolved = self._resolved(Fields(data))
        if resolved:
            data["resolved"] = resolved
        return str(self._api.interactions.begin(Kind.COMMAND, who.id, channel_id, data).id)

    async def autocomplete(
        self,
        channel_id: int,
        name: str,
        option: str,
        typed: str = "",
        values: Mapping[str, Json] | None = None,
        *,
        author: Person = None,
    ) -> list[Choice]:
        """Type in an option of a slash command; returns what the bot offers, or raises TimeoutError after three
        seconds.
        """
        who = self._author(channel_id, author)
        first, *path = name.split()
        command = self._command(who, channel_id, first, CHAT_INPUT)
        level = level_of(Fields(command), path)
        unfinished(level, option)
        data = _invoked(command, path, filled_in(level, {**(values or {}), option: typed}, focused=option))
        one = self._api.interactions.begin(Kind.AUTOCOMPLETE, who.id, channel_id, data)
        await self._api.interactions.settled(one)
        if one.answer is None:
            raise TimeoutError("The application did not respond.")
        return [Choice(str(c["name"]), c["value"]) for c in one.choices]

    async def use_on(self, target: Member | Message, name: str, *, channel: int = 0, author: Person = None) -> str:
        """Use a command from the menu of a message or a member; returns the interaction's id.

        A member needs `channel`; a message is in its own, unless it began the thread that is given.
        """
        on_message = isinstance(target, Message)
        where = target.channel_id if isinstance(target, Message) and not channel else channel
        who = self._author(where, author)
        command = self._command(who, where, name, _ON_MESSAGE if on_message else _ON_USER)
        data = _invoked(command, [], [])
        del data["options"]
        number = str(target.id)
        if on_message:
            data["resolved"] = {"messages": {number: self._api.view.payload(target)}}
        else:
            data["resolved"] = {
                "users": {number: guild_payloads.user(target)},
                "members": {number: guild_payloads.member(target, with_user=False)},
            }
        data["target_id"] = number
        return str(self._api.interactions.begin(Kind.COMMAND, who.id, where, data).id)

    async def submit(self, interaction_id: str, values: Mapping[str, Json]) -> str:
        """Fill in and send the form that the bot answered with."""
        asked = self.interaction(interaction_id)
        if asked.modal is None:
            raise LookupError("That interaction was not answered with a form.")
        rows = filled_form(Fields(asked.modal), dict(values))
        data: JsonObject = {"custom_id": asked.modal.get("custom_id"), "components": rows}
        message = None if asked.message_id is None else self.state.message(asked.channel_id, asked.message_id)
        return str(self._api.interactions.begin(Kind.MODAL, asked.user_id, asked.channel_id, data, message).id)

    def interaction(self, interaction_id: str) -> Interaction:
        """Return an interaction: its `answer` is the callback type, or None."""
        return self._api.interactions.find(int(interaction_id))

    def expire_interaction(self, interaction_id: str) -> None:
        """Behave as if its 3 seconds and its 15 minutes had passed."""
        self._api.interactions.expire(int(interaction_id))

    def _command(self, who: Member, channel_id: int, name: str, kind: int) -> JsonObject:
        """Return the command that this person can use here; the guild's own come before global ones."""
        channel = self.state.channel(channel_id)
        self.state.require(who.id, channel, Permission.USE_APPLICATION_COMMANDS)
        scopes = [None] if channel.is_direct else [self.state.identity.guild_id, None]
        found = [c for scope in scopes for c in self._api.commands.all(scope) if (c["name"], c["type"]) == (name, kind)]
        usable = [c for c in found if not channel.is_direct or _works_in_direct(Fields(c))]
        if not usable:
            raise LookupError(f"No command {name!r} is registered here; the bot must sync it first.")
        needed = Permission(Fields(usable[0]).integer("default_member_permissions") or 0)
        if not channel.is_direct and self.state.rights(who.id, channel) & needed != needed:
            raise missing_permissions()
        return usable[0]

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
                channels[str(number)] = guild_payloads.channel(self.state, self.state.channel(number))
            elif kind == Option.ROLE or (kind == Option.MENTIONABLE and number in self.state.roles):
                roles[str(number)] = guild_payloads.role(self.state.role(number))
            else:
                users[str(number)] = guild_payloads.user(self.state.member(number))
                members[str(number)] = guild_payloads.member(self.state.member(number), with_user=False)
        found: JsonObject = {"users": users, "members": members, "channels": channels, "roles": roles}
        return {name: part for name, part in found.items() if part}


def _leaves(data: Fields) -> list[Fields]:
    options = data.objects("options") or []
    return [leaf for o in options for leaf in ([o] if o.has("value") else _leaves(o))]


def _works_in_direct(command: Fields) -> bool:
    contexts = command.array("contexts")
    return command.flag("dm_permission") is not False if contexts is None else _IN_DIRECT in contexts


def _invoked(command: JsonObject, path: list[str], options: list[Json]) -> JsonObject:
    """Build the `data` of an interaction: the command, down to its subcommand."""
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
