"""The roles and rules of a place: shipped, of whoever runs the bot, and of a server's owners; and what is wrong with them.

``roles/NAME.md`` and ``rules/NAME.md`` in the home count in all servers, ``roles/SERVER/NAME.md`` in one, and
``rules/PLACE/NAME.md`` in one server, channel or thread.  A task takes their text into its log when it begins.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from agentic.core.events.execution_events import RoleTemplate, RuleFile, RuleScope
from agentic.core.prompt.role_file import read_role, shipped
from agentic.core.prompt.rule_files import CheckedRules, checked, read_rule
from agentic.prompts.roles import FILES
from agentic.stores.shared_files import SharedHome, changed
from agentic.text.head_fields import HeadMistakes
from bot.equipment.markdown_folder import EVERYWHERE, MarkdownFolder, StoredFile
from bot.equipment.tool_names import misnamed

ROLES, RULES = "roles", "rules"


class FileMistake(NamedTuple):
    """What is wrong with a file, and what to do about it."""

    path: str
    name: str
    what: str


class OwnRoles(NamedTuple):
    """People's own roles in one server, and the files that are none."""

    roles: tuple[RoleTemplate, ...] = ()
    mistakes: tuple[FileMistake, ...] = ()

    @property
    def all(self) -> dict[str, RoleTemplate]:
        """These and the shipped ones, by name; own ones take the place of shipped ones."""
        return shipped() | {role.name: role for role in self.roles}


class PlaceRules(NamedTuple):
    """The rules of a place: as they count, what contradicts, which files are none, and every file that was read."""

    checked: CheckedRules
    mistakes: tuple[FileMistake, ...]
    every: tuple[RuleFile, ...]


class Equipped(NamedTuple):
    """What a task that begins takes into its log, and what people are to know of it."""

    role: str = ""
    own_roles: tuple[RoleTemplate, ...] = ()
    rule_files: tuple[RuleFile, ...] = ()
    troubles: tuple[str, ...] = ()


class Survey(NamedTuple):
    """The names of all roles and rules that people wrote, and what is wrong with any."""

    roles: tuple[str, ...]
    rules: tuple[str, ...]
    mistakes: tuple[FileMistake, ...]
    troubles: tuple[str, ...]


