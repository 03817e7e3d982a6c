"""What counts as done, and what the log says of each claim."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from agentic.core.completion import finished_by, judged_claims, proven
from agentic.core.values import FileChange
from tests.unit.core.building import Log


def ended(claims: JsonValue, **more: JsonValue) -> Log:
    """A log in which things were done, and then finished."""
    log = Log()
    log.answer(("shell", {"command": "make  test"}), ("shell", {"command": "make test"}), ("look", {}))
    log.use(0, "failed", exit_code=1)
    log.use(1, exit_code=0)
    changes = (
        FileChange(path="a.py", kind="modified", sha_after="new"),
        FileChange(path="gone.py", kind="added"),
        FileChange(path="gone.py", kind="deleted"),
    )
    log.use(2, changes=changes)
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
    from agentic.core.actions import Finish
    from agentic.core.decide import decide

    log = ended([], success=False, files=["a.py"])
    log.settle()
    action = decide(log.execution)
    assert isinstance(action, Finish)
    assert (action.finished.reason, action.finished.files) == ("failed", ("a.py",))
