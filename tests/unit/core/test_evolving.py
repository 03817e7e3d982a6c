"""Each event's part of the fold, where a person or the next request would see it missing."""

from __future__ import annotations

import pytest

from agentic.core.claims.completion import changed_files, shown_files
from agentic.core.events.execution_events import (
    CheckpointSaved,
    CommitCreated,
    Compacted,
    DeadlinePassed,
    Noted,
    Perceived,
    PolicyChanged,
    ReasoningBlock,
    Reported,
    Todo,
    TodoChanged,
)
from agentic.core.events.values import FileChange
from agentic.core.fold.fold import evolve, fold
from agentic.core.state.execution import Execution
from agentic.core.text.foreign_text import mark_of
from tests.unit.core.building import YOU, Log, Policy, Started, Tier


def test_without_a_start_there_is_no_thread_and_no_task() -> None:
    assert (Execution().thread, Execution().task, Execution().turn_limit) == ("", "", 20)
    assert (Log().execution.thread, Log().execution.task) == ("100", "Fix the test.")


@pytest.mark.parametrize(("tiers", "tier"), [((1, 2, 3), 2), ((3, 4), 3), ((1,), 1), ((), 2)])
def test_it_starts_in_the_lowest_configured_tier_from_two_up(tiers: tuple[int, ...], tier: int) -> None:
    policy = Policy(tiers=tuple(Tier(number=number, models=("m",)) for number in tiers))
    log = Log()
    envelope = log.envelopes[0].model_copy(
        update={"event": Started(thread="1", task="t", requester=YOU, policy=policy)}
    )
    assert evolve(Execution(), envelope).tier == tier


@pytest.mark.parametrize(("complexity", "limit"), [("simple", 10), ("medium", 20), ("complex", 35)])
def test_the_complexity_sets_the_turn_limit(complexity: str, limit: int) -> None:
    from agentic.core.events.execution_events import Triaged

    log = Log(triaged=False)
    log.add(Triaged.model_validate({"talk": False, "complexity": complexity}))
    assert log.execution.turn_limit == limit


def test_events_without_a_step_only_move_the_position() -> None:
    log = Log()
    before = log.execution
    after = log.add(CheckpointSaved(manifest="m", through_seq=2))
    assert (after.seq, after.history, after.judged) == (before.seq + 1, before.history, before.judged)


def test_only_the_first_stop_and_the_first_answer_count() -> None:
    log = Log()
    first = log.say("stop").stopping
    assert log.say("stop").stopping is first


def test_a_correction_is_counted_and_told() -> None:
    log = Log()
    log.say("correction", "the other file")
    assert log.execution.judged.corrections == 1
    assert "correction from you: that was wrong]\nthe other file" in log.execution.told.texts[-1]


def test_what_concerns_only_people_is_not_told() -> None:
    log = Log()
    before = log.execution.told
    assert log.say("feedback", "up").told == before


def test_caps_are_added_to_and_more_minutes_let_it_go_on() -> None:
    log = Log()
    log.add(DeadlinePassed(ref="minutes"))
    assert log.execution.spent.minutes_passed
    log.add(PolicyChanged(by="7", add_turns=5))
    assert log.execution.spent.minutes_passed
    log.add(PolicyChanged(by="7", add_minutes=5, add_tokens=7, add_usd=1.5))
    assert not log.execution.spent.minutes_passed
    caps = log.execution.caps
    assert (caps.turns, caps.minutes, caps.tokens, caps.usd) == (5, 5, 7, 1.5)


def test_what_was_perceived_stays_until_an_answer_was_given_in_its_sight() -> None:
    log = Log()
    log.add(Perceived(changes=("a.py by you",), environment="Network: none."))
    log.fail("unavailable")
    perceived = log.add(Perceived(changes=("b.py by you",))).mind.perceived
    assert perceived == Perceived(changes=("a.py by you", "b.py by you"), environment="Network: none.")
    assert log.answer("seen").mind.perceived is None


def test_an_answer_becomes_a_message_with_its_reasoning_and_calls() -> None:
    from agentic.core.events.execution_events import ModelAnswered, TextBlock

    log = Log()
    request = log.request()
    reasoning = ReasoningBlock(text="hm", opaque="sig", provider="anthropic")
    log.add(ModelAnswered(request=request, blocks=(reasoning, TextBlock(text="Hello"))))
    message = log.execution.history[-1]
    assert (message.role, message.text, message.reasoning) == ("assistant", "Hello", (("anthropic", "hm", "sig"),))


def test_an_empty_answer_adds_no_message() -> None:
    log = Log()
    before = len(log.execution.history)
    log.answer()
    assert len(log.execution.history) == before + 1  # the request's own message, and none for the answer


