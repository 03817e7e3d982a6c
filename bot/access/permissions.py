"""What a person may do, from their Discord roles; pure. Checked at each action, never remembered.

Messages, reactions, clicks and commands all ask here. A right is an intersection: of the person's level (``may``), of
what Discord lets the person do in that place (``limited``), and of what it lets the bot do there (``refusal`` in
``bot/inbound/interpret_reaction.py``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from agentic.core.events.execution_events import (
    Level,
    Person,
    Sort,
)


@dataclass(frozen=True, slots=True)
class Speaker:
    """The author of an event; ``itself`` is the bot."""

    id: str
    name: str
    level: Level = "executor"
    bot: bool = False
    itself: bool = False
    writes: bool = True
    """Whether Discord lets them write in the place where they act."""

    def person(self) -> Person:
        """Return the form that the log keeps."""
        return Person(id=self.id, name=self.name, level=self.level)


ORDER: tuple[Level, ...] = ("viewer", "executor", "operator", "owner")


def at_least(level: Level, needed: Level) -> bool:
    """Whether ``level`` includes ``needed``."""
    return ORDER.index(level) >= ORDER.index(needed)


def level_of(
    roles: Iterable[str], mapping: Mapping[str, Level], *, administrator: bool = False, default: Level = "executor"
) -> Level:
    """Return the highest level of a person's roles (ids, or names that count); administrators and the guild's owner are
    owners.
    """
    if administrator:
        return "owner"
    ranks = [ORDER.index(mapping[role]) for role in roles if role in mapping]
    return ORDER[max(ranks)] if ranks else default


def named_roles(mapping: Iterable[str]) -> tuple[str, ...]:
    """Return the roles that were configured by name; digits are always an id, whatever a role is called."""
    return tuple(role for role in mapping if not role.isdecimal())


def role_marks(roles: Iterable[tuple[str, str]], all_names: Iterable[str]) -> tuple[str, ...]:
    """Return what a person's roles (id, name) are matched by: the ids, and names that only one role of the server has."""
    count, marks = Counter(all_names), list[str]()
    for number, name in roles:
        marks += [number] if name.isdecimal() or count[name] > 1 else [number, name]
    return tuple(marks)


def role_warnings(mapping: Iterable[str], roles: Iterable[tuple[str, str]], server: str) -> tuple[str, ...]:
    """Return what is wrong with roles configured by name, given the roles (id, name) of a server."""
    known, said = list(roles), list[str]()
    for name in named_roles(mapping):
        ids = [number for number, other in known if other == name]
        if len(ids) > 1:
            which = " or ".join(ids)
            said.append(
                f"{len(ids)} roles in {server} are called {name!r}, so none of them counts. Set an id: {which}."
            )
        elif ids:
            why = "is matched by its name, which others can take"
            said.append(f"The role {name!r} in {server} {why}. Set its id instead: {ids[0]}.")
    return tuple(said)


Act = Literal[
    "see", "start", "stop", "steer", "rate", "undo", "approve", "merge", "budget", "verbosity", "lessons", "settings", "model",
    "network",
]  # fmt: skip
"""see: status, logs, costs of visible threads; steer: guide, pause, answer, retry, extend turns; budget: money."""

_FOR_OWN: Mapping[Act, Level] = {
    "see": "viewer", "start": "executor", "stop": "executor", "steer": "executor", "rate": "executor",
    "undo": "executor", "approve": "operator", "merge": "operator", "budget": "operator", "verbosity": "operator",
    "lessons": "owner", "settings": "owner", "model": "owner", "network": "owner",
}  # fmt: skip
_FOR_OTHERS: Mapping[Act, Level] = {**_FOR_OWN, "steer": "operator", "rate": "operator", "undo": "operator"}

_ACTS: Mapping[Sort, Act] = {
    "task": "start", "queue": "start", "side": "start", "stop": "stop", "feedback": "rate", "correction": "rate",
    "revoke": "stop", "undo": "undo", "redo": "undo", "clean": "undo", "merge": "merge", "reject": "merge",
}  # fmt: skip


def act_of(sort: Sort) -> Act:
    """Return the permission that an inbox item of this kind needs."""
    return _ACTS.get(sort, "steer")


def needed(act: Act, *, own: bool = True) -> Level:
    """Return the lowest level that may do it to their own executions, or to another person's (``own=False``)."""
    return (_FOR_OWN if own else _FOR_OTHERS)[act]


def may(level: Level, act: Act, *, own: bool = True) -> bool:
    """Whether somebody of this level may do it to their own executions, or to another person's (``own=False``).

    A stop is the exception: anyone but a viewer may stop anything in a channel they can see.
    """
    return at_least(level, needed(act, own=own))


def limited(level: Level, *, writes: bool) -> Level:
    """Return the level in a place: whoever Discord does not let write there (muted, read-only) may only look."""
    return level if writes else "viewer"


def may_steer(level: Level, person: str, requester: str) -> bool:
    """Whether somebody may guide, answer and rate: executors their own executions, operators everyone's."""
    return may(level, "steer", own=requester in ("", person))
