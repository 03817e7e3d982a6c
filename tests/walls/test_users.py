"""One person's tasks, or a role's name, take nothing from others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.access.permissions import level_of, role_marks, role_warnings
from bot.sessions.slots import (
    PATIENCE,
    Key,
    Task,
    next_of,
    order_of,
)


@pytest.mark.wall("users")
def test_nine_tasks_of_one_person_do_not_keep_another_waiting() -> None:
    running = [Task(f"a{n}", "s", "ann", 0) for n in range(3)]
    waiting = [Task(f"a{n}", "s", "ann", 0) for n in range(3, 9)] + [Task("b", "s", "bob", 3)]
    last: dict[Key, int] = {("s",): 3, ("s", "ann"): 3}
    assert next_of(waiting, running, last, 3).execution == "b"
    assert order_of(waiting, running, last, 3)[0].execution == "b"


@pytest.mark.wall("users")
def test_a_server_with_many_people_does_not_keep_another_waiting() -> None:
    running = [Task(f"a{n}", "big", f"p{n}") for n in range(3)]
    waiting = [Task(f"w{n}", "big", f"q{n}") for n in range(20)] + [Task("b", "small", "bob", 3)]
    assert next_of(waiting, running, {("big",): 3}, 3).execution == "b"


@pytest.mark.wall("users")
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4), st.integers(0, 7)), max_size=200), st.integers(1, 3))
def test_nobody_waits_behind_more_than_so_many_turns_of_one_other_person(
    steps: list[tuple[bool, int, int]], places: int
) -> None:
    """People of one server ask and tasks end in any order; each turn of another is counted while somebody waits."""
    waiting, running, last, turns = list[Task](), list[Task](), dict[Key, int](), 0
    behind: dict[tuple[str, str], int] = {}
    for number, (asks, person, which) in enumerate(steps):
        if asks:
            waiting.append(Task(str(number), "s", str(person), turns))
        elif running:
            running.pop(which % len(running))
        while waiting and len(running) < places:
            task = next_of(waiting, running, last, turns)
            turns += 1
            last |= dict.fromkeys((("s",), ("s", task.person)), turns)
            waiting.remove(task)
            running.append(task)
            for one in {other.person for other in waiting} - {task.person}:
                behind[one, task.person] = behind.get((one, task.person), 0) + 1
                assert behind[one, task.person] <= PATIENCE + 1
            behind = {pair: count for pair, count in behind.items() if pair[0] != task.person}


@pytest.mark.wall("rights")
def test_a_role_that_is_called_like_the_id_of_the_owners_gives_nothing() -> None:
    marks = role_marks([("77", "123456789012345678")], ["123456789012345678"])
    assert level_of(marks, {"123456789012345678": "owner"}) == "executor"


@pytest.mark.wall("rights")
def test_a_second_role_of_that_name_makes_the_name_count_for_nothing() -> None:
    mapping = {"Admins": "owner"}
    roles = [("1", "Admins"), ("2", "Admins")]
    assert level_of(role_marks(roles[1:], ["Admins", "Admins"]), {"Admins": "owner"}) == "executor"
    assert "none of them counts" in role_warnings(mapping, roles, "Here")[0]
    assert level_of(role_marks(roles[:1], ["Admins"]), {"Admins": "owner"}) == "owner"
    assert "Set its id instead: 1" in role_warnings(mapping, roles[:1], "Here")[0]
    assert role_warnings({"1": "owner"}, roles, "Here") == ()
