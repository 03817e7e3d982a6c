"""The pairing of calls and results that every provider insists on, as properties."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from agentic.core.events.execution_events import CallBlock, TextBlock
from agentic.models.requests.call_pairing import (
    NO_RESULT,
    call_ids,
    paired,
    unique_ids,
)
from agentic.ports.runtime import Message, ToolAnswer, ToolCall

IDS = st.sampled_from(["", "a", "b", "c", "d"])
CALLS = st.lists(st.builds(ToolCall, IDS, st.just("shell"), st.just({"command": "ls"})), max_size=3).map(tuple)
ANSWERS = st.lists(st.builds(ToolAnswer, IDS, st.just("shell"), st.text(max_size=3), st.booleans()), max_size=4).map(
    tuple
)
TEXT = st.sampled_from(["", "hello"])
WILD = st.lists(st.builds(Message, st.sampled_from(["user", "assistant"]), TEXT, CALLS, ANSWERS), max_size=8)


def assert_paired(messages: Sequence[Message]) -> None:
    """Each call has its result, in order, in the next message; nothing else has one; ids are unique."""
    seen: list[str] = []
    expected: list[str] = []
    for message in messages:
        assert [answer.provider_id for answer in message.answers] == expected
        assert not (expected and message.role != "user")
        expected = [call.provider_id for call in message.calls]
        assert not (expected and message.role != "assistant")
        seen += expected
    assert expected == []
    assert len(seen) == len(set(seen))
    assert "" not in seen


@given(WILD)
def test_any_history_comes_out_paired_and_loses_neither_words_nor_calls(messages: list[Message]):
    once = paired(messages)
    assert_paired(once)
    assert paired(once) is once
    assert [(m.role, m.text) for m in once if m.text] == [(m.role, m.text) for m in messages if m.text]
    assert sum(len(m.calls) for m in once) == sum(len(m.calls) for m in messages if m.role == "assistant")
    kept = {id(m) for m in once}
    plain = [m for m in messages if m.text and not m.calls and not m.answers]
    assert all(id(m) in kept for m in plain if m.role == "assistant"), "what is without fault is the same message"


def test_a_call_without_a_result_gets_a_failed_one_that_says_so():
    messages = (
        Message("user", "go"),
        Message("assistant", calls=(ToolCall("a", "shell", {}), ToolCall("b", "shell", {}))),
    )
    answered = paired((*messages, Message("user", "go on", answers=(ToolAnswer("b", "shell", "fine"),))))
    assert answered[2] == Message(
        "user", "go on", answers=(ToolAnswer("a", "shell", NO_RESULT, failed=True), ToolAnswer("b", "shell", "fine"))
    )
    assert paired(messages)[2].answers[0].failed


def test_a_result_without_a_call_is_dropped_and_the_words_beside_it_stay():
    messages = (Message("user", "hello", answers=(ToolAnswer("x", "shell", "orphan"),)), Message("assistant", "hi"))
    assert paired(messages) == (Message("user", "hello"), Message("assistant", "hi"))


def test_results_are_put_in_the_order_of_their_calls():
    calls = (ToolCall("a", "shell", {}), ToolCall("b", "shell", {}))
    answers = (ToolAnswer("b", "shell", "2"), ToolAnswer("a", "shell", "1"))
    fixed = paired((Message("assistant", calls=calls), Message("user", answers=answers)))
    assert [answer.text for answer in fixed[1].answers] == ["1", "2"]


def test_an_id_used_twice_is_renamed_in_call_and_result_alike():
    turn = (
        Message("assistant", calls=(ToolCall("a", "shell", {}),)),
        Message("user", answers=(ToolAnswer("a", "shell", "r"),)),
    )
    fixed = paired((*turn, *turn))
    assert fixed[2].calls[0].provider_id == fixed[3].answers[0].provider_id != "a"
    assert fixed[3].answers[0].text == "r"


@given(st.lists(IDS, max_size=6), WILD)
def test_ids_of_an_answer_are_unique_in_the_whole_history(ids: list[str], messages: list[Message]):
    blocks = (TextBlock(text="x"), *(CallBlock(provider_id=i, tool="shell") for i in ids))
    history = paired(messages)
    made = [b.provider_id for b in unique_ids(blocks, history) if isinstance(b, CallBlock)]
    assert len(made) == len(ids) == len(set(made))
    assert not set(made) & call_ids(history)
    assert all(made)


def test_an_id_that_is_unique_stays_as_the_provider_gave_it():
    blocks = (CallBlock(provider_id="toolu_9", tool="shell"),)
    assert unique_ids(blocks, ()) == blocks
