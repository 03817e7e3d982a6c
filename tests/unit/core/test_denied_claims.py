"""Claims about calls that did not run, what is quoted of an end that is no success, and why it is stuck."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from agentic.core.claims.completion import finished_by, judged_claims
from agentic.core.events.execution_events import (
    Claim,
    Finished,
    Gated,
    Reported,
)
from agentic.core.events.values import Outcome
from agentic.core.rules import questions, task_end
from agentic.core.rules.decide import decide
from agentic.core.rules.nudges import evidence
from agentic.core.state.actions import Finish
from agentic.core.text.last_note import LAST_NOTE
from tests.unit.core.building import Log

WIPED: dict[str, JsonValue] = {"text": "The old build is gone", "command": "rm -rf build"}


def without_running(outcome: Outcome, *, began: bool = False) -> Log:
    """A command that did not run to its end."""
    log = Log(starting_tier=4)
    log.answer(("shell", {"command": "rm -rf build", "fallback": "git clean -xfd"}))
    if began:
        log.start()
    log.finish(0, outcome)
    log.settle()
    return log


def judged(log: Log, claim: JsonValue) -> Claim:
    log.answer(("finish", {"answer": "Done.", "claims": [claim]}))
    log.use(0)
    completion = finished_by(log.execution)
    assert completion is not None
    return judged_claims(log.execution, completion)[0]


@pytest.mark.parametrize(
    ("outcome", "began", "verdict", "note"),
    [
        ("denied", False, "contradicted", "denied, did not run"),
        ("refused", False, "contradicted", "refused, did not run"),
        ("cancelled", False, "contradicted", "cancelled, did not run"),
        ("cancelled", True, "contradicted", "cancelled before it ended"),
        ("unknown", True, "unproven", "it was cut off, so its outcome is unknown"),
    ],
)
@pytest.mark.parametrize("command", ["rm -rf build", "git clean -xfd"])
def test_a_claim_about_what_did_not_run_says_so(
    outcome: Outcome, command: str, verdict: str, note: str, *, began: bool
) -> None:
    claim = judged(without_running(outcome, began=began), {**WIPED, "command": command})
    assert (claim.verdict, claim.note) == (verdict, note)


def test_a_denied_call_that_never_had_an_intent_is_known_by_what_it_was_to_do() -> None:
    log = Log(starting_tier=4)
    log.answer(("wipe", {"command": "rm -rf build"}))
    log.add(Gated(call=log.execution.turn.calls[0].id, args_sha="sha", reason="deletes", who_may="operator"))
    log.finish(0, "denied")
    log.settle()
    assert judged(log, WIPED).note == "denied, did not run"
    log.settle()
    assert "denied, did not run" in log.execution.told.texts[-1]


def test_what_ran_after_all_is_judged_by_its_run() -> None:
    log = without_running("denied")
    log.answer(("shell", {"command": "rm -rf build"}))
    log.use(0, exit_code=0)
    log.settle()
    assert judged(log, WIPED).verdict == "proven"


def test_who_says_that_it_was_denied_is_not_contradicted() -> None:
    log = without_running("denied")
    claim = judged(log, {"text": "Deleting the build was denied", "command": "rm -rf build"})
    assert (claim.verdict, claim.note) == ("unproven", "denied, did not run")
    assert evidence(log.execution) == ""


def test_a_file_that_was_not_written_because_that_was_denied_is_contradicted() -> None:
    log = Log(starting_tier=4)
    log.answer(("put", {"path": "conf/app.ini"}), ("look", {"path": "other.ini"}))
    log.finish(0, "denied")
    log.finish(1, "refused")
    log.settle()
    claim = judged(log, {"text": "The setting is there", "file": "/workspace/conf/app.ini"})
    assert (claim.verdict, claim.note) == ("contradicted", "denied, did not run")
    assert judged(log, {"text": "It is so", "file": "other.ini"}).verdict == "unproven"


@pytest.mark.parametrize("answer", ["I ran `rm -rf build`, and it is gone.", "Removed it with  rm -rf  build."])
def test_an_answer_that_tells_of_a_denied_command_as_done_goes_back_and_is_no_success_then(answer: str) -> None:
    log = without_running("denied")
    log.answer(("finish", {"answer": answer}))
    log.use(0)
    log.settle()
    assert "denied, did not run" in log.execution.told.texts[-1]
    log.answer(("finish", {"answer": answer}))
    log.use(0)
    end = ended(log)
    assert end.reason == "failed"
    assert (end.claims[0].command, end.claims[0].note) == ("rm -rf build", "denied, did not run")


@pytest.mark.parametrize("answer", ["`rm -rf build` was denied, so the build is still there.", "The tests pass."])
def test_an_answer_that_admits_it_or_says_nothing_of_it_stands(answer: str) -> None:
    log = without_running("denied")
    log.answer(("finish", {"answer": answer}))
    log.use(0)
    assert ended(log).reason == "done"


def test_an_answer_may_tell_of_what_was_denied_first_and_ran_then() -> None:
    log = without_running("denied")
    log.answer(("shell", {"command": "rm -rf build"}))
    log.use(0, exit_code=0)
    log.settle()
    log.answer(("finish", {"answer": "I ran `rm -rf build`."}))
    log.use(0)
    assert ended(log).reason == "done"


def ended(log: Log) -> Finished:
    log.settle()
    action = decide(log.execution)
    assert isinstance(action, Finish)
    return action.finished


def test_the_answer_of_an_end_without_success_is_known_as_the_models_own_words() -> None:
    log = Log(starting_tier=4)
    log.answer(("finish", {"answer": "All green!", "success": False}))
    log.use(0)
    assert ended(log).last_words
    done = Log()
    done.answer(("finish", {"answer": "All green!"}))
    done.use(0)
    assert not ended(done).last_words


def test_an_end_of_ours_quotes_the_last_note_of_the_model() -> None:
    log = Log()
    log.answer("title: the lock\nI think it is the lock.\nConfidence: 80\nstatus: on_track", ("look", {}))
    end = task_end.ended_for(log.execution, "failed", "The provider is down.")
    assert end.answer == f"The provider is down.\n\n{LAST_NOTE}\n> I think it is the lock."
    assert not end.last_words


@pytest.mark.parametrize("attended", [True, False])
def test_who_is_stuck_shows_the_note_that_says_why(*, attended: bool) -> None:
    log = Log(starting_tier=4, attended=attended)
    log.answer(("look", {}))
    log.add(Reported(status="stuck", confidence=20, note="The database asks for a password.\nI have none."))
    log.use(0)
    log.settle()
    action = decide(log.execution)
    asked = log.execution.question
    assert isinstance(action, Finish) or asked is not None
    said = action.finished.answer if isinstance(action, Finish) else asked.text if asked is not None else ""
    own = "In the model's own words:\n> The database asks for a password.\n> I have none."
    assert said.startswith(f"I'm stuck, and this is already the strongest model.\n\n{own}")


@pytest.mark.parametrize("report", [None, Reported(status="progressing", confidence=60, note="next: the tests")])
def test_a_note_that_says_nothing_of_being_stuck_is_not_shown_as_the_reason(report: Reported | None) -> None:
    log = Log(starting_tier=4)
    log.answer(("look", {}))
    if report is not None:
        log.add(report)
    assert "In the model's own words" not in questions.stuck(log.execution, "same error 3 times").text
