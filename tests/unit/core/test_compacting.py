"""Compaction: when the history is cut, what stays, that it is bounded, and that nothing is cut without end."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from agentic.core.events.execution_events import (
    FileChange,
    ModelRequested,
    Noted,
    Tier,
    Todo,
    TodoChanged,
    Usage,
)
from agentic.core.fold.prompt_size import characters
from agentic.core.prompt.build import build_prompt
from agentic.core.prompt.summary import HEADING
from agentic.core.rules.compaction import compact, prompt
from agentic.core.rules.decide import decide
from agentic.core.state.actions import Consult, Finish, Think
from agentic.core.state.conversation import Message, ToolAnswer, ToolCall
from agentic.core.state.execution import Execution
from agentic.models.requests.call_pairing import Pairing
from agentic.prompts import summary_prompt as summary
from agentic.runtime.request_refs import prompt_for
from tests.unit.core.building import Log
from tests.unit.core.compacting_logs import Long, overflow

SMALL = (Tier(number=2, models=("small-a",)), Tier(number=4, models=("large",)))


def first_due(log: Long) -> Consult:
    """Turns until a summary is asked for."""
    for _ in range(40):
        log.turn()
        log.settle()
        action = decide(log.execution)
        if isinstance(action, Consult):
            return action
    raise AssertionError("no summary was asked for")


def test_the_history_grows_at_its_end_and_then_the_model_is_asked_over_the_same_prefix() -> None:
    log = Long()
    due = first_due(log)
    assert log.compactions == []
    assert (due.purpose, due.tier, due.model) == ("summary", 2, "small-a")
    assert due.max_tokens < log.execution.policy.answer_tokens
    turn, asked = build_prompt(log.execution, None, ()), prompt_for(log.execution, (), "summary")
    assert (asked.system, asked.tail) == (turn.system, summary.TEXT)
    assert all(one is other for one, other in zip(turn.messages, asked.messages, strict=False))
    assert asked.messages[-1].answers[0].text.startswith(f"result {log.turns} ")  # and what is not in the history yet


def test_what_is_left_is_the_task_a_bounded_summary_and_the_last_turns_as_they_were() -> None:
    log = Long()
    due = first_due(log)
    before = log.execution.history
    log.consult(due, "The port is 4711.")
    action = log.go_on()
    after = log.execution.history
    assert isinstance(action, Think)
    assert after[0] is before[0]
    assert after[1].landmark
    assert "The port is 4711." in after[1].text
    assert [m.role for m in after[2:]] == ["assistant", "user", "assistant", "user", "assistant"]
    assert all(one is other for one, other in zip(after[2:], before[-5:], strict=True))
    assert log.execution.extent.history == characters(after) < characters(before)
    (done,) = log.compactions
    assert (done.why, done.head, done.kept, done.remembered) == ("length", 1, 5, "The port is 4711.")
    assert re.search(r"look `f\d+\.py` OK: result \d+ xxx", after[1].text)
    assert log.execution.consulted is None


@pytest.mark.parametrize("failed", [True, False])
def test_without_an_answer_the_work_log_has_to_do_and_what_was_written_before_stays(failed: bool) -> None:
    log = Long()
    log.consult(first_due(log), "" if failed else "The port is 4711.")
    log.go_on()
    first = log.execution.history[1].text
    assert ("4711" in first) is not failed
    log.consult(first_due(log), "")
    log.go_on()
    assert len(log.compactions) == 2
    assert ("The port is 4711." in log.execution.history[1].text) is not failed
    assert "earlier turn" in log.execution.history[1].text  # the oldest turns are only counted by then


def test_its_length_is_bounded_whatever_was_done_and_said() -> None:
    log = Long(summary_tokens=200)
    log.summary = lambda _: "word " * 5_000
    for number in range(120):
        if number % 7 == 0:
            log.say("guidance", f"hint {number} " + "y" * 300)
        if number % 5 == 0:
            log.add(Noted(text=f"note {number} " + "z" * 60))
        log.turn(f"{number} " + "r" * 900, "t" * 900)
    room = 4 * 200
    assert len(log.compactions) > 5
    assert max(len(done.summary) for done in log.compactions) < 4 * room
    assert characters(log.execution.history) < 30_000
    assert "hint 119" in log.sent() or "hint 112" in log.sent()


def test_a_long_last_turn_is_not_cut_around_again_and_again() -> None:
    log = Long()
    for _ in range(24):
        log.turn(f"{log.turns} " + "x" * 4_000)
    assert len(log.compactions) < 8
    log.turn("x" * 60_000)
    before = len(log.compactions)
    log.go_on()
    log.go_on()
    assert len(log.compactions) - before <= 1
    assert log.sent().count("x" * 60_000) == 1


def test_seed_rewrites_each_turn_and_asks_nobody() -> None:
    log = Long(history="seed", summary_tokens=300)
    log.summary = lambda _: pytest.fail("a summary was asked for")
    for _ in range(12):
        log.turn()
    log.go_on()
    assert [done.why for done in log.compactions] == ["each turn"] * 9
    assert [m.role for m in log.execution.history].count("assistant") == 3
    assert "look `f1.py` OK" in log.execution.history[1].text


def test_replay_all_cuts_nothing() -> None:
    log = Long(history="replay_all")
    for _ in range(30):
        log.turn()
    assert log.compactions == []
    assert len(log.execution.history) == 60


def test_talk_is_never_cut() -> None:
    log = Log("hello", talk=True, history_tokens=1)
    log.answer("hi " * 50)
    log.request()
    assert compact(log.execution) is None
    assert compact(Execution(id="x")) is None


@pytest.mark.parametrize(("tokens", "sooner"), [(1.0, True), (0.25, False), (0.0, False), (50.0, False)])
def test_a_provider_s_count_makes_tokens_of_characters_where_it_can_be_believed(tokens: float, sooner: bool) -> None:
    log = Long(history_tokens=3_000)
    for _ in range(14):
        counted = int(tokens * log.execution.extent.history)
        log.turn(usage=Usage(input=counted // 2, cache_read=counted - counted // 2, output=1))
    log.go_on()
    assert bool(log.compactions) == sooner


def test_what_a_message_is_sent_as_counts_whole() -> None:
    arguments: dict[str, JsonValue] = {"path": "a" * 100, "edits": [{"old": "b" * 200, "all": True}]}
    call = ToolCall("c1", "edit", arguments)
    said = Message("assistant", "t" * 50, (call,), reasoning=(("anthropic", "r" * 300, "o" * 400),))
    result = Message("user", "g" * 10, answers=(ToolAnswer("c1", "edit", "s" * 500),))
    assert 50 + 300 + 700 < characters((said,)) < 50 + 300 + 700 + 200
    assert 510 < characters((result,)) < 700


# --- what must stay ---------------------------------------------------------------------------------------------


def test_words_of_people_stay_verbatim_and_stand_once() -> None:
    log = Long()
    for number in range(30):
        if number in (1, 27):
            log.say("guidance", f"Use the blue button {number}.")
        log.turn()
    sent = log.sent()
    assert log.compactions
    assert sent.count("Use the blue button 1.") == 1
    assert "[User guidance from you]\nUse the blue button 1." in sent
    assert sent.count("Use the blue button 27.") == 1


def test_what_waits_to_be_told_does_not_stand_in_the_summary_too() -> None:
    log = Long()
    due = first_due(log)
    log.say("guidance", "Mind the gap.")
    log.consult(due, "So far so good.")
    assert log.sent().count("Mind the gap.") == 1
    assert "Mind the gap." not in log.execution.history[1].text


def test_answers_to_questions_stay_with_the_questions() -> None:
    log = Long(summary_tokens=200)
    log.turn("Person: the red one, because of " + "w" * 120, tool="ask_user", arguments={"question": "Which one?"})
    asked: dict[str, object] = {"question": "", "questions": [{"text": "When?"}, 5]}
    log.turn("Noon.", tool="ask_user", arguments=asked)
    for _ in range(20):
        log.turn()
    sent = log.sent()
    assert log.compactions
    assert "- Which one? -> Person: the red one, because of " + "w" * 120 in sent
    assert "- When? -> Noon." in sent


def test_notes_move_into_the_summary_newer_ones_stand_in_the_tail_and_so_does_the_list() -> None:
    log = Long()
    log.add(Noted(text="The port is 80."), TodoChanged(items=(Todo(text="go home"),)))
    log.consult(first_due(log), "ok")
    log.go_on()
    log.add(Noted(text="The host is moon."))
    sent = log.sent()
    assert "- The port is 80." in log.execution.history[1].text
    tail = build_prompt(log.execution, None, ()).tail
    assert "The port is 80." not in tail
    assert "- The host is moon." in tail
    assert "[ ] go home" in tail
    assert sent.count("The port is 80.") == 1


def test_no_note_is_ever_left_out() -> None:
    log = Long()
    for number in range(60):
        log.add(Noted(text=f"fact {number} is {number * 7}."))
        log.turn()
    sent = log.sent()
    assert 20 < log.compactions[-1].notes < 40  # the others stand in the tail
    assert all(sent.count(f"fact {number} is") == 1 for number in range(60))


def test_changed_files_as_they_are_now_and_the_last_test_run_are_told() -> None:
    log = Long(summary_tokens=200)
    for kind in ("added", "deleted"):
        log.turn()
        changes = (FileChange(path="a.py", kind=kind), FileChange(path="b.py", kind="modified"))
        log.go_on()
        log.answer(("look", {}))
        log.use(0, changes=changes, tests=(3, 1))
    for _ in range(20):
        log.turn()
    log.go_on()
    text = log.execution.history[1].text
    assert "b.py (modified), a.py (deleted)" in text
    assert "The last test run: 3 passed, 1 failed." in text


def test_a_first_message_that_is_too_long_goes_over_in_part_and_only_once() -> None:
    log = Long("Do this: " + "T" * 9_000 + " THE END", history_tokens=4_000, summary_tokens=100)
    for _ in range(2):
        log.consult(first_due_long(log), "ok")
        log.go_on()
        first = log.execution.history[0]
        assert first.landmark
        assert first.text.partition(" ")[2].startswith("[Task from you]\nDo this: TTT")
        assert first.text.count(HEADING) == 1
        assert len(first.text) < 10_000
    assert len({done.opening for done in log.compactions}) == 1


def first_due_long(log: Long) -> Consult:
    for _ in range(60):
        log.turn(f"{log.turns} " + "x" * 900)
        log.settle()
        if isinstance(action := decide(log.execution), Consult):
            return action
    raise AssertionError("no summary was asked for")


# --- properties -------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.data())
def test_whatever_is_cut_calls_keep_their_results_and_the_last_turns_stay_whole(data: st.DataObject) -> None:
    strategy = data.draw(st.sampled_from(["append", "seed", "replay_all"]))
    window = data.draw(st.sampled_from([None, 3_000, 20_000]))
    log = Long(history=strategy, windows={"small-a": window} if window else {}, tiers=SMALL)
    log.summary = lambda _: data.draw(st.sampled_from(["", "short", "long " * 500]))
    results: list[str] = []
    for _ in range(data.draw(st.integers(1, 25))):
        if data.draw(st.integers(1, 100)) <= 10 and log.turns:
            overflow(log)
            if isinstance(log.go_on(), Finish):
                return
        results.append(f"<{log.turns}>" + "x" * data.draw(st.sampled_from([1, 300, 3_000])))
        log.turn(results[-1])
    assert isinstance(log.go_on(), Think)
    log.request()
    history = log.execution.history
    pairing = Pairing()
    pairing.take(history)
    assert pairing.holds
    assert log.execution.extent.history == characters(history)
    shown = [answer.text for message in history for answer in message.answers]
    if all(done.why in ("length", "each turn") for done in log.compactions):
        assert shown[-3:] == results[-3:]
    assert [message.role for message in history][:1] == ["user"]
    for done in log.compactions:
        assert done.kept >= 0


def test_the_question_beside_the_turns_needs_nothing_that_waits() -> None:
    log = Long()
    log.request()
    assert prompt(log.execution, ()).messages == log.execution.history


def test_each_compaction_in_steps_had_one_request_and_leaves_one_summary() -> None:
    log = Long()
    for _ in range(30):
        log.turn()
    log.go_on()
    assert [message.landmark for message in log.execution.history].count(True) == 1
    asked = [e.event for e in log.envelopes if isinstance(e.event, ModelRequested) and e.event.purpose == "summary"]
    assert len(asked) == len(log.compactions) > 1