class RuleRefused(Exception):
    """A rule that cannot be added or removed; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class RulePlace:
    """Where a task is: ids, '' where there is none."""

    thread: str = ""
    channel: str = ""
    guild: str = ""

    def scoped(self) -> Iterator[tuple[RuleScope, str]]:
        """Each scope with its folder, the widest first."""
        ids: dict[RuleScope, str] = {"guild": self.guild, "channel": self.channel, "thread": self.thread}
        yield "everywhere", EVERYWHERE
        for scope in ids:
            if ids[scope]:
                yield scope, ids[scope]


class Equipment:
    """Reads and writes roles and rules."""

    def __init__(self, home: Path, shared: SharedHome | None = None) -> None:
        self._shared = shared
        self._roles, self._rules = MarkdownFolder(home, ROLES), MarkdownFolder(home, RULES)
        self._writing = asyncio.Lock()

    # --- roles ---

    async def roles(self, guild: str) -> OwnRoles:
        """The own roles of a server, or of a direct conversation."""
        return await asyncio.to_thread(self.roles_now, guild)

    def roles_now(self, guild: str) -> OwnRoles:
        """As ``roles``, while one waits."""
        found, mistakes = dict[str, RoleTemplate](), list[FileMistake]()
        for place in dict.fromkeys((EVERYWHERE, guild)):
            roles = dict[str, RoleTemplate]()
            files = self._roles.read(place)
            read = [(file, _read_role(file)) for file in files]
            names = Counter(role.name for _, role in read if isinstance(role, RoleTemplate))
            for file, role in read:
                if isinstance(role, FileMistake):
                    mistakes.append(role)
                elif names[role.name] > 1:
                    mistakes.append(FileMistake(file.path, role.name, _twice(role.name, "role")))
                else:
                    roles[role.name] = role
            found |= roles
        return OwnRoles(tuple(found.values()), tuple(mistakes))

    async def role_text(self, guild: str, name: str) -> str | None:
        """A role as a file: an own one before a shipped one; None where there is none."""
        for place in dict.fromkeys((guild, EVERYWHERE)):
            for file in await asyncio.to_thread(self._roles.read, place):
                role = _read_role(file)
                if (role.name if isinstance(role, RoleTemplate) else file.name) == name:
                    return file.text or None
        return FILES.get(name)

    async def put_role(self, guild: str, text: str) -> tuple[RoleTemplate, tuple[str, ...]]:
        """Keep a role for a server, in the place of one of that name; it, and what may be wrong with it all the same.

        Raises ``HeadMistakes``, ``FolderFull`` and ``OSError``.
        """
        role = read_role(text)
        async with self._writing:
            await changed(self._shared, ROLES, partial(self._roles.put, guild, role.name, text))
        every = await self.rules(RulePlace(guild=guild))
        return role, tuple(role_doubts(role, every.every))

    async def remove_role(self, guild: str, name: str) -> bool:
        """Delete a server's role; whether there was one.  Raises ``OSError``."""
        async with self._writing:
            return await changed(self._shared, ROLES, partial(self._roles.remove, guild, name))

    # --- rules ---

    async def rules(self, place: RulePlace) -> PlaceRules:
        """The rules that count in a place."""
        return await asyncio.to_thread(self.rules_now, place)

    def rules_now(self, place: RulePlace) -> PlaceRules:
        """As ``rules``, while one waits."""
        rules, mistakes = list[RuleFile](), list[FileMistake]()
        for scope, folder in place.scoped():
            for file in self._rules.read(folder):
                rule = _read_rule(file, scope)
                mistakes += [rule] if isinstance(rule, FileMistake) else []
                rules += [rule] if isinstance(rule, RuleFile) else []
        return PlaceRules(checked(rules), tuple(mistakes), tuple(rules))

    async def rule_text(
        self, place: RulePlace, name: str, only: RuleScope | None = None
    ) -> tuple[RuleScope, str] | None:
        """A rule as a file, of one scope or the nearest that has it; None where there is none."""
        for scope, folder in reversed(tuple(place.scoped())):
            for file in await asyncio.to_thread(self._rules.read, folder) if only in (None, scope) else ():
                rule = _read_rule(file, scope)
                if (rule.name if isinstance(rule, RuleFile) else file.name) == name and file.text:
                    return scope, file.text
        return None

    async def put_rule(self, place: RulePlace, scope: RuleScope, text: str) -> tuple[RuleFile, tuple[str, ...]]:
        """Keep a rule for a scope of a place, in the place of one of that name; it, and what may be wrong with it.

        Raises ``HeadMistakes``, ``RuleRefused`` where it contradicts others there, ``FolderFull`` and ``OSError``.
        """
        rule = read_rule(text, scope)
        folder = dict(place.scoped())[scope]

        def put() -> None:
            now = self.rules_now(place)
            others = [each for each in now.every if (each.name, each.scope) != (rule.name, scope)]
            if new := [each for each in checked((*others, rule)).troubles if each not in now.checked.troubles]:
                raise RuleRefused("\n".join(new))
            self._rules.put(folder, rule.name, text)

        async with self._writing:
            await changed(self._shared, RULES, put)
        roles = await self.roles(place.guild or place.thread)
        return rule, tuple(rule_doubts(rule, roles))

    async def remove_rule(self, place: RulePlace, scope: RuleScope, name: str) -> bool:
        """Delete a rule; whether there was one.  Raises ``RuleRefused`` where another overrides it, and ``OSError``."""
        folder = dict(place.scoped())[scope]

        def remove() -> bool:
            now = self.rules_now(place)
            left = [rule for rule in now.every if (rule.name, rule.scope) != (name, scope)]
            users = [rule.name for rule in left if name in rule.overrides]
            if users and not any(rule.name == name for rule in left):
                raise RuleRefused(f"The rule {users[0]} overrides {name}. Take {name} out of its `overrides` first.")
            return self._rules.remove(folder, name)

        async with self._writing:
            return await changed(self._shared, RULES, remove)

    async def fresh(self) -> None:
        """Know what was changed on other machines a moment ago."""
        if self._shared is not None:
            await self._shared.fresh()

    async def forget(self, place: str) -> None:
        """Delete the rules and roles of a thread that is no more."""
        for folder in (self._roles, self._rules):
            await asyncio.to_thread(folder.forget, place)

    # --- everything ---

    async def for_task(self, place: RulePlace, chosen: str) -> Equipped:
        """What a task of a place has; a chosen role that cannot be used is left out, and told."""
        roles, rules = await self.roles(place.guild or place.thread), await self.rules(place)
        troubles = [*rules.checked.troubles, *(f"`{each.path}`: {each.what}." for each in rules.mistakes)]
        if chosen and chosen not in roles.all:
            wrong = next(
                (each.what for each in roles.mistakes if each.name == chosen), "there is no such role any more"
            )
            troubles.append(f"The role {chosen} was chosen here, and can't be used: {wrong}. I chose one by the task.")
            chosen = ""
        return Equipped(chosen, roles.roles, rules.checked.rules, tuple(troubles))

    def survey(self) -> Survey:
        """All roles and rules that people wrote, in all places; blocks.

        Which channel is of which server no folder says, so what stands in any folder counts as there.
        """
        places = tuple(dict.fromkeys((*self._roles.places(), *self._rules.places())))
        roles = {place: self.roles_now(place) for place in places}
        rules = {place: self.rules_now(RulePlace(guild=place)) for place in places}
        every = [
            rule for place, here in rules.items() for rule in here.every if (rule.scope == "everywhere") != bool(place)
        ]
        anywhere = {rule.name for rule in every}
        known = OwnRoles(tuple(role for here in roles.values() for role in here.roles))
        troubles: list[str] = []
        for here in rules.values():
            among = {rule.name for rule in here.every}
            kept = [
                rule.model_copy(
                    update={"overrides": tuple(n for n in rule.overrides if n in among or n not in anywhere)}
                )
                for rule in here.every
            ]
            troubles += checked(kept).troubles
        troubles += [doubt for role in known.roles for doubt in role_doubts(role, every)]
        troubles += [doubt for rule in every for doubt in rule_doubts(rule, known)]
        mistakes = [mistake for here in (*roles.values(), *rules.values()) for mistake in here.mistakes]
        return Survey(
            tuple(sorted({role.name for role in known.roles})), tuple(sorted(anywhere)), tuple(dict.fromkeys(mistakes)),
            tuple(dict.fromkeys(troubles)),
        )  # fmt: skip


