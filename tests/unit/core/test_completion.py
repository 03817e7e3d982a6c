"""What counts as done, and what the log says of each claim."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from agentic.core.claims.completion import (
    IT_IS_DONE,
    finished_by,
    first_objection,
    judged_claims,
    proven,
)
from agentic.core.events.execution_events import Event, Intervened, Triaged
from agentic.core.events.values import Attempt, FileChange
from agentic.core.rules.decide import end_of_turn
from agentic.core.rules.nudges import evidence
from agentic.core.rules.task_end import completed
from agentic.core.state.actions import Record
from tests.unit.core.building import Log


def ended(claims: JsonValue, **more: JsonValue) -> Log:
    """A log in which things were done, and then finished."""
    log = Log()
    log.answer(("look", {}), ("shell", {"command": "make  test"}), ("shell", {"command": "make test"}))
    changes = (
        FileChange(path="a.py", kind="modified", sha_after="new"),
        FileChange(path="gone.py", kind="added"),
        FileChange(path="gone.py", kind="deleted"),
    )
    log.use(0, changes=changes)
    log.use(1, "failed", exit_code=1)
    log.use(2, exit_code=0)
    log.settle()
    log.answer(("finish", {"answer": "Fixed.", "claims": claims, **more}))
    log.use(0)
    return log


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ({"text": "tests pass", "command": "make test"}, "proven"),
        ({"text": "tests pass", "command": "make test", "exit_code": 0}, "proven"),
        ({"text": "tests fail", "command": "make test", "exit_code": 1}, "contradicted"),
        ({"text": "linted", "command": "make lint", "exit_code": 0}, "unproven"),
        ({"text": "changed", "file": "a.py"}, "proven"),
        ({"text": "changed", "file": "/workspace/a.py"}, "proven"),
        ({"text": "changed", "file": "gone.py"}, "contradicted"),
        ({"text": "changed", "file": "other.py"}, "unproven"),
        ({"text": "it is good"}, "unproven"),
    ],
)
def test_each_claim_is_judged_by_the_log(claim: JsonValue, verdict: str) -> None:
    log = ended([claim])
    completion = finished_by(log.execution)
    assert completion is not None
    (judged,) = judged_claims(log.execution, completion)
    assert judged.verdict == verdict
    assert bool(judged.note) == (verdict != "proven")
    assert proven(log.execution) == (verdict == "proven")


def test_without_claims_nothing_is_proven() -> None:
    assert proven(ended([]).execution) is False


def test_arguments_that_do_not_fit_still_give_the_answer() -> None:
    completion = finished_by(ended("not a list").execution)
    assert completion is not None
    assert (completion.answer, completion.claims) == ("Fixed.", ())


def test_a_refused_finish_is_none() -> None:
    log = Log()
    log.answer(("finish", {}))
    log.finish(0, "refused")
    assert finished_by(log.execution) is None
    assert proven(log.execution) is None


def test_a_finish_without_an_intent_is_read_from_the_call() -> None:
    log = Log()
    log.answer(("finish", {"answer": "x"}))
    log.finish(0)
    completion = finished_by(log.execution)
    assert completion is not None
    assert completion.answer == "x"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Some work.\nTHREADWRIGHT DONE: all green", "all green"),
        ("THREADWRIGHT DONE:", "THREADWRIGHT DONE:"),
        ("this is not THREADWRIGHT DONE: yet", None),
        ("incomplete", None),
    ],
)
def test_the_marker_counts_only_at_the_start_of_a_line(text: str, answer: str | None) -> None:
    log = Log()
    log.answer(text)
    completion = finished_by(log.execution)
    assert (completion.answer if completion else None) == answer


def test_the_marker_beside_calls_is_premature() -> None:
    log = Log()
    log.answer("THREADWRIGHT DONE: x", ("look", {}))
    log.use(0)
    assert finished_by(log.execution) is None


def test_a_failed_completion_is_no_success() -> None:
    log = ended([], success=False, files=["a.py"])
    finished = completed(log.execution)
    assert finished is not None
    assert (finished.reason, finished.files, finished.claims) == ("failed", ("a.py",), ())


FAILING: JsonValue = {"text": "the test shows the bug", "command": "pytest", "exit_code": 1}
GREEN: JsonValue = {"text": "all tests pass", "command": "pytest"}


def worked(*claims: JsonValue, before: tuple[FileChange, ...] = (), passes: bool = False, **more: object) -> Log:
    """Tests ran, perhaps a file changed, and the task is said to be done."""
    log = Log(task=str(more.pop("task", "Fix the test.")))
    log.answer(("shell", {"command": "pytest"}), ("look", {}))
    counts = (3, 0) if passes else (2, 1)
    log.use(0, "ok" if passes else "failed", exit_code=int(not passes), tests=counts)
    log.use(1, changes=before)
    log.settle()
    finish(log, *claims)
    return log


def finish(log: Log, *claims: JsonValue) -> None:
    log.answer(("finish", {"answer": "Fixed.", "claims": list(claims)}))
    log.use(0)
    log.add(*turn_end(log))


def turn_end(log: Log) -> tuple[Event, ...]:
    action = end_of_turn(log.execution)
    assert isinstance(action, Record)
    return action.events


def sent_back(log: Log) -> str:
    """What the model is told, and that it is told once."""
    assert completed(log.execution) is None
    text = evidence(log.execution)
    assert text
    log.add(Intervened(rule="evidence", text=text))
    assert completed(log.execution) is None
    assert evidence(log.execution) == ""
    return text


def test_a_text_without_objections_has_no_first_one() -> None:
    assert first_objection("Mend it.") == ""


@pytest.mark.parametrize("claims", [(), (GREEN,), ({"text": "good", "command": "ls"},), ({"text": "good"},)])
def test_done_while_the_last_test_run_failed_goes_back_once_with_the_facts_and_is_no_success_then(
    claims: tuple[JsonValue, ...],
) -> None:
    log = worked(*claims)
    assert proven(log.execution) is False
    told = sent_back(log)
    assert "1 of 3 tests failed" in told
    assert "- " + first_objection(told) in told.splitlines()
    finish(log, *claims)
    finished = completed(log.execution)
    assert finished is not None
    assert finished.reason == "failed"
    assert "contradicted" in {claim.verdict for claim in finished.claims}
    assert (IT_IS_DONE in {claim.text for claim in finished.claims}) is (claims != (GREEN,))


def test_tests_that_are_said_to_fail_contradict_nothing() -> None:
    log = worked(FAILING)
    assert proven(log.execution) is True
    assert evidence(log.execution) == ""
    finished = completed(log.execution)
    assert finished is not None
    assert (finished.reason, [claim.verdict for claim in finished.claims]) == ("done", ["proven"])
    assert completed(worked(passes=True).execution) is not None


def test_what_was_mended_and_not_tested_again_is_said() -> None:
    change = (FileChange(path="cart.py", kind="modified", sha_before="1", sha_after="2"),)
    assert "cart.py changed since, and no test ran again" in sent_back(worked(before=change))
    stale = worked(GREEN, before=change, passes=True)
    assert "stale: it ran before cart.py changed" in sent_back(stale)
    finish(stale, GREEN)
    finished = completed(stale.execution)
    assert finished is not None
    assert (finished.reason, [claim.verdict for claim in finished.claims]) == ("done", ["unproven"])


@pytest.mark.parametrize("command", ["pytest | tail -3", "pytest || true"])
def test_a_hidden_exit_code_goes_back_once_and_is_unproven_then(command: str) -> None:
    log = Log()
    log.answer(("shell", {"command": command}))
    log.use(0, exit_code=0)
    log.settle()
    finish(log, GREEN)
    assert "its exit code is hidden by" in sent_back(log)
    finish(log, GREEN)
    finished = completed(log.execution)
    assert finished is not None
    assert (finished.reason, finished.claims[0].verdict) == ("done", "unproven")


def test_what_is_merely_unproven_is_shown_and_does_not_go_back() -> None:
    log = worked({"text": "linted", "command": "ruff check"}, {"text": "good"}, passes=True)
    finished = completed(log.execution)
    assert finished is not None
    assert (finished.reason, {claim.verdict for claim in finished.claims}) == ("done", {"unproven"})


def test_where_files_change_an_answer_without_claims_is_shown_as_unproven() -> None:
    change = (FileChange(path="cart.py", kind="modified", sha_before="1", sha_after="2"),)
    claims = {
        name: completed(log.execution)
        for name, log in {
            "changed": worked(before=change, passes=True),
            "asked": _asked_for_code(worked(passes=True)),
            "neither": worked(passes=True),
        }.items()
    }
    assert {name: end and [claim.verdict for claim in end.claims] for name, end in claims.items()} == {
        "changed": ["unproven"], "asked": ["unproven"], "neither": [],
    }  # fmt: skip


def _asked_for_code(log: Log) -> Log:
    log.add(Triaged(talk=False, changes_files=True))
    return log


def test_an_answer_without_finish_is_no_success_either_while_the_tests_fail() -> None:
    log = worked()
    sent_back(log)
    for _ in range(2):
        log.answer("It is all done.")
        log.add(*turn_end(log))
    finished = completed(log.execution)
    assert finished is not None
    assert (finished.reason, [claim.verdict for claim in finished.claims]) == ("failed", ["contradicted", "unproven"])


def test_a_fallback_and_a_job_are_runs_of_their_own() -> None:
    log = Log()
    log.answer(
        ("shell", {"command": "make test", "fallback": "pytest"}), ("shell", {"command": "npm test", "cwd": "web"})
    )
    attempts = (Attempt(command="make test", exit_code=2), Attempt(command="pytest", exit_code=0, tests_passed=3))
    log.use(0, exit_code=2, attempts=attempts)
    log.use(1, job="j1")
    log.settle()
    for exit_code in (None, 1, 1):
        log.answer(("job", {"job": "j1"}), ("job", {"job": "other"}))
        log.use(0, exit_code=exit_code)
        log.use(1, exit_code=0)
        log.settle()
    claims: list[JsonValue] = [{"text": "x", "command": one} for one in ("make test", "pytest", "cd web && npm test")]
    finish(log, *claims)
    completion = finished_by(log.execution)
    assert completion is not None
    judged = judged_claims(log.execution, completion)
    assert [claim.verdict for claim in judged] == ["contradicted", "proven", "contradicted"]
    assert log.execution.deeds.commands[-1] == ("npm test", 1)


def test_a_command_that_was_cancelled_or_refused_proves_nothing() -> None:
    log = Log()
    log.answer(("shell", {"command": "pytest"}), ("shell", {"command": "pytest"}))
    log.use(0, "cancelled")
    log.finish(1, "refused")
    assert log.execution.deeds.runs == ()


def test_who_says_that_it_failed_is_not_contradicted_by_failing_tests() -> None:
    log = worked(passes=False)
    log.answer(("finish", {"answer": "I could not.", "claims": [], "success": False}))
    log.use(0)
    finished = completed(log.execution)
    assert finished is not None
    assert (finished.reason, finished.claims) == ("failed", ())