def test_the_line_in_the_text_is_a_report_and_the_last_one_counts() -> None:
    log = Log()
    log.answer("confidence: 30\nmore\nConfidence: 130")
    assert log.execution.judged.reported == Reported(status="progressing", confidence=100)


def test_truncated_answers_in_a_row_are_counted() -> None:
    log = Log()
    log.answer("a", stop="length")
    log.settle()
    log.answer("b", stop="length")
    assert log.execution.judged.truncated_answers == 2
    log.settle()
    log.answer("c", ("look", {}))
    assert log.execution.judged.truncated_answers == 0


def test_the_last_test_run_counts() -> None:
    log = Log()
    log.answer(("shell", {}), ("shell", {}), ("shell", {}))
    log.use(0, tests=(3, 1))
    log.use(1, tests=(4, 0))
    log.use(2)
    assert log.execution.judged.tests == (4, 0)


def test_notes_and_finished_to_dos_are_progress() -> None:
    log = Log()
    log.answer(("look", {}))
    log.add(TodoChanged(items=(Todo(text="a"),)))
    assert not log.execution.turn.changed
    log.add(TodoChanged(items=(Todo(text="a", state="done"),)))
    assert log.execution.turn.changed
    assert log.execution.todo[0].state == "done"
    noted = Log()
    noted.answer(("look", {}))
    noted.add(Noted(text="the port is 80"))
    assert noted.execution.turn.changed
    assert noted.execution.mind.notes == ("the port is 80",)


def test_shown_are_the_files_that_the_model_named_and_in_older_logs_else_those_it_changed() -> None:
    for newer, shown in ((True, ()), (False, ("a",))):
        log = Log(shows_named_only=newer)
        log.answer(("put", {}))
        log.use(0, changes=(FileChange(path="a", kind="modified"),))
        assert shown_files(log.execution) == shown
        assert shown_files(log.execution, ("b",)) == ("b",)


def test_deeds_keep_commands_with_exit_codes_and_files() -> None:
    log = Log()
    log.answer(("shell", {"command": "make"}), ("look", {}))
    log.use(0, "failed", exit_code=2, changes=(FileChange(path="b", kind="added"), FileChange(path="a", kind="added")))
    log.use(1, changes=(FileChange(path="b", kind="deleted"),))
    assert log.execution.deeds.commands == (("make", 2),)
    assert changed_files(log.execution.deeds) == ("a",)


def test_what_stands_on_an_offered_branch_is_no_changed_file_until_it_changes_again() -> None:
    log = Log()
    log.answer(("look", {}), ("commit", {}), ("look", {}))
    log.use(0, changes=(FileChange(path="shop/a", kind="added"), FileChange(path="b", kind="added")))
    log.add(CommitCreated(offer="o", branch="x", commit="c", base="main", repository="shop", files=("a",)))
    assert changed_files(log.execution.deeds) == ("b",)
    log.use(2, changes=(FileChange(path="shop/a", kind="modified"),))
    assert changed_files(log.execution.deeds) == ("b", "shop/a")


def test_waiting_for_a_person_does_not_count_as_time() -> None:
    from agentic.core.events.execution_events import Asked

    log = Log()
    log.add(Asked(question="q", text="?"))
    log.say("answer", "yes")
    log.settle()
    assert log.execution.spent.waiting == 2.0


def test_turns_without_a_report_are_counted() -> None:
    log = Log()
    for _ in range(2):
        log.answer(("look", {}))
        log.use(0)
        log.settle()
    assert log.execution.judged.turns_unreported == 2
    log.answer("confidence: 50", ("look", {}))
    log.use(0)
    log.settle()
    assert log.execution.judged.turns_unreported == 0
    assert log.execution.judged.recent == ((1, 1), (1, 1), (1, 1))


def test_compaction_replaces_all_but_the_kept_messages() -> None:
    log = Log()
    for _ in range(3):
        log.answer(("look", {}))
        log.use(0)
        log.settle()
    kept = log.execution.history[-2:]
    log.add(Compacted(through_seq=log.execution.seq, summary="So far: looked.", kept=2))
    assert log.execution.history[0].text == f"{mark_of(log.execution.started)} So far: looked."
    assert log.execution.history[1:] == kept
    log.add(Compacted(through_seq=log.execution.seq, summary="All.", kept=0))
    assert [message.text for message in log.execution.history] == [f"{mark_of(log.execution.started)} All."]


def test_a_fold_is_the_same_as_one_step_after_the_other() -> None:
    log = Log()
    log.answer("x", ("look", {}))
    log.use(0)
    assert fold(log.envelopes) == log.execution


def test_an_unknown_call_in_a_result_changes_no_other() -> None:
    from agentic.core.events.execution_events import ToolFinished

    log = Log()
    log.answer(("look", {}))
    log.add(ToolFinished(call="other", outcome="failed", preview="", error="e"))
    assert log.execution.open_calls
    assert log.execution.judged.errors_since == ()
