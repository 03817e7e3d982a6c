"""What a person may do, from their Discord roles; pure.  Checked when the act is done, never remembered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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


def may_steer(level: Level, person: str, requester: str) -> bool:
    """Guide, answer, rate: executors for their own executions, operators for everyone's."""
    return at_least(level, "operator") or (level == "executor" and requester in ("", person))
