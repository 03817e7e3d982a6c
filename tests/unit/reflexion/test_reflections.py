"""Reflections as the next attempt, and the next reflection, read them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reflexion.evaluation.trajectory import read_trajectory
from reflexion.reflection.feedback_question import REASONS, question_of, reason_of
from reflexion.reflection.prompt_text import (
    choose_reflections,
    earlier_attempts,
    reflection_text,
    said_of,
    shared,
)
from reflexion.reflection.transcript import transcript
from reflexion.text.token_estimate import tokens_of
from tests.unit.reflexion.logs import EPOCH, Did, Log
from tests.unit.reflexion.test_retrieval import reflection

LABELS = ("Next time: change", "Key: key", "Cause: cause", "Failed: failed", "Worked: reading")


@given(long=st.integers(0, 60), count=st.integers(1, 3), said=st.booleans())
def test_each_of_the_five_fields_and_a_persons_words_are_there_within_the_tokens(
    long: int, count: int, said: bool
) -> None:  # fmt: skip
    known = [reflection(number, long=long) for number in range(count)]
    if said:
        known = [one.model_copy(update={"said": ("Not the\nlast day. " + "x" * 20 * long,)}) for one in known]
    chosen = choose_reflections(known)
    assert sum(tokens_of(each.text) for each in chosen) <= 400
    for each in chosen:
        assert all(label in each.text for label in LABELS)
        assert each.text.startswith("A person said: Not the last day.") is said


@given(parts=st.lists(st.text(max_size=60), max_size=6), room=st.integers(0, 400))
def test_a_short_part_leaves_its_room_to_the_long_ones_and_none_pushes_another_out(parts: list[str], room: int) -> None:
    kept = shared(parts, room)
    assert sum(tokens_of(part) + 1 for part in kept) <= max(room, len(parts))
    if sum(tokens_of(part) + 1 for part in parts) <= room:
        assert kept == parts


def test_evidence_comes_last_and_marked_as_a_quotation() -> None:
    text = reflection_text(reflection(1), 600)
    assert text.endswith("Seen (quoted output):\n> E  ValueError: row 3")


def test_the_reflector_reads_what_earlier_attempts_at_the_same_task_were_told_and_nothing_of_other_tasks() -> None:
    trajectory = read_trajectory(Log(task="The date parser crashes on empty rows", execution="x3").events)
    other = reflection(9).model_copy(update={"task": "something else"})
    known = earlier_attempts(trajectory, [reflection(3), other, reflection(2), reflection(1)])
    assert [insight.strategy_change for insight in known] == ["change 1", "change 2"], "its own is none of them"
    text = transcript(trajectory, "its last check failed", known)
    assert text.index("<<<end of record") < text.index("AFTER ATTEMPT 1") < text.index("AFTER ATTEMPT 2")
    assert "advice: change 2" in text
    assert "earlier attempts" not in transcript(trajectory, "its last check failed")


def test_what_people_said_is_kept_bounded_and_without_secrets() -> None:
    log = Log().does(Did("x", 1))
    for number in range(5):
        log.hears("correction", f"{number}: the key is sk-{'a' * 30} " + "y" * 900)
    said = said_of(read_trajectory(log.events))
    assert [text[0] for text in said] == ["2", "3", "4"]
    assert all(len(text) <= 400 and "[redacted]" in text for text in said)


def test_the_question_is_the_same_whenever_it_is_made_but_for_its_end() -> None:
    asked = question_of("x1", EPOCH)
    assert asked.question == question_of("x1", EPOCH).question != question_of("x2", EPOCH).question
    assert asked.expires is not None
    assert asked.expires > EPOCH
    assert [reason_of(number) for number in range(3)] == [option.description for option in REASONS]
