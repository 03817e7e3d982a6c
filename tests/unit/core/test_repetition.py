"""What repeats itself: what is noticed, what is exempt, and what begins the count anew."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import (
    Escalated,
    Noted,
    Todo,
    TodoChanged,
    ToolFinished,
)
from agentic.core.events.values import Outcome
from agentic.core.fold.fold import fold
from agentic.core.fold.loop_detection import repeating, step_of, stuck, with_result
from tests.unit.core.building import TOOLS
from tests.unit.core.working import Work, change, finished


def test_the_same_step_three_times_is_noticed_and_four_times_is_stuck() -> None:
    log = Work()
    log.looked("a", "a")
    assert repeating(log.execution) == ""
    log.looked("a")
    assert repeating(log.execution) == "the same step with the same result 3 times"
    assert stuck(log.execution) == ""
    log.looked("a")
    assert stuck(log.execution) == "the same step with the same result 4 times"


def test_the_same_words_without_a_call_are_a_step_also_where_they_are_cut_off() -> None:
    log = Work()
    words = "I will now write the file and explain each line of it in turn. " * 40
    for number in range(1, 5):
        assert stuck(log.execution) == ""
        log.answer(f"{words[: 2_000 + 7 * number]}\nconfidence: {60 + number}", stop="length")
        log.end()
        if number == 3:
            assert repeating(log.execution) == "the same words 3 times, without using a tool"
    assert stuck(log.execution) == "the same words 4 times, without using a tool"
    log.answer("Something else.")
    log.end()
    assert stuck(log.execution) == ""


def test_what_a_model_reports_of_itself_are_no_words() -> None:
    log = Work()
    for _ in range(4):
        log.answer("confidence: 60\nstatus: progressing")
        log.end()
    assert stuck(log.execution) == ""


@pytest.mark.parametrize("ring", ["ab", "abc", "abcd"])
def test_two_rounds_of_a_ring_are_noticed_and_three_are_stuck(ring: str) -> None:
    log = Work(stale_turns_nudged=99, stale_turns_escalate=99)
    log.looked("x", *ring)
    assert repeating(log.execution) == ""
    log.looked(*ring)
    assert repeating(log.execution) == f"the same {len(ring)} steps 2 times in a circle"
    assert stuck(log.execution) == ""
    log.looked(*ring)
    assert stuck(log.execution) == f"the same {len(ring)} steps 3 times in a circle"


def test_a_ring_of_five_is_only_stale() -> None:
    log = Work(stale_turns_escalate=99)
    log.looked(*"abcde" * 3)
    assert stuck(log.execution) == ""
    assert repeating(log.execution) == "10 turns without anything new"


def test_the_same_result_of_varying_arguments_is_stale_after_four_turns_and_stuck_after_six() -> None:
    log = Work()
    for number in range(5):
        log.did("look", "not there", name=f"n{number}")
    assert repeating(log.execution) == "4 turns without anything new"
    assert stuck(log.execution) == ""
    for number in range(5, 7):
        log.did("look", "not there", name=f"n{number}")
    assert stuck(log.execution) == "6 turns without anything new"
    log.looked("something else")
    assert stuck(log.execution) == repeating(log.execution) == ""


def test_times_and_process_ids_make_no_difference_and_a_count_does() -> None:
    log = Work()
    for number in range(4):
        log.did("shell", f"exit 0 after {number}.1 s\n[{number}812] 12:0{number}:33 up 3{number}ms", command="uptime")
    assert stuck(log.execution)
    log = Work()
    for number in range(7):
        log.did("shell", f"exit 0 after 0.1 s\n{number} rows", command="count")
    assert repeating(log.execution) == ""


def test_silent_success_of_varying_calls_is_no_repetition_but_the_same_call_again_is() -> None:
    log = Work()
    for number in range(9):
        log.did("shell", "exit 0 after 0.1 s\n(no output)", command=f"mkdir d{number}")
    assert repeating(log.execution) == ""
    for _ in range(4):
        log.did("shell", "exit 0 after 0.1 s\n(no output)", command="true")
    assert stuck(log.execution)


def test_searches_that_find_nothing_are_stale_with_whatever_tool() -> None:
    log = Work()
    for number in range(4):
        log.did("look", f"No match in {number} files.", pattern=f"p{number}")
        log.did("shell", "exit 1 after 0.1 s\n(no output)", "failed", error="exit 1", command=f"grep -rn p{number} src")
    assert stuck(log.execution) == "7 turns without anything new"
    assert log.execution.judged.same_error == 0


@pytest.mark.parametrize(
    ("tool", "command", "said"),
    [
        ("shell", "sleep 20; cat state", "exit 0 after 20.0 s\nthe same"),
        ("shell", "squeue", "exit 0 after 0.1 s\n4411 PD"),
        ("shell", "curl -s localhost/jobs/1", 'exit 0 after 0.1 s\n{"state":"running"}'),
        ("python", "client.status()", "done after 0.1 s\n'queued'"),
    ],
)
def test_pollers_are_exempt(tool: str, command: str, said: str) -> None:
    log = Work()
    for _ in range(12):
        log.did(tool, said, command=command)
    assert repeating(log.execution) == ""
    assert log.execution.judged.repeats.steps == ()


def test_a_file_that_speaks_of_what_is_running_is_no_poller() -> None:
    log = Work()
    for _ in range(4):
        log.did("look", "state = 'running'", path="state.py")
    assert stuck(log.execution)


def test_a_look_at_a_running_job_is_exempt_and_at_one_that_ended_is_not() -> None:
    tools = (*TOOLS, TOOLS[0].model_copy(update={"name": "job", "effect": "keyed"}))
    log = Work()
    assert log.execution.started is not None
    log.execution = fold(
        [
            e.model_copy(update={"event": e.event.model_copy(update={"tools": tools})}) if e.seq == 1 else e
            for e in log.envelopes
        ]
    )
    for _ in range(9):
        log.did("job", "Running.\n(no new output)", job="x1")
    assert repeating(log.execution) == ""
    for _ in range(4):
        log.did("job", "Ended with exit 0.\n(no new output)", job="x1")
    assert stuck(log.execution)
    assert not step_of("job", {"job": "x1", "action": "stop"}, finished("Running.")).waits


def test_a_wait_that_fails_and_the_trouble_of_others_are_waited_through_for_a_while() -> None:
    for command, said in (("sleep 5 && curl localhost", "refused"), ("curl api", "503 Service Unavailable")):
        log = Work()
        for _ in range(8):
            log.did("shell", f"exit 7 after 5.0 s\n{said}", "failed", error=f"exit 7\n{said}", command=command)
        assert repeating(log.execution) == ""
        assert log.execution.judged.same_error == 0
        for _ in range(4):
            log.did("shell", f"exit 7 after 5.0 s\n{said}", "failed", error=f"exit 7\n{said}", command=command)
        assert stuck(log.execution)
        assert log.execution.judged.same_error == 4


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        ("failed", "Not begun, there is no sandbox: none"),
        ("failed", "The sandbox was lost (it died)"),
        ("unknown", "?"),
        ("cancelled", "?"),
    ],
)
def test_broken_infrastructure_does_not_count(outcome: Outcome, said: str) -> None:
    log = Work()
    for _ in range(9):
        log.did("shell", said, outcome, error="it broke" if outcome == "failed" else "", command="make")
    assert repeating(log.execution) == ""
    assert log.execution.judged.same_error == 0


def test_a_changed_file_begins_anew_but_a_content_it_had_before_does_not() -> None:
    log = Work().looked("a", "a")
    log.did("put", "modified", path="a.py", new="b", changes=(change("a.py", "1", "2"),))
    log.looked("a", "a")
    assert repeating(log.execution) == ""
    log = Work(stale_turns_escalate=99)
    for number in range(8):
        before, after = ("1", "2") if number % 2 == 0 else ("2", "1")
        log.did("put", "modified", path="a.py", new=after, changes=(change("a.py", before, after),))
        log.looked("a")
    assert stuck(log.execution)


def test_a_call_that_changed_something_makes_no_progress_when_it_is_only_done_again() -> None:
    log = Work()
    for number in range(5):
        log.did(
            "shell",
            "exit 0 after 0.1 s\nok",
            command="date > log",
            changes=(change("log", str(number), str(number + 1)),),
        )
    assert stuck(log.execution)


def test_a_command_that_fails_makes_no_progress_by_what_it_leaves_behind() -> None:
    log = Work()
    for number in range(4):
        log.did(
            "shell", "exit 2 after 1.0 s\nno rule", "failed", error="exit 2\nno rule", command="make",
            changes=(change("build.log", str(number), str(number + 1)),),
        )  # fmt: skip
    assert stuck(log.execution)
    assert log.execution.judged.same_error == 4


def test_a_test_that_newly_passes_begins_anew_and_one_that_passed_before_does_not() -> None:
    log = Work()
    for passed in (3, 4, 3, 4, 3, 4):
        said = f"exit 1 after 1.0 s\n{passed} passed"
        log.did("shell", said, "failed", error="exit 1\nE assert", command="pytest", tests=(passed, 9 - passed))
    assert repeating(log.execution) == "the same 2 steps 2 times in a circle"
    log.did("shell", "exit 1 after 1.0 s\n5 passed", "failed", error="exit 1\nE assert", command="pytest", tests=(5, 4))
    assert repeating(log.execution) == ""
    assert log.execution.judged.same_error == 1


def test_a_new_note_and_a_todo_done_begin_anew_and_the_same_note_does_not() -> None:
    def after(*events: Noted | TodoChanged) -> str:
        log = Work().looked("a", "a", "a")
        log.add(*events)
        return repeating(log.execution)

    assert after() != ""
    assert after(Noted(text="a fact")) == ""
    assert after(TodoChanged(items=(Todo(text="one", state="done"),))) == ""
    assert after(TodoChanged(items=(Todo(text="one"),))) != ""
    log = Work()
    log.add(Noted(text="a fact"))
    log.looked("a", "a", "a")
    log.add(Noted(text="a fact"))
    assert repeating(log.execution) != ""


def test_a_check_that_fails_alike_through_three_changes_is_stuck_and_another_result_of_it_ends_that() -> None:
    def failing(why: str = "E assert") -> None:
        log.did("shell", f"exit 1 after 1.0 s\n{why}", "failed", error=f"exit 1\n{why}", command="pytest")

    def edit(number: int) -> None:
        file = change("a.py", str(number), str(number + 1))
        log.did("put", "modified", path="a.py", new=str(number), changes=(file,))

    log = Work()
    for number in range(3):
        failing()
        failing()
        edit(number)
        log.looked(str(number))
    assert repeating(log.execution) == "the same check failed 3 times the same way, despite changes in between"
    assert stuck(log.execution) == ""
    failing()
    assert stuck(log.execution) == "the same check failed 4 times the same way, despite changes in between"
    failing("E another")
    assert repeating(log.execution) == ""
    log.did("shell", "exit 0 after 1.0 s\nfine", command="pytest")
    assert log.execution.judged.repeats.checks == ()


def test_what_failed_and_then_succeeds_is_no_error_any_more() -> None:
    log = Work()
    log.did("shell", "exit 1 after 1.0 s\nE x", "failed", error="exit 1\nE x", command="pytest")
    log.did("shell", "exit 1 after 1.0 s\nE y", "failed", error="exit 1\nE y", command="other")
    log.did("shell", "exit 0 after 1.0 s\nfine", command="pytest")
    assert log.execution.judged.errors_since == (("shell", "exit 1\nE y", 1),)


def test_a_call_that_nobody_made_and_one_about_the_own_mind_are_no_steps() -> None:
    log = Work()
    log.answer(("finish", {}))
    unknown = ToolFinished(call="?", outcome="ok", preview="seen")
    assert with_result(log.execution, unknown) == ((), log.execution.judged.repeats)
    own = ToolFinished(call=log.execution.turn.calls[0].id, outcome="failed", preview="seen", error="e")
    assert with_result(log.execution, own) == ((), log.execution.judged.repeats)


def test_what_was_refused_repeats_itself_like_a_failure() -> None:
    log = Work()
    for number in range(7):
        log.did("shell", f"'{number}' is no argument", "refused", name=f"n{number}")
    assert stuck(log.execution) == "6 turns without anything new"


def test_turns_without_a_tool_that_acts_are_counted() -> None:
    log = Work()
    for _ in range(2):
        log.answer("words")
        log.end()
    log.answer(("finish", {}))
    log.end()
    assert log.execution.judged.repeats.idle_turns == 3
    log.looked("a")
    assert log.execution.judged.repeats.idle_turns == 0


def test_an_escalation_begins_anew() -> None:
    log = Work().looked("a", "a", "a", "a")
    log.add(Escalated(from_tier=2, to_tier=4, trigger="stuck"))
    assert repeating(log.execution) == ""
