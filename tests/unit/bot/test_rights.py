"""What a person may do, from their Discord roles."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import Level
from bot.access.permissions import level_of

MAPPING: dict[str, Level] = {"watchers": "viewer", "41": "operator", "chiefs": "owner"}


@pytest.mark.parametrize(
    ("roles", "level"),
    [
        ((), "executor"),
        (("unmapped",), "executor"),
        (("watchers",), "viewer"),
        (("watchers", "41"), "operator"),
        (("41", "chiefs", "watchers"), "owner"),
    ],
)
def test_the_highest_mapped_role_counts_and_without_one_the_default(roles: tuple[str, ...], level: Level) -> None:
    assert level_of(roles, MAPPING) == level


def test_administrators_are_owners_and_the_default_can_close_the_bot() -> None:
    assert level_of(("watchers",), MAPPING, administrator=True) == "owner"
    assert level_of((), MAPPING, default="viewer") == "viewer"
