"""The slash commands that the application registered.

https://discord.com/developers/docs/interactions/application-commands
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeAlias

from bot.local_discord.interactions.command_options import check_options, is_name
from bot.local_discord.model.errors import ApiError, invalid, unknown
from bot.local_discord.model.json_fields import Fields, Json, JsonObject
from bot.local_discord.model.state import GuildState

CHAT_INPUT = 1
LARGEST_SET = 100
COMMANDS_FACT = 2

# None is the global set, otherwise a guild's id.
Scope: TypeAlias = int | None
# Counts one command that was not there before, or refuses it.
Count: TypeAlias = Callable[[Scope], None]


class Commands:
    """The registered commands, global ones and the guild's."""

    def __init__(self, state: GuildState) -> None:
        self._state = state
        self._sets: dict[Scope, dict[int, JsonObject]] = {}

    def all(self, scope: Scope) -> list[JsonObject]:
        """Return the commands of one scope."""
        return [*self._sets.get(scope, {}).values()]

    def get(self, scope: Scope, command_id: int) -> JsonObject:
        """Return one command, or raise 10063."""
        found = self._sets.get(scope, {}).get(command_id)
        if found is None:
            raise unknown("Application Command")
        return found

    def replace_all(self, scope: Scope, wanted: list[Fields], count: Count) -> list[JsonObject]:
        """Replace all commands; a command keeps its id where its name and type stay."""
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
        """Add a command; it replaces one of the same name."""
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
        """Change some fields of a command."""
        old = self.get(scope, command_id)
        made = self._put(scope, _checked(Fields(old | wanted.data)), old)
        self._save()
        return made

    def delete(self, scope: Scope, command_id: int) -> None:
        """Delete a command."""
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
        self._state.store.save_text("fact", COMMANDS_FACT, json.dumps(sets))
        self._state.feed.changed()

    def remember(self, raw: str) -> None:
        """Load what an earlier process saved."""
        for scope, commands in json.loads(raw).items():
            self._sets[int(scope) if scope else None] = {int(c["id"]): c for c in commands}


def _checked(fields: Fields) -> JsonObject:
    name, kind = fields.sized("name", 1, 32), fields.integer("type") or CHAT_INPUT
    if kind == CHAT_INPUT and not is_name(name):
        raise invalid(fields.at("name"), "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")
    if kind == CHAT_INPUT:
        fields.sized("description", 1, 100)
        check_options(fields)
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


def _refuse_doubles(commands: list[JsonObject]) -> None:
    seen: set[tuple[Json, Json]] = set()
    for n, one in enumerate(commands):
        key = (str(one["name"]), str(one["type"]))
        if key in seen:
            raise invalid(
                (str(n), "name"), "APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique"
            )
        seen.add(key)
