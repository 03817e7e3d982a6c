"""The slash commands that the application registered.

https://discord.com/developers/docs/interactions/application-commands
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TypeAlias

from bot.guild.errors import ApiError, invalid, out_of_range, required, unknown
from bot.guild.state import GuildState
from bot.guild.wire import Fields, Json, JsonObject

CHAT_INPUT = 1
LARGEST_SET = 100
_SUBCOMMAND, _SUBCOMMAND_GROUP = 1, 2
_NAME = re.compile(r"^[-_'\w]{1,32}$")
COMMANDS_FACT = 2

# None is the global set, otherwise a guild's id.
Scope: TypeAlias = int | None
# Counts one command that was not there before, or refuses it.
Count: TypeAlias = Callable[[Scope], None]


class Commands:
    """What was registered, globally and for the guild."""

    def __init__(self, state: GuildState) -> None:
        self._state = state
        self._sets: dict[Scope, dict[int, JsonObject]] = {}

    def all(self, scope: Scope) -> list[JsonObject]:
        """The commands of one set."""
        return [*self._sets.get(scope, {}).values()]

    def get(self, scope: Scope, command_id: int) -> JsonObject:
        """One command, or 10063."""
        found = self._sets.get(scope, {}).get(command_id)
        if found is None:
            raise unknown("Application Command")
        return found

    def named(self, name: str) -> JsonObject | None:
        """The command a person gets for a name; the guild's own come before global ones."""
        for scope in (self._state.identity.guild_id, None):
            for command in self.all(scope):
                if command["name"] == name and command["type"] == CHAT_INPUT:
                    return command
        return None

    def replace_all(self, scope: Scope, wanted: list[Fields], count: Count) -> list[JsonObject]:
        """The whole set anew; a command keeps its id where its name and type stay."""
        if len(wanted) > LARGEST_SET:
            raise ApiError(400, 30032, "Maximum number of application commands reached (100).")
        checked = [_checked(one) for one in wanted]
        _refuse_doubles(checked)
        kept = {(c["name"], c["type"]): c for c in self.all(scope)}
        for one in checked:
            if (one["name"], one["type"]) not in kept:
                count(scope)
        self._sets[scope] = {}
        for one in checked:
            self._put(scope, one, kept.get((one["name"], one["type"])))
        self._save()
        return self.all(scope)

    def create(self, scope: Scope, wanted: Fields, count: Count) -> JsonObject:
        """One command more; the same name replaces the old one."""
        one = _checked(wanted)
        same = [c for c in self.all(scope) if (c["name"], c["type"]) == (one["name"], one["type"])]
        if not same and len(self.all(scope)) >= LARGEST_SET:
            raise ApiError(400, 30032, "Maximum number of application commands reached (100).")
        if not same:
            count(scope)
        made = self._put(scope, one, same[0] if same else None)
        self._save()
        return made

    def change(self, scope: Scope, command_id: int, wanted: Fields) -> JsonObject:
        """One command with some fields changed."""
        old = self.get(scope, command_id)
        made = self._put(scope, _checked(Fields(old | wanted.data)), old)
        self._save()
        return made

    def delete(self, scope: Scope, command_id: int) -> None:
        """One command less."""
        self.get(scope, command_id)
        del self._sets[scope][command_id]
        self._save()

    def _put(self, scope: Scope, one: JsonObject, old: JsonObject | None) -> JsonObject:
        number = int(str(old["id"])) if old else self._state.ids.next()
        made = one | {
            "id": str(number),
            "application_id": str(self._state.identity.application_id),
            "version": str(self._state.ids.next()),
        }
        if scope is not None:
            made["guild_id"] = str(scope)
        self._sets.setdefault(scope, {})[number] = made
        return made

    def _save(self) -> None:
        sets = {str(scope or ""): self.all(scope) for scope in self._sets}
        self._state.keeper.save_fact(COMMANDS_FACT, json.dumps(sets))
        self._state.feed.changed()

    def remember(self, raw: str) -> None:
        """Takes up what an earlier process saved."""
        for scope, commands in json.loads(raw).items():
            self._sets[int(scope) if scope else None] = {int(c["id"]): c for c in commands}


def _checked(fields: Fields) -> JsonObject:
    name, kind = fields.text("name"), fields.integer("type") or CHAT_INPUT
    if name is None:
        raise required(fields.at("name"))
    if kind == CHAT_INPUT and (not _NAME.match(name) or name != name.lower()):
        raise invalid(fields.at("name"), "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")
    if not 1 <= len(name) <= 32:
        raise out_of_range(fields.at("name"), 1, 32)
    if kind == CHAT_INPUT:
        _check_description(fields)
        _check_options(fields)
    defaults: JsonObject = {
        "default_member_permissions": None,
        "dm_permission": True,
        "contexts": None,
        "integration_types": [0],
        "nsfw": False,
        "name_localizations": None,
        "description": "",
        "description_localizations": None,
        "options": [],
    }
    return defaults | fields.data | {"type": kind, "name": name}


def _check_description(fields: Fields) -> None:
    text = fields.text("description")
    if text is None:
        raise required(fields.at("description"))
    if not 1 <= len(text) <= 100:
        raise out_of_range(fields.at("description"), 1, 100)


def _check_options(fields: Fields) -> None:
    options = fields.objects("options") or []
    if len(options) > 25:
        raise out_of_range(fields.at("options"), 0, 25)
    for option in options:
        name = option.text("name") or ""
        if not _NAME.match(name) or name != name.lower():
            raise invalid(option.at("name"), "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")
        _check_description(option)
        _check_options(option)


def _refuse_doubles(commands: list[JsonObject]) -> None:
    seen: set[tuple[Json, Json]] = set()
    for n, one in enumerate(commands):
        key = (str(one["name"]), str(one["type"]))
        if key in seen:
            raise invalid(
                (str(n), "name"), "APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique"
            )
        seen.add(key)


def invocation(command: JsonObject, path: list[str], values: dict[str, Json]) -> JsonObject:
    """The `data` of an interaction: the command, down to its subcommand, with options by type."""
    data: JsonObject = {"id": command["id"], "name": command["name"], "type": command["type"]}
    if "guild_id" in command:
        data["guild_id"] = command["guild_id"]
    data["options"] = _nested(Fields(command), path, values)
    return data


def _nested(level: Fields, path: list[str], values: dict[str, Json]) -> list[Json]:
    options = level.objects("options") or []
    if path:
        for option in options:
            if option.text("name") == path[0] and option.integer("type") in (_SUBCOMMAND, _SUBCOMMAND_GROUP):
                inner = _nested(option, path[1:], values)
                return [{"name": path[0], "type": option.integer("type"), "options": inner}]
        raise LookupError(f"{level.text('name')!r} has no subcommand {path[0]!r}.")
    kinds = {str(o.text("name")): o.integer("type") for o in options}
    strange = values.keys() - kinds.keys()
    missing = {str(o.text("name")) for o in options if o.flag("required")} - values.keys()
    if strange or missing:
        raise ValueError(f"Options not known: {sorted(strange)}; required and missing: {sorted(missing)}.")
    return [{"name": name, "type": kinds[name], "value": value} for name, value in values.items()]
