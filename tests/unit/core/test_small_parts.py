"""Ids, triage, timers: the small pure parts."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agentic.core.claims.completion import created_files
from agentic.core.events.execution_events import (
    Asked,
    DeadlinePassed,
    FileChange,
    InputReceived,
    QuotedMessage,
    Started,
    WakeRequested,
)
from agentic.core.events.ids import (
    batch_id,
    call_id,
    execution_id,
    question_id,
    request_id,
    side_target,
    span_id,
    trace_id,
    trial_item,
)
from agentic.core.prompt.user_messages import guidance
from agentic.core.rules import model_failures
from agentic.core.rules.triage import triage
from agentic.core.state.execution import Deeds, Execution
from agentic.core.state.replace import changed
from tests.unit.core.building import BEGUN, YOU, Log


def test_ids_derive_from_their_place_and_differ_by_it() -> None:
    assert execution_id("1", "2") == execution_id("1", "2") != execution_id("2", "1")
    assert len(execution_id("1", "2")) == 16
    assert len(request_id("x", 3)) == 8
    assert call_id("r", 1) == "r.1"
    assert len({batch_id("x", 3), request_id("x", 3), question_id("x", 3)[1:9], span_id("x", 3)[:8]}) == 4
    assert (len(trace_id("x")), len(span_id("x", 3))) == (32, 16)
    assert int(trace_id("x"), 16)
    assert span_id("x", 3) != span_id("x", 4)


@pytest.mark.parametrize(
    ("text", "talk"),
    [
        ("hello", True),
        ("Thanks!", True),
        ("what can you do?", True),
        ("hi, fix the failing test in api/", False),
        ("hello world in Rust, please write it", False),
        ("ok now run the migrations and tell me what breaks in staging", False),
    ],
)
def test_talk_is_told_from_tasks(text: str, talk: bool) -> None:
    assert triage(Started(thread="1", task=text, requester=YOU)).talk == talk


def test_the_cap_on_time_stands_still_while_a_person_is_asked_and_after_it_passed() -> None:
    log = Log()
    (timer,) = model_failures.standing_timers(log.execution)
    assert timer.at == BEGUN + timedelta(seconds=1, minutes=60)
    log.add(Asked(question="q", text="?"))
    assert model_failures.standing_timers(log.execution) == ()
    log.say("answer", "x")
    log.settle()
    (later,) = model_failures.standing_timers(log.execution)
    assert later.at == timer.at + timedelta(seconds=log.execution.spent.waiting)
    log.add(DeadlinePassed(ref="minutes"))
    assert model_failures.standing_timers(log.execution) == ()
    assert model_failures.standing_timers(Execution()) == ()


def test_back_off_doubles_with_each_pass_and_is_spread_by_a_quarter() -> None:
    log = Log(tiers=({"number": 2, "models": ("only",)},))
    waits: list[float] = []
    for _ in range(4):
        log.fail("unavailable")
        timer = model_failures.back_off(log.execution)
        assert timer is not None
        waits.append((timer.at - log.now).total_seconds())
        log.add(DeadlinePassed(ref=timer.ref))
        assert model_failures.back_off(log.execution) is None
    for wait, base in zip(waits, [1, 2, 4, 8], strict=True):
        assert 0.75 * base <= wait <= 1.25 * base


def test_a_lost_request_is_not_waited_for() -> None:
    log = Log()
    log.fail("lost")
    assert model_failures.back_off(log.execution) is None
    assert not model_failures.is_final(log.execution)
    assert model_failures.ended(Log().execution).reason == "failed"


def test_files_are_this_execution_s_own_when_the_first_thing_it_did_was_to_make_them() -> None:
    deeds = Deeds(
        changes=(
            FileChange(path="a", kind="added", sha_after="1"),
            FileChange(path="a", kind="deleted", sha_before="1"),
            FileChange(path="b", kind="deleted", sha_before="2"),
            FileChange(path="b", kind="added", sha_after="3"),
            FileChange(path="c", kind="modified", sha_before="4", sha_after="5"),
        )
    )
    assert created_files(deeds) == {"a"}


def test_an_event_that_the_rules_do_not_read_moves_only_the_position() -> None:
    log = Log()
    before = log.execution
    after = log.add(WakeRequested(wake="w", at=BEGUN, why="to look"))
    assert changed(after, seq=before.seq, at=before.at) == before


def test_a_stop_of_a_side_question_names_it() -> None:
    assert side_target("x1") == "side/x1"
    assert trial_item("x1") == "trial.x1"


def test_what_guidance_replies_to_stands_with_it_as_data() -> None:
    event = InputReceived(
        inbox="1", sort="guidance", author=YOU, text="this one", quoted=(QuotedMessage(author="ann", text="use\nb.py"),)
    )
    assert guidance(event, "#12345678").endswith("> ann: use\n> b.py")