def role_doubts(role: RoleTemplate, rules: Iterable[RuleFile]) -> Iterator[str]:
    """What a role names that is not there: perhaps it will be."""
    for tool in (*role.tools, *role.refuses):
        if doubt := misnamed(tool):
            yield f"role {role.name}: {doubt}"
    known = {rule.name for rule in rules}
    for name in role.rules:
        if name not in known:
            yield f"role {role.name}: there is no rule {name} for the whole server. Add it, or take it out of `rules`."


def rule_doubts(rule: RuleFile, roles: OwnRoles) -> Iterator[str]:
    """What a rule names that is not there."""
    for name in rule.roles or ():
        if name not in roles.all:
            yield f"rule {rule.name}: there is no role {name}. Correct it in `roles`, or add that role."


def _read_role(file: StoredFile) -> RoleTemplate | FileMistake:
    if file.problem:
        return FileMistake(file.path, file.name, file.problem)
    try:
        return read_role(file.text)
    except HeadMistakes as wrong:
        return FileMistake(file.path, file.name, str(wrong))


def _read_rule(file: StoredFile, scope: RuleScope) -> RuleFile | FileMistake:
    if file.problem:
        return FileMistake(file.path, file.name, file.problem)
    try:
        return read_rule(file.text, scope)
    except HeadMistakes as wrong:
        return FileMistake(file.path, file.name, str(wrong))


def _twice(name: str, what: str) -> str:
    return f"another file is the {what} {name} as well, so neither is used; rename or delete one"
