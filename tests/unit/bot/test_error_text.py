"""What people read of an error: one table."""

from __future__ import annotations

import pytest

from agentic.ports.errors import AgenticError, SandboxLost, StoreCorrupt, StoreUnavailable
from bot.messages.error_text import WORDS, Attempted, error_text
from reflexion.errors import LessonStoreUnavailable

MORE: dict[str, object] = {"tries": 3, "sign": "vote", "name": "Ann", "id": "f00d"}


@pytest.mark.parametrize("failed", Attempted)
def test_each_kind_of_error_has_the_words_of_its_own_line(failed: Attempted) -> None:
    """A line below one that takes its kind too would never be read."""
    for kind, words in WORDS[failed]:
        said = error_text(failed, kind("the disk is full."), **MORE)
        assert said == words.format(error="the disk is full", kind=kind.__name__, **MORE)
        assert ".." not in said


def test_a_task_that_broke_off_says_whose_fault_it_is_and_how_it_goes_on() -> None:
    said = error_text(Attempted.RUN, StoreUnavailable("no room is left"))
    assert "couldn't save what it does: no room is left. Ask whoever runs the bot" in said
    assert said.endswith("Nothing is lost: write anything here and I'll continue where I stopped.")
    assert "not your fault" in error_text(Attempted.RUN, KeyError("x"))
    assert "interrupted: odd." in error_text(Attempted.RUN, AgenticError("odd"))


def test_what_is_damaged_cannot_go_on() -> None:
    assert "I'll continue where I stopped" not in error_text(Attempted.RUN, StoreCorrupt("row 3"))


def test_braces_in_what_an_error_says_stay_as_they_are() -> None:
    assert "{kind} {0}" in error_text(Attempted.ACT, SandboxLost("{kind} {0}"))


def test_lessons_that_cannot_be_read_are_told_alike_by_commands_and_buttons() -> None:
    error = LessonStoreUnavailable("locked")
    assert error_text(Attempted.COMMAND, error) == error_text(Attempted.LESSON, error)
