"""Calls that had run and were put back for what they destroyed: as if they had not begun, and a person is asked."""

from __future__ import annotations

import pytest

from agentic.core.audit.verification import verify
from agentic.core.claims.completion import created_files
from agentic.core.events.execution_events import FileChange, Gated, ToolFinished
from agentic.core.rules.approvals import covers
from agentic.core.rules.decide import decide
from agentic.core.state.actions import Record, UseTools
from tests.unit.core.building import BOSS, Log
from tests.unit.core.test_verifying import stamped

DESTROYED = "deleted or overwrote 212 files that it had not made, among them “src/a.py”"
NEW = FileChange(path="out.txt", kind="added", sha_before="", sha_after="f0")


def put_back(
    *,
    left: str = "",
    changes: tuple[FileChange, ...] = (),
    losses: tuple[str, ...] = ("l1",),
    unkept: bool = False,
    **policy: object,
) -> Log:
    log = Log(**policy)
    log.answer(("shell", {"command": "make clean"}))
    call = log.start()
    log.add(
        Gated(
            call=call,
            args_sha="sha",
            reason=DESTROYED,
            put_back=True,
            left=left,
            changes=changes,
            losses=losses,
            unkept=unkept,
        )
    )
    return log


def test_what_was_put_back_is_told_and_asked_about() -> None:
    log = put_back()
    log.settle()
    assert log.execution.question is not None
    text = log.execution.question.text
    assert (
        f"I ran this, and it {DESTROYED}. What was there is restored. May I run it again? What it destroys besides"
        in text
    )
    assert "make clean" in text
    before = put_back(
        losses=()
    )  # by a version whose yes covered whatever it did: it covers nothing more than another does
    before.settle()
    assert before.execution.question is not None
    assert before.execution.question.text == text


def test_where_nothing_can_be_put_back_it_is_asked_about_before_it_runs() -> None:
    log = put_back(unkept=True, losses=())
    log.settle()
    assert log.execution.question is not None
    text = log.execution.question.text
    assert f"May I run this, and the commands after it? It {DESTROYED}. Nothing has run yet." in text
    log.say("answer", "Deny", by=BOSS)
    log.settle()
    (call,) = log.execution.turn.calls
    assert call.result is not None
    assert call.result.preview.startswith(f"Not run: it {DESTROYED}, and boss denied it. ")


def test_a_call_that_was_put_back_has_not_begun_and_runs_again_under_its_approval() -> None:
    log = put_back()
    (call,) = log.execution.turn.calls
    assert call.intent is None
    assert not log.execution.calls_in_flight
    log.settle()
    log.say("answer", "allow", by=BOSS)
    log.settle()
    assert isinstance(decide(log.execution), UseTools)
    (call,) = log.execution.turn.calls
    assert covers(call, "sha", "another state: what it may destroy is known")
    assert not covers(call, "other", "s0")


@pytest.mark.parametrize(
    ("left", "changes", "stands"),
    [
        ("", (), "What was there is restored."),
        ("", (NEW,), "What was there is restored, and 1 new file stays."),
        (
            "`a.py` (it cannot be written)",
            (NEW, NEW),
            "restored, and 2 new files stay, except `a.py` (it cannot be written).",
        ),
    ],
)
def test_a_denial_says_how_the_files_stand(left: str, changes: tuple[FileChange, ...], stands: str) -> None:
    log = put_back(left=left, changes=changes)
    log.settle()
    log.say("answer", "Deny", by=BOSS)
    log.settle()
    (call,) = log.execution.turn.calls
    assert call.result is not None
    assert call.result.outcome == "denied"
    assert call.result.preview.startswith(f"Put back: it {DESTROYED}, and boss denied it. ")
    assert stands in call.result.preview


def test_what_it_left_besides_counts_as_made_by_it() -> None:
    log = put_back(changes=(NEW,))
    assert created_files(log.execution.deeds) == {"out.txt"}
    assert log.execution.unsaved == (NEW,)
    assert log.execution.turn.changed
    assert created_files(put_back().execution.deeds) == frozenset()


def test_where_nobody_can_be_asked_it_stays_put_back() -> None:
    action = decide(put_back(attended=False).execution)
    assert isinstance(action, Record)
    (result,) = action.events
    assert isinstance(result, ToolFinished)
    assert (result.outcome, "nobody can give it here" in result.preview) == ("denied", True)


def test_that_it_was_put_back_is_what_a_call_came_to_and_no_decision_of_the_rules() -> None:
    log = Log(saved=False)
    log.answer(("shell", {"command": "make clean"}))
    log.settle()
    call = log.start()
    log.add(Gated(call=call, args_sha="sha", reason=DESTROYED, state_sha="s0", put_back=True))
    log.settle()
    walked = verify(stamped(log.envelopes))
    assert walked.divergence is None
    alien = [
        e.event.model_copy(update={"call": "another"}) if isinstance(e.event, Gated) else e.event for e in log.envelopes
    ]
    altered = [e.model_copy(update={"event": event}) for e, event in zip(log.envelopes, alien, strict=True)]
    assert verify(stamped(altered)).divergence is not None


def test_a_publication_that_needs_a_yes_shows_what_would_change_and_says_where_it_was_denied() -> None:
    log = Log()
    log.answer(("publish", {"title": "CI"}))
    call = log.start()
    gate = Gated(
        call=call,
        args_sha="sha",
        reason="changes workflows",
        state_sha="s0",
        put_back=True,
        shown="+on: push",
        publishes=True,
    )
    log.add(gate)
    log.settle()
    assert log.execution.question is not None
    text = log.execution.question.text
    assert "May I publish this? It changes workflows. Nothing has left this machine yet." in text
    assert "```diff\n+on: push\n```" in text
    log.say("answer", "deny", by=BOSS)
    log.settle()
    told = [e.event.preview for e in log.envelopes if isinstance(e.event, ToolFinished)]
    assert told[-1].startswith("Not published: it changes workflows, and ")
