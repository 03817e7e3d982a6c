"""The work log: a line a turn, shorter with age, and never longer than its bound."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.core.state.conversation import Message, ToolAnswer, ToolCall
from agentic.core.state.work_log import (
    LINE,
    Chronicle,
    WorkLogLine,
    advanced,
    bounded,
    clipped,
    newest,
    told,
)


def turn(text: str, *calls: tuple[str, str, bool | None], result: str = "seen") -> tuple[Message, ...]:
    made = tuple(
        ToolCall(f"c{place}", tool, {"command": about} if about else {}) for place, (tool, about, _) in enumerate(calls)
    )
    answers = tuple(
        ToolAnswer(f"c{place}", tool, result, failed=not ok)
        for place, (tool, _, ok) in enumerate(calls)
        if ok is not None
    )
    return Message("assistant", text=text, calls=made), Message("user", text="[User guidance]", answers=answers)


def test_a_turn_is_its_thought_and_each_call_with_the_beginning_of_its_result() -> None:
    messages = turn(
        "I run\nthe tests." + "t" * 300, ("shell", "pytest -q", False), ("read", "", True), result="no\n" + "r" * 300
    )
    (line,) = told(advanced(Chronicle(), messages))
    assert line.startswith("- I run the tests.ttt")
    assert "| shell `pytest -q` FAILED: no rrr" in line
    assert "| read OK: no rrr" in line
    thought, *calls = line.removeprefix("- ").split(" | ")
    assert len(thought) == 200
    assert all(len(call.partition(": ")[2]) == 100 for call in calls)


def test_a_call_without_a_result_and_a_turn_without_words_are_told_too() -> None:
    (line,) = told(advanced(Chronicle(), turn("", ("shell", "ls", None))))
    assert line == "- shell `ls` without a result"
    alone = advanced(Chronicle(), (Message("assistant", text="Only words."),))
    assert told(alone) == ["- Only words."]


def test_what_a_person_answered_is_kept_with_its_question() -> None:
    call = ToolCall("q", "ask_user", {"question": "Which?"})
    asked = (Message("assistant", calls=(call,)), Message("user", answers=(ToolAnswer("q", "ask_user", "Red."),)))
    assert advanced(Chronicle(), asked, {"ask_user"}).answers == ("Which? -> Red.",)
    assert advanced(Chronicle(), asked).answers == ()
    assert advanced(Chronicle(), asked[:1], {"ask_user"}).answers == ("Which? -> no answer",)


def test_with_age_turns_are_told_in_fewer_words_and_then_only_counted() -> None:
    chronicle = Chronicle()
    for number in range(30):
        chronicle = advanced(chronicle, turn("w" * 150, ("shell", f"make {number}", number % 2 == 0)))
        chronicle = bounded(chronicle, 1_500)
    first, *lines = told(chronicle)
    assert first == f"- {chronicle.turns} earlier turns: shell {chronicle.turns} ({chronicle.turns // 2} failed)"
    assert len(lines[0]) < 100 < len(lines[-1])
    assert chronicle.turns + len(lines) == 30
    assert told(Chronicle(turns=1)) == ["- 1 earlier turn"]
    assert told(Chronicle(turns=2, counts=(("read", 2, 0),))) == ["- 2 earlier turns: read 2"]


@settings(derandomize=True, deadline=None)
@given(st.lists(st.integers(0, LINE), max_size=40), st.integers(400, 8_000))
def test_it_is_never_longer_than_its_bound(sizes: list[int], room: int) -> None:
    lines = tuple(WorkLogLine("x" * size, (("shell", True),)) for size in sizes)
    short = bounded(Chronicle(lines=lines), room)
    assert len("\n".join(told(short))) <= room + 10
    assert short.turns + len(short.lines) == len(lines)
    assert bounded(short, room).turns == short.turns or len(lines) > 3


def test_many_calls_in_a_turn_make_no_endless_line() -> None:
    calls = tuple(("shell", f"make {number}", True) for number in range(50))
    (line,) = advanced(Chronicle(), turn("All at once.", *calls)).lines
    assert len(line.text) <= LINE
    assert len(line.calls) == 50


def test_texts_are_cut_by_characters_and_the_newest_win() -> None:
    assert clipped("a  b\nc", 10) == "a b c"
    assert clipped("abcdef", 4) == "abc…"
    assert newest(["one", "two", "three"], 8, 10) == ("two", "three")
    assert newest(["a" * 20], 10, 5) == ("aaaa…",)
