"""A session's events are numbered: a number that was passed over is an event that never came."""

from __future__ import annotations

import pytest

from bot.catch_up.sequence_gap import Continuity


@pytest.mark.parametrize(
    ("numbers", "broken"),
    [
        ([None, 1, 1, 2, 3], [False] * 5),  # each is looked at whenever something is heard of
        ([1, 2, 4, 5], [False, False, True, False]),
        ([1, 2, 2, 2, 3], [False] * 5),  # twice
        ([1, 3, 2, 4], [False, True, False, False]),  # late: it was missing once, not again
        ([7, None, 1, 2], [False] * 4),  # a new session counts anew
        ([7, None, 1, 3], [False, False, False, True]),
        ([7, 8, 20, 20, 22], [False, False, True, False, True]),
    ],
)
def test_an_event_that_never_came_is_noticed_at_the_next_one(numbers: list[int | None], broken: list[bool]) -> None:
    continuity = Continuity()
    assert [continuity.broken(number) for number in numbers] == broken
