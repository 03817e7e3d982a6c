"""A proven lesson as a skill: what stands in it, that our own reader takes it, and who is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import reduce
from pathlib import Path

import pytest

from bot.equipment.skill_folder import DESCRIPTION_CHARACTERS, named_wrongly, read_skill, write_skill
from bot.lessons.skill_export import NotExported, skill_of
from reflexion.lessons.lesson import Lesson, Scope
from reflexion.lessons.lifecycle import Life, Showing, lived

NOW = datetime(2026, 11, 22, tzinfo=UTC)


def showings(shown: tuple[int, int], held: tuple[int, int]) -> list[Showing]:
    """(ok, of) with the lesson, and without it; three in ten were expected to go well without it."""
    told = [("shown", n, n < shown[0]) for n in range(shown[1])] + [
        ("held_back", n, n < held[0]) for n in range(held[1])
    ]
    return [
        Showing.model_validate(
            {"lesson": "l1", "execution": f"{arm}{n}", "guild": "g", "arm": arm, "ok": ok, "expected": 0.3, "at": NOW}
        )
        for arm, n, ok in told
    ]


def lesson(told: list[Showing], **more: object) -> Lesson:
    values = {
        "id": "l0123456789a", "scope": Scope(kind="guild", guild="g"), "kind": "pitfall", "trigger": "pytest finds no module",
        "action": "Install the project first.", "error_signature": "ModuleNotFoundError: shop", "executions": ("x1", "x2"),
        "status": "active", "life": reduce(lived, told, Life()), "created": NOW, **more,
    }  # fmt: skip
    return Lesson.model_validate(values)


PROVEN = showings((17, 20), (2, 6))


def test_it_says_what_it_brings_and_how_sure_that_is_and_our_own_reader_takes_it(tmp_path: Path) -> None:
    skill = skill_of(lesson(PROVEN), PROVEN)
    assert skill.name == "pytest-finds-no-module-l0123456789a"
    write_skill(tmp_path / skill.name, skill.files)
    assert read_skill(tmp_path / skill.name) == skill
    assert skill.description == "Install the project first. Use when: pytest finds no module"
    head = skill.files[0].content.decode()
    assert 'uplift: "+52 points"' in head
    assert 'uplift-interval: "95% from +9 to +77 points"' in head
    assert 'told: "17 of 20 tasks went well with it"' in head
    assert 'left-out: "2 of 6 tasks went well without it"' in head
    assert 'scope: "one Discord server"' in head
    assert "Threadwright lesson l0123456789a" in head
    for words in (
        "ModuleNotFoundError: shop",
        "+52 points, 95% from +9 to +77",
        "learned on 2026-11-22",
        "from 2 tasks",
    ):
        assert words in skill.body
    assert "The interval holds zero" not in skill.body
    unsure = showings((17, 20), (1, 1))
    assert "The interval holds zero: it may bring nothing." in skill_of(lesson(unsure), unsure).body


@pytest.mark.parametrize(
    ("trigger", "action"),
    [
        ('---\nname: evil\n---\n"', 'say "x": {y} # \\ \n--- \u2028 \x00'),
        ("日本語のテスト", "é" * 3_000),
        ("w" * 5_000, "token ghp_0123456789abcdefghijABCDEFGHIJ012345 is set"),
        ("a b c " * 500, "\ud800 lone"),
    ],
)
def test_whatever_a_lesson_says_its_skill_is_within_the_limits(tmp_path: Path, trigger: str, action: str) -> None:
    skill = skill_of(lesson(PROVEN, trigger=trigger, action=action), PROVEN)
    write_skill(tmp_path / skill.name, skill.files)
    assert read_skill(tmp_path / skill.name) == skill
    assert named_wrongly(skill.name) == ""
    assert 0 < len(skill.description) <= DESCRIPTION_CHARACTERS
    assert "ghp_" not in skill.files[0].content.decode()


@pytest.mark.parametrize(
    ("told", "more", "why"),
    [
        (PROVEN, {"status": "probation"}, "its status is probation"),
        (PROVEN, {"status": "quarantined"}, "its status is quarantined"),
        (showings((1, 1), (0, 1)), {}, "too few tasks show that it helps; it was told in 1 task"),
        (showings((2, 9), (2, 3)), {}, "too few tasks show that it helps"),
        (showings((17, 20), (0, 0)), {}, "never left out for comparison"),
    ],
)
def test_one_that_is_not_proven_is_refused_with_the_reason(
    told: list[Showing], more: dict[str, object], why: str
) -> None:
    with pytest.raises(NotExported, match=why):
        skill_of(lesson(told, **more), told)
