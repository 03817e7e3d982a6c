"""What a person may do, from their Discord roles; pure.  Checked when the act is done, never remembered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from agentic.core.events import Level

ORDER: tuple[Level, ...] = ("viewer", "executor", "operator", "owner")


def at_least(level: Level, needed: Level) -> bool:
    """Whether ``level`` includes ``needed``."""
    return ORDER.index(level) >= ORDER.index(needed)


def level_of(
    roles: Iterable[str], mapping: Mapping[str, Level], *, administrator: bool = False, default: Level = "executor"
) -> Level:
    """The highest level of a person's roles (ids or names); administrators and the guild's owner are owners."""
    if administrator:
        return "owner"
    ranks = [ORDER.index(mapping[role]) for role in roles if role in mapping]
    return ORDER[max(ranks)] if ranks else default


Act = Literal[
    "see", "start", "stop", "steer", "rate", "undo", "approve", "merge", "budget", "verbosity", "lessons", "settings",
]  # fmt: skip
"""see: status, logs, costs of threads they can see; steer: guide, pause, answer, retry, extend turns; budget: money."""

_FOR_OWN: Mapping[Act, Level] = {
    "see": "viewer", "start": "executor", "stop": "executor", "steer": "executor", "rate": "executor",
    "undo": "executor", "approve": "operator", "merge": "operator", "budget": "operator", "verbosity": "operator",
    "lessons": "owner", "settings": "owner",
}  # fmt: skip
_FOR_OTHERS: Mapping[Act, Level] = {**_FOR_OWN, "steer": "operator", "rate": "operator", "undo": "operator"}


def may(level: Level, act: Act, *, own: bool = True) -> bool:
    """Whether somebody of this level may do it to their own executions, or to another person's (``own=False``).

    A stop is the exception: anyone but a viewer may stop anything in a channel they can see.
    """
    return at_least(level, (_FOR_OWN if own else _FOR_OTHERS)[act])


def may_steer(level: Level, person: str, requester: str) -> bool:
    """Guide, answer, rate: executors for their own executions, operators for everyone's."""
    return may(level, "steer", own=requester in ("", person))
